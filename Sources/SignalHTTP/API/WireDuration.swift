// SPDX-License-Identifier: MIT

/// A length of time as clients write it: `250ms`, `30s`, `5m`, `2h`, `7d`.
enum WireDuration {
  private static let units: [(name: String, milliseconds: Int)] = [
    ("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000),
  ]

  /// Reads one; nil when the text is none, or longer than 10 000 years.
  static func parse(_ text: String) -> Duration? {
    // No more digits than the longest needs, so that nothing overflows.
    let digits = text.utf8.prefix { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
    guard 1...15 ~= digits.count, let count = Int(String(digits) ?? ""),
      let unit = units.first(where: { $0.name == text[digits.endIndex...] })
    else { return nil }
    let (milliseconds, overflow) = count.multipliedReportingOverflow(by: unit.milliseconds)
    guard !overflow, milliseconds <= 10_000 * 366 * 86_400_000 else { return nil }
    return .milliseconds(milliseconds)
  }

  /// Writes one in the largest unit that divides it.
  static func text(_ duration: Duration) -> String {
    let (seconds, attoseconds) = duration.components
    let milliseconds = Int(seconds) * 1000 + Int(attoseconds / 1_000_000_000_000_000)
    guard milliseconds > 0, let unit = units.last(where: { milliseconds % $0.milliseconds == 0 }) else {
      return "\(milliseconds)ms"
    }
    return "\(milliseconds / unit.milliseconds)\(unit.name)"
  }

  /// Reads a parameter or member of that name.
  static func read(_ text: String, _ name: String) throws(Problem) -> Duration {
    guard let duration = parse(text) else {
      throw Problem(.badDuration, "\"\(name)\" is a number with a unit, such as 250ms, 30s, 5m, 2h or 7d.")
    }
    return duration
  }
}
