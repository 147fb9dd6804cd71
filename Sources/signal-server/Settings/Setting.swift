// SPDX-License-Identifier: MIT
import JSON
import SignalHTTP

/// One row of the table of settings: a name, the values it takes, and what it is for.
///
/// The file, the environment, the flags of `serve`, its help, `--print-config` and the tests all read these rows; a
/// setting that has one is complete.
struct Setting: Sendable {
  /// The key in the file, groups joined with dots: `http.head-bytes`.
  let name: String
  /// The values it takes, as a noun phrase that fits after "is not" and "expected".
  let expected: String
  /// What it bounds or chooses, in one line for `--help`.
  let summary: String
  /// Whether it takes several values: a list in the file, separated by commas elsewhere.
  let isList: Bool
  /// Puts the values into the settings; false when they are of the wrong type or out of range.
  let assign: @Sendable (_ texts: [String], _ settings: inout Settings) -> Bool
  /// Puts the groups of a list into the settings; nil for a setting whose values are no groups.
  var assignGroups: (@Sendable (SettingsFile.Groups, inout Settings) throws(ConfigurationError) -> Void)?
  /// Why values are none, where there is more to say than that they are not what is ``expected``: a clause about them.
  var fault: (@Sendable ([String]) -> String?)?
  /// The values as they are written in a file.
  let texts: @Sendable (Settings) -> [String]
  /// Takes the value from other settings.
  let copy: @Sendable (_ source: Settings, _ target: inout Settings) -> Void
  /// Whether a running server keeps the value that it was started with.
  private(set) var needsRestart = false

  /// The same, of which a running server takes no other value.
  var untilRestart: Setting {
    var setting = self
    setting.needsRestart = true
    return setting
  }

  /// What every environment variable of ours begins with.
  static let variablePrefix = "SIGNAL_"

  /// The environment variable: `SIGNAL_HTTP_HEAD_BYTES`.
  var variable: String {
    Setting.variablePrefix + String(name.uppercased().map { $0 == "." || $0 == "-" ? "_" : $0 })
  }

  /// The flag of `serve`: `--http-head-bytes`.
  var flag: String { "--" + String(name.map { $0 == "." ? "-" : $0 }) }

  /// The value in one line, as it is written in a file.
  func text(in settings: Settings) -> String {
    let texts = texts(settings)
    if !isList {
      let text = texts.joined()
      // Nothing at all would be null in YAML, and some expressions another thing.
      let isPlain = !text.isEmpty && !text.contains(/: | #|^[^A-Za-z0-9\/._(!-]|^!/)
      return isPlain ? text : JSONText(text).description
    }
    // A bare asterisk would be an alias in YAML.
    return "[" + texts.map { $0 == "*" ? "\"*\"" : $0 }.joined(separator: ", ") + "]"
  }
}

// MARK: - Kinds of values

extension Setting {
  /// A path to a field of the settings that may cross threads, as the table is a global value.
  typealias Field<Value> = any WritableKeyPath<Settings, Value> & Sendable

  /// A whole number.
  static func integer(
    _ name: String, _ field: Field<Int>, _ range: ClosedRange<Int>, _ summary: String
  ) -> Setting {
    let expected = "an integer from \(range.lowerBound) to \(range.upperBound)"
    return Setting(name, field, expected, summary, read: { SettingText.integer($0).within(range) }, write: { "\($0)" })
  }

  /// A number of bytes.
  static func bytes(
    _ name: String, _ field: Field<Int>, _ range: ClosedRange<Int>, _ summary: String
  ) -> Setting {
    let bounds = "\(SettingText.text(bytes: range.lowerBound)) to \(SettingText.text(bytes: range.upperBound))"
    return Setting(
      name, field, "a size from \(bounds), such as 64KiB", summary,
      read: { SettingText.bytes($0).within(range) }, write: SettingText.text(bytes:))
  }

  /// A number of bytes that a program can live with, or 0.
  static func memory(_ name: String, _ field: Field<Int>, _ summary: String) -> Setting {
    let range = MemoryShares.least...1 << 40
    let bounds = "\(SettingText.text(bytes: range.lowerBound)) to \(SettingText.text(bytes: range.upperBound))"
    return Setting(
      name, field, "0, or a size from \(bounds), such as 512MiB", summary,
      read: { text in SettingText.bytes(text).flatMap { $0 == 0 || range.contains($0) ? $0 : nil } },
      write: SettingText.text(bytes:))
  }

