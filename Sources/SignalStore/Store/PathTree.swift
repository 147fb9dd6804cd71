// SPDX-License-Identifier: MIT

/// The properties of a store in path order: a B-tree that is a value.
///
/// Copying it costs one retain, and the copy never changes: the nodes are arrays, so the language
/// copies a node on its way to a mutation exactly when another tree still holds it. Looking up,
/// setting and removing take O(log n), also with a million siblings under one parent.
package struct PathTree: Sendable {
  /// The number of properties.
  package private(set) var count = 0

  var root = PathTreeNode()

  package init() {}

  /// The property at the path with these bytes, nil when there is none.
  ///
  /// The bytes are compared, not validated: bytes that are not a path are simply not found.
  package func value(at path: Span<UInt8>) -> StoredValue? {
    root.value(at: path)
  }

  /// The property at the path, nil when there is none.
  package func value(at path: PropertyPath) -> StoredValue? {
    root.value(at: path.bytes.span)
  }

  /// Puts the value at its path and returns the one it replaces.
  package mutating func set(_ value: StoredValue) -> StoredValue? {
    if root.isFull {
      var full = PathTreeNode()
      swap(&full, &root)
      // Consumed: a second reference would make the split copy the node.
      root.branches.append(PathTreeBranch(first: value.path, node: consume full, shared: 0))
      root.splitBranch(0, before: value.path)
    }
    let old = root.set(value)
    if old == nil { count += 1 }
    return old
  }

  /// Removes the value at the path and returns it, nil when there is none.
  package mutating func remove(_ path: PropertyPath) -> StoredValue? {
    guard let old = root.remove(path) else { return nil }
    count -= 1
    while root.branches.count == 1 { root = root.branches[0].node }
    return old
  }
}

/// An item that a node keeps in path order.
protocol PathTreeItem {
  /// The head of the path (``PathOrder/head(_:from:)``), so that most comparisons of a search need
  /// neither the path nor what it belongs to.
  var head: UInt64 { get }
  var path: PropertyPath { get }
}

