// SPDX-License-Identifier: MIT
import Foundation
import Processes
import SignalHTTP
import Testing

@testable import signal_server

@Suite("The setting listen")
struct ListenSettingTests {
  private func resolved(
    _ file: String?, _ environment: [String: String] = [:], _ flags: [String] = []
  ) throws(ConfigurationError) -> Settings {
    var parsed: SettingsFile?
    if let file { parsed = try SettingsFile(path: "f.yaml", bytes: Array(file.utf8)) }
    return try ResolvedSettings(file: parsed, environment: environment, flags: flags).settings
  }

  private static let all: [ListenerConfiguration] = [
    ListenerConfiguration(.tcp(host: "127.0.0.1", port: 8080)), ListenerConfiguration(.tcp(host: "::", port: 0)),
    ListenerConfiguration(.unix(path: "/run/signal/socket"), mode: 0o600),
    ListenerConfiguration(.unix(path: "/tmp/s")),
  ]

  @Test func `a file lists groups, each with a URL and for a unix socket its mode`() throws {
    let settings = try resolved(
      """
      listen:
        - url: http://127.0.0.1:8080
        - url: http://[::]:0
        - url: unix:/run/signal/socket
          mode: 0600
        - {url: "unix:/tmp/s"}
      """)
    #expect(settings.listen == Self.all)
    #expect(settings.server.listeners == Self.all)
  }

  @Test func `on one line it is a list of URLs`() throws {
    let listeners = Self.all.map { ListenerConfiguration($0.endpoint) }
    let urls = ["http://127.0.0.1:8080", "http://[::]:0", "unix:/run/signal/socket", "unix:/tmp/s"]
    #expect(try resolved("listen: [\(urls.map { "\"\($0)\"" }.joined(separator: ", "))]").listen == listeners)
    #expect(try resolved(nil, ["SIGNAL_LISTEN": urls.joined(separator: ",")]).listen == listeners)
    #expect(try resolved(nil, [:], ["--listen", urls.joined(separator: ", ")]).listen == listeners)
  }

