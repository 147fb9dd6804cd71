// SPDX-License-Identifier: MIT

extension Validator {
  /// The offset after the closing quote of a string whose content starts at `start` (RFC 8259 §7, RFC 3629 §4).
  static func string(_ source: Span<UInt8>, from start: Int) throws(JSONError) -> Int {
    var position = start
    while true {
      while position + 8 <= source.count {
        let marks = SWAR.stringSpecials(source.word(at: position))
        if marks != 0 {
          position += SWAR.firstIndex(marks)
          break
        }
        position += 8
      }
      guard position < source.count else { throw JSONError(.unexpectedEnd, at: position) }
      let byte = source.byte(at: position)
      if byte == UInt8(ascii: "\"") { return position + 1 }
      if byte >= 0x80 {
        position = try scalars(source, from: position)
      } else if byte == UInt8(ascii: "\\") {
        position = try escape(source, from: position)
      } else if byte < 0x20 {
        throw JSONError(.controlInString, at: position)
      } else {
        // A plain byte among the last seven of the source.
        position += 1
      }
    }
  }

  /// The offset after a run of well-formed UTF-8 sequences of two to four bytes; the first byte is above 0x7F.
  ///
  /// The four bytes are tested together: the fixed bits of lead and continuation bytes, then the bits that must not
  /// all be zero (overlong forms), then the two forbidden ranges (surrogates, beyond U+10FFFF).
  private static func scalars(_ source: Span<UInt8>, from start: Int) throws(JSONError) -> Int {
    var position = start
    while true {
      let four = source.halfWord(at: position)
      if four & 0x80 == 0 { return position }
      if four & 0xC0E0 == 0x80C0 {
        guard four & 0x1E != 0 else { throw JSONError(.badUTF8, at: position) }
        position += 2
      } else if four & 0xC0_C0F0 == 0x80_80E0 {
        let high = four & 0x200F
        guard high != 0, high != 0x200D else { throw JSONError(.badUTF8, at: position) }
        position += 3
      } else if four & 0xC0C0_C0F8 == 0x8080_80F0 {
        let high = four & 0x3007
        guard high != 0, high & 4 == 0 || high & 0x3003 == 0 else { throw JSONError(.badUTF8, at: position) }
        position += 4
      } else {
        throw JSONError(.badUTF8, at: position)
      }
    }
  }

  /// The offset after an escape whose backslash is at `start`.
  ///
  /// Surrogates need not be paired: RFC 8259 §8.2 leaves them to the reader, and ``JSONTree`` reads a lone one as
  /// U+FFFD.
  private static func escape(_ source: Span<UInt8>, from start: Int) throws(JSONError) -> Int {
    guard start + 1 < source.count else { throw JSONError(.unexpectedEnd, at: start + 1) }
    switch source.byte(at: start + 1) {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
      UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
      return start + 2
    case UInt8(ascii: "u"):
      for index in start + 2..<start + 6 {
        guard index < source.count else { throw JSONError(.unexpectedEnd, at: index) }
        guard source.byte(at: index).hexDigit != nil else { throw JSONError(.badEscape, at: index) }
      }
      return start + 6
    default:
      throw JSONError(.badEscape, at: start + 1)
    }
  }
}

extension UInt8 {
  /// The value of a hexadecimal digit in either case; nil for any other byte.
  @inline(__always)
  package var hexDigit: UInt8? {
    let decimal = self &- UInt8(ascii: "0")
    if decimal < 10 { return decimal }
    let letter = (self | 0x20) &- UInt8(ascii: "a")
    return letter < 6 ? letter + 10 : nil
  }
}
