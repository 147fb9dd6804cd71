// SPDX-License-Identifier: MIT

extension Timestamp {
  /// Reads a time as RFC 3339 §5.6 writes it, such as `2026-01-02T03:04:05.678Z` or `2026-01-02T04:04:05+01:00`; nil
  /// when the text is none.
  ///
  /// What is finer than a millisecond is cut off. A leap second counts as the second after it.
  public init?(_ text: String) {
    var reader = Reader(bytes: Array(text.utf8))
    guard let year = reader.number(4), reader.take("-"), let month = reader.number(2), reader.take("-"),
      let day = reader.number(2), reader.take("T") || reader.take("t"), let hour = reader.number(2), reader.take(":"),
      let minute = reader.number(2), reader.take(":"), let second = reader.number(2)
    else { return nil }
    var milliseconds = 0
    if reader.take(".") {
      guard let fraction = reader.milliseconds() else { return nil }
      milliseconds = fraction
    }
    var offset = 0
    if !reader.take("Z"), !reader.take("z") {
      let isWest = reader.take("-")
      guard isWest || reader.take("+"), let hours = reader.number(2), reader.take(":"), let minutes = reader.number(2),
        hours < 24, minutes < 60
      else { return nil }
      offset = (hours * 60 + minutes) * (isWest ? -60_000 : 60_000)
    }
    guard reader.isAtEnd, 1...12 ~= month, 1...Self.days(ofMonth: month, year) ~= day, hour < 24, minute < 60,
      second <= 60
    else { return nil }
    let days = Self.day(year: year, month: month, day: day)
    let seconds = ((days * 24 + hour) * 60 + minute) * 60 + second
    self.init(milliseconds: Int64(seconds * 1000 + milliseconds - offset))
  }

  private static func days(ofMonth month: Int, _ year: Int) -> Int {
    if month == 2 { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28 }
    return [4, 6, 9, 11].contains(month) ? 30 : 31
  }

  /// The number of a day, counted from 1970-01-01, in the Gregorian calendar.
  ///
  /// The algorithm is `days_from_civil` of "chrono-compatible low-level date algorithms".
  private static func day(year: Int, month: Int, day: Int) -> Int {
    let shifted = month <= 2 ? year - 1 : year
    let era = (shifted >= 0 ? shifted : shifted - 399) / 400
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  private struct Reader {
    let bytes: [UInt8]
    var position = 0

    var isAtEnd: Bool { position == bytes.count }

    mutating func take(_ character: Unicode.Scalar) -> Bool {
      guard position < bytes.count, bytes[position] == UInt8(ascii: character) else { return false }
      position += 1
      return true
    }

    private mutating func digit() -> Int? {
      guard position < bytes.count, UInt8(ascii: "0")...UInt8(ascii: "9") ~= bytes[position] else { return nil }
      position += 1
      return Int(bytes[position - 1] - UInt8(ascii: "0"))
    }

    /// Exactly so many digits.
    mutating func number(_ count: Int) -> Int? {
      var value = 0
      for _ in 0..<count {
        guard let digit = digit() else { return nil }
        value = value * 10 + digit
      }
      return value
    }

    /// At least one digit behind the point.
    mutating func milliseconds() -> Int? {
      guard var value = digit() else { return nil }
      var digits = 1
      while let next = digit() {
        if digits < 3 {
          value = value * 10 + next
          digits += 1
        }
      }
      while digits < 3 {
        value *= 10
        digits += 1
      }
      return value
    }
  }
}
