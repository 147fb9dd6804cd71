// SPDX-License-Identifier: MIT

/// A length of time as clients write it: `250ms`, `30s`, `5m`, `2h`, `7d`.
package enum WireDuration {
  private static let units: [(name: String, milliseconds: Int)] = [
    ("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000),
  ]

  /// The format, as in `openapi.yaml` and `messages.schema.json`.
  ///
  /// Twelve digits of days are within the range of a `Duration`, and of milliseconds they are 31 years.
  static let pattern = "^[0-9]{1,12}(ms|s|m|h|d)$"

  /// Parses a text; nil when it does not match ``pattern``.
  package static func parse(_ text: String) -> Duration? {
    let digits = text.utf8.prefix { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
    guard 1...12 ~= digits.count, let count = Int(String(digits) ?? ""),
      let unit = units.first(where: { $0.name.utf8.elementsEqual(text.utf8[digits.endIndex...]) })
    else { return nil }
    return unit.milliseconds == 1 ? .milliseconds(count) : .seconds(count * (unit.milliseconds / 1000))
  }

  /// Writes a duration in the largest unit that divides it; nothing is `0s`.
  static func text(_ duration: Duration) -> String {
    let (seconds, attoseconds) = duration.components
    let milliseconds = Int(seconds) * 1000 + Int(attoseconds / 1_000_000_000_000_000)
    if milliseconds == 0 { return "0s" }
    guard milliseconds > 0, let unit = units.last(where: { milliseconds % $0.milliseconds == 0 }) else {
      return "\(milliseconds)ms"
    }
    return "\(milliseconds / unit.milliseconds)\(unit.name)"
  }

  /// Parses the parameter or member of that name.
  static func read(_ text: String, _ name: String) throws(Problem) -> Duration {
    guard let duration = parse(text) else {
      throw Problem(.badDuration, "\"\(name)\" is a number with a unit, such as 250ms, 30s, 5m, 2h or 7d.")
    }
    return duration
  }
}
