// SPDX-License-Identifier: MIT
import JSON
import SignalHTTP
import SignalJournal
import SignalStore
import Testing

@testable import signal_server

/// The sources of one start, as an operator would give them.
private struct Start: Sendable, CustomTestStringConvertible {
  var file: String?
  var environment: [String: String] = [:]
  var flags: [String] = []

  var testDescription: String {
    [file.map { "file \($0)" }, environment.isEmpty ? nil : "\(environment)", flags.isEmpty ? nil : "\(flags)"]
      .compactMap { $0 }.joined(separator: " + ")
  }

  func resolved() throws(ConfigurationError) -> ResolvedSettings {
    var parsed: SettingsFile?
    if let file { parsed = try SettingsFile(path: "f.yaml", bytes: Array(file.utf8)) }
    return try ResolvedSettings(file: parsed, environment: environment, flags: flags)
  }

  func refusal() -> ConfigurationError? {
    do {
      _ = try resolved()
      return nil
    } catch {
      return error
    }
  }
}

@Suite("Settings: which value wins")
struct PrecedenceTests {
  private static let port = Settings.byName["port"]!

  @Test(
    arguments: [
      (Start(), 8080, SettingSource.builtIn),
      (Start(file: "port: 1"), 1, .file("f.yaml", line: 1)),
      (Start(environment: ["SIGNAL_PORT": "2"]), 2, .environment("SIGNAL_PORT")),
      (Start(flags: ["--port", "3"]), 3, .flag("--port")),
      (Start(file: "\nport: 1", environment: ["SIGNAL_PORT": "2"]), 2, .environment("SIGNAL_PORT")),
      (Start(file: "port: 1", flags: ["--port=3"]), 3, .flag("--port")),
      (Start(environment: ["SIGNAL_PORT": "2"], flags: ["--port=3"]), 3, .flag("--port")),
      (Start(file: "port: 1", environment: ["SIGNAL_PORT": "2"], flags: ["--port=3"]), 3, .flag("--port")),
    ] as [(Start, Int, SettingSource)])
  private func `defaults, file, environment, flags: the last one wins`(
    start: Start, value: Int, source: SettingSource
  ) throws {
    let resolved = try start.resolved()
    #expect(resolved.settings.port == value)
    #expect(resolved.source(of: Self.port) == source)
  }

  @Test func `what one source does not name stays as it was`() throws {
    let resolved = try Start(
      file: "http:\n  fields: 7\n  head-bytes: 2KiB", environment: ["SIGNAL_HTTP_FIELDS": "8"], flags: ["--loops", "2"]
    ).resolved()
    #expect(resolved.settings.limits.http.headBytes == 2048)
    #expect(resolved.settings.limits.http.fields == 8)
    #expect(resolved.settings.loops == 2)
    #expect(resolved.settings.limits.http.bodyBytes == Settings().limits.http.bodyBytes)
  }

  /// For every setting a value that is not its default, as it is written.
  private static func other(_ setting: Setting) -> String {
    let text = setting.text(in: Settings())
    if setting.name == "access.admin" { return "auth.role == 'admin'" }
    if setting.name == "hosts" { return "a.example" }
    if setting.name == "trusted-proxies" { return "10.0.0.0/8" }
    if setting.name == "listen" { return "unix:/run/a" }
    if setting.name == "data.history" { return "a raw 1d" }
    if setting.name == "data.rules" { return "a volatile" }
    if setting.name == "store.history" { return "a 20%" }
    if setting.name == "audit.events" { return "writes" }
    if setting.name == "cluster.engine" { return "nats://n1:4222" }
    if setting.name == "cluster.role" { return "edge" }
    if setting.name == "cluster.engine-sync" { return "delayed" }
    if setting.name == "quotas" { return "a bytes 7" }
    if setting.isList { return "https://a.example" }
    if setting.name == "host" { return "::1" }
    let candidates = [
      "modern", "optional", "7", "20s", "11s", "2KiB", "2MiB", "2GiB", "debug", "json", "77", "true", "public", "false",
      "errors", "5",
    ]
    return candidates.first { candidate in
      var settings = Settings()
      return candidate != text && setting.assign([candidate], &settings) && settings != Settings()
    } ?? ""
  }

