// SPDX-License-Identifier: MIT

import JSON

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A point in time, in milliseconds, as a store records it for every change.
public struct Timestamp: Hashable, Sendable {
  /// Milliseconds since 1970-01-01T00:00:00Z, leap seconds not counted.
  public let milliseconds: Int64

  /// Makes a time; clamped to the years that RFC 3339 can express, 0 to 9999.
  public init(milliseconds: Int64) {
    self.milliseconds = min(max(milliseconds, -62_167_219_200_000), 253_402_300_799_999)
  }

  /// The time of the system clock.
  public static var now: Timestamp {
    // `timespec` by its two words: in an optimized build the compiler takes its members for those of a module that
    // cannot be imported, once an extension of `Duration` is in this module.
    var time = (seconds: Int(0), nanoseconds: Int(0))
    // Only the pointer to the local variable makes this unsafe; the call cannot fail for this clock.
    _ = unsafe withUnsafeMutablePointer(to: &time) { words in
      unsafe words.withMemoryRebound(to: timespec.self, capacity: 1) { unsafe clock_gettime(CLOCK_REALTIME, $0) }
    }
    return Timestamp(milliseconds: Int64(time.seconds) * 1000 + Int64(time.nanoseconds) / 1_000_000)
  }
}

extension Timestamp: Comparable {
  /// Whether `a` is earlier than `b`.
  public static func < (a: Timestamp, b: Timestamp) -> Bool { a.milliseconds < b.milliseconds }
}

extension Timestamp: CustomStringConvertible {
  /// The time in UTC as RFC 3339 writes it, such as `2026-01-02T03:04:05.678Z`.
  public var description: String {
    var text: [UInt8] = []
    write(to: &text)
    return String(decoding: text, as: UTF8.self)
  }

  /// Appends the 24 bytes of ``description``.
  public func write(to text: inout [UInt8]) {
    var (date, rest) = CalendarDay.split(milliseconds, dayOf: 86_400_000)
    text.append(addingCapacity: 24) { output in
      append(date.year / 100, to: &output)
      append(date.year % 100, to: &output)
      output.append(UInt8(ascii: "-"))
      append(date.month, to: &output)
      output.append(UInt8(ascii: "-"))
      append(date.day, to: &output)
      output.append(UInt8(ascii: "T"))
      append(rest / 3_600_000, to: &output)
      rest %= 3_600_000
      output.append(UInt8(ascii: ":"))
      append(rest / 60_000, to: &output)
      rest %= 60_000
      output.append(UInt8(ascii: ":"))
      append(rest / 1000, to: &output)
      rest %= 1000
      output.append(UInt8(ascii: "."))
      append(rest / 10, to: &output)
      output.append(UInt8(ascii: "0") + UInt8(rest % 10))
      output.append(UInt8(ascii: "Z"))
    }
  }

  /// Appends a number below 100 as two digits.
  private func append(_ number: Int, to output: inout OutputSpan<UInt8>) {
    output.append(UInt8(ascii: "0") + UInt8(number / 10))
    output.append(UInt8(ascii: "0") + UInt8(number % 10))
  }
}
