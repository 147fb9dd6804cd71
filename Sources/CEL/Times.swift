// SPDX-License-Identifier: MIT

/// Points in time and lengths of time (langdef "Abstract Types"): seconds and nanoseconds.
enum Times {
  /// 0001-01-01T00:00:00Z and 9999-12-31T23:59:59Z.
  static let timestampSeconds: ClosedRange<Int64> = -62_135_596_800...253_402_300_799
  /// What 64 bits of nanoseconds can hold, about 292 years: the range of a duration.
  static let durationSeconds: ClosedRange<Int64> = -9_223_372_036...9_223_372_036
  private static let billion: Int64 = 1_000_000_000

  /// A time from parts that may be out of range; nil when the time is.
  static func timestamp(seconds: Int64, nanoseconds: Int64) -> Value? {
    guard let (seconds, nanoseconds) = floored(seconds, nanoseconds), timestampSeconds.contains(seconds) else {
      return nil
    }
    return Value(.timestamp, extra: Int32(nanoseconds), bits: UInt64(bitPattern: seconds))
  }

  /// A length from parts that may be of different sign or out of range; nil when the length is.
  static func duration(seconds: Int64, nanoseconds: Int64) -> Value? {
    guard var (seconds, nanoseconds) = floored(seconds, nanoseconds) else { return nil }
    if seconds < 0, nanoseconds > 0 {
      seconds += 1
      nanoseconds -= billion
    }
    let (whole, overflow) = seconds.multipliedReportingOverflow(by: billion)
    guard durationSeconds.contains(seconds), !overflow, !whole.addingReportingOverflow(nanoseconds).overflow else {
      return nil
    }
    return Value(.duration, extra: Int32(nanoseconds), bits: UInt64(bitPattern: seconds))
  }

  /// The same time with nanoseconds from 0 to 999 999 999.
  private static func floored(_ seconds: Int64, _ nanoseconds: Int64) -> (Int64, Int64)? {
    var carry = nanoseconds / billion
    var rest = nanoseconds % billion
    if rest < 0 {
      rest += billion
      carry -= 1
    }
    let (sum, overflow) = seconds.addingReportingOverflow(carry)
    return overflow ? nil : (sum, rest)
  }

  static func add(_ time: Value, _ length: Value) -> Value? {
    let (seconds, overflow) = time.int.addingReportingOverflow(length.int)
    return overflow ? nil : timestamp(seconds: seconds, nanoseconds: Int64(time.extra) + Int64(length.extra))
  }

  static func sum(_ left: Value, _ right: Value) -> Value? {
    let (seconds, overflow) = left.int.addingReportingOverflow(right.int)
    return overflow ? nil : duration(seconds: seconds, nanoseconds: Int64(left.extra) + Int64(right.extra))
  }

  static func difference(_ left: Value, _ right: Value) -> Value? {
    let (seconds, overflow) = left.int.subtractingReportingOverflow(right.int)
    return overflow ? nil : duration(seconds: seconds, nanoseconds: Int64(left.extra) - Int64(right.extra))
  }

  static func negated(_ length: Value) -> Value? {
    let (seconds, overflow) = Int64(0).subtractingReportingOverflow(length.int)
    return overflow ? nil : duration(seconds: seconds, nanoseconds: -Int64(length.extra))
  }
}

extension Value {
  /// A time in milliseconds since 1970, held within the years that a timestamp has.
  init(timestampMilliseconds milliseconds: Int64) {
    let seconds = milliseconds >= 0 ? milliseconds / 1000 : (milliseconds + 1) / 1000 - 1
    // The product can be below the least number, the difference cannot.
    let rest = milliseconds &- seconds &* 1000
    let range = Times.timestampSeconds
    let held = min(max(seconds, range.lowerBound), range.upperBound)
    self.init(.timestamp, extra: held == seconds ? Int32(rest) * 1_000_000 : 0, bits: UInt64(bitPattern: held))
  }
}
