// SPDX-License-Identifier: MIT

/// Percent-encoding (RFC 3986 §2.1) and its form variant (WHATWG URL §5.1), in which `+` is a space.
package enum PercentEncoding {
  /// The byte encoded by the percent sign at an index and the two digits after it; nil when the digits are missing.
  static func byte(at index: Int, in text: ByteView) -> UInt8? {
    guard index + 2 < text.count, let high = ASCII.hexValue(text.byte(at: index + 1)),
      let low = ASCII.hexValue(text.byte(at: index + 2))
    else { return nil }
    return high << 4 | low
  }

  /// Appends the decoded bytes of `text`.
  ///
  /// The result is bytes, not text: it may contain anything.
  ///
  /// - Throws: `HTTPParseError.malformedPercentEncoding` when two digits do not follow a percent sign; `output` then
  ///   contains what was decoded before.
  package static func decode(
    _ text: ByteView, plusIsSpace: Bool = false, into output: inout [UInt8]
  ) throws(HTTPParseError) {
    var index = 0
    while index < text.count {
      let byte = text.byte(at: index)
      if byte == ASCII.percent {
        guard let decoded = Self.byte(at: index, in: text) else { throw .malformedPercentEncoding }
        output.append(decoded)
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

  /// The offset in `path` after `prefix`, if the path begins with it; nil otherwise.
  ///
  /// An unreserved character and its percent-encoding are equivalent (RFC 3986 §6.2.2.2); a reserved one, such as `%2F`,
  /// is not the same as its encoding. Allocates nothing.
  static func end(of prefix: StaticString, in path: ByteView) -> Int? { end(of: ByteView(prefix), in: path) }

  /// The same for a prefix that is not in the source.
  static func end(of prefix: ByteView, in path: ByteView) -> Int? {
    if path.count >= prefix.count, path[0..<prefix.count].equals(prefix) { return prefix.count }
    var index = 0
    for expected in prefix {
      guard index < path.count else { return nil }
      var byte = path.byte(at: index)
      if byte == ASCII.percent {
        // The characters of a registered name are the unreserved ones.
        guard let decoded = Self.byte(at: index, in: path), ByteSet.registeredName.contains(decoded) else { return nil }
        byte = decoded
        index += 2
      }
      guard byte == expected else { return nil }
      index += 1
    }
    return index
  }
}

/// The names and values of `application/x-www-form-urlencoded` text: a query, or a form's body.
///
/// Items are separated by `&`, a name ends at its first `=`, and an empty item is skipped. They are found in place and
/// decoded on access.
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

    /// Whether the decoded name equals this one, byte by byte; false if it cannot be decoded.
    package func isNamed(_ name: String) -> Bool {
      var bytes: [UInt8] = []
      guard (try? PercentEncoding.decode(encodedName, plusIsSpace: true, into: &bytes)) != nil else { return false }
      return bytes.elementsEqual(name.utf8)
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
