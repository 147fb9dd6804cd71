// SPDX-License-Identifier: MIT
import JSON

/// A point in time with the resolution of HTTP, one second (RFC 9110 §5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
///
/// Days are counted in the proleptic Gregorian calendar, without leap seconds, between the years 0 and 9999.
public struct HTTPDate: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// Seconds since 1970-01-01 00:00:00 UTC.
  public let secondsSinceEpoch: Int64

  static let earliest: Int64 = -62_167_219_200
  static let latest: Int64 = 253_402_300_799

  /// The date that many seconds after the beginning of 1970; one without a four-digit year becomes the nearest that has
  /// one.
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
    let (date, second) = CalendarDay.split(secondsSinceEpoch, dayOf: 86_400)
    func two(_ number: Int) {
      output.append(ASCII.zero + UInt8(number / 10))
      output.append(ASCII.zero + UInt8(number % 10))
    }
    output.append(Self.dayNames[date.weekday * 3..<date.weekday * 3 + 3])
    output.append(", ")
    two(date.day)
    output.append(ASCII.space)
    output.append(Self.monthNames[(date.month - 1) * 3..<date.month * 3])
    output.append(ASCII.space)
    two(date.year / 100)
    two(date.year % 100)
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
}
