// SPDX-License-Identifier: MIT

/// The properties of a snapshot that match a pattern, one by one in path order.
///
/// A value to keep: it holds the snapshot, so a slow reader can suspend it between two properties for any length of
/// time, and later changes of the store do not affect what it returns.
///
/// It skips what cannot match: `a/*/b` costs about one search of the tree for each child of `a`, however many
/// properties are beneath them. Only after a "**" is every property visited.
public struct PropertyScan: Sequence, IteratorProtocol, Sendable {
  private let root: PathTreeNode
  private let patterns: [PathPattern]
  /// The leaf that the scan is in; empty at the end.
  private var leaf: ContiguousArray<PathTreeEntry> = []
  /// The next entry to look at.
  ///
  /// The number of entries when the next one is in another leaf.
  private var index = 0
  /// The property that was looked at last, whether it matched or not: another scan can continue after it.
  public private(set) var visited: PropertyPath?
  /// The lower bound of a seek; kept to reuse the storage.
  private var bound: [UInt8] = []
  private var patternBound: [UInt8] = []

  /// Starts at the first path, or after `after`, which need not exist.
  init(_ tree: PathTree, matching patterns: [PathPattern], after: PropertyPath?) {
    root = tree.root
    self.patterns = patterns
    if let after { bound = after.bytes + [PathOrder.slash] }
    if !patterns.isEmpty { seekFromRoot() }
  }

  /// Whether there is nothing left to visit.
  ///
  /// While it is false, ``next()`` may or may not find another match.
  public var isAtEnd: Bool { leaf.isEmpty }

  /// The next matching property, or nil after the last.
  public mutating func next() -> StoredValue? {
    var budget = Int.max
    return next(visiting: &budget)
  }

  /// The next matching property, or nil after the last or when `budget` properties have been visited.
  ///
  /// For a reader that must not be kept busy by a pattern with few matches: the budget is decreased by one for each
  /// property visited, and when it is used up, ``isAtEnd`` says whether to continue later.
  public mutating func next(visiting budget: inout Int) -> StoredValue? {
    while !leaf.isEmpty, budget > 0 {
      guard index < leaf.count else {
        write(leaf[index - 1].value.path, to: &bound)
        bound.append(PathOrder.slash)
        seekFromRoot()
        continue
      }
      budget -= 1
      let value = leaf[index].value
      visited = value.path
      if patterns.contains(where: { $0.matches(value.path) }) {
        index += 1
        return value
      }
      advance(from: value.path)
    }
    return nil
  }

  /// Continues behind a path and everything below it.
  ///
  /// - Parameter path: Not before what has been visited, or what has been visited is below it.
  package mutating func skip(below path: PropertyPath) {
    guard !leaf.isEmpty else { return }
    visited = path
    write(path, to: &bound)
    bound.append(PathOrder.afterSubtree)
    index = PropertyScan.firstIndex(in: leaf, from: Swift.min(index, leaf.count), notBefore: bound)
    if index == leaf.count { seekFromRoot() }
  }

  /// Advances to the nearest position at which one of the patterns can match.
  private mutating func advance(from path: PropertyPath) {
    var isFound = false
    for pattern in patterns {
      switch pattern.step(after: path.bytes.span, bound: &patternBound) {
      case .next:
        index += 1
        return
      case .seek:
        if !isFound || PathOrder.isLess(patternBound.span, bound.span) { swap(&bound, &patternBound) }
        isFound = true
      case .end: break
      }
    }
    guard isFound else {
      leaf = []
      return
    }
    // Usually the position is near.
    index = PropertyScan.firstIndex(in: leaf, from: index + 1, notBefore: bound)
    if index == leaf.count { seekFromRoot() }
  }

  /// Seeks to the first entry of the tree that is not before `bound`.
  private mutating func seekFromRoot() {
    var node = root
    // The deepest subtree to the right of the search path: it contains the next leaf.
    var right: PathTreeNode?
    while !node.isLeaf {
      let index = node.branchIndex(of: bound.span)
      if index + 1 < node.branches.count { right = node.branches[index + 1].node }
      node = node.branches[index].node
    }
    index = node.entryIndex(of: bound.span)
    if index == node.entries.count {
      index = 0
      node = right ?? PathTreeNode()
      while !node.isLeaf { node = node.branches[0].node }
    }
    leaf = node.entries
  }

  private static func firstIndex(
    in leaf: ContiguousArray<PathTreeEntry>, from start: Int, notBefore bound: [UInt8]
  ) -> Int {
    var low = start
    var high = leaf.count
    while low < high {
      let middle = (low + high) / 2
      if leaf[middle].value.path.isBefore(bound.span, from: 0) { low = middle + 1 } else { high = middle }
    }
    return low
  }

  private func write(_ path: PropertyPath, to bound: inout [UInt8]) {
    bound.removeAll(keepingCapacity: true)
    bound.append(contentsOf: path.bytes)
  }
}
