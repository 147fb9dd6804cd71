// SPDX-License-Identifier: MIT

import JSON
import Synchronization

/// Zones (langdef "Timezones"): `UTC`, offsets such as `+05:30`, and the names of the system's database.
enum TimeZones {
  /// How many names are remembered, those of no zone too; past that each use reads the disk again.
  private static let cacheLimit = 256

  private static let cache = Mutex<[String: TimeZone?]>([:])

  /// Seconds east of UTC at a time; nil when there is no such zone.
  static func offset(of name: [UInt8], at seconds: Int64) -> Int? {
    if let fixed = fixedOffset(name) { return fixed }
    return zone(named: name)?.offset(at: seconds)
  }

  /// The offset that the name itself says; the sign may be missing.
  private static func fixedOffset(_ name: [UInt8]) -> Int? {
    if name.elementsEqual("UTC".utf8) { return 0 }
    let signed = name.first.map(Lexer.isDigit) == true ? Array("+".utf8) + name : name
    guard signed.count == 6 else { return nil }
    var reader = TimeTextReader(signed)
    return reader.zone()
  }

  private static func zone(named name: [UInt8]) -> TimeZone? {
    // Letters, digits and `_+-/` cannot leave the directory: there is no dot.
    guard name.first.map(Lexer.isNameStart) == true, name.count <= 64,
      name.allSatisfy({ Lexer.isNamePart($0) || "+-/".utf8.contains($0) })
    else { return nil }
    let key = String(decoding: name, as: UTF8.self)
    if let known = cache.withLock({ $0[key] }) { return known }
    // Read without the lock: two threads may read the same file, and find the same.
    let zone = ZoneFile.read(key).flatMap { TimeZone(file: $0) }
    cache.withLock { cache in
      if cache.count < cacheLimit { cache[key] = .some(zone) }
    }
    return zone
  }
}

/// A zone of the database: when its offset changes, and by which rule after the last change listed (RFC 8536).
struct TimeZone: Sendable {
  private var changes: [Int64] = []
  /// The offset from each change on.
  private var offsets: [Int] = []
  private var first = 0
  private var rule: ZoneRule?

  func offset(at seconds: Int64) -> Int {
    // The number of changes up to then.
    var (low, high) = (0, changes.count)
    while low < high {
      let middle = (low + high) / 2
      if changes[middle] <= seconds { low = middle + 1 } else { high = middle }
    }
    if low == changes.count, let rule { return rule.offset(at: seconds) }
    return low == 0 ? first : offsets[low - 1]
  }

  /// Reads a file of RFC 8536; nil when it is not one.
  ///
  /// Only the 64-bit part of it is used.
  init?(file: [UInt8]) {
    var reader = ZoneFile.Reader(bytes: file)
    guard let old = reader.header(), reader.skip(old.size(timeSize: 4)), let header = reader.header() else {
      return nil
    }
    guard header.types > 0, header.size(timeSize: 8) <= reader.left else { return nil }
    for _ in 0..<header.times {
      guard let time = reader.integer(8) else { return nil }
      changes.append(time)
    }
    var types: [Int] = []
    for _ in 0..<header.times {
      guard let type = reader.integer(1), type < header.types else { return nil }
      types.append(Int(type))
    }
    var typeOffsets: [Int] = []
    for _ in 0..<header.types {
      guard let offset = reader.integer(4), abs(offset) < 200_000, reader.skip(2) else { return nil }
      typeOffsets.append(Int(offset))
    }
    offsets = types.map { typeOffsets[$0] }
    first = typeOffsets[0]
    guard reader.skip(header.names + header.leaps * 12 + header.standard + header.universal) else { return nil }
    rule = ZoneRule(reader.rest.filter { $0 != UInt8(ascii: "\n") })
  }
}

/// A rule for all years to come, as in `CET-1CEST,M3.5.0,M10.5.0/3` (POSIX.1, RFC 8536 §3.3.1).
struct ZoneRule: Sendable {
  private struct Day {
    enum Kind {
      case julian
      case zeroBased
      case week
    }

    var kind: Kind
    var month = 0
    var week = 0
    var day: Int
    /// Seconds after midnight.
    var time = 7200
  }

