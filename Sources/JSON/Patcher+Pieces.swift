// SPDX-License-Identifier: MIT

/// Looking into the pieces, comparing them, and writing the whole.
extension Patcher {
  /// The elements of an array; nil for any other kind.
  func elements(of piece: Piece) -> [Piece]? {
    switch piece {
    case .array(let elements): elements
    case .target(let node) where target.kind(of: node) == .array: target.elements(of: node).map { .target($0) }
    case .patch(let node) where patch.kind(of: node) == .array: patch.elements(of: node).map { .patch($0) }
    case .target, .patch, .object: nil
    }
  }

  /// The members of an object, duplicates included; nil for any other kind.
  func members(of piece: Piece) -> [Member]? {
    switch piece {
    case .object(let members): members
    case .target(let node) where target.kind(of: node) == .object:
      target.keys(of: node).compactMap { key in
        target.value(ofKey: key).map { Member(key: .target(key), value: .target($0)) }
      }
    case .patch(let node) where patch.kind(of: node) == .object:
      patch.keys(of: node).compactMap { key in
        patch.value(ofKey: key).map { Member(key: .patch(key), value: .patch($0)) }
      }
    case .target, .patch, .array: nil
    }
  }

  /// The unescaped bytes of a name.
  func name(of key: Key) -> [UInt8] {
    switch key {
    case .target(let node): target.unescaped(node)
    case .patch(let node): patch.unescaped(node)
    case .name(let name): name
    }
  }

  func isName(of key: Key, _ name: [UInt8]) -> Bool {
    switch key {
    case .target(let node): target.string(node, equals: name.span) ?? false
    case .patch(let node): patch.string(node, equals: name.span) ?? false
    case .name(let other): other == name
    }
  }

  // MARK: Equality

  /// Whether two values are equal as RFC 6902 §4.6 has it: numbers by value, strings by characters, objects without
  /// regard to order.
  mutating func areEqual(_ a: Piece, _ b: Piece) throws(JSONPatchError) -> Bool {
    if let left = elements(of: a) {
      guard let right = elements(of: b), left.count == right.count else { return false }
      try spend(left.count)
      for (left, right) in zip(left, right) where try !areEqual(left, right) { return false }
      return true
    }
    if let left = members(of: a) {
      guard let right = members(of: b) else { return false }
      try spend(left.count + right.count)
      let (named, others) = (byName(left), byName(right))
      guard named.count == others.count else { return false }
      for (name, value) in named {
        guard let other = others[name], try areEqual(value, other) else { return false }
      }
      return true
    }
    guard let (leftTree, left) = source(of: a), let (rightTree, right) = source(of: b) else { return false }
    let kind = leftTree.kind(of: left)
    guard kind == rightTree.kind(of: right) else { return false }
    switch kind {
    case .number: return SignificantDigits(leftTree, left) == SignificantDigits(rightTree, right)
    case .string: return rightTree.withUTF8(of: right) { leftTree.string(left, equals: $0) ?? false } ?? false
    default: return true
    }
  }

  /// Of members with the same name the last counts.
  private func byName(_ members: [Member]) -> [[UInt8]: Piece] {
    Dictionary(members.map { (name(of: $0.key), $0.value) }) { $1 }
  }

  private func source(of piece: Piece) -> (JSONTree, JSONTree.Node)? {
    switch piece {
    case .target(let node): (target, node)
    case .patch(let node): (patch, node)
    case .array, .object: nil
    }
  }

  // MARK: Result

  /// The text of the whole.
  func result() -> [UInt8] {
    var text: [UInt8] = []
    text.reserveCapacity(target.text.bytes.count)
    write(root, to: &text)
    return text
  }

  private func write(_ piece: Piece, to text: inout [UInt8]) {
    switch piece {
    case .target(let node): text += target.text.bytes[target.range(of: node)]
    case .patch(let node): text += patch.text.bytes[patch.range(of: node)]
    case .array(let elements):
      text.append(UInt8(ascii: "["))
      for (index, element) in elements.enumerated() {
        if index > 0 { text.append(UInt8(ascii: ",")) }
        write(element, to: &text)
      }
      text.append(UInt8(ascii: "]"))
    case .object(let members):
      text.append(UInt8(ascii: "{"))
      for (index, member) in members.enumerated() {
        if index > 0 { text.append(UInt8(ascii: ",")) }
        switch member.key {
        case .target(let node): text += target.text.bytes[target.range(of: node)]
        case .patch(let node): text += patch.text.bytes[patch.range(of: node)]
        case .name(let name): text.appendJSON(utf8: name.span)
        }
        text.append(UInt8(ascii: ":"))
        write(member.value, to: &text)
      }
      text.append(UInt8(ascii: "}"))
    }
  }
}

/// A number by its value: the digits without zeros at either end, and the power of ten of the last one.
private struct SignificantDigits: Equatable {
  private var isNegative = false
  private var digits: [UInt8] = []
  private var exponent = 0

  init(_ tree: JSONTree, _ node: JSONTree.Node) {
    var isFraction = false
    var position = tree.range(of: node).lowerBound
    let end = tree.range(of: node).upperBound
    let bytes = tree.text.bytes
    if bytes[position] == UInt8(ascii: "-") {
      isNegative = true
      position += 1
    }
    while position < end, bytes[position] | 0x20 != UInt8(ascii: "e") {
      let byte = bytes[position]
      position += 1
      guard byte != UInt8(ascii: ".") else {
        isFraction = true
        continue
      }
      if isFraction { exponent -= 1 }
      if !digits.isEmpty || byte != UInt8(ascii: "0") { digits.append(byte) }
    }
    while digits.last == UInt8(ascii: "0") {
      digits.removeLast()
      exponent += 1
    }
    if position < end { exponent += Self.exponent(bytes[(position + 1)..<end]) }
    // Zero is zero, whatever its sign and exponent.
    if digits.isEmpty { (isNegative, exponent) = (false, 0) }
  }

  /// The number after `e`, clamped to 10^15: no text has enough digits to compensate for that.
  private static func exponent(_ text: ArraySlice<UInt8>) -> Int {
    var value = 0
    for byte in text where byte >= UInt8(ascii: "0") {
      value = min(value * 10 + Int(byte - UInt8(ascii: "0")), 1_000_000_000_000_000)
    }
    return text.first == UInt8(ascii: "-") ? -value : value
  }
}