  @Test func `listeners with TLS have certificates of their own, or those of all`() throws {
    let settings = try resolved(
      """
      tls: {certificates: [all.pem], client-ca: ca.pem, client-certificate: optional, profile: modern}
      listen:
        - url: https://0.0.0.0:8443
        - url: https://[::1]:8444
          certificates: [a.pem, b.pem]
          keys: [a.key, b.key]
          client-ca: devices.pem
        - url: http://0.0.0.0:80
          redirect: https://live.example
      """)
    let all = TLSConfiguration(
      certificates: [TLSConfiguration.Certificate(chain: "all.pem")], clientAuthorities: "ca.pem",
      clientCertificates: .optional, profile: .modern)
    let own = TLSConfiguration(
      certificates: [.init(chain: "a.pem", key: "a.key"), .init(chain: "b.pem", key: "b.key")],
      clientAuthorities: "devices.pem", clientCertificates: .required, profile: .modern)
    #expect(
      settings.listeners == [
        ListenerConfiguration(.tls(host: "0.0.0.0", port: 8443), tls: all),
        ListenerConfiguration(.tls(host: "::1", port: 8444), tls: own),
        ListenerConfiguration(.tcp(host: "0.0.0.0", port: 80), redirect: "https://live.example"),
      ])
    #expect(
      settings.certificateFiles == ["a.key", "a.pem", "all.pem", "b.key", "b.pem", "ca.pem", "devices.pem"])
    #expect(ServerURL(listeningWith: settings).description == "https://0.0.0.0:8443")
    let flags = ["--listen", "https://a:1", "--tls-certificates", "a.pem,b.pem", "--tls-keys", "a.key, b.key"]
    #expect(try resolved(nil, [:], flags).listeners[0].tls?.certificates == own.certificates)
    var listed = Settings()
    listed.listen = settings.listen
    let row = try #require(Settings.byName["listen"])
    #expect(try resolved("listen: \(row.text(in: listed))\ntls: {certificates: [x]}").listen == settings.listen)
  }

  @Test func `listeners may take the PROXY protocol, from proxies that are trusted`() throws {
    let settings = try resolved(
      """
      listen:
        - url: unix:/s
          proxy-protocol: true
        - url: http://a:1
          proxy-protocol: false
      trusted-proxies: [10.0.0.0/8, "::1", unix]
      tls: {hsts: off}
      """)
    #expect(settings.server.listeners.map(\.proxyProtocol) == [true, false])
    let proxies = TrustedProxies([try AddressBlock("10.0.0.0/8"), try AddressBlock("::1")], includesUnixSockets: true)
    #expect(settings.server.trustedProxies == proxies && settings.server.hsts == nil)
    let row = try #require(Settings.byName["trusted-proxies"])
    #expect(row.text(in: settings) == #"["10.0.0.0/8", "::1", unix]"#)
    #expect(try resolved("trusted-proxies: \(row.text(in: settings))").trustedProxies == proxies)
    #expect(try resolved(nil, ["SIGNAL_TRUSTED_PROXIES": "10.0.0.0/8,::1, unix"]).trustedProxies == proxies)
    var listed = Settings()
    listed.listen = settings.listen
    let listeners = try #require(Settings.byName["listen"]).text(in: listed)
    #expect(listeners == #"[{url: "unix:/s", proxy-protocol: true}, {url: "http://a:1"}]"#)
    #expect(try resolved("listen: \(listeners)\ntrusted-proxies: [unix]").listen == settings.listen)
    #expect(try resolved("tls: {hsts: 0s}").server.hsts == .zero)
    #expect(try resolved(nil).server.hsts == .seconds(31_536_000))
  }

  @Test func `listeners may be without the console`() throws {
    let settings = try resolved(
      """
      listen:
        - {url: "unix:/s", console: false}
        - {url: "http://a:1", console: true}
      """)
    #expect(settings.server.listeners.map(\.console) == [false, true] && settings.live.console)
    var listed = Settings()
    listed.listen = settings.listen
    let listeners = try #require(Settings.byName["listen"]).text(in: listed)
    #expect(listeners == #"[{url: "unix:/s", console: false}, {url: "http://a:1"}]"#)
    #expect(try resolved("listen: \(listeners)").listen == settings.listen)
    #expect(try resolved("console: false").live.console == false)
  }

  @Test func `without it, host and port are the one listener`() throws {
    #expect(
      try resolved("host: \"::1\"\nport: 9\nlisten: []").listeners
        == [ListenerConfiguration(.tcp(host: "::1", port: 9))])
    #expect(try resolved(nil, ["SIGNAL_LISTEN": ""]).listeners == ServerConfiguration().listeners)
  }

  @Test func `an empty variable for the host says nothing, so that an image's own can be taken back`() throws {
    let settings = try resolved("listen: [unix:/tmp/s]", ["SIGNAL_HOST": ""])
    #expect(settings.listeners == [ListenerConfiguration(.unix(path: "/tmp/s"))])
  }

  @Test(
    arguments: [
      (
        "listen:\n  - url: http://a:1\n    prot: 2", [:],
        "unknown setting 'listen[0].prot' (f.yaml:3)"
      ),
      (
        "listen:\n  - url: http://a:1\n  - ulr: http://b", [:],
        "unknown setting 'listen[1].ulr' (f.yaml:3); did you mean url?"
      ),
      (
        "listen:\n  - mode: 0600", [:],
        "listen[0].url: has no value; expected a URL such as http://127.0.0.1:8080, https://[::]:8443 or unix:/run/signal/socket (f.yaml:2)"
      ),
      (
        "listen:\n  - url:", [:],
        "listen[0].url: has no value; expected a URL such as http://127.0.0.1:8080, https://[::]:8443 or unix:/run/signal/socket (f.yaml:2)"
      ),
      (
        "listen:\n  - url: [a]", [:],
        "listen[0].url: '[a]' is not a URL such as http://127.0.0.1:8080, https://[::]:8443 or unix:/run/signal/socket (f.yaml:2)"
      ),
      ("listen:\n  - url: http://a:1\n    mode: 0600", [:], "listen[0].mode: is for unix sockets only (f.yaml:3)"),
      (
        "listen:\n  - url: unix:/s\n    mode: 0999", [:],
        "listen[0].mode: '0999' is not permissions such as 0660 (f.yaml:3)"
      ),
      (
        "listen:\n  - url: unix:/s\n    mode: 07777", [:],
        "listen[0].mode: '07777' is not permissions such as 0660 (f.yaml:3)"
      ),
      (
        "listen:\n  - url: unix:/s\n    mode: 1660", [:],
        "listen[0].mode: '1660' is not permissions such as 0660 (f.yaml:3)"
      ),
      (
        "listen:\n  - url: https://a", [:],
        "listen: has https://a:443, which needs a certificate: set tls.certificates (f.yaml:1)"
      ),
      (
        "listen: [https://a]", [:],
        "listen: has https://a:443, which needs a certificate: set tls.certificates (f.yaml:1)"
      ),
      (
        "listen:\n  - url: http://a\n    certificates: [a.pem]", [:],
        "listen[0].certificates: is for https URLs only (f.yaml:3)"
      ),
      (
        "listen:\n  - url: https://a\n    keys: [a.pem]", [:],
        "listen[0].keys: needs certificates beside it (f.yaml:3)"
      ),
      (
        "listen:\n  - url: https://a\n    certificates: [a, b]\n    keys: [a]", [:],
        "listen[0].keys: must name one file for each certificate, or none when the keys are in the same files (f.yaml:4)"
      ),
      (
        "listen:\n  - url: https://a\n    certificates: [a]\n    client-certificate: maybe\n    client-ca: b", [:],
        "listen[0].client-certificate: 'maybe' is not one of none, optional, required (f.yaml:4)"
      ),
      (
        "listen:\n  - url: https://a\n    certificates: [a]\n    client-certificate: optional", [:],
        "listen[0].client-certificate: needs client-ca, the authorities that sign them (f.yaml:4)"
      ),
      (
        "listen:\n  - url: http://a\n    redirect: live.example", [:],
        "listen[0].redirect: 'live.example' is not an origin such as https://live.example (f.yaml:3)"
      ),
      (
        "listen:\n  - url: https://a\n    certificates: [a]\n    redirect: https://b", [:],
        "listen[0].redirect: is for http URLs only (f.yaml:4)"
      ),
      (
        "tls:\n  certificates: [a]\n  keys: [b, c]", [:],
        "tls.keys: must name one file for each certificate, or none when the keys are in the same files (f.yaml:3)"
      ),
      (
        "tls:\n  client-certificate: required", [:],
        "tls.client-certificate: needs tls.client-ca, the authorities that sign them (f.yaml:2)"
      ),
      (
        "listen:\n  - url: unix:s", [:],
        "listen[0].url: 'unix:s' has no path of a socket, such as unix:/run/signal/socket (f.yaml:2)"
      ),
      (
        "listen:\n  - url: http://a:70000", [:],
        "listen[0].url: 'http://a:70000' has no port from 0 to 65535 behind its colon (f.yaml:2)"
      ),
      (
        "listen: [a:1]", [:],
        "listen: 'a:1' is not a list of URLs such as http://127.0.0.1:8080 or unix:/run/signal/socket (f.yaml:1)"
      ),
      ("listen:\n  url: http://a", [:], "unknown setting 'listen.url' (f.yaml:2); did you mean listen?"),
      ("port: 1\nlisten: [unix:/s]", [:], "port: does not go together with listen (f.yaml:2) (f.yaml:1)"),
      (
        "listen: [unix:/s]", ["SIGNAL_HOST": "0.0.0.0"],
        "host: does not go together with listen (f.yaml:1) (environment SIGNAL_HOST)"
      ),
      (
        "listen:\n  - url: unix:/s\n    proxy-protocol: yes\ntrusted-proxies: [unix]", [:],
        "listen[0].proxy-protocol: 'yes' is not true or false (f.yaml:3)"
      ),
      (
        "listen:\n  - url: unix:/s\n    console: on", [:], "listen[0].console: 'on' is not true or false (f.yaml:3)"
      ),
      (
        "listen:\n  - url: http://a:1\n    proxy-protocol: true", [:],
        "listen: has proxy-protocol for http://a:1, which nobody may speak: set trusted-proxies (f.yaml:1)"
      ),
      (
        "trusted-proxies: [10.0.0.0/8, 10.1.2.3/8]", [:],
        "trusted-proxies: '10.1.2.3/8' has bits behind its prefix; is it 10.0.0.0/8? (f.yaml:1)"
      ),
      (
        "trusted-proxies: [proxy.example]", [:],
        "trusted-proxies: 'proxy.example' is not an address or a block such as 10.0.0.0/8 (f.yaml:1)"
      ),
      (
        "trusted-proxies: [\(Array(repeating: "10.0.0.1", count: 257).joined(separator: ","))]", [:],
        "trusted-proxies: has at most 256 of them (f.yaml:1)"
      ),
      (
        "tls: {hsts: 500ms}", [:],
        "tls.hsts: '500ms' is not off, or a duration in whole seconds from 0ms to 87840h, such as 8760h (f.yaml:1)"
      ),
      (
        "tls: {hsts: never}", [:],
        "tls.hsts: 'never' is not off, or a duration in whole seconds from 0ms to 87840h, such as 8760h (f.yaml:1)"
      ),
      (
        "listen:\n" + String(repeating: "  - url: http://a:1\n", count: 65), [:],
        "listen: has at most 64 of them (f.yaml:1)"
      ),
    ] as [(String, [String: String], String)])
  func `what cannot be listened on is refused`(file: String, environment: [String: String], line: String) {
    let error = #expect(throws: ConfigurationError.self) { try resolved(file, environment) }
    #expect(error?.description == line)
  }

  @Test func `the listing of it is a settings file that gives the same`() throws {
    var settings = Settings()
    settings.listen = Self.all
    let row = try #require(Settings.byName["listen"])
    let text = row.text(in: settings)
    #expect(
      text
        == #"[{url: "http://127.0.0.1:8080"}, {url: "http://[::]:0"}, {url: "unix:/run/signal/socket", mode: "0600"}, {url: "unix:/tmp/s"}]"#
    )
    #expect(try resolved("listen: \(text)").listen == Self.all)
  }
}

