// SPDX-License-Identifier: MIT

/// A point in time as HTTP tells it, to the second (RFC 9110 §5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
///
/// Days are counted in the proleptic Gregorian calendar, without leap seconds, between the years 0 and 9999.
public struct HTTPDate: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// Seconds since 1970-01-01 00:00:00 UTC.
  public let secondsSinceEpoch: Int64

  static let earliest: Int64 = -62_167_219_200
  static let latest: Int64 = 253_402_300_799

  /// The date so many seconds after the beginning of 1970; one that has no four-digit year becomes the nearest that
  /// has.
  public init(secondsSinceEpoch: Int64) {
    self.secondsSinceEpoch = min(max(secondsSinceEpoch, Self.earliest), Self.latest)
  }

  /// Whether one date is before another.
  public static func < (left: HTTPDate, right: HTTPDate) -> Bool { left.secondsSinceEpoch < right.secondsSinceEpoch }

  /// The date in the one form that is sent, 29 characters: `Sun, 06 Nov 1994 08:49:37 GMT`.
  public var description: String {
    var text: [UInt8] = []
    append(to: &text)
    return String(decoding: text, as: UTF8.self)
  }

  /// Appends the 29 bytes of the form that is sent (IMF-fixdate).
  package func append(to output: inout [UInt8]) {
    let days = secondsSinceEpoch >= 0 ? secondsSinceEpoch / 86_400 : (secondsSinceEpoch - 86_399) / 86_400
    let second = Int(secondsSinceEpoch - days * 86_400)
    let (year, month, day) = Self.civil(days: Int(days))
    func two(_ number: Int) {
      output.append(ASCII.zero + UInt8(number / 10))
      output.append(ASCII.zero + UInt8(number % 10))
    }
    // 1970-01-01 was a Thursday, the fourth day after Sunday.
    let weekday = (Int(days) % 7 + 11) % 7
    output.append(Self.dayNames[weekday * 3..<weekday * 3 + 3])
    output.append(", ")
    two(day)
    output.append(ASCII.space)
    output.append(Self.monthNames[(month - 1) * 3..<month * 3])
    output.append(ASCII.space)
    two(year / 100)
    two(year % 100)
    output.append(ASCII.space)
    two(second / 3600)
    output.append(ASCII.colon)
    two(second / 60 % 60)
    output.append(ASCII.colon)
    two(second % 60)
    output.append(" GMT")
  }

  static var dayNames: ByteView { ByteView("SunMonTueWedThuFriSat") }
  static var monthNames: ByteView { ByteView("JanFebMarAprMayJunJulAugSepOctNovDec") }

  // Days ↔ date, after Howard Hinnant's "chrono-compatible low-level date algorithms": years begin in March, so that
  // the leap day is the last of its year, and 400 of them ("an era") are always 146 097 days.

  static func civil(days: Int) -> (year: Int, month: Int, day: Int) {
    let shifted = days + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
    let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
  }

  static func days(year: Int, month: Int, day: Int) -> Int {
    let shiftedYear = month <= 2 ? year - 1 : year
    let era = (shiftedYear >= 0 ? shiftedYear : shiftedYear - 399) / 400
    let yearOfEra = shiftedYear - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * 146_097 + dayOfEra - 719_468
  }
}