  // Rules are groups, which are in files only, and who besides may see the metrics depends on them.
  @Test(arguments: Settings.table.map(\.name).filter { !["access.rules", "access.metrics"].contains($0) })
  func `every setting can be set by file, environment and flag alike`(name: String) throws {
    let setting = try #require(Settings.byName[name])
    let text = Self.other(setting)
    let starts = [
      Start(file: "\(name): \(setting.isList ? "[\(text)]" : text)"), Start(environment: [setting.variable: text]),
      Start(flags: [setting.flag, text]), Start(flags: ["\(setting.flag)=\(text)"]),
    ]
    for start in starts {
      // Some settings go together with another one.
      let flags =
        switch name {
        case "tls.keys": start.flags + ["--tls-certificates", "a.pem"]
        case "tls.client-certificate": start.flags + ["--tls-client-ca", "a.pem"]
        case "auth.required": start.flags + ["--auth-tokens", "tokens.json"]
        case "auth.jwt.issuer", "auth.jwt.audience", "auth.cookie": start.flags + ["--auth-jwt-keys", "jwks.json"]
        case "data.history", "data.rules": start.flags + ["--data-dir", "d"]
        case "websocket.idle-timeout": start.flags + ["--websocket-ping-interval", "1s"]
        case "cluster.name":
          start.flags + ["--cluster-engine", "nats://n1:4222", "--cluster-secret-file", "secret"]
        case "cluster.engine": start.flags + ["--cluster-name", "home", "--cluster-secret-file", "secret"]
        case "data.read-only": start.flags + ["--data-dir", "data"]
        case "store.list-limit": start.flags + ["--store-list-default", "1"]
        default: start.flags
        }
      let resolved = try Start(file: start.file, environment: start.environment, flags: flags).resolved()
      #expect(resolved.settings != Settings())
      #expect(resolved.source(of: setting) != .builtIn)
      var expected = Settings()
      #expect(setting.assign([text], &expected))
      #expect(setting.text(in: resolved.settings) == setting.text(in: expected))
    }
  }

  @Test func `names, variables and flags are each unique`() {
    #expect(Set(Settings.table.map(\.name)).count == Settings.table.count)
    #expect(Set(Settings.table.map(\.variable)).count == Settings.table.count)
    #expect(Set(Settings.table.map(\.flag)).count == Settings.table.count)
    #expect(Settings.byName["http.head-bytes"]?.variable == "SIGNAL_HTTP_HEAD_BYTES")
    #expect(Settings.byName["http.head-bytes"]?.flag == "--http-head-bytes")
  }

  @Test func `every default is a value that its setting takes`() {
    for setting in Settings.table {
      var settings = Settings()
      #expect(setting.assign(setting.texts(settings), &settings), "\(setting.name)")
      #expect(settings == Settings(), "\(setting.name)")
    }
  }

  @Test func `smaller bodies alone are a choice`() throws {
    let resolved = try Start(file: "http.body-bytes: 1KiB").resolved()
    #expect(resolved.settings.limits.http.bodyBytes < resolved.settings.live.values.bytes)
  }

  @Test(arguments: [
    Start(file: "data:\n  dir: d\n  history: [\"a/** raw 24h, 1m 30d\", b raw 1h]"),
    Start(file: "data:\n  dir: d\n  history:\n    - a/** raw 24h, 1m 30d\n    - b raw 1h"),
    Start(environment: ["SIGNAL_DATA_DIR": "d", "SIGNAL_DATA_HISTORY": "a/** raw 24h, 1m 30d, b raw 1h"]),
    Start(flags: ["--data-dir", "d", "--data-history", "a/** raw 24h,1m 30d,b raw 1h"]),
  ])
  private func `rules of a history are lines, also where commas separate what a list has`(start: Start) throws {
    let resolved = try start.resolved()
    #expect(resolved.settings.data.history.map(\.description) == ["a/** raw 1d, 1m 30d", "b raw 1h"])
    // And as they are printed.
    let printed = try SettingsFile(path: "f.yaml", bytes: Array(resolved.listing.utf8))
    #expect(try ResolvedSettings(file: printed).settings.data.history == resolved.settings.data.history)
  }