@Suite("A server with several listeners")
struct SeveralListenersTests {
  @Test func `it names each, and the verbs find it by a unix socket`() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "signal-\(UUID().uuidString.prefix(8))")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let (socket, file) = (folder.appending(path: "socket").path, folder.appending(path: "f.yaml").path)
    try """
    listen:
      - url: http://127.0.0.1:0
      - url: unix:\(socket)
        mode: 0600
    log: {level: error}
    """.write(toFile: file, atomically: true, encoding: .utf8)
    let server = try Program(["serve", "--config", file])
    let first = server.line()
    #expect(first.contains(/^listening on http:\/\/127\.0\.0\.1:[0-9]+$/))
    #expect(server.line() == "listening on unix:\(socket)")

    let url = "unix:\(socket)"
    func run(_ arguments: String...) throws -> Program.Run { try Program.run(arguments + ["--server", url]) }
    #expect(try run("set", "a", "1").status == 0)
    #expect(try run("get", "a") == .init(status: 0, output: "1\n", errors: ""))
    #expect(try run("watch", "a", "--count", "1", "--no-time").output == "a  1\n")
    #expect(try run("health").output == "ready\n")
    #expect(try run("bench", "get", "--requests", "10", "--connections", "2").status == 0)
    // The verbs also find it by the settings that it was started with.
    #expect(try Program.run(["get", "a"], ["SIGNAL_LISTEN": url]).output == "1\n")
    #expect(try Program.run(["get", "a", "--server", String(first.dropFirst("listening on ".count))]).output == "1\n")

    let again = try Program.run(["serve", "--listen", url])
    #expect(
      again
        == .init(
          status: 71, output: "", errors: "signal-server: cannot serve: bind unix:\(socket): Address already in use\n"))
    server.process.terminate()
    #expect(server.end().status == 0)
    #expect(!FileManager.default.fileExists(atPath: socket))
    #expect(try run("get", "a").errors.hasPrefix("signal-server: unix:\(socket): no connection to \(socket): "))
  }
}