  private var standard = 0
  private var summer: (offset: Int, start: Day, end: Day)?

  func offset(at seconds: Int64) -> Int {
    guard let summer else { return standard }
    let year = CalendarDay.split(seconds + Int64(standard), dayOf: 86_400).day.year
    // Each change is given in the local time before it.
    let start = Int64(Self.seconds(of: summer.start, year) - standard)
    let end = Int64(Self.seconds(of: summer.end, year) - summer.offset)
    let isSummer = start < end ? seconds >= start && seconds < end : seconds >= start || seconds < end
    return isSummer ? summer.offset : standard
  }

  private static func seconds(of day: Day, _ year: Int) -> Int {
    let january = CalendarDay.number(year: year, month: 1, day: 1)
    let days: Int
    switch day.kind {
    case .zeroBased: days = january + day.day
    // Counted without the leap day.
    case .julian: days = january + day.day - 1 + (CalendarDay.isLeap(year) && day.day > 59 ? 1 : 0)
    case .week:
      let first = CalendarDay.number(year: year, month: day.month, day: 1)
      let next =
        day.month == 12
        ? CalendarDay.number(year: year + 1, month: 1, day: 1)
        : CalendarDay.number(year: year, month: day.month + 1, day: 1)
      var found = first + (day.day - CalendarDay.weekday(of: first) + 7) % 7 + (day.week - 1) * 7
      if found >= next { found -= 7 }
      days = found
    }
    return days * 86_400 + day.time
  }

  // MARK: - Reading

  init?(_ text: [UInt8]) {
    var position = 0
    func next() -> UInt8 { position < text.count ? text[position] : 0 }
    func accept(_ byte: UInt8) -> Bool {
      guard next() == byte else { return false }
      position += 1
      return true
    }
    func number() -> Int? {
      let start = position
      var value = 0
      while Lexer.isDigit(next()), value < 10_000 {
        value = value * 10 + Int(next() - UInt8(ascii: "0"))
        position += 1
      }
      return position > start ? value : nil
    }
    func name() -> Bool {
      let start = position
      if accept(UInt8(ascii: "<")) {
        while next() != UInt8(ascii: ">"), next() != 0 { position += 1 }
        return accept(UInt8(ascii: ">"))
      }
      while (next() | 0x20) &- UInt8(ascii: "a") < 26 { position += 1 }
      return position > start
    }
    func time() -> Int? {
      let isNegative = accept(UInt8(ascii: "-"))
      if !isNegative { _ = accept(UInt8(ascii: "+")) }
      guard let hours = number(), hours <= 167 else { return nil }
      var seconds = hours * 3600
      if accept(UInt8(ascii: ":")) {
        guard let minutes = number(), minutes < 60 else { return nil }
        seconds += minutes * 60
        if accept(UInt8(ascii: ":")) {
          guard let rest = number(), rest < 60 else { return nil }
          seconds += rest
        }
      }
      return isNegative ? -seconds : seconds
    }
    func day() -> Day? {
      guard accept(UInt8(ascii: ",")) else { return nil }
      var day: Day
      if accept(UInt8(ascii: "M")) {
        guard let month = number(), (1...12).contains(month), accept(UInt8(ascii: ".")), let week = number(),
          (1...5).contains(week), accept(UInt8(ascii: ".")), let weekday = number(), weekday < 7
        else { return nil }
        day = Day(kind: .week, month: month, week: week, day: weekday)
      } else {
        let isJulian = accept(UInt8(ascii: "J"))
        guard let number = number(), number <= 365, !isJulian || number > 0 else { return nil }
        day = Day(kind: isJulian ? .julian : .zeroBased, day: number)
      }
      if accept(UInt8(ascii: "/")) {
        guard let time = time() else { return nil }
        day.time = time
      }
      return day
    }
    // The offsets are given westward.
    guard name(), let west = time() else { return nil }
    standard = -west
    guard position < text.count else { return }
    guard name() else { return nil }
    var offset = standard + 3600
    if next() != UInt8(ascii: ",") {
      guard let west = time() else { return nil }
      offset = -west
    }
    guard let start = day(), let end = day(), position == text.count else { return nil }
    summer = (offset, start, end)
  }
}
