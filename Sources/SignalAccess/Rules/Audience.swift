// SPDX-License-Identifier: MIT

package import JSON
package import SignalStore

/// Those who may see the same of some properties: what is left of the rules for them.
///
/// Two audiences are equal when they see the same by the same conditions: one judgement of a change serves all of
/// them. Immutable.
package final class Audience: Hashable, Sendable {
  let allow: [RuleTerm]
  let deny: [RuleTerm]
  /// Whether a judgement of a property stays true as long as the property is the same: no condition uses the time, or
  /// other properties.
  package let isLasting: Bool
  /// The conditions in a form in which equal ones are equal.
  private let key: [UInt8]

  /// Those who may see nothing.
  package static let nobody = Audience(allow: [], deny: [])

  init(allow: [RuleTerm], deny: [RuleTerm]) {
    self.allow = allow
    self.deny = deny
    isLasting = (allow + deny).allSatisfy(\.isLasting)
    // The order of rules means nothing.
    var key: [UInt8] = []
    for keys in [allow.map(\.key), deny.map(\.key)] {
      for text in Set(keys).sorted(by: { $0.lexicographicallyPrecedes($1) }) {
        key.append(contentsOf: "\(text.count):".utf8)
        key.append(contentsOf: text)
      }
      key.append(UInt8(ascii: "|"))
    }
    self.key = key
  }

  /// The properties whose values decide about others: when one of them changes, what is visible may be something else.
  package var dependencies: [PathPattern] {
    var patterns: [PathPattern] = []
    for term in allow + deny {
      for dependency in term.dependencies where !patterns.contains(dependency.pattern) {
        patterns.append(dependency.pattern)
      }
    }
    return patterns
  }

  /// Whether the audience may see a property.
  ///
  /// - Parameters:
  ///   - work: The cost is subtracted from it, in the units of `CELLimits.budget`.
  ///   - read: Reads a property with the server's eyes, for the conditions that depend on others.
  package func admits(
    _ subject: AccessSubject, work: inout Int, read: (PropertyPath) -> JSONText?
  ) -> Bool {
    var isAllowed = false
    for term in allow {
      work -= 1
      if term.pattern.matches(subject.path), holds(term, subject, &work, read) == true {
        isAllowed = true
        break
      }
    }
    guard isAllowed else { return false }
    for term in deny {
      work -= 1
      if term.pattern.matches(subject.path), holds(term, subject, &work, read) != false { return false }
    }
    return true
  }

  private func holds(
    _ term: RuleTerm, _ subject: AccessSubject, _ work: inout Int, _ read: (PropertyPath) -> JSONText?
  ) -> Bool? {
    var budget = Int.max
    defer { work -= Int.max - budget }
    return term.holds(for: subject, &budget, read)
  }

  /// A number by which a client can show that it was of this audience, also after a restart.
  ///
  /// It is no secret, and grants nothing: whoever gives another one only gets a snapshot.
  ///
  /// - Parameters:
  ///   - audience: Those who see the properties; nil: everybody.
  ///   - patterns: The properties.
  package static func mark(of audience: Audience?, _ patterns: [PathPattern]) -> UInt64 {
    // FNV-1a, since it has to stay the same in other processes.
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    func add(_ bytes: [UInt8]) { for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 } }
    for pattern in patterns {
      add(pattern.bytes)
      add([0])
    }
    if let audience { add(audience.key) }
    return hash
  }

  package static func == (a: Audience, b: Audience) -> Bool { a === b || a.key == b.key }

  package func hash(into hasher: inout Hasher) { hasher.combine(key) }
}
