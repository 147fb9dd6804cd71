// SPDX-License-Identifier: MIT

/// A point in time as RFC 3339 §5.6 writes it: `2026-01-02T03:04:05.678Z`, `2026-01-02T04:04:05+01:00`.
package struct TimeText {
  /// Since 1970-01-01T00:00:00Z; a leap second counts as the second after it.
  package let seconds: Int64
  /// Digits after the ninth are truncated.
  package let nanoseconds: Int
  /// Whether it is the 61st second of its minute.
  package let isLeapSecond: Bool

  /// Reads one; nil when the text is none.
  package init?(_ text: [UInt8]) {
    var reader = TimeTextReader(text)
    guard let year = reader.digits(4), reader.accept("-"), let month = reader.digits(2), reader.accept("-"),
      let day = reader.digits(2), reader.accept("T") || reader.accept("t"), let hour = reader.digits(2),
      reader.accept(":"), let minute = reader.digits(2), reader.accept(":"), let second = reader.digits(2),
      let date = CalendarDay(year: year, month: month, day: day), hour < 24, minute < 60, second <= 60
    else { return nil }
    var nanoseconds = 0
    if reader.accept(".") {
      guard let fraction = reader.fraction() else { return nil }
      nanoseconds = fraction
    }
    guard let offset = reader.zone(), reader.isAtEnd else { return nil }
    seconds = Int64(((date.number * 24 + hour) * 60 + minute) * 60 + second - offset)
    self.nanoseconds = nanoseconds
    isLeapSecond = second == 60
  }
}

/// Reads the parts of times and lengths of time.
package struct TimeTextReader {
  private let text: [UInt8]
  package private(set) var position = 0

  package init(_ text: [UInt8]) { self.text = text }

  package var isAtEnd: Bool { position == text.count }

  /// The next character, if it is a digit; advances past it.
  package mutating func digit() -> Int? {
    guard position < text.count, Validator.isDigit(text[position]) else { return nil }
    position += 1
    return Int(text[position - 1] - UInt8(ascii: "0"))
  }

  package mutating func accept(_ text: StaticString) -> Bool {
    let wanted = Array("\(text)".utf8)
    guard self.text[position...].starts(with: wanted) else { return false }
    position += wanted.count
    return true
  }

  /// A number with exactly this many digits.
  package mutating func digits(_ count: Int) -> Int? {
    var value = 0
    for _ in 0..<count {
      guard let digit = digit() else { return nil }
      value = value * 10 + digit
    }
    return value
  }

  /// The digits after a decimal point as billionths: at least one, those after the ninth dropped.
  package mutating func fraction() -> Int? {
    guard let first = digit() else { return nil }
    var value = first * 100_000_000
    var scale = 10_000_000
    while let digit = digit() {
      value += digit * scale
      scale /= 10
    }
    return value
  }

  /// `Z` or an offset, in seconds east of UTC.
  package mutating func zone() -> Int? {
    if accept("Z") || accept("z") { return 0 }
    let isNegative = accept("-")
    guard isNegative || accept("+") else { return nil }
    guard let hours = digits(2), accept(":"), let minutes = digits(2), hours < 24, minutes < 60 else { return nil }
    return (isNegative ? -1 : 1) * (hours * 3600 + minutes * 60)
  }
}
