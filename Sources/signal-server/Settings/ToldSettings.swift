// SPDX-License-Identifier: MIT
import SignalHTTP
import Synchronization

/// The settings as `GET /server/settings` tells them: each with its value, and where that came from.
///
/// There is no secret among them: settings name the files that hold secrets, and of URLs the query is not told.
final class ToldSettings: Sendable {
  let facts = ServerFacts()
  /// What was read last; it takes effect when it is right as a whole.
  private let resolved: Mutex<ResolvedSettings>

  /// - Parameter settings: What the server runs with.
  init(_ resolved: ResolvedSettings, inEffect settings: Settings) {
    self.resolved = Mutex(resolved)
    tell(inEffect: settings)
  }

  /// Settings have been read anew.
  func note(_ resolved: ResolvedSettings) { self.resolved.withLock { $0 = resolved } }

  /// Tells these settings from now on.
  func tell(inEffect settings: Settings) {
    facts.set(resolved.withLock { Self.list($0, inEffect: settings) })
  }

  private static func list(_ resolved: ResolvedSettings, inEffect settings: Settings) -> [ServerFacts.Setting] {
    Settings.table.map { setting in
      let (value, read) = (setting.text(in: settings), setting.text(in: resolved.settings))
      // Others may differ because they follow from the memory that there is.
      let pending = setting.needsRestart && setting.name != "memory" && value != read ? read : nil
      func shown(_ text: String) -> String { setting.name == "auth.jwt.keys" ? text.withoutQueries : text }
      return ServerFacts.Setting(
        name: setting.name, value: shown(value),
        source: resolved.source(of: setting).description, summary: setting.summary,
        pending: pending.map(shown))
    }
  }
}

extension String {
  /// The URLs in it without their queries, which may hold a key of the operator.
  var withoutQueries: String {
    var text = ""
    var isQuery = false
    for character in self {
      if character == "?" {
        if !isQuery { text += "?…" }
        isQuery = true
      } else if character == "\"" || character == " " {
        isQuery = false
      }
      if !isQuery { text.append(character) }
    }
    return text
  }
}
