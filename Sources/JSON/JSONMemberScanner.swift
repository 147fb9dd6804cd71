// SPDX-License-Identifier: MIT

/// Steps over the members of one object in its source, without validating what it steps over first and without
/// building anything: for the few objects of a protocol that are read millions of times.
///
/// It accepts a subset of JSON: names and strings without escapes, and numbers that are plain integers. Whatever
/// is beyond that, or no JSON at all, is answered with nil, and the caller turns to ``JSONText`` and ``JSONTree``,
/// which also say what is wrong.
///
/// ```
/// var members = JSONMemberScanner(source)
/// while let name = members.next(in: source) { … one of integer, string, value … }
/// guard members.isAtEnd else { … something else … }
/// ```
package struct JSONMemberScanner {
  private enum State { case start, value, afterValue, end, failed }

  private var position = 0
  private var state = State.start

  /// At the beginning of a source.
  package init() {}

  /// Whether the object has ended, and only white space follows it.
  package var isAtEnd: Bool { state == .end }

  /// The range of the next member's name; nil after the last one, and where something else is found.
  package mutating func next(in source: Span<UInt8>) -> Range<Int>? {
    position = source.skipWhiteSpace(from: position)
    let isFirst = state == .start
    guard isFirst || state == .afterValue, position < source.count else { return fail() }
    if !isFirst, source.byte(at: position) == UInt8(ascii: "}") { return end(source) }
    guard source.byte(at: position) == (isFirst ? UInt8(ascii: "{") : UInt8(ascii: ",")) else { return fail() }
    position = source.skipWhiteSpace(from: position + 1)
    guard let name = plainString(source) else { return fail() }
    position = source.skipWhiteSpace(from: position)
    guard position < source.count, source.byte(at: position) == UInt8(ascii: ":") else { return fail() }
    position = source.skipWhiteSpace(from: position + 1)
    state = .value
    return name
  }

  /// The integer that is the member's value, from 0 to 2^53-1; nil when it is anything else.
  package mutating func integer(in source: Span<UInt8>) -> Int? {
    guard state == .value else { return nil }
    let start = position
    var value = 0
    while position < source.count, Validator.isDigit(source.byte(at: position)), position - start < 16 {
      value = value * 10 + Int(source.byte(at: position) - UInt8(ascii: "0"))
      position += 1
    }
    let length = position - start
    guard length > 0, value < 1 << 53, length == 1 || source.byte(at: start) != UInt8(ascii: "0"), isBehindValue(source)
    else { return fail() }
    state = .afterValue
    return value
  }

  /// The range of the content of the string that is the member's value; nil when it is anything else, or has escapes.
  ///
  /// That it is UTF-8 has been checked.
  package mutating func string(in source: Span<UInt8>) -> Range<Int>? {
    guard state == .value, let content = plainString(source) else { return fail() }
    state = .afterValue
    return content
  }

  /// The member's value, whatever it is; nil when it is not valid, or beyond the limits.
  package mutating func value(in source: Span<UInt8>, limits: JSONLimits) -> JSONText? {
    guard state == .value, let (value, end) = JSONText.prefix(of: source, from: position, limits) else {
      return fail()
    }
    position = end
    state = .afterValue
    return value
  }

  /// Passes over the member's value, whatever it is, also where it is not valid or beyond all limits.
  package mutating func skip(in source: Span<UInt8>) {
    guard state == .value else { return }
    var depth = 0
    while position < source.count {
      switch source.byte(at: position) {
      case UInt8(ascii: "\""):
        guard let end = try? Validator.string(source, from: position + 1) else { return state = .failed }
        position = end
        continue
      case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
      case UInt8(ascii: "}") where depth == 0, UInt8(ascii: ",") where depth == 0: return state = .afterValue
      case UInt8(ascii: "}"), UInt8(ascii: "]"): depth = max(0, depth - 1)
      default: break
      }
      position += 1
    }
    state = .failed
  }

  /// A string without escapes at the position, which advances past it.
  private mutating func plainString(_ source: Span<UInt8>) -> Range<Int>? {
    guard position < source.count, source.byte(at: position) == UInt8(ascii: "\"") else { return nil }
    let start = position + 1
    guard let end = try? Validator.string(source, from: start) else { return nil }
    // A backslash is a byte of its own in UTF-8, so that it can be looked for among whatever else there is.
    var index = start
    while index < end - 1 {
      if source.byte(at: index) == UInt8(ascii: "\\") { return nil }
      index += 1
    }
    position = end
    return start..<end - 1
  }

  /// Whether what follows can follow a value: only that distinguishes an integer from a number with a fraction.
  private func isBehindValue(_ source: Span<UInt8>) -> Bool {
    guard position < source.count else { return false }
    let byte = source.byte(at: position)
    return byte == UInt8(ascii: ",") || byte == UInt8(ascii: "}") || Validator.isWhiteSpace(byte)
  }

  private mutating func end(_ source: Span<UInt8>) -> Range<Int>? {
    state = source.skipWhiteSpace(from: position + 1) == source.count ? .end : .failed
    return nil
  }

  private mutating func fail<Result>() -> Result? {
    state = .failed
    return nil
  }
}
