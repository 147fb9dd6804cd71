// SPDX-License-Identifier: MIT

/// Equality as RFC 6902 §4.6 has it: numbers by value, strings by characters, objects without regard to order.
extension Patcher {
  /// What comparing two elements costs, in elements and members passed.
  private static let elementCost = 4
  /// What comparing members by their names costs, likewise.
  private static let namedCost = 16

  /// Whether two values are equal.
  mutating func areEqual(_ a: Piece, _ b: Piece) throws(JSONPatchError) -> Bool {
    if try areSameText(a, b) { return true }
    if let left = elements(of: a) {
      guard let right = elements(of: b), count(left) == count(right) else { return false }
      try spend(Self.elementCost * count(left))
      var (lefts, rights) = (Children(left), Children(right))
      while let left = lefts.next(in: self), let right = rights.next(in: self) {
        guard try areEqual(left.value, right.value) else { return false }
      }
      return true
    }
    if let left = members(of: a) {
      guard let right = members(of: b) else { return false }
      return try areEqual(membersOf: left, right)
    }
    guard let (leftTree, left) = source(of: a), let (rightTree, right) = source(of: b) else { return false }
    let kind = leftTree.kind(of: left)
    guard kind == rightTree.kind(of: right) else { return false }
    guard kind == .number || kind == .string else { return true }
    try spend((leftTree.range(of: left).count + rightTree.range(of: right).count) / 16)
    if kind == .number { return SignificantDigits(leftTree, left).isEqual(SignificantDigits(rightTree, right)) }
    return rightTree.withUTF8(of: right) { leftTree.string(left, equals: $0) ?? false } ?? false
  }

  /// Whether two values are written alike, as far as they are not taken apart.
  private mutating func areSameText(_ a: Piece, _ b: Piece) throws(JSONPatchError) -> Bool {
    guard let (leftTree, left) = source(of: a), let (rightTree, right) = source(of: b) else { return false }
    let (leftRange, rightRange) = (leftTree.range(of: left), rightTree.range(of: right))
    guard leftRange.count == rightRange.count else { return false }
    try spend(leftRange.count / 16)
    let text = leftTree.text.bytes.span.extracting(leftRange)
    return text.startsEqual(rightTree.text.bytes.span.extracting(rightRange), count: text.count)
  }

  /// Whether two objects have equal members.
  private mutating func areEqual(membersOf left: Parts, _ right: Parts) throws(JSONPatchError) -> Bool {
    try spend(Self.elementCost * (count(left) + count(right)))
    // As a rule they are in the same order, and then no names need be looked up.
    if count(left) == count(right) {
      var (lefts, rights) = (Children(left), Children(right))
      var areSame = true
      while areSame, let left = lefts.next(in: self), let right = rights.next(in: self) {
        guard let leftKey = left.key, let rightKey = right.key else { return false }
        areSame = isName(of: leftKey, name(of: rightKey).span)
        if areSame { areSame = try areEqual(left.value, right.value) }
      }
      if areSame { return true }
    }
    try spend(Self.namedCost * (count(left) + count(right)))
    let (lefts, rights) = (NamedMembers(left, self), NamedMembers(right, self))
    guard lefts.members.count == rights.members.count else { return false }
    for (hash, key, value) in lefts.members {
      guard let other = rights.value(hash, name(of: key), self), try areEqual(value, other) else { return false }
    }
    return true
  }

  private func count(_ parts: Parts) -> Int {
    parts.reduce(0) { if case .run(let run) = $1 { $0 + run.count } else { $0 + 1 } }
  }

  private func source(of piece: Piece) -> (JSONTree, JSONTree.Node)? {
    switch piece {
    case .target(let node): (target, node)
    case .patch(let node): (patch, node)
    case .array, .object: nil
    }
  }

  /// Goes over elements or members, one by one.
  private struct Children {
    private var parts: Parts.Iterator
    /// What is left of the present run.
    private var run: Run?

    init(_ parts: Parts) { self.parts = parts.makeIterator() }

