// SPDX-License-Identifier: MIT
import Foundation
import SignalAccess
import SignalHTTP
import SignalJournal
import SignalStore
import Testing

@testable import signal_server

@Suite("From settings to what the libraries take")
struct ConfigurationMappingTests {
  /// All fields of a value and of the values in it, by name.
  private static func fields(_ value: Any, _ prefix: String) -> [String: String] {
    let mirror = Mirror(reflecting: value)
    guard mirror.displayStyle == .struct, !(value is Duration), !(value is any StringProtocol) else {
      return [prefix: "\(value)"]
    }
    return mirror.children.reduce(into: [:]) { fields, child in
      fields.merge(Self.fields(child.value, "\(prefix).\(child.label ?? "?")")) { $1 }
    }
  }

  private static func all(_ settings: Settings) -> [String: String] {
    // The memory that there is does not matter where it has been said.
    var settings = settings.memory == 0 ? settings : settings.within(available: 0)
    let hasFolder = !settings.data.dir.isEmpty
    // What is said of a folder counts only where there is one.
    if !hasFolder { settings.data.dir = "." }
    let storage = settings.storage
    let data = [
      "data.dir": hasFolder ? "\(storage?.folder ?? "")" : "", "data.sync": "\(storage?.journal.sync as Any)",
      "data.queueBytes": "\(storage?.journal.queueBytes as Any)", "data.readOnly": "\(storage?.isReadOnly as Any)",
      "data.history": "\(storage?.history.rules as Any)", "data.rules": "\(storage?.rules as Any)",
    ]
    // What a running store is given, and what only the program has.
    let rest = [
      "data.quotas": "\(settings.quotas)", "data.audit": "\(settings.audit)", "data.cluster": "\(settings.cluster)",
    ]
    return all(settings.server, settings.live, settings.store, settings.auth).merging(data) { $1 }.merging(rest) { $1 }
  }

  private static func all(
    _ server: ServerConfiguration, _ live: LiveConfiguration, _ store: StoreLimits,
    _ auth: AuthenticationSettings
  ) -> [String: String] {
    fields(server, "server").merging(fields(live, "live")) { $1 }.merging(fields(store, "store")) { $1 }
      .merging(fields(auth, "auth")) { $1 }
  }

  @Test func `the defaults of settings are those of the libraries`() {
    let libraries = Self.all(ServerConfiguration(), LiveConfiguration(), StoreLimits(), AuthenticationSettings())
    #expect(Self.all(Settings()).filter { !$0.key.hasPrefix("data.") } == libraries)
  }

  /// Values that each kind of setting takes; one of them is not the default.
  private static let candidates = [
    "5", "7", "200", "20s", "11s", "2KiB", "2MiB", "2GiB", "::1", "https://a", "unix:/s", "true", "a raw 1d",
    "a volatile",
    "a 20%", "unix", "public", "false", "a bytes 7", "writes", "errors",
    "nats://n1:4222", "edge", "delayed",
  ]

  @Test(
    arguments: Settings.table.map(\.name).filter { name in !["log.", "tls.", "access."].contains { name.hasPrefix($0) }
    })
  func `every setting reaches the libraries`(name: String) throws {
    let setting = try #require(Settings.byName[name])
    let changed = try #require(
      Self.candidates.lazy.compactMap { text -> Settings? in
        var settings = Settings()
        return setting.assign([text], &settings) && settings != Settings() ? settings : nil
      }.first)
    #expect(Self.all(changed) != Self.all(Settings()), "\(name) has no effect")
  }

  @Test func `every limit of the libraries has a setting`() {
    let defaults = Self.all(Settings())
    var reached: Set<String> = []
    for setting in Settings.table {
      for text in Self.candidates {
        var settings = Settings()
        guard setting.assign([text], &settings) else { continue }
        for (name, value) in Self.all(settings) where value != defaults[name] { reached.insert(name) }
      }
    }
    // What a program is told is its own business; rules are compiled when all settings are known.
    #expect(
      Set(defaults.keys).subtracting(reached) == [
        "server.observer", "server.memoryObserver", "server.exposedTokenObserver", "server.refusalObserver",
        "server.requestLog.observer", "server.droppedLogLines", "server.audit", "live.policy",
        // It follows from what the engine of a cluster takes.
        "store.commitBytes",
      ])
  }

  @Test func `a setting has the name of the member that it sets, with that of its group before it`() throws {
    let source = URL(filePath: #filePath).appending(path: "../../../Sources/signal-server/Settings/Settings.swift")
    let text = try String(contentsOf: source.standardized, encoding: .utf8)
    let rows = text.matches(of: /"([a-z.-]+)",\s+\\\.([A-Za-z.]+),/)
    #expect(rows.map { String($0.1) } == Settings.table.map(\.name))
    for row in rows {
      let member = row.2.split(separator: ".").last ?? ""
      let words = member.replacing(/[A-Z]/) { "-" + $0.output.lowercased() }
      #expect(row.1 == words || row.1.hasSuffix("." + words) || row.1.hasSuffix("-" + words), "\(row.1): \(member)")
    }
  }
}
