// SPDX-License-Identifier: MIT

import JSON

/// A lexical element with its place in the source.
struct Token {
  enum Kind: Equatable {
    case end
    /// A name; also reserved words.
    case name
    /// A name between backquotes, for fields whose names are no identifiers.
    case quotedName
    case int(UInt64)
    case uint(UInt64)
    case double(Double)
    case string([UInt8])
    case bytes([UInt8])
    case symbol(Symbol)
  }

  enum Symbol: String {
    case leftParenthesis = "("
    case rightParenthesis = ")"
    case leftBracket = "["
    case rightBracket = "]"
    case leftBrace = "{"
    case rightBrace = "}"
    case dot = "."
    case comma = ","
    case colon = ":"
    case question = "?"
    case plus = "+"
    case minus = "-"
    case star = "*"
    case slash = "/"
    case percent = "%"
    case not = "!"
    case and = "&&"
    case or = "||"
    case equal = "=="
    case notEqual = "!="
    case less = "<"
    case lessEqual = "<="
    case greater = ">"
    case greaterEqual = ">="
  }

  var kind: Kind
  var start: Int
  var end: Int
}

/// Splits a source into tokens (langdef "Syntax").
///
/// A value: copy it to look ahead.
struct Lexer {
  let source: [UInt8]
  private(set) var position = 0

  init(_ source: [UInt8]) {
    self.source = source
  }

  func error(_ reason: CELError.Reason, _ message: String, at position: Int) -> CELError {
    CELError(reason, message, at: position, in: source)
  }

  /// The byte at an offset from the position; zero past the end.
  func peek(_ offset: Int = 0) -> UInt8 {
    let index = position + offset
    return index < source.count ? source[index] : 0
  }

  mutating func advance(_ count: Int = 1) { position += count }

  /// Reads the next token.
  mutating func next() throws(CELError) -> Token {
    skipSpace()
    let start = position
    guard start < source.count else { return Token(kind: .end, start: start, end: start) }
    let kind = try kind(startingWith: source[start])
    return Token(kind: kind, start: start, end: position)
  }

  private mutating func kind(startingWith byte: UInt8) throws(CELError) -> Token.Kind {
    switch byte | 0x20 {
    // Quotes, with and without the bit; letters that may stand before them.
    case UInt8(ascii: "\"") | 0x20, UInt8(ascii: "'") | 0x20, UInt8(ascii: "r"), UInt8(ascii: "b"):
      if let string = try stringLiteral() { return string }
    default: break
    }
    if Self.isNameStart(byte) {
      repeat { advance() } while Self.isNamePart(peek())
      return .name
    }
    if Self.isDigit(byte) || byte == UInt8(ascii: ".") && Self.isDigit(peek(1)) { return try number() }
    if byte == UInt8(ascii: "`") { return try quotedName() }
    if let symbol = symbol() { return .symbol(symbol) }
    throw unexpectedCharacter()
  }

  private func unexpectedCharacter() -> CELError {
    let rest = String(decoding: source[position...].prefix(4), as: UTF8.self).unicodeScalars
    let character = rest.first.map { $0.value < 0x20 ? "U+00" + String($0.value, radix: 16) : "'\($0)'" } ?? "?"
    let hint =
      switch peek() {
      case UInt8(ascii: "="): "; equality is '=='"
      case UInt8(ascii: "&"): "; and is '&&'"
      case UInt8(ascii: "|"): "; or is '||'"
      default: ""
      }
    return error(.unexpectedCharacter, "unexpected character \(character)\(hint)", at: position)
  }

  private mutating func skipSpace() {
    while position < source.count {
      switch peek() {
      case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r"), 0x0C:
        advance()
      case UInt8(ascii: "/") where peek(1) == UInt8(ascii: "/"):
        // A carriage return alone does not end it.
        while position < source.count, peek() != UInt8(ascii: "\n") { advance() }
      default:
        return
      }
    }
  }

