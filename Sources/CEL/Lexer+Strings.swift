// SPDX-License-Identifier: MIT

import JSON

/// String and bytes literals (langdef "String and Bytes Values").
extension Lexer {
  /// Reads a literal if one starts here; `r` and `b` stand before the quotes in any order and case.
  mutating func stringLiteral() throws(CELError) -> Token.Kind? {
    var isRaw = false
    var isBytes = false
    var prefix = 0
    while prefix < 2 {
      let letter = peek(prefix) | 0x20
      if letter == UInt8(ascii: "r"), !isRaw {
        isRaw = true
      } else if letter == UInt8(ascii: "b"), !isBytes {
        isBytes = true
      } else {
        break
      }
      prefix += 1
    }
    let quote = peek(prefix)
    guard quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else { return nil }
    let start = position
    advance(prefix)
    let isTriple = peek(1) == quote && peek(2) == quote
    advance(isTriple ? 3 : 1)
    let content = try stringContent(quote: quote, isTriple: isTriple, isRaw: isRaw, isBytes: isBytes, start: start)
    return isBytes ? .bytes(content) : .string(content)
  }

  private mutating func stringContent(
    quote: UInt8, isTriple: Bool, isRaw: Bool, isBytes: Bool, start: Int
  ) throws(CELError) -> [UInt8] {
    var content: [UInt8] = []
    while position < source.count {
      let byte = peek()
      if byte == quote, !isTriple || peek(1) == quote && peek(2) == quote {
        advance(isTriple ? 3 : 1)
        return content
      }
      if Self.isNewline(byte), !isTriple {
        throw error(.unterminatedString, "the string does not end on its line", at: start)
      }
      if byte == UInt8(ascii: "\\"), !isRaw {
        try escape(into: &content, isBytes: isBytes)
      } else {
        // A raw string keeps the backslash; so `r'\'` is not a string of one quote but one without an end.
        content.append(byte)
        advance()
      }
    }
    throw error(.unterminatedString, "the string does not end", at: start)
  }

  private mutating func escape(into content: inout [UInt8], isBytes: Bool) throws(CELError) {
    let start = position
    advance()
    let byte = peek()
    switch byte {
    case UInt8(ascii: "\\"), UInt8(ascii: "?"), UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "`"):
      content.append(byte)
    case UInt8(ascii: "a"): content.append(0x07)
    case UInt8(ascii: "b"): content.append(0x08)
    case UInt8(ascii: "f"): content.append(0x0C)
    case UInt8(ascii: "n"): content.append(0x0A)
    case UInt8(ascii: "r"): content.append(0x0D)
    case UInt8(ascii: "t"): content.append(0x09)
    case UInt8(ascii: "v"): content.append(0x0B)
    case UInt8(ascii: "x"), UInt8(ascii: "X"):
      return try append(codeEscape(1, digits: 2, radix: 16, start), to: &content, isOctet: isBytes, start)
    case UInt8(ascii: "0")...UInt8(ascii: "3"):
      return try append(codeEscape(0, digits: 3, radix: 8, start), to: &content, isOctet: isBytes, start)
    case UInt8(ascii: "u") where !isBytes, UInt8(ascii: "U") where !isBytes:
      let digits = byte == UInt8(ascii: "u") ? 4 : 8
      return try append(codeEscape(1, digits: digits, radix: 16, start), to: &content, isOctet: false, start)
    default:
      throw error(.badEscape, "unknown escape in a string; a backslash itself is written '\\\\'", at: start)
    }
    advance()
  }

  private mutating func codeEscape(_ skip: Int, digits: Int, radix: UInt32, _ start: Int) throws(CELError) -> UInt32 {
    advance(skip)
    var value: UInt32 = 0
    for _ in 0..<digits {
      guard let digit = peek().hexDigit, UInt32(digit) < radix else {
        let kind = radix == 8 ? "octal" : "hexadecimal"
        throw error(.badEscape, "this escape needs \(digits) \(kind) digits", at: start)
      }
      value = value &* radix &+ UInt32(digit)
      advance()
    }
    return value
  }

  private mutating func append(
    _ code: UInt32, to content: inout [UInt8], isOctet: Bool, _ start: Int
  ) throws(CELError) {
    if isOctet {
      content.append(UInt8(truncatingIfNeeded: code))
      return
    }
    guard let scalar = try Unicode.Scalar(joinedWithLowSurrogate(code)) else {
      throw error(.badEscape, "the escape names a code point that does not exist", at: start)
    }
    content.append(contentsOf: UTF8.encode(scalar).map { Array($0) } ?? [])
  }

  /// The scalar of a surrogate pair when the code is its first half and the second follows as `\uXXXX`.
  private mutating func joinedWithLowSurrogate(_ high: UInt32) throws(CELError) -> UInt32 {
    guard high & 0xFFFF_FC00 == 0xD800, peek() == UInt8(ascii: "\\"), peek(1) == UInt8(ascii: "u") else { return high }
    let start = position
    advance()
    let low = try codeEscape(1, digits: 4, radix: 16, start)
    return low & 0xFC00 == 0xDC00 ? 0x1_0000 + (high & 0x3FF) << 10 + low & 0x3FF : high
  }
}
