// SPDX-License-Identifier: MIT

/// What is kept over a restart of the properties that match a pattern, where that is not everything: `presence/** volatile`,
/// `sensors/** every 1s`.
package struct PersistenceRule: Equatable, Sendable {
  /// How much of a property is kept.
  package enum Extent: Equatable, Sendable {
    /// That it is there, and not its values: a start removes it.
    case volatile
    /// Its newest value, at most so often.
    case every(Duration)
  }

  /// Why a line is no rule: a clause about it.
  package struct Fault: Error, Equatable, Sendable {
    package let reason: String

    package init(reason: String) { self.reason = reason }
  }

  package let pattern: PathPattern
  package let extent: Extent

  /// Most rules: each change is compared with them while others wait.
  package static let mostRules = 64
  /// How often values can be kept.
  package static let intervals: ClosedRange<Duration> = .milliseconds(10) ... .seconds(3600)

  package init(_ pattern: PathPattern, _ extent: Extent) {
    self.pattern = pattern
    self.extent = extent
  }

  /// Reads a line: a pattern, and behind it what is kept.
  package init(_ line: String, limits: PathLimits = PathLimits()) throws(Fault) {
    let words = line.split(separator: " ")
    let count: Int
    if words.last == "volatile" {
      extent = .volatile
      count = 1
    } else if words.dropLast().last == "every", let text = words.last {
      guard let interval = Duration(text: text), PersistenceRule.intervals.contains(interval) else {
        throw Fault(reason: "'\(text)' is no time from 10ms to 1h, such as 1s")
      }
      extent = .every(interval)
      count = 2
    } else {
      throw Fault(reason: "behind the pattern should stand 'volatile', or how often it is kept, such as 'every 1s'")
    }
    guard words.count > count else {
      throw Fault(reason: "a pattern should come first, such as 'presence/** volatile'")
    }
    // As it stands there, since a pattern may have spaces.
    let text = line[words[0].startIndex..<words[words.count - count - 1].endIndex]
    do throws(PathError) {
      pattern = try PathPattern(String(text), limits: limits)
    } catch {
      throw Fault(reason: "the pattern '\(text)': \(error)")
    }
  }
}

extension PersistenceRule: CustomStringConvertible {
  /// The line.
  package var description: String {
    switch extent {
    case .volatile: "\(pattern) volatile"
    case .every(let interval): "\(pattern) every \(interval.text)"
    }
  }
}

extension Sequence<PersistenceRule> {
  /// The first that matches; nil when everything is kept of the property.
  func rule(for path: PropertyPath) -> PersistenceRule? { first { $0.pattern.matches(path) } }

  /// The longest time that a value may be behind; zero when nothing is.
  package var longestInterval: Duration {
    reduce(.zero) { longest, rule in
      if case .every(let interval) = rule.extent { Swift.max(longest, interval) } else { longest }
    }
  }
}
