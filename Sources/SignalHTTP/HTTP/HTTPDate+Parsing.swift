// SPDX-License-Identifier: MIT
import JSON

extension HTTPDate {
  /// Parses a date in any of the three forms that a recipient must accept (RFC 9110 §5.6.7).
  ///
  ///     Sun, 06 Nov 1994 08:49:37 GMT      the current form
  ///     Sunday, 06-Nov-94 08:49:37 GMT     RFC 850
  ///     Sun Nov  6 08:49:37 1994           asctime
  ///
  /// Nil for anything else, and for days that do not exist. The day of the week must be one of the seven names, but is
  /// not compared with the date. A two-digit year that seems more than 50 years in the future, relative to `now`, is
  /// one in the past.
  public init?(_ text: String, now: HTTPDate) {
    guard let date = Array(text.utf8).withView({ HTTPDate($0, now: now) }) else { return nil }
    self = date
  }

  package init?(_ text: ByteView, now: HTTPDate) {
    var cursor = Cursor(text: text)
    let fields: Fields?
    if text.count > 3, text.byte(at: 3) == ASCII.comma {
      fields = cursor.fixdate()
    } else if text.count > 3, text.byte(at: 3) == ASCII.space {
      fields = cursor.asctime()
    } else {
      fields = cursor.rfc850(now: now)
    }
    guard let fields, cursor.isAtEnd, let seconds = fields.seconds else { return nil }
    self.init(secondsSinceEpoch: seconds)
  }

  private struct Fields {
    var year = 0
    var month = 0
    var day = 0
    var hour = 0
    var minute = 0
    var second = 0

    /// Nil when one of the numbers is out of range.
    var seconds: Int64? {
      // A leap second, 60, is legal and counts as the first second of the next minute.
      guard let date = CalendarDay(year: year, month: month, day: day), hour < 24, minute < 60, second <= 60 else {
        return nil
      }
      return Int64(date.number) * 86_400 + Int64(hour * 3600 + minute * 60 + second)
    }
  }

  /// Scans a text; every step returns nil when the text does not match.
  private struct Cursor {
    let text: ByteView
    var index = 0

    var isAtEnd: Bool { index == text.count }

    mutating func literal(_ literal: StaticString) -> Void? {
      let expected = ByteView(literal)
      guard text.count - index >= expected.count, text[index..<index + expected.count].equals(expected) else {
        return nil
      }
      index += expected.count
      return ()
    }

    mutating func number(digits: Int) -> Int? {
      guard text.count - index >= digits else { return nil }
      var value = 0
      for _ in 0..<digits {
        guard ASCII.isDigit(text.byte(at: index)) else { return nil }
        value = value * 10 + Int(text.byte(at: index) - ASCII.zero)
        index += 1
      }
      return value
    }

    /// The index of a three-letter name in a string of such names.
    mutating func name(in names: ByteView) -> Int? {
      guard text.count - index >= 3 else { return nil }
      let name = text[index..<index + 3]
      for place in 0..<names.count / 3 where names[place * 3..<place * 3 + 3].equals(name) {
        index += 3
        return place
      }
      return nil
    }

    mutating func time(into fields: inout Fields) -> Void? {
      guard let hour = number(digits: 2), literal(":") != nil, let minute = number(digits: 2),
        literal(":") != nil, let second = number(digits: 2)
      else { return nil }
      (fields.hour, fields.minute, fields.second) = (hour, minute, second)
      return ()
    }

    mutating func fixdate() -> Fields? {
      var fields = Fields()
      guard name(in: HTTPDate.dayNames) != nil, literal(", ") != nil, let day = number(digits: 2),
        literal(" ") != nil, let month = name(in: HTTPDate.monthNames), literal(" ") != nil,
        let year = number(digits: 4), literal(" ") != nil, time(into: &fields) != nil, literal(" GMT") != nil
      else { return nil }
      (fields.year, fields.month, fields.day) = (year, month + 1, day)
      return fields
    }

    mutating func asctime() -> Fields? {
      var fields = Fields()
      guard name(in: HTTPDate.dayNames) != nil, literal(" ") != nil, let month = name(in: HTTPDate.monthNames),
        literal(" ") != nil,
        let day = literal(" ") != nil ? number(digits: 1) : number(digits: 2),
        literal(" ") != nil, time(into: &fields) != nil, literal(" ") != nil, let year = number(digits: 4)
      else { return nil }
      (fields.year, fields.month, fields.day) = (year, month + 1, day)
      return fields
    }

    mutating func rfc850(now: HTTPDate) -> Fields? {
      let dayNames: [StaticString] = [
        "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday",
      ]
      var fields = Fields()
      guard dayNames.contains(where: { literal($0) != nil }), literal(", ") != nil, let day = number(digits: 2),
        literal("-") != nil, let month = name(in: HTTPDate.monthNames), literal("-") != nil,
        let year = number(digits: 2), literal(" ") != nil, time(into: &fields) != nil, literal(" GMT") != nil
      else { return nil }
      (fields.year, fields.month, fields.day) = (year, month + 1, day)
      fields.year += CalendarDay.split(now.secondsSinceEpoch, dayOf: 86_400).day.year / 100 * 100
      // Within 50 years of now, otherwise in the past.
      let fiftyYears: Int64 = 50 * 31_556_952
      if let seconds = fields.seconds, seconds > now.secondsSinceEpoch + fiftyYears {
        fields.year -= 100
      } else if let seconds = fields.seconds, seconds <= now.secondsSinceEpoch - fiftyYears {
        fields.year += 100
      }
      return fields
    }
  }
}

/// The `Date` line of the current second, and lines that never change: written once a second, copied into every response.
package struct DateField: Sendable {
  private var second: Int64 = .min
  private var lines: [UInt8] = []
  private let others: StaticString

  /// - Parameter others: Field lines for every response, each with its end.
  package init(followedBy others: StaticString = "") { self.others = others }

  /// Appends `Date: …` and the other lines; `second` is the current time in seconds since 1970.
  package mutating func append(to output: inout [UInt8], second: Int64) {
    if second != self.second {
      self.second = second
      lines.removeAll(keepingCapacity: true)
      lines.append("Date: ")
      HTTPDate(secondsSinceEpoch: second).append(to: &lines)
      lines.append("\r\n")
      lines.append(others)
    }
    output.append(contentsOf: lines)
  }
}
