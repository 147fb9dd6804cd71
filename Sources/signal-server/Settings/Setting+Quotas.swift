// SPDX-License-Identifier: MIT
import JSON
import SignalStore

extension Setting {
  /// What may be beneath some paths: `users/{id}/** properties 1000 bytes 1MiB` on one line, or groups in the file.
  static func quotas(_ name: String, _ field: Field<[Quota]>, _ summary: String) -> Setting {
    var setting = list(
      name, field, atMost: Quota.most,
      expected: "a list of quotas such as \"users/{id}/** properties 1000 bytes 1MiB\"", summary,
      read: { text in try? Quota(line: text) },
      readGroup: { group, name, groups throws(ConfigurationError) in try Quota(group, name, groups) },
      write: { $0.text })
    setting.fault = { texts in
      for text in texts {
        do throws(RuleFault) {
          _ = try Quota(line: text)
        } catch {
          return "the quota '\(text.printable)': \(error.reason)"
        }
      }
      return texts.count > Quota.most ? "has at most \(Quota.most) of them" : nil
    }
    return setting
  }
}

extension Quota {
  /// What one group may name, and what each of it is.
  private static let members = [
    "match": "a pattern such as users/{id}/**", "properties": "an integer from 0 to \(mostProperties)",
    "bytes": "a size such as 1MiB",
  ]
  private static let mostProperties = 1_000_000_000

  /// Reads a line: a pattern, and behind it what is limited.
  fileprivate init(line: String) throws(RuleFault) {
    var words = line.split(separator: " ")[...]
    var given: [String: Int] = [:]
    while words.count > 2, let value = words.last, case let name = String(words[words.endIndex - 2]),
      name == "properties" || name == "bytes", given[name] == nil
    {
      guard let number = Quota.number(name, String(value)) else {
        throw RuleFault(reason: "'\(value)' is not \(Quota.members[name] ?? "")")
      }
      given[name] = number
      words = words.dropLast(2)
    }
    guard let first = words.first, let last = words.last, !given.isEmpty else {
      throw RuleFault(
        reason: "behind the pattern should stand what is limited, such as 'properties 1000', 'bytes 1MiB' or both")
    }
    // Taken verbatim, since a pattern may contain spaces.
    try self.init(
      String(line[first.startIndex..<last.endIndex]), properties: given["properties"], bytes: given["bytes"])
  }

  private static func number(_ name: String, _ text: String) -> Int? {
    guard name == "properties" else { return SettingText.bytes(text) }
    return SettingText.integer(text).flatMap { (0...mostProperties).contains($0) ? $0 : nil }
  }

  /// Reads one group of a file.
  ///
  /// - Parameter name: What errors call it.
  fileprivate init(
    _ group: SettingsFile.Group, _ name: String, _ groups: SettingsFile.Groups
  ) throws(ConfigurationError) {
    var match = ""
    var given: [String: Int] = [:]
    for entry in group.entries {
      let (member, source) = ("\(name).\(entry.name)", groups.source(entry.line))
      guard let expected = Self.members[entry.name] else {
        let nearest = Suggestion.nearest(to: entry.name, among: Self.members.keys.sorted())
        throw .unknownSetting(member, source, nearest: nearest)
      }
      guard case .scalar(let text) = entry.value, !text.isEmpty else {
        throw .noValue(member, expected: expected, source)
      }
      if entry.name == "match" {
        match = text
      } else {
        guard let number = Quota.number(entry.name, text) else {
          throw .badValue(member, text: text, expected: expected, source)
        }
        given[entry.name] = number
      }
    }
    guard !match.isEmpty else {
      throw .noValue("\(name).match", expected: Self.members["match"] ?? "", groups.source(group.line))
    }
    do throws(RuleFault) {
      try self.init(match, properties: given["properties"], bytes: given["bytes"])
    } catch {
      throw .contradiction(name, groups.source(group.line), rule: "cannot be used: \(error.reason)")
    }
  }

  /// As it is written in a file.
  fileprivate var text: String {
    var members = ["match: \(JSONText(match))"]
    if let properties { members.append("properties: \(properties)") }
    if let bytes { members.append("bytes: \(SettingText.text(bytes: bytes))") }
    return "{\(members.joined(separator: ", "))}"
  }
}