  @Test(arguments: [
    Start(file: "data:\n  dir: d\n  rules: [a b/** volatile, c every 90s]"),
    Start(file: "data:\n  dir: d\n  rules:\n    - a b/** volatile\n    - c every 90s"),
    Start(environment: ["SIGNAL_DATA_DIR": "d", "SIGNAL_DATA_RULES": "a b/** volatile, c every 90s"]),
    Start(flags: ["--data-dir", "d", "--data-rules", "a b/** volatile,c every 90s"]),
  ])
  private func `rules of what a restart forgets are lines`(start: Start) throws {
    let resolved = try start.resolved()
    #expect(resolved.settings.data.rules.map(\.description) == ["a b/** volatile", "c every 90s"])
    let printed = try SettingsFile(path: "f.yaml", bytes: Array(resolved.listing.utf8))
    #expect(try ResolvedSettings(file: printed).settings.data.rules == resolved.settings.data.rules)
  }

  @Test func `a group without settings in it is nothing`() throws {
    #expect(try Start(file: "http:\nlog: ~\n").resolved().settings == Settings())
  }

  @Test(
    arguments: [
      (Start(file: "origins: [https://a, http://b:1]"), ["https://a", "http://b:1"]),
      (Start(file: "origins:\n  - https://a"), ["https://a"]),
      (Start(file: "origins: https://a"), ["https://a"]),
      (Start(file: "origins: ['*']"), ["*"]),
      (Start(flags: ["--origins=tauri://localhost"]), ["tauri://localhost"]),
      (Start(flags: ["--origins=http://a:443"]), ["http://a:443"]),
      (Start(environment: ["SIGNAL_ORIGINS": "https://a, http://b:1"]), ["https://a", "http://b:1"]),
      (Start(file: "origins: [https://a]", environment: ["SIGNAL_ORIGINS": ""]), []),
      (Start(flags: ["--origins", "http://[::1]:8080,http://127.0.0.1"]), ["http://[::1]:8080", "http://127.0.0.1"]),
    ] as [(Start, [String])])
  private func `origins are a list in the file and separated by commas elsewhere`(
    start: Start, origins: [String]
  ) throws {
    #expect(try start.resolved().settings.live.origins == origins)
  }

  @Test(
    arguments: [
      ["SIGNAL_SERVER": "http://10.0.0.1"], ["SIGNAL_CONFIG": "x"], ["SIGNALS": "1"], ["signal_port": "1"],
      // What Kubernetes adds for a service named signal-server, and for one named signal.
      [
        "SIGNAL_SERVER_SERVICE_HOST": "10.0.0.1", "SIGNAL_SERVER_SERVICE_PORT": "8080",
        "SIGNAL_SERVER_SERVICE_PORT_HTTP": "8080", "SIGNAL_SERVER_PORT": "tcp://10.0.0.1:8080",
        "SIGNAL_SERVER_PORT_8080_TCP": "tcp://10.0.0.1:8080", "SIGNAL_SERVER_PORT_8080_TCP_PROTO": "tcp",
        "SIGNAL_SERVER_PORT_8080_TCP_PORT": "8080", "SIGNAL_SERVER_PORT_8080_TCP_ADDR": "10.0.0.1",
      ],
      [
        "SIGNAL_SERVICE_HOST": "10.0.0.1", "SIGNAL_SERVICE_PORT": "8080", "SIGNAL_PORT": "tcp://10.0.0.1:8080",
        "SIGNAL_PORT_8080_TCP": "tcp://10.0.0.1:8080", "SIGNAL_PORT_8080_TCP_PORT": "8080",
      ],
    ] as [[String: String]])
  func `variables that are not meant for serve are left alone`(environment: [String: String]) throws {
    #expect(try Start(environment: environment).resolved().settings == Settings())
  }
}

