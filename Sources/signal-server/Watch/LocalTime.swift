// SPDX-License-Identifier: MIT
import Glibc
import SignalStore

/// Times as people at this machine read them.
enum LocalTime {
  /// How wide each of them is.
  private static let width = 12

  /// `08:15:02.114` of today, or else the day, `2026-01-02`; blank when the text is no time.
  ///
  /// Always as wide, so that what follows is aligned.
  static func text(of time: String, now: Timestamp = .now) -> String {
    guard let timestamp = Timestamp(time) else { return String(repeating: " ", count: width) }
    let (day, clock) = parts(of: timestamp)
    if day == parts(of: now).day { return clock }
    return day + String(repeating: " ", count: width - day.count)
  }

  private static func parts(of timestamp: Timestamp) -> (day: String, clock: String) {
    let second = Int((Double(timestamp.milliseconds) / 1000).rounded(.down))
    var time = time_t(second)
    var fields = unsafe tm()
    // Both are variables of this call.
    _ = unsafe localtime_r(&time, &fields)
    let milliseconds = Int(timestamp.milliseconds) - second * 1000
    let (year, month, day) = unsafe (fields.tm_year + 1900, fields.tm_mon + 1, fields.tm_mday)
    let (hour, minute, seconds) = unsafe (fields.tm_hour, fields.tm_min, fields.tm_sec)
    return (
      "\(padded(Int(year), 4))-\(padded(Int(month), 2))-\(padded(Int(day), 2))",
      "\(padded(Int(hour), 2)):\(padded(Int(minute), 2)):\(padded(Int(seconds), 2)).\(padded(milliseconds, 3))"
    )
  }

  private static func padded(_ number: Int, _ width: Int) -> String {
    let digits = "\(number)"
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }
}
