// SPDX-License-Identifier: MIT

/// Durations as written in settings and messages: a whole number and one of h, m, s and ms.
extension Duration {
  private static let units: [(name: String, milliseconds: Int64)] = [
    ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1),
  ]

  /// Makes a duration from its text, digits and a unit; nil when the text is not a duration, or longer than can be counted in
  /// milliseconds.
  ///
  /// - Parameter most: The number of digits at most.
  package init?(text: Substring, digits most: Int) {
    let digits = text.prefix { $0.isASCII && $0.isNumber }
    guard 1...most ~= digits.count, let count = Int64(digits),
      let unit = Duration.units.first(where: { $0.name == text[digits.endIndex...] })
    else { return nil }
    let (milliseconds, overflow) = count.multipliedReportingOverflow(by: unit.milliseconds)
    if overflow { return nil }
    self = .milliseconds(milliseconds)
  }

  /// The text, in the largest unit that divides it; rounded down to whole milliseconds.
  package var text: String {
    let milliseconds = milliseconds
    let unit = Duration.units.first { milliseconds != 0 && milliseconds % $0.milliseconds == 0 } ?? ("ms", 1)
    return "\(milliseconds / unit.milliseconds)\(unit.name)"
  }
}
