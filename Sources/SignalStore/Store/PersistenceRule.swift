// SPDX-License-Identifier: MIT

/// How the properties that match a pattern are kept over a restart, where that is not completely: `presence/**
/// volatile`, `sensors/** every 1s`.
package struct PersistenceRule: Equatable, Sendable {
  /// How much of a property is kept.
  package enum Extent: Equatable, Sendable {
    /// Its existence, not its values: a restart removes it.
    case volatile
    /// Its newest value, at most once per interval.
    case every(Duration)
  }

  package let pattern: PathPattern
  package let extent: Extent

  /// Maximum number of rules: each change is compared with them while others wait.
  package static let mostRules = 64
  /// The permitted intervals.
  package static let intervals: ClosedRange<Duration> = .milliseconds(10) ... .seconds(3600)

  package init(_ pattern: PathPattern, _ extent: Extent) {
    self.pattern = pattern
    self.extent = extent
  }

  /// Parses a line: a pattern, followed by what is kept.
  package init(_ line: String, limits: PathLimits = PathLimits()) throws(RuleFault) {
    let words = line.split(separator: " ")
    let count: Int
    if words.last == "volatile" {
      extent = .volatile
      count = 1
    } else if words.dropLast().last == "every", let text = words.last {
      guard let interval = Duration(text: text, digits: 9), PersistenceRule.intervals.contains(interval) else {
        throw RuleFault(reason: "'\(text)' is no time from 10ms to 1h, such as 1s")
      }
      extent = .every(interval)
      count = 2
    } else {
      throw RuleFault(reason: "behind the pattern should stand 'volatile', or how often it is kept, such as 'every 1s'")
    }
    guard words.count > count else {
      throw RuleFault(reason: "a pattern should come first, such as 'presence/** volatile'")
    }
    // Taken verbatim, since a pattern may contain spaces.
    let text = line[words[0].startIndex..<words[words.count - count - 1].endIndex]
    pattern = try PathPattern(ofRule: text, limits: limits)
  }
}

extension PersistenceRule: CustomStringConvertible {
  /// The rule as a line.
  package var description: String {
    switch extent {
    case .volatile: "\(pattern) volatile"
    case .every(let interval): "\(pattern) every \(interval.text)"
    }
  }
}

extension Sequence<PersistenceRule> {
  /// The first rule that matches; nil when the property is kept completely.
  func rule(for path: PropertyPath) -> PersistenceRule? { first { $0.pattern.matches(path) } }

  /// The longest time by which a kept value may lag; zero when none does.
  package var longestInterval: Duration {
    reduce(.zero) { longest, rule in
      if case .every(let interval) = rule.extent { Swift.max(longest, interval) } else { longest }
    }
  }
}
