// SPDX-License-Identifier: MIT
import SignalJournal
import SignalStore

extension Setting {
  /// Rules of what is kept over time: a line for each, such as `sensors/** raw 24h, 1m 30d`.
  ///
  /// Where commas separate the items of a list, a rule continues with items that are another length: `1m 30d`.
  static func history(_ name: String, _ field: Field<[HistoryRule]>, _ summary: String) -> Setting {
    rules(
      name, field, "a list of rules such as \"sensors/** raw 24h, 1m 30d, 1h 2y\"", summary,
      limit: HistoryRule.mostRules, continues: HistoryRule.isTier
    ) { line throws(RuleFault) in try HistoryRule(line) }
  }

  /// Rules of what is kept over a restart: a line for each, such as `presence/** volatile`.
  static func persistence(_ name: String, _ field: Field<[PersistenceRule]>, _ summary: String) -> Setting {
    rules(
      name, field, "a list of rules such as \"presence/** volatile\", \"sensors/** every 1s\"", summary,
      limit: PersistenceRule.mostRules
    ) { line throws(RuleFault) in try PersistenceRule(line) }
  }

  /// Shares of what is kept for those who resume: a line for each, such as `sensors/** 20%`.
  static func shares(_ name: String, _ field: Field<[HistoryShare]>, _ summary: String) -> Setting {
    rules(
      name, field, "a list of shares such as \"sensors/** 20%\"", summary, limit: HistoryShare.most,
      fault: HistoryShare.fault
    ) { line throws(RuleFault) in try HistoryShare(line) }
  }

  /// Rules, one a line.
  ///
  /// - Parameters:
  ///   - continues: Whether an item of a list belongs to the rule before it.
  ///   - fault: Why rules cannot be given together.
  private static func rules<Rule: CustomStringConvertible & Sendable>(
    _ name: String, _ field: Field<[Rule]>, _ expected: String, _ summary: String, limit: Int,
    continues: @escaping @Sendable (String) -> Bool = { _ in false },
    fault: @escaping @Sendable ([Rule]) -> String? = { _ in nil },
    read: @escaping @Sendable (String) throws(RuleFault) -> Rule
  ) -> Setting {
    @Sendable func rules(_ texts: [String]) throws(RuleFault) -> [Rule] {
      var lines: [String] = []
      for text in texts {
        if let last = lines.indices.last, continues(text) {
          lines[last] += ", \(text)"
        } else {
          lines.append(text)
        }
      }
      guard lines.count <= limit else { throw RuleFault(reason: "has at most \(limit) rules") }
      var rules: [Rule] = []
      for line in lines {
        do throws(RuleFault) {
          rules.append(try read(line))
        } catch {
          throw RuleFault(reason: "the rule '\(line.printable)': \(error.reason)")
        }
      }
      if let reason = fault(rules) { throw RuleFault(reason: reason) }
      return rules
    }
    return Setting(
      name: name, expected: expected, summary: summary, isList: true,
      assign: { texts, settings in
        guard let rules = try? rules(texts) else { return false }
        settings[keyPath: field] = rules
        return true
      },
      fault: { texts in
        do throws(RuleFault) {
          _ = try rules(texts)
          return nil
        } catch {
          return error.reason
        }
      },
      texts: { $0[keyPath: field].map { quoted($0.description) } },
      copy: { $1[keyPath: field] = $0[keyPath: field] })
  }

  /// A text that YAML does not take for anything else.
  private static func quoted(_ text: String) -> String {
    "\"" + text.reduce(into: "") { $0 += $1 == "\"" || $1 == "\\" ? "\\\($1)" : "\($1)" } + "\""
  }
}
