// SPDX-License-Identifier: MIT

/// Percent-encoding (RFC 3986 §2.1) and its form variant (WHATWG URL §5.1), in which `+` is a space.
package enum PercentEncoding {
  /// Appends the decoded bytes of `text`.
  ///
  /// The result is bytes, not text: it may hold anything.
  ///
  /// - Throws: `HTTPParseError.malformedPercentEncoding` when two digits do not follow a percent sign; `output` then
  ///   holds what came before.
  package static func decode(
    _ text: ByteView, plusIsSpace: Bool = false, into output: inout [UInt8]
  ) throws(HTTPParseError) {
    var index = 0
    while index < text.count {
      let byte = text.byte(at: index)
      if byte == ASCII.percent {
        guard index + 2 < text.count, let high = ASCII.hexValue(text.byte(at: index + 1)),
          let low = ASCII.hexValue(text.byte(at: index + 2))
        else { throw .malformedPercentEncoding }
        output.append(high << 4 | low)
        index += 3
      } else {
        output.append(byte == ASCII.plus && plusIsSpace ? ASCII.space : byte)
        index += 1
      }
    }
  }

  /// The decoded text.
  ///
  /// - Throws: `HTTPParseError.malformedPercentEncoding`, or `.malformedUTF8` when the decoded bytes are not UTF-8.
  package static func string(_ text: ByteView, plusIsSpace: Bool = false) throws(HTTPParseError) -> String {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count)
    try decode(text, plusIsSpace: plusIsSpace, into: &bytes)
    guard let string = String(validating: bytes, as: UTF8.self) else { throw .malformedUTF8 }
    return string
  }

  /// Where `prefix` ends in `path`, if the path begins with it; nil otherwise.
  ///
  /// An unreserved character and its percent-encoding are equivalent (RFC 3986 §6.2.2.2); a reserved one, such as `%2F`,
  /// is not the same as its encoding. Allocates nothing.
  static func end(of prefix: StaticString, in path: ByteView) -> Int? {
    let prefix = ByteView(prefix)
    if path.count >= prefix.count, path[0..<prefix.count].equals(prefix) { return prefix.count }
    var index = 0
    for expected in prefix {
      guard index < path.count else { return nil }
      var byte = path.byte(at: index)
      index += 1
      if byte == ASCII.percent {
        guard index + 1 < path.count, let high = ASCII.hexValue(path.byte(at: index)),
          let low = ASCII.hexValue(path.byte(at: index + 1))
        else { return nil }
        byte = high << 4 | low
        // The characters of a registered name are the unreserved ones.
        guard ByteSet.registeredName.contains(byte) else { return nil }
        index += 2
      }
      guard byte == expected else { return nil }
    }
    return index
  }

  /// Whether `text` decodes to exactly these bytes; false if it cannot be decoded.
  ///
  /// Allocates nothing.
  static func matches(_ text: ByteView, _ expected: ByteView) -> Bool {
    var index = 0
    var place = 0
    while index < text.count {
      var byte = text.byte(at: index)
      index += 1
      if byte == ASCII.percent {
        guard index + 1 < text.count, let high = ASCII.hexValue(text.byte(at: index)),
          let low = ASCII.hexValue(text.byte(at: index + 1))
        else { return false }
        byte = high << 4 | low
        index += 2
      } else if byte == ASCII.plus {
        byte = ASCII.space
      }
      guard place < expected.count, expected.byte(at: place) == byte else { return false }
      place += 1
    }
    return place == expected.count
  }
}

/// The names and values of `application/x-www-form-urlencoded` text: a query, or a form's body.
///
/// Items are separated by `&`, a name ends at its first `=`, and an empty item is none. They are found in place and
/// decoded when asked for.
package struct FormItems: Sequence, IteratorProtocol {
  /// One item, as it came.
  package struct Item {
    package let encodedName: ByteView
    package let encodedValue: ByteView

    /// The decoded name.
    ///
    /// - Throws: `HTTPParseError.malformedPercentEncoding` or `.malformedUTF8`.
    package var name: String {
      get throws(HTTPParseError) { try PercentEncoding.string(encodedName, plusIsSpace: true) }
    }

    /// The decoded value.
    ///
    /// - Throws: `HTTPParseError.malformedPercentEncoding` or `.malformedUTF8`.
    package var value: String {
      get throws(HTTPParseError) { try PercentEncoding.string(encodedValue, plusIsSpace: true) }
    }

    /// Whether the decoded name is this one, byte by byte.
    package func isNamed(_ name: String) -> Bool {
      Array(name.utf8).withView { PercentEncoding.matches(encodedName, $0) }
    }
  }

  private let text: ByteView
  private var index = 0

  package init(_ text: ByteView) { self.text = text }

  package mutating func next() -> Item? {
    while index < text.count {
      let start = index
      var equals: Int?
      while index < text.count, text.byte(at: index) != ASCII.ampersand {
        if equals == nil, text.byte(at: index) == ASCII.equals { equals = index }
        index += 1
      }
      let end = index
      index += 1
      guard end > start else { continue }
      let nameEnd = equals ?? end
      return Item(encodedName: text[start..<nameEnd], encodedValue: text[Swift.min(nameEnd + 1, end)..<end])
    }
    return nil
  }
}
