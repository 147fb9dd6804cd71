// SPDX-License-Identifier: MIT

/// A settings file as flat entries: nested groups are joined with dots, every entry knows its line.
///
/// It is YAML without anchors, aliases, tags, directives and values over several lines (`YAMLReader`).
struct SettingsFile: Equatable, Sendable {
  /// What stands after a key.
  indirect enum Value: Equatable, Sendable {
    case scalar(String)
    case list([String])
    /// A list whose items are mappings.
    case groups([Group])
    /// Nothing, `null` or `~`.
    case nothing
  }

  /// One key and its value.
  struct Entry: Equatable, Sendable {
    let name: String
    let value: Value
    let line: Int
  }

  /// The mappings of a list, and where they stand.
  struct Groups: Sendable {
    let items: [Group]
    let line: Int
    let path: String

    func source(_ line: Int) -> SettingSource { .file(path, line: line) }
  }

  /// One mapping of a list.
  struct Group: Equatable, Sendable {
    let entries: [Entry]
    let line: Int
  }

  /// The largest file; the reference of all settings takes a hundredth of it.
  static let byteLimit = 1 << 20

  let path: String
  let entries: [Entry]

  /// Reads the whole bytes of a file.
  ///
  /// - Parameter path: the file's name, for what is said about it.
  init(path: String, bytes: [UInt8]) throws(ConfigurationError) {
    self.path = path
    guard bytes.count <= Self.byteLimit else {
      let limit = SettingText.text(bytes: Self.byteLimit)
      throw .syntax("a settings file has at most \(limit)", .file(path, line: 1))
    }
    do throws(YAMLError) {
      entries = try YAMLNode(bytes).map { root throws(YAMLError) in try Self.entries(of: root) } ?? []
    } catch {
      throw .syntax(error.message, .file(path, line: error.line))
    }
  }

  /// The place of a line, as errors name it.
  func source(_ line: Int) -> SettingSource { .file(path, line: line) }

  private static func entries(of root: YAMLNode) throws(YAMLError) -> [Entry] {
    switch root.content {
    case .nothing: return []
    case .mapping(let members): return try entries(of: members, "")
    case .scalar: throw YAMLError(message: "expected 'key: value'", line: root.line)
    case .sequence: throw YAMLError(message: "a list item belongs to no key", line: root.line)
    }
  }

  private static func entries(of members: [YAMLNode.Member], _ prefix: String) throws(YAMLError) -> [Entry] {
    var entries: [Entry] = []
    for member in members {
      let name = prefix + member.key
      switch member.value.content {
      case .mapping(let members) where !members.isEmpty: entries += try Self.entries(of: members, name + ".")
      case .nothing, .mapping: entries.append(Entry(name: name, value: .nothing, line: member.line))
      // The short form of a group that says one thing.
      case .scalar("open") where name == "access":
        entries.append(Entry(name: "access.open", value: .scalar("true"), line: member.line))
      case .scalar(let text): entries.append(Entry(name: name, value: .scalar(text), line: member.line))
      case .sequence(let items): entries.append(Entry(name: name, value: try list(items), line: member.line))
      }
    }
    return entries
  }

  private static func list(_ items: [YAMLNode]) throws(YAMLError) -> Value {
    var texts: [String] = []
    var groups: [Group] = []
    for item in items {
      switch item.content {
      case .scalar(let text): texts.append(text)
      case .mapping(let members): groups.append(Group(entries: try entries(of: members, ""), line: item.line))
      case .nothing, .sequence: throw YAMLError(message: "a list item is one value or one group", line: item.line)
      }
      guard texts.isEmpty || groups.isEmpty else {
        throw YAMLError(message: "the items of a list are all values or all groups", line: item.line)
      }
    }
    return groups.isEmpty ? .list(texts) : .groups(groups)
  }
}
