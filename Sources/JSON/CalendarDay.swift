// SPDX-License-Identifier: MIT

/// A day of the Gregorian calendar, as if that had always been in use; without leap seconds.
///
/// It is here because times are text in JSON (RFC 7493 §4.3), which all modules above read or write.
package struct CalendarDay: Equatable, Sendable {
  /// Days since 1970-01-01.
  package let number: Int
  package let year: Int
  /// From 1.
  package let month: Int
  /// From 1.
  package let day: Int

  // After H. Hinnant, "chrono-compatible low-level date algorithms": the year is taken to begin in March, so that the
  // leap day is its last, and 400 of these have the same 146 097 days each time.

  /// The day with a number of days since 1970-01-01.
  package init(_ number: Int) {
    self.number = number
    let days = number + 719_468
    let era = (days >= 0 ? days : days - 146_096) / 146_097
    let dayOfEra = days - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let marchMonth = (5 * dayOfYear + 2) / 153
    month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
    day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
    year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
  }

  /// The day of a date; nil when the calendar has none.
  package init?(year: Int, month: Int, day: Int) {
    guard 1...12 ~= month, day >= 1, day <= Self.length(ofMonth: month, year) else { return nil }
    self.number = Self.number(year: year, month: month, day: day)
    self.year = year
    self.month = month
    self.day = day
  }

  /// The number of a day that the calendar has.
  package static func number(year: Int, month: Int, day: Int) -> Int {
    let marchYear = month <= 2 ? year - 1 : year
    let era = (marchYear >= 0 ? marchYear : marchYear - 399) / 400
    let yearOfEra = marchYear - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  /// 0 is Sunday.
  package var weekday: Int { Self.weekday(of: number) }

  /// 0 is Sunday.
  package static func weekday(of number: Int) -> Int { ((number + 4) % 7 + 7) % 7 }

  package static func isLeap(_ year: Int) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }

  private static func length(ofMonth month: Int, _ year: Int) -> Int {
    switch month {
    case 2: isLeap(year) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  /// The day that a time since 1970 is in, and the time within it.
  ///
  /// - Parameter length: How much of the time a day is.
  package static func split(_ time: Int64, dayOf length: Int64) -> (day: CalendarDay, rest: Int) {
    let rest = time % length
    let day = time / length - (rest < 0 ? 1 : 0)
    return (CalendarDay(Int(day)), Int(rest < 0 ? rest + length : rest))
  }
}