    mutating func next(in patcher: Patcher) -> (key: Key?, value: Piece)? {
      if run == nil {
        switch parts.next() {
        case nil: return nil
        case .element(let value): return (nil, value)
        case .member(let key, let value): return (key, value)
        case .run(let next): run = next
        }
      }
      guard let run else { return nil }
      let node = run.nodes.lowerBound
      let tree = patcher.tree(of: run)
      let rest = run.split(at: tree.next(node), 1).after
      self.run = rest.count > 0 ? rest : nil
      guard tree.kind(of: JSONTree.Node(index: node)) == .key else { return (nil, patcher.piece(node, of: run)) }
      return (patcher.key(node, of: run), patcher.piece(node + 1, of: run))
    }
  }

  /// The members of an object by name; of those with the same name the last counts.
  private struct NamedMembers {
    private(set) var members: [(hash: Int, key: Key, value: Piece)] = []
    private var table: NameTable

    init(_ parts: Parts, _ patcher: Patcher) {
      table = NameTable(capacity: patcher.count(parts))
      var children = Children(parts)
      while let (key, value) = children.next(in: patcher) {
        guard let key else { continue }
        let name = patcher.name(of: key)
        let hash = NameTable.hash(name.span)
        if let known = number(hash, name, patcher) {
          members[known].value = value
        } else {
          table.add(hash)
          members.append((hash, key, value))
        }
      }
    }

    func value(_ hash: Int, _ name: [UInt8], _ patcher: Patcher) -> Piece? {
      number(hash, name, patcher).map { members[$0].value }
    }

    private func number(_ hash: Int, _ name: [UInt8], _ patcher: Patcher) -> Int? {
      table.find(hash) { patcher.isName(of: members[$0].key, name.span) }
    }
  }
}

/// A number by its value: where its digits are, without zeros at either end, and the power of ten of the last one.
private struct SignificantDigits: ~Copyable {
  private let bytes: ArraySlice<UInt8>
  private let isNegative: Bool
  private let exponent: Int

  init(_ tree: JSONTree, _ node: JSONTree.Node) {
    let range = tree.range(of: node)
    let text = tree.text.bytes[range]
    let mantissa = text.prefix { $0 | 0x20 != UInt8(ascii: "e") }
    var power = mantissa.endIndex < text.endIndex ? Self.exponent(text[(mantissa.endIndex + 1)...]) : 0
    guard let first = mantissa.firstIndex(where: Self.isSignificant),
      let last = mantissa.lastIndex(where: Self.isSignificant)
    else {
      // Zero is zero, whatever its sign and exponent.
      (bytes, isNegative, exponent) = ([], false, 0)
      return
    }
    // The point is as many digits away from the last one that counts as there are between the two.
    if let point = mantissa.firstIndex(of: UInt8(ascii: ".")) {
      power += point > last ? point - last - 1 : point - last
    } else {
      power += mantissa.endIndex - last - 1
    }
    (bytes, isNegative, exponent) = (mantissa[first...last], text.first == UInt8(ascii: "-"), power)
  }

  borrowing func isEqual(_ other: borrowing SignificantDigits) -> Bool {
    guard isNegative == other.isNegative, exponent == other.exponent else { return false }
    return bytes.lazy.filter(Self.isDigit).elementsEqual(other.bytes.lazy.filter(Self.isDigit))
  }

  private static func isDigit(_ byte: UInt8) -> Bool { byte != UInt8(ascii: ".") }
  private static func isSignificant(_ byte: UInt8) -> Bool { UInt8(ascii: "1")...UInt8(ascii: "9") ~= byte }

  /// The number after `e`, clamped to 10^15: no text has enough digits to compensate for that.
  private static func exponent(_ text: ArraySlice<UInt8>) -> Int {
    var value = 0
    for byte in text where byte >= UInt8(ascii: "0") {
      value = min(value * 10 + Int(byte - UInt8(ascii: "0")), 1_000_000_000_000_000)
    }
    return text.first == UInt8(ascii: "-") ? -value : value
  }
}