  private mutating func symbol() -> Token.Symbol? {
    let endsWithEqual = peek(1) == UInt8(ascii: "=")
    let symbol: Token.Symbol
    switch peek() {
    case UInt8(ascii: "("): symbol = .leftParenthesis
    case UInt8(ascii: ")"): symbol = .rightParenthesis
    case UInt8(ascii: "["): symbol = .leftBracket
    case UInt8(ascii: "]"): symbol = .rightBracket
    case UInt8(ascii: "{"): symbol = .leftBrace
    case UInt8(ascii: "}"): symbol = .rightBrace
    case UInt8(ascii: "."): symbol = .dot
    case UInt8(ascii: ","): symbol = .comma
    case UInt8(ascii: ":"): symbol = .colon
    case UInt8(ascii: "?"): symbol = .question
    case UInt8(ascii: "+"): symbol = .plus
    case UInt8(ascii: "-"): symbol = .minus
    case UInt8(ascii: "*"): symbol = .star
    case UInt8(ascii: "/"): symbol = .slash
    case UInt8(ascii: "%"): symbol = .percent
    case UInt8(ascii: "&") where peek(1) == UInt8(ascii: "&"): symbol = .and
    case UInt8(ascii: "|") where peek(1) == UInt8(ascii: "|"): symbol = .or
    case UInt8(ascii: "=") where endsWithEqual: symbol = .equal
    case UInt8(ascii: "!"): symbol = endsWithEqual ? .notEqual : .not
    case UInt8(ascii: "<"): symbol = endsWithEqual ? .lessEqual : .less
    case UInt8(ascii: ">"): symbol = endsWithEqual ? .greaterEqual : .greater
    default: return nil
    }
    advance(symbol.rawValue.utf8.count)
    return symbol
  }

  private mutating func quotedName() throws(CELError) -> Token.Kind {
    let start = position
    advance()
    while Self.isNamePart(peek())
      || [UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "/"), UInt8(ascii: " ")].contains(peek())
    {
      advance()
    }
    guard peek() == UInt8(ascii: "`"), position > start + 1 else {
      throw error(
        .unterminatedString,
        "a name in backquotes has letters, digits, '_', '.', '-', '/' and spaces, and ends with '`'",
        at: position)
    }
    advance()
    return .quotedName
  }

  // MARK: - Numbers

  private mutating func number() throws(CELError) -> Token.Kind {
    let start = position
    if peek() == UInt8(ascii: "0"), peek(1) | 0x20 == UInt8(ascii: "x") {
      advance(2)
      let value = try digits(radix: 16, start: start)
      return try integer(value, start: start)
    }
    let value = try digits(radix: 10, start: start)
    var isDouble = false
    if peek() == UInt8(ascii: "."), Self.isDigit(peek(1)) {
      isDouble = true
      advance()
      while Self.isDigit(peek()) { advance() }
    }
    if peek() | 0x20 == UInt8(ascii: "e") {
      isDouble = true
      advance()
      if peek() == UInt8(ascii: "+") || peek() == UInt8(ascii: "-") { advance() }
      guard Self.isDigit(peek()) else {
        throw error(.badNumber, "an exponent needs digits", at: position)
      }
      while Self.isDigit(peek()) { advance() }
    }
    guard isDouble else { return try integer(value, start: start) }
    try endOfNumber()
    let text = String(decoding: source[start..<position], as: UTF8.self)
    guard let double = Double(text.hasPrefix(".") ? "0" + text : text), double.isFinite else {
      throw error(.numberOutOfRange, "the number is beyond the range of double", at: start)
    }
    return .double(double)
  }

  /// Reads digits; nil when their value is beyond 64 bits.
  private mutating func digits(radix: UInt64, start: Int) throws(CELError) -> UInt64? {
    var value: UInt64? = 0
    let first = position
    while let digit = peek().hexDigit, UInt64(digit) < radix {
      if let current = value {
        let (product, overflow) = current.multipliedReportingOverflow(by: radix)
        let (sum, carry) = product.addingReportingOverflow(UInt64(digit))
        value = overflow || carry ? nil : sum
      }
      advance()
    }
    if position == first, peek() != UInt8(ascii: ".") {
      throw error(.badNumber, "a hexadecimal number needs digits", at: position)
    }
    return value
  }

  private mutating func integer(_ value: UInt64?, start: Int) throws(CELError) -> Token.Kind {
    let isUnsigned = peek() | 0x20 == UInt8(ascii: "u")
    if isUnsigned { advance() }
    try endOfNumber()
    guard let value else {
      let type = isUnsigned ? "uint" : "int"
      throw error(.numberOutOfRange, "the number is beyond the range of \(type)", at: start)
    }
    return isUnsigned ? .uint(value) : .int(value)
  }

  private func endOfNumber() throws(CELError) {
    if Self.isNamePart(peek()) {
      throw error(.badNumber, "a letter or digit follows the number", at: position)
    }
  }

  // MARK: - Characters

  static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }

  static func isNameStart(_ byte: UInt8) -> Bool {
    (byte | 0x20) &- UInt8(ascii: "a") < 26 || byte == UInt8(ascii: "_")
  }

  static func isNamePart(_ byte: UInt8) -> Bool { isNameStart(byte) || isDigit(byte) }

  static func isNewline(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") }
}