@Suite("Settings: what stops the start, and in which words")
struct RefusalTests {
  @Test(
    arguments: [
      (Start(file: "prot: 1"), "unknown setting 'prot' (f.yaml:1); did you mean port?"),
      (
        Start(file: "http:\n  head_bytes: 1KiB"),
        "unknown setting 'http.head_bytes' (f.yaml:2); did you mean http.head-bytes?"
      ),
      (Start(file: "head-bytes: 1KiB"), "unknown setting 'head-bytes' (f.yaml:1); did you mean http.head-bytes?"),
      (
        Start(file: "tls:\n  certificate: x"),
        "unknown setting 'tls.certificate' (f.yaml:2); did you mean tls.certificates?"
      ),
      (Start(file: "tlz:"), "unknown setting 'tlz' (f.yaml:1)"),
      (Start(file: "port:\n  x: 1"), "unknown setting 'port.x' (f.yaml:2); did you mean port?"),
      (Start(file: "http: 1"), "http: is a group of settings and has no value of its own (f.yaml:1)"),
      (Start(file: "port:"), "port: has no value; expected an integer from 0 to 65535 (f.yaml:1)"),
      (Start(file: "port: 1\nloops: 1\nport: 2"), "port: is already set on line 1 (f.yaml:3)"),
      (Start(file: "http:\n  fields: 1\nhttp.fields: 2"), "http.fields: is already set on line 2 (f.yaml:3)"),
      (
        Start(file: "data:\n  dir: d\n  history:\n    - a raw 1d\n    - b 1x 2d"),
        "data.history: the rule 'b 1x 2d': '1x' is neither raw nor a length from 1s to 366d, such as 1m (f.yaml:3)"
      ),
      (
        Start(file: "data.history: [a raw 1d]"),
        "data.history: needs data.dir, the folder that it is kept in (f.yaml:1)"
      ),
      (
        Start(file: "data:\n  dir: d\n  rules:\n    - a volatile\n    - b every 2h"),
        "data.rules: the rule 'b every 2h': '2h' is no time from 10ms to 1h, such as 1s (f.yaml:3)"
      ),
      (
        Start(file: "store.history: [a 60%, b 40%]"),
        "store.history: the shares are 100% together; something has to be left for all else (f.yaml:1)"
      ),
      (
        Start(file: "store.history: [a 0%]"),
        "store.history: the rule 'a 0%': '0%' is nothing from 1% to 99% (f.yaml:1)"
      ),
      (
        Start(file: "data.rules: [a volatile]"),
        "data.rules: needs data.dir, the folder that everything else is kept in (f.yaml:1)"
      ),
      (
        Start(environment: ["SIGNAL_DATA_DIR": "d", "SIGNAL_DATA_HISTORY": "a"]),
        "data.history: the rule 'a': 'a' should be what is kept and for how long, such as '1m 30d' "
          + "(environment SIGNAL_DATA_HISTORY)"
      ),
      (Start(file: "port: http"), "port: 'http' is not an integer from 0 to 65535 (f.yaml:1)"),
      (Start(file: "port: [1, 2]"), "port: '[1, 2]' is not an integer from 0 to 65535 (f.yaml:1)"),
      (Start(file: "port: 65536"), "port: '65536' is not an integer from 0 to 65535 (f.yaml:1)"),
      (
        Start(file: "port: 1\n  x"),
        "a value ends on the line that it begins on; is the next line indented too far? (f.yaml:1)"
      ),
      (Start(file: "port:\n  - x: 1"), "port: '[{…}]' is not an integer from 0 to 65535 (f.yaml:1)"),
      (
        Start(file: "log:\n  level: verbose"),
        "log.level: 'verbose' is not one of trace, debug, info, notice, warning, error, critical (f.yaml:2)"
      ),
      (
        Start(file: "origins: [https://a/]"),
        "origins: 'https://a/' is not a list of origins such as https://app.example:8443, or \"*\" (f.yaml:1)"
      ),
      (
        Start(file: "hosts: [a.example:80]"),
        "hosts: 'a.example:80' is not a list of names or addresses without a port such as signals.example.com, or \"*\" "
          + "(f.yaml:1)"
      ),
      (
        Start(environment: ["SIGNAL_PROT": "1"]),
        "unknown variable 'SIGNAL_PROT' (environment); did you mean SIGNAL_PORT?"
      ),
      (
        Start(environment: ["SIGNAL_HTTP_HEADBYTES": "1"]),
        "unknown variable 'SIGNAL_HTTP_HEADBYTES' (environment); did you mean SIGNAL_HTTP_HEAD_BYTES?"
      ),
      (
        Start(environment: ["SIGNAL_TLS_KEY": "1"]),
        "unknown variable 'SIGNAL_TLS_KEY' (environment); did you mean SIGNAL_TLS_KEYS?"
      ),
      (
        Start(environment: ["SIGNAL_SERVER_PORT": "80"]),
        "unknown variable 'SIGNAL_SERVER_PORT' (environment)"
      ),
      (
        Start(environment: ["SIGNAL_HTTP_HEAD_TIMEOUT": "30"]),
        "http.head-timeout: '30' is not a duration from 10ms to 24h, such as 30s (environment SIGNAL_HTTP_HEAD_TIMEOUT)"
      ),
      (Start(environment: ["SIGNAL_PORT": ""]), "port: '' is not an integer from 0 to 65535 (environment SIGNAL_PORT)"),
      (
        Start(environment: ["SIGNAL_HOST": "a b"]),
        "host: 'a b' is not an IP address or a host name (environment SIGNAL_HOST)"
      ),
      (
        Start(flags: ["--http-head-bytes", "16KB"]),
        "http.head-bytes: '16KB' is not a size from 1KiB to 1MiB, such as 64KiB (flag --http-head-bytes)"
      ),
      (
        Start(flags: ["--http-head-bytes=2MiB"]),
        "http.head-bytes: '2MiB' is not a size from 1KiB to 1MiB, such as 64KiB (flag --http-head-bytes)"
      ),
      (Start(flags: ["--port", "-1"]), "port: '-1' is not an integer from 0 to 65535 (flag --port)"),
      (Start(flags: ["--port", "1\n2"]), "port: '1\\n2' is not an integer from 0 to 65535 (flag --port)"),
      (
        Start(file: "websocket:\n  ping-interval: 2m"),
        "websocket.idle-timeout: must be longer than websocket.ping-interval, 2m, or every quiet client is dropped (f.yaml:2)"
      ),
      (
        Start(flags: ["--websocket-idle-timeout", "25s"]),
        "websocket.idle-timeout: must be longer than websocket.ping-interval, 25s, or every quiet client is dropped "
          + "(flag --websocket-idle-timeout)"
      ),
      (
        Start(file: "store:\n  value-bytes: 2MiB"),
        "store.value-bytes: must not be larger than http.body-bytes, 1088KiB, or no request can set such a value (f.yaml:2)"
      ),
      (
        Start(environment: ["SIGNAL_STORE_LIST_LIMIT": "50"]),
        "store.list-default: must not be larger than store.list-limit, 50, the largest page "
          + "(environment SIGNAL_STORE_LIST_LIMIT)"
      ),
    ] as [(Start, String)])
  private func `a wrong setting is one line that names it, its source and the nearest name`(
    start: Start, line: String
  ) throws {
    let error = try #require(start.refusal())
    #expect(error.description == line)
    #expect(Failure(error).status == .configuration)
    #expect(!error.description.contains("\n"))
  }

