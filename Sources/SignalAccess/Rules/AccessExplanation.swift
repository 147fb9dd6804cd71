// SPDX-License-Identifier: MIT

package import JSON
package import SignalStore

/// What the rules say about one operation of somebody, and why.
package struct AccessExplanation: Sendable {
  /// What came of a condition.
  package enum Result: String, Sendable {
    case allows, denies, valid, invalid
    /// It neither allows nor denies.
    case nothing
    /// It depends on what may not be told; of a pattern, also on which of its properties it is.
    case unknown
  }

  /// A condition of a rule that matches.
  package struct Entry: Sendable {
    /// The number of the rule, from 1.
    package var rule: Int
    /// Its pattern.
    package var match: String
    package var captures: [(name: String, text: String)]
    /// What the condition is for, as the rule says it: `read`, `deny-set`, `validate`.
    package var condition: String
    /// The condition.
    package var because: String
    package var result: Result
    /// Why the condition has no value; nil when it has one.
    package var failure: String?
    /// What the condition uses that may be told.
    package var values: [(name: String, value: JSONText)] = []
    /// What the condition uses that may not be told, or is longer than ``valueBytes``.
    package var withheld: [String] = []
  }

  /// How much of a pattern is visible.
  package enum Visibility: Sendable, Equatable {
    case whole
    /// What matches these patterns, or a part of it.
    case part([PathPattern])
    case nothing
  }

  /// The longest value that is told, as JSON.
  package static let valueBytes = 1024
  /// The conditions that are told at most; the decision is that of all.
  package static let mostEntries = 100

  /// Whether it is allowed; nil when that depends on what may not be told.
  package var isAllowed: Bool?
  /// A sentence about that.
  package var reason: String
  /// Whether everything is allowed to the caller.
  package var isAdministrator = false
  /// For a pattern, what of it is visible.
  package var visibility: Visibility?
  /// The conditions of the rules that match, for this operation, in the order of the rules.
  package var entries: [Entry] = []
  /// How many conditions there are besides ``entries``.
  package var more = 0

  package init(isAllowed: Bool?, reason: String) {
    self.isAllowed = isAllowed
    self.reason = reason
  }

  /// Where there are no rules.
  package static let unruled = AccessExplanation(
    isAllowed: true, reason: "There are no rules: whoever reaches the server may do everything.")

  /// Whoever may do everything.
  package static var administrator: AccessExplanation {
    var explanation = AccessExplanation(isAllowed: true, reason: "Administrators may do everything.")
    explanation.isAdministrator = true
    return explanation
  }

  /// The decision alone, and nothing of the rules.
  package var withoutEntries: AccessExplanation {
    var explanation = self
    explanation.entries = []
    explanation.more = 0
    return explanation
  }

  // MARK: As JSON

  /// The explanation as an object: the answer of `POST /access/explain`.
  package var json: JSONText {
    var text: [UInt8] = []
    text.append(literal: #"{"allowed":"#)
    if let isAllowed { text.appendJSON(isAllowed) } else { text.append(literal: "null") }
    text.append(literal: #","reason":"#)
    text.appendJSON(reason)
    if isAdministrator { text.append(literal: #","administrator":true"#) }
    switch visibility {
    case .whole?: text.append(literal: #","visible":"all""#)
    case .part(let patterns)?:
      text.append(literal: #","visible":"some","patterns":"#)
      Self.append(patterns.map(\.description), to: &text)
    case .nothing?: text.append(literal: #","visible":"none""#)
    case nil: break
    }
    text.append(literal: #","entries":["#)
    for (index, entry) in entries.enumerated() {
      if index > 0 { text.append(UInt8(ascii: ",")) }
      entry.append(to: &text)
    }
    text.append(UInt8(ascii: "]"))
    if more > 0 {
      text.append(literal: #","more":"#)
      text.appendJSON(more)
    }
    text.append(UInt8(ascii: "}"))
    return JSONText(alreadyCompact: text)
  }

  fileprivate static func append(_ texts: [String], to text: inout [UInt8]) {
    text.append(UInt8(ascii: "["))
    for (index, one) in texts.enumerated() {
      if index > 0 { text.append(UInt8(ascii: ",")) }
      text.appendJSON(one)
    }
    text.append(UInt8(ascii: "]"))
  }
}

extension AccessExplanation.Entry {
  fileprivate func append(to text: inout [UInt8]) {
    text.append(literal: #"{"rule":"#)
    text.appendJSON(rule)
    text.append(literal: #","match":"#)
    text.appendJSON(match)
    text.append(literal: #","captures":{"#)
    for (index, capture) in captures.enumerated() {
      if index > 0 { text.append(UInt8(ascii: ",")) }
      text.appendJSON(capture.name)
      text.append(UInt8(ascii: ":"))
      text.appendJSON(capture.text)
    }
    text.append(literal: #"},"condition":"#)
    text.appendJSON(condition)
    text.append(literal: #","because":"#)
    text.appendJSON(because)
    text.append(literal: #","result":"#)
    text.appendJSON(result.rawValue)
    if let failure {
      text.append(literal: #","failure":"#)
      text.appendJSON(failure)
    }
    text.append(literal: #","values":{"#)
    for (index, value) in values.enumerated() {
      if index > 0 { text.append(UInt8(ascii: ",")) }
      text.appendJSON(value.name)
      text.append(UInt8(ascii: ":"))
      text.appendJSON(value.value)
    }
    text.append(UInt8(ascii: "}"))
    if !withheld.isEmpty {
      text.append(literal: #","withheld":"#)
      AccessExplanation.append(withheld, to: &text)
    }
    text.append(UInt8(ascii: "}"))
  }
}
