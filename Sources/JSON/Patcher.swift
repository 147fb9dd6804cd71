// SPDX-License-Identifier: MIT

/// A value while patches change it: unchanged parts stay where they are in their text.
///
/// It is never deeper than the limit, so recursion over it is bounded.
struct Patcher {
  /// A value that is part of it.
  enum Piece {
    /// As it stands in the value that is patched.
    case target(JSONTree.Node)
    /// As it stands in the patch.
    case patch(JSONTree.Node)
    case array([Piece])
    case object([Member])
  }

  /// The name of a member, as it is written or as it has come in a pointer.
  enum Key {
    case target(JSONTree.Node)
    case patch(JSONTree.Node)
    case name([UInt8])
  }

  struct Member {
    var key: Key
    var value: Piece
    /// While a merge patch is applied: what is to be in the place of the value; nil inside when nothing.
    var pending: Piece??
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

  private mutating func find(_ pointer: JSONPointer) throws(JSONPatchError) -> Piece {
    var found = Piece.target(.root)
    try change(at: pointer) { (_, piece) throws(JSONPatchError) in found = piece }
    return found
  }

  private mutating func add(_ value: Piece, at pointer: JSONPointer) throws(JSONPatchError) {
    try checkDepth(of: value, at: pointer)
    guard let parent = pointer.parent else { return root = value }
    let step = Array(pointer[pointer.count - 1])
    try change(at: parent) { (patcher, piece) throws(JSONPatchError) in
      switch piece {
      case .array(var elements):
        piece = .array([])
        let index = step == [UInt8(ascii: "-")] ? elements.count : JSONPointer.arrayIndex(step.span)
        guard let index, index <= elements.count else { throw JSONPatchError(.badIndex) }
        try patcher.spend(elements.count - index)
        elements.insert(value, at: index)
        piece = .array(elements)
      case .object(var members):
        piece = .object([])
        try patcher.spend(members.count)
        if let index = members.lastIndex(where: { patcher.isName(of: $0.key, step) }) {
          members[index].value = value
        } else {
          members.append(Member(key: .name(step), value: value))
        }
        piece = .object(members)
      case .target, .patch: throw JSONPatchError(.notFound)
      }
    }
  }

  private mutating func remove(at pointer: JSONPointer) throws(JSONPatchError) -> Piece {
    guard let parent = pointer.parent else { throw JSONPatchError(.removedWhole) }
    let step = Array(pointer[pointer.count - 1])
    var removed: Piece?
    try change(at: parent) { (patcher, piece) throws(JSONPatchError) in
      switch piece {
      case .array(var elements):
        piece = .array([])
        guard let index = JSONPointer.arrayIndex(step.span), index < elements.count else {
          throw JSONPatchError(.badIndex)
        }
        try patcher.spend(elements.count - index)
        removed = elements.remove(at: index)
        piece = .array(elements)
      case .object(var members):
        piece = .object([])
        try patcher.spend(members.count)
        guard let index = members.lastIndex(where: { patcher.isName(of: $0.key, step) }) else {
          throw JSONPatchError(.notFound)
        }
        removed = members[index].value
        // All that have the name, or an earlier one would come to light.
        members.removeAll { patcher.isName(of: $0.key, step) }
        piece = .object(members)
      case .target, .patch: throw JSONPatchError(.notFound)
      }
    }
    guard let removed else { throw JSONPatchError(.notFound) }
    return removed
  }

  // MARK: Places

  /// Calls `body` with the piece at a pointer, taken apart if it is an array or an object.
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
    try takeApart(&piece)
    guard position < pointer.count else { return try body(&self, &piece) }
    let step = pointer[position]
    switch piece {
    case .array(var elements):
      piece = .array([])
      guard let index = JSONPointer.arrayIndex(step.span), index < elements.count else {
        throw JSONPatchError(.badIndex)
      }
      try descend(&elements[index], pointer, position + 1, body)
      piece = .array(elements)
    case .object(var members):
      piece = .object([])
      try spend(members.count)
      let name = Array(step)
      guard let index = members.lastIndex(where: { isName(of: $0.key, name) }) else { throw JSONPatchError(.notFound) }
      try descend(&members[index].value, pointer, position + 1, body)
      piece = .object(members)
    case .target, .patch: throw JSONPatchError(.notFound)
    }
  }

  private mutating func takeApart(_ piece: inout Piece) throws(JSONPatchError) {
    if let elements = elements(of: piece) {
      if case .array = piece { return }
      try spend(elements.count)
      piece = .array(elements)
    } else if let members = members(of: piece) {
      if case .object = piece { return }
      try spend(members.count)
      piece = .object(members)
    }
  }

  // MARK: Limits

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
    case .array(let elements):
      try spend(elements.count)
      var deepest = 0
      for element in elements { deepest = max(deepest, try depth(of: element)) }
      return deepest + 1
    case .object(let members):
      try spend(members.count)
      var deepest = 0
      for member in members { deepest = max(deepest, try depth(of: member.value)) }
      return deepest + 1
    }
  }

  private mutating func depth(of node: JSONTree.Node, in tree: JSONTree) throws(JSONPatchError) -> Int {
    let (depth, nodes) = tree.depth(of: node)
    try spend(nodes)
    return depth
  }

  private mutating func bytes(of piece: Piece) throws(JSONPatchError) -> Int {
    switch piece {
    case .target(let node): return target.range(of: node).count
    case .patch(let node): return patch.range(of: node).count
    case .array(let elements):
      try spend(elements.count)
      var sum = 2
      for element in elements { sum += 1 + (try bytes(of: element)) }
      return sum
    case .object(let members):
      try spend(members.count)
      var sum = 2
      for member in members { sum += 4 + name(of: member.key).count + (try bytes(of: member.value)) }
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