  @Test(arguments: [
    (["--prot", "1"], "unknown flag '--prot'; did you mean --port?"),
    (["--prot=1"], "unknown flag '--prot'; did you mean --port?"),
    (["--head-bytes=1"], "unknown flag '--head-bytes'; did you mean --http-head-bytes?"),
    (["--print-confg"], "unknown flag '--print-confg'; did you mean --print-config?"),
    (["--tls"], "unknown flag '--tls'; see signal-server serve --help"),
    (["-p", "1"], "unknown flag '-p'; see signal-server serve --help"),
    (["--port"], "--port: needs a value, an integer from 0 to 65535"),
    (["--port", "1", "--port", "2"], "--port: given twice"),
    (["1"], "unexpected argument '1'; see signal-server --help"),
    (["wach"], "unexpected argument 'wach'; did you mean watch?"),
    (["-"], "unexpected argument '-'; see signal-server --help"),
    ([""], "unexpected argument ''; see signal-server --help"),
  ])
  func `a wrong flag is a wrong command line`(flags: [String], line: String) throws {
    let error = try #require(Start(flags: flags).refusal())
    #expect(error.description == line)
    #expect(Failure(error).status == .usage)
  }

  @Test func `of two mistakes in the environment always the same one is told`() {
    let error = Start(environment: ["SIGNAL_Z": "1", "SIGNAL_A": "1", "SIGNAL_M": "1"]).refusal()
    #expect(error?.description == "unknown variable 'SIGNAL_A' (environment)")
  }

