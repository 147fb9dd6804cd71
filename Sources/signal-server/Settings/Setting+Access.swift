// SPDX-License-Identifier: MIT
import JSON
import SignalAccess

extension Setting {
  /// A condition in the expression language; nothing for none.
  ///
  /// Whether it can be used is found out together with the rules.
  static func condition(_ name: String, _ field: Field<String>, _ summary: String) -> Setting {
    Setting(
      name: name, expected: "a condition such as auth.role == 'admin'", summary: summary, isList: false,
      assign: { texts, settings in
        guard texts.count == 1 else { return false }
        settings[keyPath: field] = texts[0]
        return true
      },
      texts: { [$0[keyPath: field]] }, copy: { $1[keyPath: field] = $0[keyPath: field] })
  }

  /// Who may do what: groups in the file, and nowhere else.
  static func accessRules(_ name: String, _ field: Field<[AccessRule]>, _ summary: String) -> Setting {
    Setting(
      name: name, expected: "a list of groups in the settings file, each with 'match' and conditions",
      summary: summary, isList: true,
      assign: { texts, settings in
        // Nothing is the only list of rules that fits on one line.
        guard texts.isEmpty else { return false }
        settings[keyPath: field] = []
        return true
      },
      assignGroups: { groups, settings throws(ConfigurationError) in
        var rules: [AccessRule] = []
        for (index, group) in groups.items.enumerated() {
          rules.append(try AccessRule(group, "\(name)[\(index)]", groups))
        }
        settings[keyPath: field] = rules
      },
      texts: { $0[keyPath: field].map(\.text) }, copy: { $1[keyPath: field] = $0[keyPath: field] })
  }

  /// A text in double quotes, which YAML reads as JSON does.
  fileprivate static func quoted(_ text: String) -> String { JSONText(text).description }
}

extension AccessRule {
  /// The names of a group, besides those of `with`.
  private static let members: [String] = {
    let operations = ["read", "write"] + AccessOperation.allCases.map(\.rawValue)
    return ["match", "with", "validate"] + operations + operations.map { "deny-\($0)" }
  }()

  /// Reads one group of a file.
  ///
  /// - Parameter name: What errors call it.
  fileprivate init(
    _ group: SettingsFile.Group, _ name: String, _ groups: SettingsFile.Groups
  ) throws(ConfigurationError) {
    self.init(match: "")
    for entry in group.entries {
      let (member, source) = ("\(name).\(entry.name)", groups.source(entry.line))
      let isProperty = entry.name.hasPrefix("with.")
      guard isProperty || Self.members.contains(entry.name) else {
        throw .unknownSetting(member, source, nearest: Suggestion.nearest(to: entry.name, among: Self.members))
      }
      let expected =
        switch entry.name {
        case "match": "a pattern such as users/{id}/**"
        case "with": "a group of names and paths such as rooms/{room}/members"
        case _ where isProperty: "a path such as rooms/{room}/members"
        default: "a condition such as auth.sub == id"
        }
      let text: String
      switch entry.value {
      case .scalar(let value) where !value.isEmpty && entry.name != "with": text = value
      case .scalar(let value): throw .badValue(member, text: value, expected: expected, source)
      case .nothing: throw .noValue(member, expected: expected, source)
      case .list(let values):
        throw .badValue(member, text: "[\(values.joined(separator: ", "))]", expected: expected, source)
      case .groups: throw .badValue(member, text: "[{…}]", expected: expected, source)
      }
      switch entry.name {
      case "match": match = text
      case "validate": validate = text
      case _ where isProperty: with[String(entry.name.dropFirst("with.".count))] = text
      default: conditions[entry.name] = text
      }
    }
    if match.isEmpty {
      throw .noValue("\(name).match", expected: "a pattern such as users/{id}/**", groups.source(group.line))
    }
  }

  /// As it is written in a file.
  fileprivate var text: String {
    var members = ["match: \(Setting.quoted(match))"]
    if !with.isEmpty {
      let names = with.sorted { $0.key < $1.key }.map { "\($0.key): \(Setting.quoted($0.value))" }
      members.append("with: {\(names.joined(separator: ", "))}")
    }
    members += conditions.sorted { $0.key < $1.key }.map { "\($0.key): \(Setting.quoted($0.value))" }
    if let validate { members.append("validate: \(Setting.quoted(validate))") }
    return "{\(members.joined(separator: ", "))}"
  }
}
