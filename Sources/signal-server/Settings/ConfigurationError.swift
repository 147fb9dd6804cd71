// SPDX-License-Identifier: MIT

/// A reason not to start, to be fixed by the operator.
///
/// Its description is one line that names the setting, where the value came from and, for a name that is not known,
/// the nearest one that is.
enum ConfigurationError: Error, Equatable, Sendable, CustomStringConvertible {
  /// A key of the file that is no setting.
  case unknownSetting(String, SettingSource, nearest: String?)
  /// A key of the file that holds other settings, with a value of its own.
  case groupWithValue(String, SettingSource)
  /// A setting that was named and not given a value.
  case noValue(String, expected: String, SettingSource)
  /// A value of the wrong type or out of range.
  case badValue(String, text: String, expected: String, SettingSource)
  /// A setting that the file holds twice.
  case setTwice(String, firstLine: Int, SettingSource)
  /// Two settings that are each valid and contradict one another.
  case contradiction(String, SettingSource, rule: String)
  /// A line that is not YAML, or YAML beyond what a settings file may use.
  case syntax(String, SettingSource)
  /// The settings file could not be read.
  case unreadable(String, reason: String, SettingSource)
  /// An environment variable with our prefix that is no setting.
  case unknownVariable(String, nearest: String?)
  /// A flag that is no setting.
  case unknownFlag(String, nearest: String?)
  /// A flag at the end of the line, without its value.
  case flagWithoutValue(String, expected: String)
  /// A flag that was given twice.
  case repeatedFlag(String)
  /// A word that belongs to no flag.
  case unexpectedArgument(String, nearestVerb: String?)

  /// Whether the command line itself is wrong, as opposed to the value of a setting.
  var isUsage: Bool {
    switch self {
    case .unknownFlag, .flagWithoutValue, .repeatedFlag, .unexpectedArgument: true
    default: false
    }
  }

  var description: String {
    switch self {
    case .unknownSetting(let name, let source, let nearest):
      "unknown setting \(quoted(name)) (\(source))" + hint(nearest)
    case .groupWithValue(let name, let source):
      "\(name): is a group of settings and has no value of its own (\(source))"
    case .noValue(let name, let expected, let source):
      "\(name): has no value; expected \(expected) (\(source))"
    case .badValue(let name, let text, let expected, let source):
      "\(name): \(quoted(text)) is not \(expected) (\(source))"
    case .setTwice(let name, let firstLine, let source):
      "\(name): is already set on line \(firstLine) (\(source))"
    case .contradiction(let name, let source, let rule):
      "\(name): \(rule) (\(source))"
    case .syntax(let reason, let source):
      "\(reason) (\(source))"
    case .unreadable(let path, let reason, let source):
      "cannot read \(quoted(path)): \(reason) (\(source))"
    case .unknownVariable(let name, let nearest):
      "unknown variable \(quoted(name)) (environment)" + hint(nearest)
    case .unknownFlag(let name, let nearest):
      "unknown flag \(quoted(name))" + hint(nearest, otherwise: "; see signal-server serve --help")
    case .flagWithoutValue(let name, let expected):
      "\(name): needs a value, \(expected)"
    case .repeatedFlag(let name):
      "\(name): given twice"
    case .unexpectedArgument(let word, let nearest):
      "unexpected argument \(quoted(word))" + hint(nearest, otherwise: "; see signal-server --help")
    }
  }

  private func hint(_ nearest: String?, otherwise: String = "") -> String {
    nearest.map { "; did you mean \($0)?" } ?? otherwise
  }

  /// The text in quotes, on one line and of bounded length: it was given by the operator, but may come from anywhere.
  private func quoted(_ text: String) -> String {
    let limit = 80
    return "'\(String(text.prefix(limit)).printable)\(text.count > limit ? "…" : "")'"
  }
}
