// SPDX-License-Identifier: MIT
import SignalStore
import Testing

@testable import signal_server

@Suite("The setting quotas")
struct QuotaSettingTests {
  private func resolved(
    _ file: String?, _ environment: [String: String] = [:], _ flags: [String] = []
  ) throws(ConfigurationError) -> ResolvedSettings {
    var parsed: SettingsFile?
    if let file { parsed = try SettingsFile(path: "f.yaml", bytes: Array(file.utf8)) }
    return try ResolvedSettings(file: parsed, environment: environment, flags: flags)
  }

  private static func quotas() throws -> [Quota] {
    [
      try Quota("users/{id}/**", properties: 1000, bytes: 1 << 20), try Quota("**", bytes: 5),
      try Quota("my rooms/{room}/{rest=**}", properties: 0),
    ]
  }

  @Test func `quotas are groups in a file`() throws {
    let settings = try resolved(
      """
      quotas:
        - match: users/{id}/**
          properties: 1000
          bytes: 1MiB
        - {match: "**", bytes: 5}
        - {match: "my rooms/{room}/{rest=**}", properties: 0}
      """
    ).settings
    #expect(try settings.quotas == Self.quotas())
  }

  @Test func `on one line they are words`() throws {
    let text = "users/{id}/** properties 1000 bytes 1MiB, ** bytes 5, my rooms/{room}/{rest=**} properties 0"
    #expect(try resolved(nil, ["SIGNAL_QUOTAS": text]).settings.quotas == Self.quotas())
    #expect(try resolved(nil, [:], ["--quotas", text]).settings.quotas == Self.quotas())
    #expect(
      try resolved("quotas: [\"users/{id}/** bytes 1MiB properties 1000\"]").settings.quotas == [Self.quotas()[0]])
  }

  @Test func `what is printed can be read`() throws {
    let text = "users/{id}/** properties 1000 bytes 1MiB, ** bytes 5, my \"rooms/{room}/** properties 0"
    let first = try resolved(nil, [:], ["--quotas", text])
    #expect(first.settings.quotas.count == 3)
    #expect(try resolved(first.listing).settings == first.settings)
  }

  @Test func `they change while a server runs`() throws {
    let new = try resolved(nil, [:], ["--quotas", "** bytes 5"]).settings
    #expect(Settings().reloaded(with: new) == .init(settings: new, changed: ["quotas"]))
  }

  @Test(arguments: [
    (
      "quotas: 5", "quotas: the quota '5': behind the pattern should stand what is limited, such as 'properties 1000', "
    ),
    ("quotas: [\"a/**\"]", "'bytes 1MiB' or both (f.yaml:1)"),
    ("quotas: [\"a/** properties many\"]", "'many' is not an integer from 0 to 1000000000 (f.yaml:1)"),
    ("quotas: [\"a/** bytes -1\"]", "'-1' is not a size such as 1MiB (f.yaml:1)"),
    ("quotas: [\"a//b bytes 1\"]", "the quota 'a//b bytes 1': it is no pattern: "),
    ("quotas:\n  - {match: \"{a}/{a}\", bytes: 1}", "quotas[0]: cannot be used: the capture 'a' stands in it twice"),
    ("quotas:\n  - {match: a}", "quotas[0]: cannot be used: needs a number of properties, or of bytes, or both"),
    ("quotas:\n  - {bytes: 5}", "quotas[0].match: "),
    ("quotas:\n  - {match: a, byte: 5}", "did you mean bytes?"),
    ("quotas:\n  - {match: a, bytes: much}", "quotas[0].bytes: 'much' is not a size such as 1MiB"),
    ("quotas:\n  - {match: a, properties: 1.5}", "quotas[0].properties: '1.5' is not an integer"),
  ])
  func `what is none is refused`(_ file: String, _ reason: String) {
    do throws(ConfigurationError) {
      _ = try resolved(file)
      Issue.record("accepted: \(file)")
    } catch {
      #expect("\(error)".contains(reason), "\(error)")
    }
  }

  @Test func `there are no more than are compared with each change`() {
    let many = Array(repeating: "a bytes 1", count: Quota.most + 1).joined(separator: ",")
    #expect(throws: ConfigurationError.self) { try resolved(nil, [:], ["--quotas", many]) }
  }
}
