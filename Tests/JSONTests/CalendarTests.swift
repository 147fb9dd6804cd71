// SPDX-License-Identifier: MIT
import Testing

@testable import JSON

@Suite("Calendar and times as text")
struct CalendarTests {
  @Test func `every day of 800 years follows the one before it, and has the number that its date has`() {
    var before = CalendarDay(CalendarDay.number(year: 1599, month: 12, day: 31))
    while before.year < 2400 {
      let day = CalendarDay(before.number + 1)
      let isNext =
        day.year == before.year
        ? day.month == before.month ? day.day == before.day + 1 : day.month == before.month + 1 && day.day == 1
        : day.year == before.year + 1 && day.month == 1 && day.day == 1 && before.month == 12 && before.day == 31
      guard isNext, CalendarDay(year: day.year, month: day.month, day: day.day) == day,
        CalendarDay(year: before.year, month: before.month, day: before.day + 1) == (day.day == 1 ? nil : day)
      else {
        Issue.record("\(day) behind \(before)")
        return
      }
      before = day
    }
    #expect(CalendarDay(0) == CalendarDay(year: 1970, month: 1, day: 1) && CalendarDay(0).weekday == 4)
  }

  @Test(arguments: [(0, 13, 1), (0, 0, 1), (0, 1, 0), (0, 2, 30), (2100, 2, 29)])
  func `a date that no calendar has is none`(year: Int, month: Int, day: Int) {
    #expect(CalendarDay(year: year, month: month, day: day) == nil)
  }

  @Test(arguments: [(-1, -1, 86_399), (0, 0, 0), (-86_400, -1, 0), (-86_401, -2, 86_399), (86_399, 0, 86_399)])
  func `a time is within its day, before 1970 too`(seconds: Int64, number: Int, rest: Int) {
    let (day, found) = CalendarDay.split(seconds, dayOf: 86_400)
    #expect(day.number == number && found == rest)
  }

  @Test(arguments: [
    ("1970-01-01T00:00:00Z", 0, 0, false), ("1969-12-31t23:59:59.5z", -1, 500_000_000, false),
    ("2000-02-29T01:00:00.1234567891+01:00", 951_782_400, 123_456_789, false),
    ("2016-12-31T23:59:60Z", 1_483_228_800, 0, true),
  ])
  func `a time is read`(text: String, seconds: Int64, nanoseconds: Int, isLeapSecond: Bool) throws {
    let time = try #require(TimeText(Array(text.utf8)))
    #expect(time.seconds == seconds && time.nanoseconds == nanoseconds && time.isLeapSecond == isLeapSecond)
  }

  @Test(arguments: [
    "", "1970-01-01", "1970-01-01T00:00:00", "1970-01-01T00:00:00.Z", "1970-01-01T24:00:00Z", "1970-01-01T00:00:61Z",
    "1970-02-29T00:00:00Z", "1970-01-01T00:00:00+24:00", "1970-01-01T00:00:00+0100", "1970-01-01T00:00:00Z ",
    "70-01-01T00:00:00Z", "1970-01-01 00:00:00Z",
  ])
  func `what is no time is none`(text: String) { #expect(TimeText(Array(text.utf8)) == nil) }
}
