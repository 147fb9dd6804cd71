// SPDX-License-Identifier: MIT
import SignalJournal

extension Setting {
  /// Rules of what is kept: a line for each, such as `sensors/** raw 24h, 1m 30d`.
  ///
  /// Where commas separate the items of a list, a rule goes on with those that are one more length: `1m 30d`.
  static func history(_ name: String, _ field: Field<[HistoryRule]>, _ summary: String) -> Setting {
    Setting(
      name: name, expected: "a list of rules such as \"sensors/** raw 24h, 1m 30d, 1h 2y\"", summary: summary,
      isList: true,
      assign: { texts, settings in
        guard case .success(let rules) = rules(texts) else { return false }
        settings[keyPath: field] = rules
        return true
      },
      fault: { if case .failure(let fault) = rules($0) { fault.reason } else { nil } },
      texts: { $0[keyPath: field].map { quoted($0.description) } },
      copy: { $1[keyPath: field] = $0[keyPath: field] })
  }

  private static func rules(_ texts: [String]) -> Result<[HistoryRule], HistoryRule.Fault> {
    var lines: [String] = []
    for text in texts {
      if let last = lines.indices.last, HistoryRule.isTier(text) {
        lines[last] += ", \(text)"
      } else {
        lines.append(text)
      }
    }
    guard lines.count <= HistoryRule.mostRules else {
      return .failure(HistoryRule.Fault(reason: "has at most \(HistoryRule.mostRules) rules"))
    }
    return Result { () throws(HistoryRule.Fault) in
      var rules: [HistoryRule] = []
      for line in lines {
        do throws(HistoryRule.Fault) {
          rules.append(try HistoryRule(line))
        } catch {
          throw HistoryRule.Fault(reason: "the rule '\(line.printable)': \(error.reason)")
        }
      }
      return rules
    }
  }

  /// A text that YAML does not take for anything else.
  private static func quoted(_ text: String) -> String {
    "\"" + text.reduce(into: "") { $0 += $1 == "\"" || $1 == "\\" ? "\\\($1)" : "\($1)" } + "\""
  }
}
