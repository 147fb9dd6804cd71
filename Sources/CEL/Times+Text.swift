// SPDX-License-Identifier: MIT

import JSON

/// Times as text: RFC 3339 for points, `1h30m1.5s` for lengths.
extension Times {
  /// A time in RFC 3339; nil when it is not, or out of range, or a leap second.
  ///
  /// Digits below a nanosecond are dropped.
  static func timestamp(_ text: [UInt8]) -> Value? {
    guard let time = TimeText(text), !time.isLeapSecond else { return nil }
    return timestamp(seconds: time.seconds, nanoseconds: Int64(time.nanoseconds))
  }

  /// In UTC, with as many fractional digits as there are.
  static func text(ofTimestamp value: Value) -> String {
    let (date, second) = CalendarDay.split(value.int, dayOf: 86_400)
    let pad = { (number: Int, width: Int) in
      let digits = String(number)
      return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
    let time = [second / 3600, second / 60 % 60, second % 60].map { pad($0, 2) }
    return "\(pad(date.year, 4))-\(pad(date.month, 2))-\(pad(date.day, 2))T\(time.joined(separator: ":"))"
      + fraction(Int(value.extra)) + "Z"
  }

  private static func fraction(_ nanoseconds: Int) -> String {
    guard nanoseconds != 0 else { return "" }
    var digits = String(1_000_000_000 + abs(nanoseconds)).dropFirst()
    while digits.hasSuffix("0") { digits.removeLast() }
    return ".\(digits)"
  }

  // MARK: - Lengths of time

  /// A sum of numbers with units, such as `1h30m`, `-1.5s`, `100ms`; nil when it is not, or out of range.
  static func duration(_ text: [UInt8]) -> Value? {
    var reader = TimeTextReader(text)
    let isNegative = reader.accept("-")
    if !isNegative { _ = reader.accept("+") }
    if text.count - reader.position == 1, reader.accept("0") { return duration(seconds: 0, nanoseconds: 0) }
    var total: Int64 = 0
    repeat {
      guard let part = reader.length() else { return nil }
      let (sum, overflow) = total.addingReportingOverflow(part)
      if overflow { return nil }
      total = sum
    } while !reader.isAtEnd
    if !isNegative {
      let (positive, overflow) = Int64(0).subtractingReportingOverflow(total)
      if overflow { return nil }
      total = positive
    }
    return duration(seconds: total / 1_000_000_000, nanoseconds: total % 1_000_000_000)
  }

  /// In seconds, with as many fractional digits as there are.
  static func text(ofDuration value: Value) -> String {
    let sign = value.int < 0 || value.extra < 0 ? "-" : ""
    return "\(sign)\(value.int.magnitude)\(fraction(Int(value.extra)))s"
  }
}

extension TimeTextReader {
  /// A number and its unit, in nanoseconds below zero, where there is one more than above.
  mutating func length() -> Int64? {
    var whole: Int64 = 0
    var hasDigits = false
    while let digit = digit() {
      let (product, overflow) = whole.multipliedReportingOverflow(by: 10)
      let (sum, carry) = product.subtractingReportingOverflow(Int64(digit))
      if overflow || carry { return nil }
      whole = sum
      hasDigits = true
    }
    var billionths: Int64 = 0
    if accept(".") {
      let fraction = fraction()
      guard hasDigits || fraction != nil else { return nil }
      billionths = Int64(fraction ?? 0)
    } else if !hasDigits {
      return nil
    }
    guard let unit = unit() else { return nil }
    let (product, overflow) = whole.multipliedReportingOverflow(by: unit)
    // With full width nothing is lost before the division: a billionth of an hour is 3600 nanoseconds.
    let (quotient, _) = Int64(1_000_000_000).dividingFullWidth(billionths.multipliedFullWidth(by: unit))
    let (sum, carry) = product.subtractingReportingOverflow(quotient)
    return overflow || carry ? nil : sum
  }

  private mutating func unit() -> Int64? {
    if accept("ns") { return 1 }
    if accept("us") || accept("\u{B5}s") || accept("\u{3BC}s") { return 1000 }
    if accept("ms") { return 1_000_000 }
    if accept("s") { return 1_000_000_000 }
    if accept("m") { return 60_000_000_000 }
    if accept("h") { return 3_600_000_000_000 }
    return nil
  }
}