extension ContiguousArray where Element: PathTreeItem {
  /// The index, at least `start`, of the first item that is not before `path`; `shared` bytes are
  /// known to be equal.
  func firstIndex(notBefore path: Span<UInt8>, from start: Int, shared: Int) -> Int {
    let head = PathOrder.head(path, from: shared)
    var low = firstIndex(from: start, headAtLeast: head)
    guard low < count, self[low].head == head else { return low }
    // Paths with the same head: rarely more than one.
    var high = low + 1
    if high < count, self[high].head == head {
      high = head == .max ? count : firstIndex(from: high, headAtLeast: head + 1)
    }
    while low < high {
      let middle = (low + high) / 2
      if self[middle].path.isBefore(path, from: shared) { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// Branchless: the steps do not depend on what it finds, so that the processor mispredicts none.
  private func firstIndex(from start: Int, headAtLeast head: UInt64) -> Int {
    var low = start
    var length = count - start
    while length > 1 {
      let half = length / 2
      low += self[low + half - 1].head < head ? half : 0
      length -= half
    }
    return low + (length == 1 && self[low].head < head ? 1 : 0)
  }
}

/// A property in a leaf.
struct PathTreeEntry: PathTreeItem, Sendable {
  var head: UInt64
  var value: StoredValue
  var path: PropertyPath { value.path }

  init(_ value: StoredValue, shared: Int) {
    head = value.path.head(from: shared)
    self.value = value
  }
}

/// A child of an inner node.
struct PathTreeBranch: PathTreeItem, Sendable {
  var head: UInt64
  /// No path in the node is before this one, and none in the branches to the left is at or after it.
  ///
  /// Meaningless for the leftmost branch. The property at this path may be gone.
  var path: PropertyPath
  var node: PathTreeNode

  init(first path: PropertyPath, node: PathTreeNode, shared: Int) {
    head = path.head(from: shared)
    self.path = path
    self.node = node
  }
}

/// A node of the tree: a leaf with entries, or an inner node with branches.
struct PathTreeNode: Sendable {
  /// Maximum number of entries or branches of a node.
  static let capacity = 64
  /// A node with no more than this is joined with a neighbour before something is removed from it.
  static let minimum = 16

  /// The number of leading bytes that all paths between the bounds of this node have in common.
  ///
  /// It follows from the bounds alone, which a search has passed on its way down, so that neither a
  /// stored path nor the one searched for has to be looked at to know it.
  var shared = 0
  /// The properties of a leaf, in path order.
  var entries: ContiguousArray<PathTreeEntry> = []
  /// The children of an inner node, in path order.
  var branches: ContiguousArray<PathTreeBranch> = []

  var isLeaf: Bool { branches.isEmpty }
  var size: Int { isLeaf ? entries.count : branches.count }
  var isFull: Bool { size >= PathTreeNode.capacity }

  // MARK: Searching

  func value(at path: Span<UInt8>) -> StoredValue? {
    guard isLeaf else { return branches[branchIndex(of: path)].node.value(at: path) }
    let index = entryIndex(of: path)
    guard index < entries.count, entries[index].path.isEqual(to: path) else { return nil }
    return entries[index].value
  }

  /// The index of the first entry that is not before `path`.
  func entryIndex(of path: Span<UInt8>) -> Int {
    entries.firstIndex(notBefore: path, from: 0, shared: shared)
  }

  /// The index of the branch that `path` is in, if it is anywhere beneath this node.
  func branchIndex(of path: Span<UInt8>) -> Int {
    let index = branches.firstIndex(notBefore: path, from: 1, shared: shared)
    return index < branches.count && branches[index].path.isEqual(to: path) ? index : index - 1
  }

  // MARK: Changing

  mutating func set(_ value: StoredValue) -> StoredValue? {
    let path = value.path
    guard isLeaf else {
      // Full nodes are split on the way down, so that there is room for what comes up.
      var index = branchIndex(of: path.bytes.span)
      if branches[index].node.isFull {
        splitBranch(index, before: path)
        if branches[index + 1].path <= path { index += 1 }
      }
      return branches[index].node.set(value)
    }
    let index = entryIndex(of: path.bytes.span)
    if index < entries.count, entries[index].path == path {
      let old = entries[index].value
      entries[index].value = value
      return old
    }
    if entries.isEmpty { entries.reserveCapacity(PathTreeNode.capacity) }
    entries.insert(PathTreeEntry(value, shared: shared), at: index)
    return nil
  }

  mutating func remove(_ path: PropertyPath) -> StoredValue? {
    guard isLeaf else {
      // Small nodes are joined on the way down, so that none is left empty.
      var index = branchIndex(of: path.bytes.span)
      if branches[index].node.size <= PathTreeNode.minimum, branches.count > 1 {
        joinBranches(max(index - 1, 0))
        index = branchIndex(of: path.bytes.span)
      }
      return branches[index].node.remove(path)
    }
    let index = entryIndex(of: path.bytes.span)
    guard index < entries.count, entries[index].path == path else { return nil }
    return entries.remove(at: index).value
  }

  /// Splits a full branch in two, before `path` is inserted into one of them.
  ///
  /// In halves, except when the path comes after everything in it: paths that are set in ascending
  /// order would otherwise leave every node half empty.
  mutating func splitBranch(_ index: Int, before path: PropertyPath) {
    let size = branches[index].node.size
    let isAscending = branches[index].node.isBefore(path)
    splitBranch(index, keeping: isAscending ? size - size / 8 : size / 2)
  }

  private mutating func splitBranch(_ index: Int, keeping kept: Int) {
    let (first, right) = branches[index].node.splitOff(from: kept)
    branches.insert(PathTreeBranch(first: first, node: right, shared: shared), at: index + 1)
    shareBounds(of: index)
    shareBounds(of: index + 1)
  }

  /// Merges a branch with the one to its right, or balances the two when they are too large for one.
  private mutating func joinBranches(_ index: Int) {
    let right = branches.remove(at: index + 1)
    branches[index].node.append(right)
    let size = branches[index].node.size
    shareBounds(of: index)
    // Balanced before a merged node would be full: the next `set` would split it again.
    if size > PathTreeNode.capacity * 3 / 4 { splitBranch(index, keeping: size / 2) }
  }

  private func isBefore(_ path: PropertyPath) -> Bool {
    if isLeaf { return entries.last.map { $0.path < path } ?? true }
    return branches[branches.count - 1].path < path
  }

  private mutating func splitOff(from kept: Int) -> (first: PropertyPath, node: PathTreeNode) {
    var right = PathTreeNode()
    right.shared = shared
    if isLeaf {
      right.entries.reserveCapacity(PathTreeNode.capacity)
      right.entries.append(contentsOf: entries[kept...])
      entries.removeLast(entries.count - kept)
      return (right.entries[0].path, right)
    }
    right.branches.reserveCapacity(PathTreeNode.capacity)
    right.branches.append(contentsOf: branches[kept...])
    branches.removeLast(branches.count - kept)
    return (right.branches[0].path, right)
  }

  private mutating func append(_ right: PathTreeBranch) {
    // Makes `shareBounds` recompute the heads in any case, because the two may differ in `shared`.
    shared = -1
    entries.append(contentsOf: right.node.entries)
    if isLeaf { return }
    let start = branches.count
    branches.append(contentsOf: right.node.branches)
    // As the leftmost branch of its node its bound may not have been valid.
    branches[start].path = right.path
  }

  /// Recomputes the shared prefix of the paths of a branch, and their heads, after its bounds have changed.
  private mutating func shareBounds(of index: Int) {
    // The outermost branches have one bound from an ancestor; the shared prefix of this node is valid for them.
    var shared = self.shared
    if index > 0, index + 1 < branches.count {
      shared = branches[index].path.commonPrefix(with: branches[index + 1].path)
    }
    branches[index].node.share(shared)
  }

  private mutating func share(_ shared: Int) {
    if shared == self.shared { return }
    self.shared = shared
    for index in entries.indices {
      entries[index].head = entries[index].path.head(from: shared)
    }
    for index in branches.indices {
      branches[index].head = branches[index].path.head(from: shared)
    }
  }
}
