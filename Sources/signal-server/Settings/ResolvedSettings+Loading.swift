// SPDX-License-Identifier: MIT

extension ResolvedSettings {
  /// Reads the file that a flag or `SIGNAL_CONFIG` names, if any, then applies environment and flags.
  ///
  /// No file is searched for by default: how a server was started shows what it runs with.
  ///
  /// - Parameters:
  ///   - file: the value of `--config`.
  ///   - read: reads a whole file.
  static func load(
    file: String?, environment: [String: String], flags: [String],
    read: (String) throws(SystemFailure) -> [UInt8] = { path throws(SystemFailure) in
      try Terminal.readFile(path, atMost: SettingsFile.byteLimit + 1)
    }
  ) throws(ConfigurationError) -> ResolvedSettings {
    guard let named = name(ofFile: file, environment) else {
      return try ResolvedSettings(environment: environment, flags: flags)
    }
    let bytes: [UInt8]
    do {
      bytes = try read(named.path)
    } catch {
      throw .unreadable(named.path, reason: error.description, named.source)
    }
    let settings = try SettingsFile(path: named.path, bytes: bytes)
    return try ResolvedSettings(file: settings, environment: environment, flags: flags)
  }

  /// Which file is read, and what names it; nil when nothing does.
  static func name(ofFile flag: String?, _ environment: [String: String]) -> (path: String, source: SettingSource)? {
    if let flag { return (flag, .flag("--config")) }
    guard let path = environment["SIGNAL_CONFIG"], !path.isEmpty else { return nil }
    return (path, .environment("SIGNAL_CONFIG"))
  }

  /// The settings as a file that holds them, with the source after each value.
  var listing: String {
    var lines: [(text: String, source: String)] = []
    var group = ""
    for setting in Settings.table {
      let parts = setting.name.split(separator: ".", maxSplits: 1)
      let own = parts.count == 2 ? String(parts[0]) : ""
      if own != group { lines.append(("\(own):", "")) }
      group = own
      let indent = own.isEmpty ? "" : "  "
      lines.append(
        ("\(indent)\(parts[parts.count - 1]): \(setting.text(in: settings))", source(of: setting).description))
    }
    let width = lines.map(\.text.count).max() ?? 0
    return lines.map { text, source in
      source.isEmpty ? text : text + String(repeating: " ", count: width - text.count) + "  # \(source)"
    }.joined(separator: "\n")
  }
}
