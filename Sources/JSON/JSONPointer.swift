// SPDX-License-Identifier: MIT

/// The address of a value inside a JSON text: RFC 6901.
public struct JSONPointer: Sendable, Hashable {
  /// Why a string is not a pointer.
  public enum ParseError: Error, Equatable, Sendable {
    /// A pointer is empty or starts with `/` (RFC 6901 §3).
    case missingSlash
    /// A `~` at this byte offset is followed by neither `0` nor `1` (RFC 6901 §3).
    case badEscape(offset: Int)
  }

  /// The unescaped UTF-8 bytes of all tokens, one after the other.
  private var bytes: [UInt8] = []
  /// Where each token ends in `bytes`.
  private var ends: [Int] = []

  /// Parses the string form: `` is the whole value, `/a~1b/0` element 0 of the member `a/b`.
  public init(_ source: String) throws(ParseError) {
    try self.init(utf8: source.utf8.span)
  }

  /// Parses the string form from UTF-8 bytes.
  public init(utf8 source: Span<UInt8>) throws(ParseError) {
    guard source.count > 0 else { return }
    guard source[0] == UInt8(ascii: "/") else { throw .missingSlash }
    bytes.reserveCapacity(source.count - 1)
    var position = 1
    while position < source.count {
      let byte = source[position]
      if byte == UInt8(ascii: "/") {
        ends.append(bytes.count)
      } else if byte == UInt8(ascii: "~") {
        let escaped = position + 1 < source.count ? source[position + 1] : 0
        guard escaped == UInt8(ascii: "0") || escaped == UInt8(ascii: "1") else {
          throw .badEscape(offset: position)
        }
        bytes.append(escaped == UInt8(ascii: "0") ? UInt8(ascii: "~") : UInt8(ascii: "/"))
        position += 1
      } else {
        bytes.append(byte)
      }
      position += 1
    }
    ends.append(bytes.count)
  }

  /// The number of steps from the root; 0 addresses the whole value.
  public var count: Int { ends.count }

  /// The unescaped UTF-8 bytes of one step.
  public subscript(position: Int) -> ArraySlice<UInt8> {
    bytes[(position == 0 ? 0 : ends[position - 1])..<ends[position]]
  }

  /// The pointer to what holds the value: one step shorter; nil for the whole value.
  public var parent: JSONPointer? {
    guard !ends.isEmpty else { return nil }
    var parent = self
    parent.ends.removeLast()
    parent.bytes.removeSubrange((parent.ends.last ?? 0)...)
    return parent
  }

  /// An array index as RFC 6901 §4 writes it: digits without a leading zero; nil for anything else, `-` too.
  package static func arrayIndex(_ step: Span<UInt8>) -> Int? {
    // Ten digits are more than any array here has.
    guard step.count > 0, step.count <= 10, step.count == 1 || step[0] != UInt8(ascii: "0") else { return nil }
    var index = 0
    for position in 0..<step.count {
      guard Validator.isDigit(step[position]) else { return nil }
      index = index * 10 + Int(step[position] - UInt8(ascii: "0"))
    }
    return index
  }
}

extension JSONPointer: CustomStringConvertible {
  /// The string form, escaped.
  public var description: String {
    var result: [UInt8] = []
    for position in 0..<count {
      result.append(UInt8(ascii: "/"))
      for byte in self[position] {
        switch byte {
        case UInt8(ascii: "~"): result.append(literal: "~0")
        case UInt8(ascii: "/"): result.append(literal: "~1")
        default: result.append(byte)
        }
      }
    }
    return String(decoding: result, as: UTF8.self)
  }
}

extension JSONPointer.ParseError: CustomStringConvertible {
  /// A sentence for a client.
  public var description: String {
    switch self {
    case .missingSlash: "a JSON Pointer is empty or starts with \"/\" (RFC 6901 §3)"
    case .badEscape(let offset): "\"~\" is not followed by 0 or 1 at byte \(offset) (RFC 6901 §3)"
    }
  }
}

extension JSONTree {
  /// The value that a pointer addresses (RFC 6901 §4); nil when there is none.
  ///
  /// Of members with the same name the last counts; `-`, the element after the last of an array, is never there.
  public func node(at pointer: JSONPointer) -> Node? {
    var node = Node.root
    for position in 0..<pointer.count {
      let step = pointer[position]
      let next: Node? =
        switch kind(of: node) {
        case .object: member(step.span, of: node)
        case .array: JSONPointer.arrayIndex(step.span).flatMap { element($0, of: node) }
        default: nil
        }
      guard let next else { return nil }
      node = next
    }
    return node
  }
}
