// SPDX-License-Identifier: MIT

/// A value while patches change it: unchanged parts stay where they are in their text, and neighbours of them stay
/// together (``Part/run(_:)``), so that a patch of a few places of a large value costs little more than finding them.
///
/// It is never deeper than the limit, so recursion over it is bounded.
struct Patcher {
  /// A value that is part of it.
  enum Piece {
    /// As it stands in the value that is patched.
    case target(JSONTree.Node)
    /// As it stands in the patch.
    case patch(JSONTree.Node)
    case array(Parts)
    case object(Parts)
  }

  /// The name of a member, as it is written or as it has come in a pointer.
  enum Key {
    case target(JSONTree.Node)
    case patch(JSONTree.Node)
    case name([UInt8])
  }

  /// The elements of an array, or the members of an object, in order.
  typealias Parts = [Part]

  /// Some of the elements of an array, or of the members of an object.
  enum Part {
    /// At least one, one after the other, as they stand in their text.
    case run(Run)
    case element(Piece)
    case member(Key, Piece)
  }

  /// Consecutive elements or members of one array or object of a tree.
  struct Run {
    /// Whether the tree is that of the patch.
    let isPatch: Bool
    /// The array or object.
    let container: JSONTree.Node
    /// The nodes: elements, or keys and values, with all that they contain.
    var nodes: Range<UInt32>
    /// Elements or members.
    var count: Int
  }

  let target: JSONTree
  let patch: JSONTree
  let limits: JSONPatch.Limits
  var root = Piece.target(.root)
  /// What is left of the limit.
  private var work: Int
  /// Bytes that the result can have at most.
  private var size: Int

  init(_ target: JSONTree, _ patch: JSONTree, _ limits: JSONPatch.Limits) {
    self.target = target
    self.patch = patch
    self.limits = limits
    work = limits.work
    size = target.text.bytes.count + patch.text.bytes.count
  }

  // MARK: Operations

  mutating func apply(_ operation: JSONPatch.Operation) throws(JSONPatchError) {
    switch operation.kind {
    case .add(let value): try add(.patch(value), at: operation.path)
    case .remove: _ = try remove(at: operation.path)
    case .replace(let value):
      try checkDepth(of: .patch(value), at: operation.path)
      try change(at: operation.path) { (_, piece) throws(JSONPatchError) in piece = .patch(value) }
    case .move(let from):
      if from == operation.path { return _ = try find(from) }
      guard !from.isPrefix(of: operation.path) else { throw JSONPatchError(.movedIntoItself) }
      try add(try remove(at: from), at: operation.path)
    case .copy(let from):
      let piece = try find(from)
      size += try bytes(of: piece)
      // The exact size is checked at the end; this keeps copies of copies from growing beyond measure before.
      guard size <= 4 * limits.result.bytes else { throw JSONPatchError(.tooLarge(limit: limits.result.bytes)) }
      try add(piece, at: operation.path)
    case .test(let value):
      guard try areEqual(try find(operation.path), .patch(value)) else { throw JSONPatchError(.testFailed) }
    }
  }

  /// The piece at a pointer; nothing is taken apart.
  private mutating func find(_ pointer: JSONPointer) throws(JSONPatchError) -> Piece {
    guard pointer.count <= limits.result.depth else { throw JSONPatchError(.notFound) }
    var found = root
    for position in 0..<pointer.count { found = try child(pointer[position].span, of: found) }
    return found
  }

  private mutating func add(_ value: Piece, at pointer: JSONPointer) throws(JSONPatchError) {
    try checkDepth(of: value, at: pointer)
    guard let parent = pointer.parent else { return root = value }
    let step = Array(pointer[pointer.count - 1])
    try change(at: parent) { (patcher, piece) throws(JSONPatchError) in
      patcher.takeApart(&piece)
      switch piece {
      case .array(var parts):
        piece = .array([])
        let isEnd = step == [UInt8(ascii: "-")]
        guard let index = isEnd ? Int.max : JSONPointer.arrayIndex(step.span) else { throw JSONPatchError(.badIndex) }
        let place = try patcher.open(&parts, at: index, orEnd: isEnd)
        try patcher.spend(parts.count - place)
        parts.insert(.element(value), at: place)
        piece = .array(parts)
      case .object(var parts):
        piece = .object([])
        if let place = try patcher.isolate(step, in: &parts) {
          guard case .member(let key, _) = parts[place] else { break }
          parts[place] = .member(key, value)
        } else {
          parts.append(.member(.name(step), value))
        }
        piece = .object(parts)
      case .target, .patch: throw JSONPatchError(.notFound)
      }
    }
  }

