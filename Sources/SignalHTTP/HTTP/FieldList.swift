// SPDX-License-Identifier: MIT

/// The elements of a field value that is a list (RFC 9110 §5.6.1), without the commas and white space between them.
///
/// Empty elements are skipped. A comma inside a quoted string (RFC 9110 §5.6.4) is not a separator.
package struct FieldList: Sequence, IteratorProtocol {
  private let value: ByteView
  private var index = 0

  package init(_ value: ByteView) { self.value = value }

  package mutating func next() -> ByteView? {
    while index < value.count {
      let start = index
      var isQuoted = false
      while index < value.count {
        let byte = value.byte(at: index)
        if byte == ASCII.quote {
          isQuoted.toggle()
        } else if byte == ASCII.backslash, isQuoted {
          index += 1
        } else if byte == ASCII.comma, !isQuoted {
          break
        }
        index += 1
      }
      let end = Swift.min(index, value.count)
      index = end + 1
      let element = value[start..<end].trimmed
      if element.count > 0 { return element }
    }
    return nil
  }
}

/// A quoted string (RFC 9110 §5.6.4).
enum QuotedString {
  /// The offset after the closing quote of the string that begins at `start`; nil if it is not terminated, or contains
  /// a byte that is not allowed in one.
  static func end(in value: ByteView, from start: Int) -> Int? {
    guard start < value.count, value.byte(at: start) == ASCII.quote else { return nil }
    var index = start + 1
    while index < value.count {
      switch value.byte(at: index) {
      case ASCII.quote: return index + 1
      case ASCII.backslash:
        index += 1
        guard index < value.count, isText(value.byte(at: index)) else { return nil }
      case let byte: guard isText(byte) else { return nil }
      }
      index += 1
    }
    return nil
  }

  /// The content of the string, with quoted pairs resolved; `value` is the whole string with its quotes.
  static func content(of value: ByteView) -> [UInt8] {
    var content: [UInt8] = []
    content.reserveCapacity(value.count)
    var index = 1
    while index < value.count - 1 {
      if value.byte(at: index) == ASCII.backslash { index += 1 }
      content.append(value.byte(at: index))
      index += 1
    }
    return content
  }

  /// Whether a byte is allowed between the quotes: tab, space, visible ASCII, or beyond ASCII.
  @inline(__always)
  static func isText(_ byte: UInt8) -> Bool { byte == ASCII.tab || (byte >= 0x20 && byte != 0x7F) }
}
