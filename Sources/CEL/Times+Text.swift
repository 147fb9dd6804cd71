// SPDX-License-Identifier: MIT

/// Times as text: RFC 3339 for points, `1h30m1.5s` for lengths; and the calendar.
extension Times {
  /// A date of the Gregorian calendar.
  struct Date {
    var year: Int
    /// From 1.
    var month: Int
    /// From 1.
    var day: Int
    /// From 0.
    var dayOfYear: Int
    /// 0 is Sunday.
    var dayOfWeek: Int
    var secondOfDay: Int

    /// The date of a time in seconds since 1970.
    init(seconds: Int64) {
      // The time is one a timestamp can have, within days: nothing here can overflow.
      var days = Int(seconds / 86_400)
      var rest = Int(seconds % 86_400)
      if rest < 0 {
        rest += 86_400
        days -= 1
      }
      secondOfDay = rest
      dayOfWeek = ((days + 4) % 7 + 7) % 7
      // Days since 0000-03-01, in cycles of 400 years; the year is taken to begin in March, so that the leap day is
      // its last.
      let shifted = days + 719_468
      let cycle = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
      let dayOfCycle = shifted - cycle * 146_097
      let yearOfCycle = (dayOfCycle - dayOfCycle / 1460 + dayOfCycle / 36_524 - dayOfCycle / 146_096) / 365
      let dayOfMarchYear = dayOfCycle - (365 * yearOfCycle + yearOfCycle / 4 - yearOfCycle / 100)
      let marchMonth = (5 * dayOfMarchYear + 2) / 153
      day = dayOfMarchYear - (153 * marchMonth + 2) / 5 + 1
      month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
      year = yearOfCycle + cycle * 400 + (month <= 2 ? 1 : 0)
      dayOfYear = days - Times.days(year: year, month: 1, day: 1)
    }
  }

  /// Days since 1970-01-01.
  static func days(year: Int, month: Int, day: Int) -> Int {
    let marchYear = month <= 2 ? year - 1 : year
    let cycle = (marchYear >= 0 ? marchYear : marchYear - 399) / 400
    let yearOfCycle = marchYear - cycle * 400
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    return cycle * 146_097 + yearOfCycle * 365 + yearOfCycle / 4 - yearOfCycle / 100 + dayOfYear - 719_468
  }

  static func isLeap(_ year: Int) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }

  private static func length(ofMonth month: Int, _ year: Int) -> Int {
    switch month {
    case 2: isLeap(year) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  // MARK: - Points in time

  /// A time in RFC 3339; nil when it is not, or out of range.
  ///
  /// Digits behind the nanosecond are dropped.
  static func timestamp(_ text: [UInt8]) -> Value? {
    var reader = Reader(text)
    guard let year = reader.digits(4), reader.accept("-"), let month = reader.digits(2), reader.accept("-"),
      let day = reader.digits(2), reader.accept("T") || reader.accept("t"), let hour = reader.digits(2),
      reader.accept(":"), let minute = reader.digits(2), reader.accept(":"), let second = reader.digits(2),
      (1...12).contains(month), day >= 1, day <= length(ofMonth: month, year), hour < 24, minute < 60, second < 60
    else { return nil }
    var nanoseconds = 0
    if reader.accept(".") {
      guard let fraction = reader.fraction() else { return nil }
      nanoseconds = fraction
    }
    guard let offset = reader.zone(), reader.isAtEnd else { return nil }
    let seconds = days(year: year, month: month, day: day) * 86_400 + hour * 3600 + minute * 60 + second - offset
    return timestamp(seconds: Int64(seconds), nanoseconds: Int64(nanoseconds))
  }

  /// In UTC, with as many digits behind the second as there are.
  static func text(ofTimestamp value: Value) -> String {
    let date = Date(seconds: value.int)
    let pad = { (number: Int, width: Int) in
      let digits = String(number)
      return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
    let time = [date.secondOfDay / 3600, date.secondOfDay / 60 % 60, date.secondOfDay % 60].map { pad($0, 2) }
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
    var reader = Reader(text)
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

  /// In seconds, with as many digits behind the point as there are.
  static func text(ofDuration value: Value) -> String {
    let sign = value.int < 0 || value.extra < 0 ? "-" : ""
    return "\(sign)\(value.int.magnitude)\(fraction(Int(value.extra)))s"
  }

  /// Reads the parts of a time.
  struct Reader {
    private let text: [UInt8]
    private(set) var position = 0

    init(_ text: [UInt8]) { self.text = text }

    var isAtEnd: Bool { position == text.count }

    private var digit: Int? {
      guard position < text.count, Lexer.isDigit(text[position]) else { return nil }
      return Int(text[position] - UInt8(ascii: "0"))
    }

    mutating func accept(_ text: StaticString) -> Bool {
      let wanted = Array("\(text)".utf8)
      guard self.text[position...].starts(with: wanted) else { return false }
      position += wanted.count
      return true
    }

    /// A number of exactly so many digits.
    mutating func digits(_ count: Int) -> Int? {
      var value = 0
      for _ in 0..<count {
        guard let digit else { return nil }
        value = value * 10 + digit
        position += 1
      }
      return value
    }

    /// The digits behind a point as billionths: one at least, those behind the ninth dropped.
    mutating func fraction() -> Int? {
      guard digit != nil else { return nil }
      var value = 0
      var scale = 100_000_000
      while let digit {
        value += digit * scale
        scale /= 10
        position += 1
      }
      return value
    }

    /// `Z` or an offset, in seconds east of UTC.
    mutating func zone() -> Int? {
      if accept("Z") || accept("z") { return 0 }
      let isNegative = accept("-")
      guard isNegative || accept("+") else { return nil }
      guard let hours = digits(2), accept(":"), let minutes = digits(2), hours < 24, minutes < 60 else { return nil }
      return (isNegative ? -1 : 1) * (hours * 3600 + minutes * 60)
    }

    /// A number and its unit, in nanoseconds below zero, where there is one more than above.
    mutating func length() -> Int64? {
      var whole: Int64 = 0
      var hasDigits = false
      while let digit {
        let (product, overflow) = whole.multipliedReportingOverflow(by: 10)
        let (sum, carry) = product.subtractingReportingOverflow(Int64(digit))
        if overflow || carry { return nil }
        whole = sum
        hasDigits = true
        position += 1
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
}