  private mutating func remove(at pointer: JSONPointer) throws(JSONPatchError) -> Piece {
    guard let parent = pointer.parent else { throw JSONPatchError(.removedWhole) }
    let step = Array(pointer[pointer.count - 1])
    var removed: Piece?
    try change(at: parent) { (patcher, piece) throws(JSONPatchError) in
      patcher.takeApart(&piece)
      switch piece {
      case .array(var parts):
        piece = .array([])
        guard let index = JSONPointer.arrayIndex(step.span) else { throw JSONPatchError(.badIndex) }
        let place = try patcher.isolate(index, in: &parts)
        try patcher.spend(parts.count - place)
        if case .element(let element) = parts.remove(at: place) { removed = element }
        piece = .array(parts)
      case .object(let parts):
        piece = .object([])
        // All that have the name, or an earlier one would come to light.
        let rest: Parts
        (rest, removed) = try patcher.removing(step, from: parts)
        piece = .object(rest)
      case .target, .patch: throw JSONPatchError(.notFound)
      }
    }
    guard let removed else { throw JSONPatchError(.notFound) }
    return removed
  }

  // MARK: Places

  /// Calls `body` with the piece at a pointer, for which all around it is taken apart.
  private mutating func change(
    at pointer: JSONPointer, _ body: (inout Patcher, inout Piece) throws(JSONPatchError) -> Void
  ) throws(JSONPatchError) {
    guard pointer.count <= limits.result.depth else { throw JSONPatchError(.notFound) }
    var piece = Piece.array([])
    swap(&piece, &root)
    try descend(&piece, pointer, 0, body)
    root = piece
  }

  /// A refusal ends the patch, so pieces that were moved out then are not put back.
  private mutating func descend(
    _ piece: inout Piece, _ pointer: JSONPointer, _ position: Int,
    _ body: (inout Patcher, inout Piece) throws(JSONPatchError) -> Void
  ) throws(JSONPatchError) {
    guard position < pointer.count else { return try body(&self, &piece) }
    let step = pointer[position]
    takeApart(&piece)
    switch piece {
    case .array(var parts):
      piece = .array([])
      guard let index = JSONPointer.arrayIndex(step.span) else { throw JSONPatchError(.badIndex) }
      let place = try isolate(index, in: &parts)
      guard case .element(var child) = parts[place] else { throw JSONPatchError(.badIndex) }
      // What is held twice would be copied when it is changed.
      parts[place] = .element(.array([]))
      try descend(&child, pointer, position + 1, body)
      parts[place] = .element(child)
      piece = .array(parts)
    case .object(var parts):
      piece = .object([])
      guard let place = try isolate(Array(step), in: &parts), case .member(let key, var child) = parts[place] else {
        throw JSONPatchError(.notFound)
      }
      parts[place] = .member(key, .array([]))
      try descend(&child, pointer, position + 1, body)
      parts[place] = .member(key, child)
      piece = .object(parts)
    case .target, .patch: throw JSONPatchError(.notFound)
    }
  }

  // MARK: Limits

  /// Counts what an operation has to look at: an element or member each, and one for the operation.
  mutating func spend(_ cost: Int) throws(JSONPatchError) {
    work -= cost + 1
    if work < 0 { throw JSONPatchError(.tooCostly) }
  }

  private mutating func checkDepth(of value: Piece, at pointer: JSONPointer) throws(JSONPatchError) {
    guard pointer.count + (try depth(of: value)) <= limits.result.depth else {
      throw JSONPatchError(.tooDeep(limit: limits.result.depth))
    }
  }

  private mutating func depth(of piece: Piece) throws(JSONPatchError) -> Int {
    switch piece {
    case .target(let node): return try depth(of: node, in: target)
    case .patch(let node): return try depth(of: node, in: patch)
    case .array(let parts), .object(let parts):
      try spend(parts.count)
      var deepest = 0
      for part in parts {
        switch part {
        case .run(let run):
          try spend(run.nodes.count)
          deepest = max(deepest, tree(of: run).depth(of: run.nodes))
        case .element(let value), .member(_, let value): deepest = max(deepest, try depth(of: value))
        }
      }
      return deepest + 1
    }
  }

  private mutating func depth(of node: JSONTree.Node, in tree: JSONTree) throws(JSONPatchError) -> Int {
    let nodes = tree.nodes(of: node)
    try spend(nodes.count)
    return tree.depth(of: nodes)
  }

  private mutating func bytes(of piece: Piece) throws(JSONPatchError) -> Int {
    switch piece {
    case .target(let node): return target.range(of: node).count
    case .patch(let node): return patch.range(of: node).count
    case .array(let parts), .object(let parts):
      try spend(parts.count)
      var sum = 2
      for part in parts {
        switch part {
        case .run(let run): sum += 1 + tree(of: run).range(of: run.nodes, in: run.container).count
        case .element(let value): sum += 1 + (try bytes(of: value))
        case .member(let key, let value): sum += 4 + name(of: key).count + (try bytes(of: value))
        }
      }
      return sum
    }
  }
}

extension JSONPointer {
  /// Whether it addresses what holds the value of `other`.
  fileprivate func isPrefix(of other: JSONPointer) -> Bool {
    guard count < other.count else { return false }
    for position in 0..<count where self[position] != other[position] { return false }
    return true
  }
}
