// SPDX-License-Identifier: MIT

/// Where a value of a setting came from, in the words an operator finds it by.
enum SettingSource: Equatable, Sendable, CustomStringConvertible {
  /// The built-in default.
  case builtIn
  /// A line of the settings file, counted from one.
  case file(String, line: Int)
  /// An environment variable.
  case environment(String)
  /// A flag of `serve`, with its dashes.
  case flag(String)

  var description: String {
    switch self {
    case .builtIn: "default"
    case .file(let path, let line): "\(path.printable):\(line)"
    case .environment(let name): "environment \(name)"
    case .flag(let name): "flag \(name)"
    }
  }
}
