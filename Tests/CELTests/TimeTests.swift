// SPDX-License-Identifier: MIT

import CEL
import Testing

/// langdef "Abstract Types" and "Timezones": timestamps and durations.
@Suite struct TimeTests {
  @Test(arguments: [
    ("getFullYear", 2009), ("getMonth", 1), ("getDate", 13), ("getDayOfMonth", 12), ("getDayOfWeek", 5),
    ("getDayOfYear", 43),
    ("getHours", 23), ("getMinutes", 31), ("getSeconds", 20), ("getMilliseconds", 123),
  ])
  func `the parts of a time are those of UTC`(_ name: String, _ value: Int64) {
    expect("timestamp('2009-02-13T23:31:20.123456789Z').\(name)()", is: .int(value))
    expect("timestamp('2009-02-13T23:31:20.123456789Z').\(name)('UTC')", is: .int(value))
  }

  @Test(arguments: [
    ("timestamp('2009-02-13T23:31:30Z').getDate('Australia/Sydney')", 14),
    ("timestamp('2009-02-13T23:31:30Z').getDayOfMonth('US/Central')", 12),
    ("timestamp('2009-02-13T23:31:30Z').getDayOfMonth('+11:00')", 13),
    ("timestamp('2009-02-13T02:00:00Z').getDayOfMonth('-02:30')", 11),
    ("timestamp('2009-02-13T02:00:00Z').getDayOfMonth('America/St_Johns')", 11),
    ("timestamp('2009-02-13T23:31:30Z').getDayOfYear('US/Central')", 43),
    ("timestamp('2009-02-13T23:31:30Z').getFullYear('-09:30')", 2009),
    ("timestamp('2009-02-13T23:31:30Z').getHours('02:00')", 1),
    ("timestamp('2009-02-13T23:31:30Z').getMinutes('Asia/Kathmandu')", 16),
    ("timestamp('2009-02-13T23:31:30Z').getSeconds('-00:00')", 30),
    // Summer and winter, long after the last change that the database lists.
    ("timestamp('2085-07-01T12:00:00Z').getHours('Europe/Berlin')", 14),
    ("timestamp('2085-01-01T12:00:00Z').getHours('Europe/Berlin')", 13),
    ("timestamp('2085-01-01T12:00:00Z').getHours('Australia/Sydney')", 23),
    ("timestamp('2085-07-01T12:00:00Z').getHours('Australia/Sydney')", 22),
    ("timestamp('2024-03-31T00:59:59Z').getHours('Europe/Berlin')", 1),
    ("timestamp('2024-03-31T01:00:00Z').getHours('Europe/Berlin')", 3),
    ("timestamp('1850-01-01T12:00:00Z').getMinutes('Europe/Berlin')", 53),
    ("timestamp('0001-01-01T00:00:00Z').getFullYear('-01:00')", 0),
    ("timestamp('9999-12-31T23:59:59Z').getFullYear('+01:00')", 10000),
  ])
  func `the parts of a time are those of a zone`(_ source: String, _ value: Int64) {
    expect(source, is: .int(value))
  }

  @Test(arguments: [
    "Nowhere/City", "../../etc/passwd", "/etc/localtime", "+1:00", "+01:60", "+24:00", "Europe/", "Europe", "a b", "+",
    "posixrules/../UTC", "UTC\u{0}", "tzdata.zi",
  ])
  func `a zone that does not exist is an error`(_ zone: String) {
    expect("timestamp(0).getHours(z)", fails: .badArgument, [("z", .string(zone))])
  }

  @Test(arguments: [
    ("duration('10000s').getHours()", 2), ("duration('3730s').getMinutes()", 62),
    ("duration('3730s').getSeconds()", 3730),
    ("duration('123.321456789s').getMilliseconds()", 321), ("duration('-90m').getHours()", -1),
  ])
  func `a length of time is counted in whole units`(_ source: String, _ value: Int64) {
    expect(source, is: .int(value))
  }

