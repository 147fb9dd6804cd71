// SPDX-License-Identifier: MIT

/// The RFC 8259 grammar over bytes: one pass, no recursion, no allocation up to 64 levels of nesting.
///
/// ```
///            ┌────────────── , ──────────────┐
///            ▼                               │
///   ──▶ [key :] value ──▶ scalar ──▶ after a value ──▶ end of text at depth 0
///            ▲              │                ▲ │
///            └── [ { ───────┘                └─┘ ] }
/// ```
enum Validator {
  /// Checks a whole source, reports the white space in it, and returns where the value ends.
  static func validate(
    _ source: Span<UInt8>, depthLimit: Int, digitLimit: Int, _ compactor: inout Compactor
  ) throws(JSONError) -> Int {
    let start = try skipWhiteSpace(source, from: 0, &compactor)
    let position = try validateValue(
      source, from: start, depthLimit: depthLimit, digitLimit: digitLimit, &compactor)
    let end = source.skipWhiteSpace(from: position)
    guard end == source.count else { throw JSONError(.trailingBytes, at: end) }
    return position
  }

  /// Checks the value that begins at an offset inside a source, reports the white space in it, and returns where it
  /// ends.
  static func validateValue(
    _ source: Span<UInt8>, from start: Int, depthLimit: Int, digitLimit: Int, _ compactor: inout Compactor
  ) throws(JSONError) -> Int {
    var nesting = Nesting()
    var position = start

    values: while true {
      // `position` is inside the source and is the first byte of a value.
      let first = source.byte(at: position)
      switch first {
      case UInt8(ascii: "\""):
        position = try string(source, from: position + 1)
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
        let end = try number(source, from: position)
        // Digits are counted only where there are enough bytes for too many.
        if end - position > digitLimit { try checkDigits(source, position..<end, digitLimit) }
        position = end
      case UInt8(ascii: "{"):
        guard nesting.depth < depthLimit else { throw JSONError(.tooDeep, at: position) }
        position = try skipWhiteSpace(source, from: position + 1, &compactor)
        if source.byte(at: position) == UInt8(ascii: "}") {
          position += 1
        } else {
          nesting.push(isObject: true)
          position = try key(source, from: position, &compactor)
          continue values
        }
      case UInt8(ascii: "["):
        guard nesting.depth < depthLimit else { throw JSONError(.tooDeep, at: position) }
        position = try skipWhiteSpace(source, from: position + 1, &compactor)
        if source.byte(at: position) == UInt8(ascii: "]") {
          position += 1
        } else {
          nesting.push(isObject: false)
          continue values
        }
      case UInt8(ascii: "t"):
        position = try literal(source, from: position, 0x6575_7274)
      case UInt8(ascii: "n"):
        position = try literal(source, from: position, 0x6C6C_756E)
      case UInt8(ascii: "f"):
        // "alse": the first letter is known.
        position = try literal(source, from: position + 1, 0x6573_6C61)
      default:
        throw JSONError(.unexpectedByte, at: position)
      }

      // After a value: close what ends here, then go on to the next value, or stop.
      while nesting.depth > 0 {
        position = try skipWhiteSpace(source, from: position, &compactor)
        let next = source.byte(at: position)
        if next == UInt8(ascii: ",") {
          position = try skipWhiteSpace(source, from: position + 1, &compactor)
          if nesting.isObject { position = try key(source, from: position, &compactor) }
          continue values
        }
        guard next == (nesting.isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else {
          throw JSONError(.unexpectedByte, at: position)
        }
        nesting.pop()
        position += 1
      }
      return position
    }
  }

  /// The offset of the next byte that is not white space; refuses the end of the source.
  @inline(__always)
  private static func skipWhiteSpace(
    _ source: Span<UInt8>, from start: Int, _ compactor: inout Compactor
  ) throws(JSONError) -> Int {
    if start < source.count, source.byte(at: start) > 0x20 { return start }
    return try compactor.skipGap(source, from: start)
  }

  /// The four bytes of RFC 8259 §2: space, tab, line feed, carriage return.
  @inline(__always)
  static func isWhiteSpace(_ byte: UInt8) -> Bool {
    byte <= 0x20 && (1 << UInt64(byte)) & (0x1_0000_2600 as UInt64) != 0
  }

  /// A member's name and its colon, up to the first byte of the value.
  @inline(__always)
  private static func key(
    _ source: Span<UInt8>, from start: Int, _ compactor: inout Compactor
  ) throws(JSONError) -> Int {
    guard source.byte(at: start) == UInt8(ascii: "\"") else { throw JSONError(.unexpectedByte, at: start) }
    var position = try string(source, from: start + 1)
    position = try skipWhiteSpace(source, from: position, &compactor)
    guard source.byte(at: position) == UInt8(ascii: ":") else { throw JSONError(.unexpectedByte, at: position) }
    return try skipWhiteSpace(source, from: position + 1, &compactor)
  }

  @inline(__always)
  private static func literal(
    _ source: Span<UInt8>, from start: Int, _ expected: UInt32
  ) throws(JSONError) -> Int {
    guard source.halfWord(at: start) == expected else { throw badLiteral(source, from: start, expected) }
    return start + 4
  }

  @inline(never)
  private static func badLiteral(_ source: Span<UInt8>, from start: Int, _ expected: UInt32) -> JSONError {
    var position = start
    var rest = expected
    while position < source.count, source.byte(at: position) == UInt8(truncatingIfNeeded: rest) {
      position += 1
      rest >>= 8
    }
    return JSONError(position == source.count ? .unexpectedEnd : .badLiteral, at: position)
  }

  /// The offset after a number that starts at `start`, with a digit or a minus sign (RFC 8259 §6).
  @inline(__always)
  private static func number(_ source: Span<UInt8>, from start: Int) throws(JSONError) -> Int {
    var position = start
    if source.byte(at: position) == UInt8(ascii: "-") {
      position += 1
      guard position < source.count else { throw JSONError(.unexpectedEnd, at: position) }
    }
    let lead = source.byte(at: position)
    guard isDigit(lead) else { throw JSONError(.badNumber, at: position) }
    position += 1
    if lead == UInt8(ascii: "0") {
      if position < source.count, isDigit(source.byte(at: position)) { throw JSONError(.badNumber, at: position) }
    } else {
      position = skipDigits(source, from: position)
    }
    guard position < source.count else { return position }
    if source.byte(at: position) == UInt8(ascii: ".") {
      position = try digits(source, from: position + 1)
      guard position < source.count else { return position }
    }
    if source.byte(at: position) | 0x20 == UInt8(ascii: "e") {
      position += 1
      if position < source.count, case let sign = source.byte(at: position),
        sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-")
      {
        position += 1
      }
      position = try digits(source, from: position)
    }
    return position
  }

  /// Refuses a number with more digits than the limit, at the first that is too many.
  @inline(never)
  private static func checkDigits(
    _ source: Span<UInt8>, _ number: Range<Int>, _ limit: Int
  ) throws(JSONError) {
    var count = 0
    for position in number where isDigit(source.byte(at: position)) {
      count += 1
      if count > limit { throw JSONError(.tooManyDigits, at: position) }
    }
  }

  /// One digit or more.
  @inline(__always)
  private static func digits(_ source: Span<UInt8>, from start: Int) throws(JSONError) -> Int {
    guard start < source.count else { throw JSONError(.unexpectedEnd, at: start) }
    guard isDigit(source.byte(at: start)) else { throw JSONError(.badNumber, at: start) }
    return skipDigits(source, from: start + 1)
  }

  @inline(__always)
  private static func skipDigits(_ source: Span<UInt8>, from start: Int) -> Int {
    var position = start
    while position < source.count, isDigit(source.byte(at: position)) { position += 1 }
    return position
  }

  @inline(__always)
  static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }
}

/// Which containers are open, one bit each: 64 levels in a register, the rest spilled.
private struct Nesting {
  private(set) var depth = 0
  private var levels: UInt64 = 0
  private var spilled: [UInt64] = []

  /// Whether the innermost open container is an object; meaningless at depth 0.
  @inline(__always)
  var isObject: Bool { levels & 1 != 0 }

  @inline(__always)
  mutating func push(isObject: Bool) {
    if depth & 63 == 0, depth > 0 { spilled.append(levels) }
    levels = levels << 1 | (isObject ? 1 : 0)
    depth += 1
  }

  @inline(__always)
  mutating func pop() {
    depth -= 1
    if depth & 63 == 0, let outer = spilled.popLast() { levels = outer } else { levels >>= 1 }
  }
}
