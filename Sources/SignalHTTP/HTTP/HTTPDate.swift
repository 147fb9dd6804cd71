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
    output.append(addingCapacity: 29) { line in
      func two(_ number: Int) {
        line.append(ASCII.zero + UInt8(truncatingIfNeeded: number / 10))
        line.append(ASCII.zero + UInt8(truncatingIfNeeded: number % 10))
      }
      func text(_ text: ByteView) { for byte in text { line.append(byte) } }
      text(Self.dayNames[date.weekday * 3..<date.weekday * 3 + 3])
      text(ByteView(", "))
      two(date.day)
      line.append(ASCII.space)
      text(Self.monthNames[(date.month - 1) * 3..<date.month * 3])
      line.append(ASCII.space)
      two(date.year / 100)
      two(date.year % 100)
      line.append(ASCII.space)
      two(second / 3600)
      line.append(ASCII.colon)
      two(second / 60 % 60)
      line.append(ASCII.colon)
      two(second % 60)
      text(ByteView(" GMT"))
    }
  }

  static var dayNames: ByteView { ByteView("SunMonTueWedThuFriSat") }
  static var monthNames: ByteView { ByteView("JanFebMarAprMayJunJulAugSepOctNovDec") }
}