  @Test(arguments: [
    "https://a/", "https://a/b", "a.example", "https://a:443", "http://a:80", "://a", "1a://b", "http:/a", "https://",
    "https://A.example", "https://a:0",
    "https://a:65536",
    "https://a:", "https://a:x", "null", "https://a?b", "https://a b", "https://[::1", "https://[]", "https://u@a",
    "**",
  ])
  func `what no browser sends is no origin`(text: String) {
    #expect(Start(environment: ["SIGNAL_ORIGINS": text]).refusal() != nil)
  }
}

@Suite("Settings: loading and listing")
struct LoadingTests {
  private func load(
    _ file: String?, _ environment: [String: String] = [:], files: [String: String]
  ) throws(ConfigurationError) -> ResolvedSettings {
    try ResolvedSettings.load(file: file, environment: environment, flags: []) { path throws(SystemFailure) in
      guard let text = files[path] else { throw SystemFailure(code: 2) }
      return Array(text.utf8)
    }
  }

  @Test func `the flag names the file before the environment does`() throws {
    let files = ["a": "port: 1", "b": "port: 2"]
    #expect(try load("a", ["SIGNAL_CONFIG": "b"], files: files).settings.port == 1)
    #expect(try load(nil, ["SIGNAL_CONFIG": "b"], files: files).settings.port == 2)
    #expect(try load(nil, ["SIGNAL_CONFIG": ""], files: files).settings.port == 8080)
    #expect(try load(nil, files: ["signal-server.yaml": "port: 3"]).settings.port == 8080)
  }

  @Test func `a file that cannot be read stops the start`() {
    #expect(throws: ConfigurationError.unreadable("x", reason: "No such file or directory", .flag("--config"))) {
      try load("x", files: [:])
    }
    let error = ConfigurationError.unreadable("x", reason: "No such file or directory", .environment("SIGNAL_CONFIG"))
    #expect(error.description == "cannot read 'x': No such file or directory (environment SIGNAL_CONFIG)")
    #expect(Failure(error).status == .configuration)
  }

  @Test func `the listing names the source of each value and is a settings file that gives the same`() throws {
    let start = Start(
      file: "log:\n  format: json", environment: ["SIGNAL_ORIGINS": "*"], flags: ["--http-fields", "7"])
    let resolved = try start.resolved()
    let lines = resolved.listing.split(separator: "\n").map { $0.split(separator: "#").map { $0.trimmed } }
    #expect(lines.contains(["host: 127.0.0.1", "default"]))
    #expect(lines.contains(["format: json", "f.yaml:2"]))
    #expect(lines.contains(["origins: [\"*\"]", "environment SIGNAL_ORIGINS"]))
    #expect(lines.contains(["fields: 7", "flag --http-fields"]))
    let again = try SettingsFile(path: "listing", bytes: Array(resolved.listing.utf8))
    #expect(try ResolvedSettings(file: again).settings == resolved.settings)
  }
}

extension Substring {
  fileprivate var trimmed: String {
    var text = drop { $0 == " " }
    while text.last == " " { text.removeLast() }
    return String(text)
  }
}
