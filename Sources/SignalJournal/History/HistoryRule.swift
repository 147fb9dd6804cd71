// SPDX-License-Identifier: MIT

package import SignalStore

/// What is kept of the properties that match a pattern, and for how long: `sensors/** raw 24h, 1m 30d, 1h 2y`.
package struct HistoryRule: Equatable, Sendable {
  /// Buckets of a length, and how long they are kept.
  package struct Tier: Equatable, Sendable {
    /// The length of a bucket in milliseconds.
    package let step: Int64
    /// How long one is kept, in milliseconds.
    package let retention: Int64
  }

  package let pattern: PathPattern
  /// How long changes themselves are kept, in milliseconds; nil when they are not.
  package let raw: Int64?
  /// From the shortest bucket to the longest.
  package let tiers: [Tier]

  /// Maximum number of tiers of a rule.
  package static let mostTiers = 8
  /// Maximum number of rules.
  package static let mostRules = 256
  /// The lengths that a bucket can have, in milliseconds: 1 s to 366 days.
  package static let steps: ClosedRange<Int64> = 1000...366 * 86_400_000
  /// The maximum retention: a hundred years.
  private static let longestRetention: Int64 = 100 * 365 * 86_400_000

  private static let units: [(name: Character, milliseconds: Int64)] = [
    ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000), ("y", 365 * 86_400_000),
  ]

  /// Parses a line: a pattern, followed by a comma-separated list of what is kept and for how long.
  package init(_ line: String, limits: PathLimits = PathLimits()) throws(RuleFault) {
    var parts = line.split(separator: ",", omittingEmptySubsequences: false)[...]
    var texts: [(step: Substring, retention: Substring)] = []
    // From the end, as a pattern may have commas and spaces.
    var pattern = ""
    while let part = parts.popLast() {
      let words = part.split(separator: " ")
      guard let retention = words.last, words.count >= 2 else {
        throw RuleFault(reason: "'\(part.trimmed)' should be what is kept and for how long, such as '1m 30d'")
      }
      let step = words[words.count - 2]
      texts.append((step, retention))
      guard words.count > 2 else { continue }
      let head = part[..<step.startIndex]
      pattern = (parts.map(String.init) + [String(head)]).joined(separator: ",").trimmed
      break
    }
    guard !pattern.isEmpty else { throw HistoryRule.fault(withoutPattern: texts.last) }
    self.pattern = try PathPattern(ofRule: pattern, limits: limits)
    (raw, tiers) = try HistoryRule.tiers(texts.reversed())
  }

  /// What is missing of a line of times alone.
  private static func fault(withoutPattern first: (step: Substring, retention: Substring)?) -> RuleFault {
    if let (step, retention) = first, step != "raw", milliseconds(step) == nil {
      return RuleFault(
        reason:
          "'\(step) \(retention)' does not say what is kept for \(retention): all changes, '\(step) raw \(retention)', "
          + "or buckets of a length, such as '\(step) 1m \(retention)'")
    }
    return RuleFault(reason: "a pattern should come first, such as 'sensors/** raw 24h'")
  }

  private static func tiers(
    _ texts: [(step: Substring, retention: Substring)]
  ) throws(RuleFault) -> (raw: Int64?, tiers: [Tier]) {
    guard texts.count <= mostTiers + 1 else {
      throw RuleFault(reason: "it has more than \(mostTiers) lengths of buckets")
    }
    var raw: Int64?
    var tiers: [Tier] = []
    for (index, text) in texts.enumerated() {
      guard let retention = milliseconds(text.retention), 1000...longestRetention ~= retention else {
        throw RuleFault(reason: "'\(text.retention)' is no time from 1s to 100y to keep something, such as 30d")
      }
      let shortest = tiers.last?.retention ?? raw ?? 0
      guard retention >= shortest else {
        throw RuleFault(reason: "'\(text.step) \(text.retention)' is kept for less time than what is finer")
      }
      if text.step == "raw" {
        guard index == 0 else { throw RuleFault(reason: "'raw' comes first") }
        raw = retention
        continue
      }
      guard let step = milliseconds(text.step), steps ~= step else {
        throw RuleFault(reason: "'\(text.step)' is neither raw nor a length from 1s to 366d, such as 1m")
      }
      guard step > tiers.last?.step ?? 0 else {
        throw RuleFault(reason: "'\(text.step)' should be longer than the one before it")
      }
      guard retention >= step else {
        throw RuleFault(reason: "'\(text.step) \(text.retention)' is kept for less time than it takes")
      }
      tiers.append(Tier(step: step, retention: retention))
    }
    return (raw, tiers)
  }

  /// Whether the text is another tier, and so continues the previous rule where commas also separate rules.
  package static func isTier(_ text: String) -> Bool {
    let words = text.split(separator: " ")
    return words.count == 2 && milliseconds(words[1]) != nil && (words[0] == "raw" || milliseconds(words[0]) != nil)
  }

  private static func milliseconds(_ text: Substring) -> Int64? {
    guard let unit = units.first(where: { $0.name == text.last }), 1...9 ~= text.utf8.count - 1,
      text.dropLast().utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }),
      let count = Int64(text.dropLast())
    else { return nil }
    let (result, overflow) = count.multipliedReportingOverflow(by: unit.milliseconds)
    return overflow ? nil : result
  }

  /// The longest retention of the rule, in milliseconds.
  var longest: Int64 { tiers.last?.retention ?? raw ?? 0 }
}

extension HistoryRule: CustomStringConvertible {
  /// The rule as a line.
  package var description: String {
    let raw = raw.map { ["raw \(HistoryRule.text($0))"] } ?? []
    let tiers = tiers.map { "\(HistoryRule.text($0.step)) \(HistoryRule.text($0.retention))" }
    return "\(pattern) \((raw + tiers).joined(separator: ", "))"
  }

  private static func text(_ milliseconds: Int64) -> String {
    // A unit always fits, as parsed values are whole numbers of seconds.
    guard let unit = units.last(where: { milliseconds % $0.milliseconds == 0 }) else { return "\(milliseconds)" }
    return "\(milliseconds / unit.milliseconds)\(unit.name)"
  }
}

extension StringProtocol {
  /// The text without spaces at both ends.
  fileprivate var trimmed: String {
    var text = self[...]
    while text.first == " " { text = text.dropFirst() }
    while text.last == " " { text = text.dropLast() }
    return String(text)
  }
}
