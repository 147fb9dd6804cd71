// SPDX-License-Identifier: MIT
import SignalHTTP

extension Setting {
  /// Where to listen: URLs on one line, or groups in the file, which say more.
  static func listeners(_ name: String, _ field: Field<[ListenerConfiguration]>, _ summary: String) -> Setting {
    Setting(
      name: name, expected: "a list of URLs such as http://127.0.0.1:8080 or unix:/run/signal/socket",
      summary: summary, isList: true,
      assign: { texts, settings in
        var listeners: [ListenerConfiguration] = []
        for text in texts {
          guard let endpoint = try? Endpoint(text, lowestPort: 0) else { return false }
          listeners.append(ListenerConfiguration(endpoint))
        }
        guard listeners.count <= ServerConfiguration.mostListeners else { return false }
        settings[keyPath: field] = listeners
        return true
      },
      assignGroups: { groups, settings throws(ConfigurationError) in
        guard groups.items.count <= ServerConfiguration.mostListeners else {
          let rule = "has at most \(ServerConfiguration.mostListeners) of them"
          throw .contradiction(name, groups.source(groups.line), rule: rule)
        }
        var listeners: [ListenerConfiguration] = []
        for (index, group) in groups.items.enumerated() {
          listeners.append(try ListenerConfiguration(group, "\(name)[\(index)]", groups))
        }
        settings[keyPath: field] = listeners
      },
      texts: { $0[keyPath: field].map(\.text) }, copy: { $1[keyPath: field] = $0[keyPath: field] })
  }
}

extension ListenerConfiguration {
  /// The members of a group, with what they take.
  private static let members = [
    "url": "a URL such as http://127.0.0.1:8080 or unix:/run/signal/socket", "mode": "permissions such as 0660",
  ]

  /// Reads one group of a file.
  ///
  /// - Parameter name: What errors call it.
  fileprivate init(
    _ group: SettingsFile.Group, _ name: String, _ groups: SettingsFile.Groups
  ) throws(ConfigurationError) {
    var endpoint: Endpoint?
    var mode: (value: UInt16, source: SettingSource)?
    for entry in group.entries {
      let (member, source) = ("\(name).\(entry.name)", groups.source(entry.line))
      guard let expected = Self.members[entry.name] else {
        let nearest = Suggestion.nearest(to: entry.name, among: Self.members.keys.sorted())
        throw .unknownSetting(member, source, nearest: nearest)
      }
      let text: String
      switch entry.value {
      case .scalar(let value): text = value
      case .nothing: throw .noValue(member, expected: expected, source)
      case .list(let values):
        throw .badValue(member, text: "[\(values.joined(separator: ", "))]", expected: expected, source)
      case .groups: throw .badValue(member, text: "[{…}]", expected: expected, source)
      }
      if entry.name == "mode" {
        guard let value = Self.mode(text) else { throw .badValue(member, text: text, expected: expected, source) }
        mode = (value, source)
      } else {
        do throws(EndpointError) {
          endpoint = try Endpoint(text, lowestPort: 0)
        } catch {
          throw .contradiction(member, source, rule: "'\(text.printable)' \(error.reason)")
        }
      }
    }
    guard let endpoint else {
      throw .noValue("\(name).url", expected: Self.members["url"] ?? "", groups.source(group.line))
    }
    if let mode, case .tcp = endpoint {
      throw .contradiction("\(name).mode", mode.source, rule: "is for unix sockets only")
    }
    self.init(endpoint, mode: mode?.value ?? Self.defaultMode)
  }

  /// Reads octal digits, as `chmod` takes them.
  private static func mode(_ text: String) -> UInt16? {
    guard (3...4).contains(text.utf8.count), let mode = UInt16(text, radix: 8), mode <= 0o777 else { return nil }
    return mode
  }

  /// As it is written in a file.
  fileprivate var text: String {
    let url = "url: \"\(endpoint)\""
    guard case .unix = endpoint, mode != Self.defaultMode else { return "{\(url)}" }
    let digits = String(mode, radix: 8)
    return "{\(url), mode: \"\(String(repeating: "0", count: 4 - digits.count))\(digits)\"}"
  }
}