  /// A length of time.
  static func duration(
    _ name: String, _ field: Field<Duration>, _ range: ClosedRange<Duration>, _ summary: String
  ) -> Setting {
    let bounds = "\(SettingText.text(duration: range.lowerBound)) to \(SettingText.text(duration: range.upperBound))"
    return Setting(
      name, field, "a duration from \(bounds), such as 30s", summary,
      read: { SettingText.duration($0).within(range) }, write: SettingText.text(duration:))
  }

  /// Yes or no.
  static func flag(_ name: String, _ field: Field<Bool>, _ summary: String) -> Setting {
    Setting(
      name, field, "true or false", summary,
      read: { text in text == "true" ? true : text == "false" ? false : nil }, write: { "\($0)" })
  }

  /// A folder; nothing for none.
  static func folder(_ name: String, _ field: Field<String>, _ summary: String) -> Setting {
    Setting(
      name, field, "the path of a folder", summary,
      read: { isPath($0) ? $0 : nil }, write: { $0 })
  }

  /// A file; nothing for none.
  static func file(_ name: String, _ field: Field<String>, _ summary: String) -> Setting {
    Setting(
      name, field, "the path of a file", summary, read: { isPath($0) ? $0 : nil }, write: { $0 })
  }

  /// Several files.
  static func files(_ name: String, _ field: Field<[String]>, _ summary: String) -> Setting {
    Setting(
      name: name, expected: "a list of paths of files", summary: summary, isList: true,
      assign: { texts, settings in
        guard texts.allSatisfy({ !$0.isEmpty && isPath($0) }) else { return false }
        settings[keyPath: field] = texts
        return true
      },
      texts: { $0[keyPath: field] }, copy: { $1[keyPath: field] = $0[keyPath: field] })
  }

  private static func isPath(_ text: String) -> Bool { text.utf8.allSatisfy { $0 >= UInt8(ascii: " ") } }

  /// When something is synced: `commit`, which is zero, or a length of time.
  static func sync(
    _ name: String, _ field: Field<Duration>, _ range: ClosedRange<Duration>, _ summary: String
  ) -> Setting {
    let bounds = "\(SettingText.text(duration: range.lowerBound)) to \(SettingText.text(duration: range.upperBound))"
    return Setting(
      name, field, "commit, or a duration from \(bounds), such as 100ms", summary,
      read: { $0 == "commit" ? .zero : SettingText.duration($0).within(range) },
      write: { $0 == .zero ? "commit" : SettingText.text(duration: $0) })
  }

  /// One word of a few.
  static func choice<Value: CaseIterable & RawRepresentable<String> & Sendable>(
    _ name: String, _ field: Field<Value>, _ summary: String
  ) -> Setting {
    let words = Value.allCases.map(\.rawValue)
    return Setting(
      name, field, "one of \(words.joined(separator: ", "))", summary,
      read: { Value(rawValue: $0) }, write: \.rawValue)
  }

  /// A word without spaces; nothing for none.
  static func word(
    _ name: String, _ field: Field<String>, _ expected: String, _ summary: String,
    isValid: @escaping @Sendable (UInt8) -> Bool
  ) -> Setting {
    Setting(
      name, field, expected, summary, read: { $0.utf8.count <= 255 && $0.utf8.allSatisfy(isValid) ? $0 : nil },
      write: { $0 })
  }

  /// The address to listen on; whether it exists is found out by listening.
  static func host(_ name: String, _ field: Field<String>, _ summary: String) -> Setting {
    Setting(
      name, field, "an IP address or a host name", summary,
      read: { text in
        let isPlain = text.utf8.allSatisfy { byte in
          byte > UInt8(ascii: " ") && byte < 0x7F && !"/?#@\"'".utf8.contains(byte)
        }
        return isPlain && !text.isEmpty && text.utf8.count <= 255 ? text : nil
      },
      write: { $0 })
  }

  /// Names and addresses as they stand in `Host`, without a port, or an asterisk for all.
  static func hosts(_ name: String, _ field: Field<[String]>, _ summary: String) -> Setting {
    Setting(
      name: name, expected: "a list of names or addresses without a port such as signals.example.com, or \"*\"",
      summary: summary, isList: true,
      assign: { texts, settings in
        guard texts.allSatisfy({ $0 == "*" || isHost($0) }) else { return false }
        settings[keyPath: field] = texts
        return true
      },
      texts: { $0[keyPath: field] }, copy: { $1[keyPath: field] = $0[keyPath: field] })
  }

