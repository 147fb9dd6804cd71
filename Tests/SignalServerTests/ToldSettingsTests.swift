// SPDX-License-Identifier: MIT
import JSON
import SignalHTTP
import SignalStore
import Testing

@testable import signal_server

/// What `GET /server/settings` tells.
struct ToldSettingsTests {
  private func resolved(_ text: String) throws -> ResolvedSettings {
    try ResolvedSettings(file: SettingsFile(path: "f.yaml", bytes: Array(text.utf8)))
  }

  private func told(_ settings: ToldSettings) -> [String: ServerFacts.Setting] {
    Dictionary(uniqueKeysWithValues: settings.facts.list.map { ($0.name, $0) })
  }

  @Test func `each setting has its value and its source`() throws {
    let given = try resolved("port: 8081\nlog: {level: debug}")
    let settings = ToldSettings(given, inEffect: given.settings)
    let told = told(settings)
    #expect(Set(told.keys) == Set(Settings.table.map(\.name)))
    #expect(told["port"]?.value == "8081" && told["port"]?.source == "f.yaml:1")
    #expect(told["log.level"]?.value == "debug" && told["log.level"]?.source == "f.yaml:2")
    #expect(told["host"]?.value == "127.0.0.1" && told["host"]?.source == "default")
    #expect(told.values.allSatisfy { $0.pending == nil && !$0.summary.isEmpty })
  }

  @Test func `what a reload could not apply is pending`() throws {
    let given = try resolved("port: 8081\nlog: {level: debug}")
    let settings = ToldSettings(given, inEffect: given.settings)
    let new = try resolved("port: 8082\nlog: {level: error}")
    settings.note(new)
    settings.tell(inEffect: given.settings.reloaded(with: new.settings).settings)
    let told = told(settings)
    #expect(told["port"]?.value == "8081" && told["port"]?.pending == "8082")
    #expect(told["log.level"]?.value == "error" && told["log.level"]?.pending == nil)
  }

  @Test func `of the URLs of keys the query is not told`() throws {
    let given = try resolved("auth.jwt.keys: [{url: https://idp.example/jwks?api_key=K3Y}]")
    let value = try #require(told(ToldSettings(given, inEffect: given.settings))["auth.jwt.keys"]?.value)
    #expect(value.contains("https://idp.example/jwks?…") && !value.contains("K3Y"))
  }

  @Test func `memory is what follows from the machine`() throws {
    let given = try resolved("port: 0")
    let settings = ToldSettings(given, inEffect: given.settings.within(available: 1 << 30))
    #expect(told(settings)["memory"]?.value == "768MiB" && told(settings)["memory"]?.pending == nil)
  }
}