  @Test(arguments: [
    "timestamp('2009-02-13T23:00:00Z') + duration('240s') == timestamp('2009-02-13T23:04:00Z')",
    "duration('120s') + timestamp('2009-02-13T23:01:00Z') == timestamp('2009-02-13T23:03:00Z')",
    "duration('600s') + duration('50s') == duration('650s')",
    "timestamp('0001-01-01T00:00:01.000000001Z') + duration('-999999999ns') == timestamp('0001-01-01T00:00:00.000000002Z')",
    "timestamp('2009-02-13T23:10:00Z') - duration('600s') == timestamp('2009-02-13T23:00:00Z')",
    "timestamp('2009-02-13T23:31:00Z') - timestamp('2009-02-13T23:29:00Z') == duration('120s')",
    "duration('900s') - duration('42s') == duration('858s')", "duration('1h30m1.5s') == duration('5401500ms')",
    "duration('1.5h') == duration('90m')", "duration('-1us') < duration('0')", "-duration('1s') == duration('-1s')",
    "duration('1µs') == duration('1000ns')", "duration('.5s') == duration('500ms')",
    "timestamp(0) == timestamp('1970-01-01T00:00:00Z')",
    "timestamp('2024-02-29T00:00:00z') < timestamp('2024-03-01T00:00:00Z')",
    "timestamp('1969-12-31T23:59:59.5Z') < timestamp(0)",
    "duration('9223372036854775807ns') > duration('-9223372036854775808ns')",
    "timestamp('2024-01-01T00:00:00.9999999999Z') == timestamp('2024-01-01T00:00:00.999999999Z')",
  ])
  func `times and lengths of time can be added and compared`(_ source: String) {
    expect(source, is: .bool(true))
  }

  @Test(arguments: [
    ("timestamp('0000-01-01T00:00:00Z')", EvaluationError.Reason.badArgument),
    ("timestamp('10000-01-01T00:00:00Z')", .badArgument),
    ("timestamp('2023-02-29T00:00:00Z')", .badArgument), ("timestamp('2023-13-01T00:00:00Z')", .badArgument),
    ("timestamp('2023-01-01T24:00:00Z')", .badArgument), ("timestamp('2023-01-01T00:00:00')", .badArgument),
    ("timestamp('2023-01-01 00:00:00Z')", .badArgument), ("timestamp('2023-01-01T00:00:00.Z')", .badArgument),
    ("timestamp('2023-01-01T00:00:60Z')", .badArgument), ("timestamp('')", .badArgument),
    ("timestamp(253402300800)", .overflow),
    ("timestamp(-62135596801)", .overflow), ("timestamp(9223372036854775807)", .overflow),
    ("timestamp('0001-01-01T00:00:00Z') + duration('-1s')", .overflow),
    ("timestamp('9999-12-31T23:59:59Z') + duration('1s')", .overflow),
    ("timestamp('9999-12-31T23:59:59.999999999Z') + duration('1ns')", .overflow),
    ("timestamp('0001-01-01T00:00:00Z') + duration('-1ns')", .overflow),
    ("timestamp('9999-12-31T23:59:59Z') - timestamp('0001-01-01T00:00:00Z')", .overflow),
    ("duration('320000000000s')", .badArgument),
    ("duration('-320000000000s')", .badArgument), ("duration('9223372036854775808ns')", .badArgument),
    ("duration('9223372036s') + duration('9223372036s')", .overflow),
    ("-duration('-9223372036854775808ns')", .overflow),
    ("duration('')", .badArgument), ("duration('1')", .badArgument), ("duration('s')", .badArgument),
    ("duration('1x')", .badArgument),
    ("duration('.s')", .badArgument), ("duration('--1s')", .badArgument), ("duration('1h 1m')", .badArgument),
  ])
  func `a time out of range, or written wrong, is an error`(_ source: String, _ reason: EvaluationError.Reason) {
    expect(source, fails: reason)
  }

  @Test func `time is the timestamp of the change`() throws {
    let activation = try change(milliseconds: 1_234_567_890_123)
    for source in [
      "time == timestamp('2009-02-13T23:31:30.123Z')", "time.getFullYear() == 2009", "time.getMilliseconds() == 123",
      "time - timestamp('2009-02-13T23:31:00Z') < duration('31s')",
    ] {
      #expect(try Program(filter: source).matches(activation), "\(source)")
    }
    #expect(try Program(filter: "time == timestamp('1969-12-31T23:59:59.999Z')").matches(try change(milliseconds: -1)))
    for milliseconds in [Int64.min, .max] {
      _ = try Program(filter: "time.getFullYear() > 0").matches(try change(milliseconds: milliseconds))
    }
  }

  @Test func `every day of ten thousand years is counted once`() {
    // From day to day the date goes on by one, and the day of the week with it.
    for seconds in stride(from: Int64(-62_135_596_800), to: 253_402_300_800, by: 86_400 * 97) {
      let bindings: [(name: String, value: CELValue)] = [("t", .timestamp(seconds: seconds, nanoseconds: 0))]
      expect("timestamp(string(t)) == t", is: .bool(true), bindings)
    }
    expect("timestamp('2000-02-28T00:00:00Z') + duration('24h') == timestamp('2000-02-29T00:00:00Z')", is: .bool(true))
    expect("timestamp('1900-02-28T00:00:00Z') + duration('24h') == timestamp('1900-03-01T00:00:00Z')", is: .bool(true))
    expect("timestamp('2024-12-31T00:00:00Z').getDayOfYear()", is: .int(365))
    expect("timestamp('0001-01-01T00:00:00Z').getDayOfWeek()", is: .int(1))
  }
}