  /// Whether the text is a name, an IPv4 address, or an IPv6 address with or without brackets.
  private static func isHost(_ text: String) -> Bool {
    let (letters, digits) = ("abcdefghijklmnopqrstuvwxyz", "0123456789")
    let name = text.lowercased()
    if name.contains(":") {
      let isBracketed = name.hasPrefix("[") && name.hasSuffix("]")
      let address = isBracketed ? name.dropFirst().dropLast() : name[...]
      return address.count(where: { $0 == ":" }) >= 2 && address.allSatisfy((digits + "abcdef:.").contains)
    }
    return !name.isEmpty && name.last != "." && name.allSatisfy((letters + digits + ".-_").contains)
  }

  /// Web origins as browsers send them (RFC 6454 §7), or an asterisk for all.
  static func origins(_ name: String, _ field: Field<[String]>, _ summary: String) -> Setting {
    Setting(
      name: name, expected: "a list of origins such as https://app.example:8443, or \"*\"", summary: summary,
      isList: true,
      assign: { texts, settings in
        guard texts.allSatisfy({ $0 == "*" || isOrigin($0) }) else { return false }
        settings[keyPath: field] = texts
        return true
      },
      texts: { $0[keyPath: field] }, copy: { $1[keyPath: field] = $0[keyPath: field] })
  }

  /// Whether the text is what a browser would send: scheme, host and port in lower case, and nothing after them.
  static func isOrigin(_ text: String) -> Bool {
    let (letters, digits) = ("abcdefghijklmnopqrstuvwxyz", "0123456789")
    // Not only the web's own schemes: extensions and applications have theirs.
    let scheme = text.prefix { $0 != ":" }
    guard let first = scheme.first, letters.contains(first), scheme.allSatisfy((letters + digits + "+-.").contains),
      text.dropFirst(scheme.count).hasPrefix("://")
    else { return false }
    var host = text.dropFirst(scheme.count + "://".count)
    if host.last != "]", let colon = host.lastIndex(of: ":") {
      // A port that is the scheme's own is left out by browsers, so such an origin would never be met.
      let own = ["http": 80, "https": 443][String(scheme)]
      guard let port = SettingText.integer(host[host.index(after: colon)...]), (1...65535).contains(port), port != own
      else { return false }
      host = host[..<colon]
    }
    if host.hasPrefix("["), host.hasSuffix("]") {
      host = host.dropFirst().dropLast()
      return !host.isEmpty && host.allSatisfy((digits + "abcdef:.").contains)
    }
    return !host.isEmpty && host.allSatisfy((letters + digits + ".-_").contains)
  }

  init<Value>(
    _ name: String, _ field: Field<Value>, _ expected: String, _ summary: String,
    read: @escaping @Sendable (String) -> Value?, write: @escaping @Sendable (Value) -> String
  ) {
    self.init(
      name: name, expected: expected, summary: summary, isList: false,
      assign: { texts, settings in
        guard texts.count == 1, let value = read(texts[0]) else { return false }
        settings[keyPath: field] = value
        return true
      },
      texts: { [write($0[keyPath: field])] }, copy: { $1[keyPath: field] = $0[keyPath: field] })
  }
}

extension Setting {
  /// A list of items, each of one word on one line, or a group in the file, which can say more.
  ///
  /// - Parameters:
  ///   - count: The maximum number of items.
  ///   - read: Reads a word; nil when it is not one of an item.
  ///   - readGroup: Reads a group, of which the name is given for errors.
  static func list<Item: Sendable>(
    _ name: String, _ field: Field<[Item]>, atMost count: Int, expected: String, _ summary: String,
    read: @escaping @Sendable (String) -> Item?,
    readGroup:
      @escaping @Sendable (SettingsFile.Group, String, SettingsFile.Groups) throws(ConfigurationError) -> Item,
    write: @escaping @Sendable (Item) -> String
  ) -> Setting {
    Setting(
      name: name, expected: expected, summary: summary, isList: true,
      assign: { texts, settings in
        let items = texts.compactMap { read($0) }
        guard items.count == texts.count, items.count <= count else { return false }
        settings[keyPath: field] = items
        return true
      },
      assignGroups: { groups, settings throws(ConfigurationError) in
        guard groups.items.count <= count else {
          throw .contradiction(name, groups.source(groups.line), rule: "has at most \(count) of them")
        }
        var items: [Item] = []
        for (index, group) in groups.items.enumerated() {
          items.append(try readGroup(group, "\(name)[\(index)]", groups))
        }
        settings[keyPath: field] = items
      },
      texts: { $0[keyPath: field].map { write($0) } }, copy: { $1[keyPath: field] = $0[keyPath: field] })
  }
}

extension Optional where Wrapped: Comparable {
  /// The value when it lies in the range.
  fileprivate func within(_ range: ClosedRange<Wrapped>) -> Wrapped? { flatMap { range.contains($0) ? $0 : nil } }
}
