// SPDX-License-Identifier: MIT
import Foundation
import Processes
import SignalHTTP
import SignalStore
import Testing

@testable import signal_server

@Suite("Settings that change while a server runs")
struct SettingsReloadTests {
  @Test func `what can change is taken over, what cannot is named and stays`() {
    var new = Settings()
    new.limits.http.fields = 7
    new.live.origins = ["https://a"]
    new.log.level = .debug
    new.port = 9
    new.store.properties = 5
    new.live.limits.conflatedBytes = 2048
    let reload = Settings().reloaded(with: new)
    #expect(reload.changed == ["origins", "log.level", "http.fields"])
    #expect(reload.needRestart == ["port", "live.conflated-bytes", "store.properties"])
    var expected = Settings()
    expected.limits.http.fields = 7
    expected.live.origins = ["https://a"]
    expected.log.level = .debug
    #expect(reload.settings == expected)
    #expect(expected.reloaded(with: new) == .init(settings: expected, needRestart: reload.needRestart))
  }

  @Test func `every setting is one or the other, and can be copied`() throws {
    let fixed = Set(Settings.table.filter(\.needsRestart).map(\.name))
    #expect(fixed.isSuperset(of: ["host", "port", "listen", "loops", "log.format", "http.accept-queue"]))
    #expect(fixed.isDisjoint(with: ["hosts", "origins", "log.level", "http.connections", "websocket.message-bytes"]))
    // Rules do not fit on one line.
    for setting in Settings.table where setting.name != "access.rules" {
      let other = [
        "7", "200", "20s", "11s", "2KiB", "2MiB", "2GiB", "::1", "https://a", "unix:/s", "optional", "modern", "debug",
        "json", "true",
        "a raw 1d", "a volatile", "a 20%", "a bytes 7", "public", "writes", "false", "errors", "5",
        "nats://n1:4222", "edge", "delayed",
      ].lazy
        .compactMap { text -> Settings? in
          var settings = Settings()
          return setting.assign([text], &settings) && settings != Settings() ? settings : nil
        }.first
      var copy = Settings()
      setting.copy(try #require(other), &copy)
      #expect(copy == other, "\(setting.name)")
    }
  }
}

@Suite("Process signals of a server")
struct ProcessSignalTests {
  private func hangUp(_ program: Program) { program.process.send(SIGHUP) }

  @Test func `without a settings file a hang-up changes nothing, and the next client is served`() throws {
    let server = try RunningServer(["--log-level", "warning"])
    for _ in 0..<2 {
      hangUp(server.program)
      #expect(
        server.complaint().hasSuffix("there is no settings file to read anew: the server was started without --config"))
      #expect(try server.run("set", "a", "1").status == 0)
    }
    #expect(server.stop() == .init(status: 0, output: "", errors: ""))
  }

  @Test func `at a hang-up the file is read anew, as a whole or not at all`() throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "signal-\(UUID()).yaml")
    defer { try? FileManager.default.removeItem(at: file) }
    func write(_ text: String) throws { try text.write(to: file, atomically: true, encoding: .utf8) }
    try write("log.level: warning\n")
    let program = try Program(["serve", "--port", "0", "--config", file.path])
    let url = String(program.line().dropFirst("listening on ".count))
    let port = try #require(url.split(separator: ":").last.flatMap { UInt16($0) })
    let endpoint = Endpoint.tcp(host: "127.0.0.1", port: port)
    func status(_ fields: [(String, String)], _ client: HTTPClient? = nil) throws -> Int {
      let client = try client ?? HTTPClient(endpoint)
      return try client.request("PUT", "/properties/a", fields: fields, body: Array("1".utf8)).status
    }
    let page = [("Host", "live.example"), ("Origin", "https://app.example")]
    let many = (0..<20).map { ("X-\($0)", "1") }
    let old = try HTTPClient(endpoint)
    #expect(try status(page, old) == 421)

    // Wrong in one place: nothing of it counts.
    try write("log.level: info\norigins: [https://app.example]\nhosts: [live.example]\nhttp.fields: none\n")
    hangUp(program)
    #expect(
      program.complaint().hasSuffix(
        "the settings stay as they are: http.fields: 'none' is not an integer from 1 to 10000 (\(file.path):4)"))
    #expect(try status(page, old) == 421)

    try write(
      """
      log.level: debug
      origins: [https://app.example]
      hosts: [live.example]
      http: {fields: 10}
      loops: 17
      store: {properties: 5}

      """)
    hangUp(program)
    #expect(
      program.complaint().hasSuffix(
        #"the settings have been read anew changed="hosts, origins, log.level, http.fields""#))
    #expect(
      program.complaint().hasSuffix(
        #"some settings change at the next start only settings="loops, store.properties""#))
    // Established connections keep their limits; hosts and origins are for all.
    #expect(try status(many) == 431)
    #expect(program.complaint().contains("connection opened"))
    #expect(program.complaint().contains("request refused code=head_too_large"))
    // The loop of this connection takes it over in its turn.
    let deadline = ContinuousClock.now + .seconds(30)
    while try status(page, old) == 421, ContinuousClock.now < deadline {}
    #expect(try status(page + many, old) == 204)

    program.process.terminate()
    #expect(program.end().status == 0)
  }

  @Test func `a file that is gone changes nothing`() throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "signal-\(UUID()).yaml")
    try "log.level: warning\n".write(to: file, atomically: true, encoding: .utf8)
    let server = try RunningServer(["--config", file.path, "--log-level", "warning"])
    try FileManager.default.removeItem(at: file)
    hangUp(server.program)
    #expect(
      server.complaint().hasSuffix(
        "the settings stay as they are: cannot read '\(file.path)': No such file or directory (flag --config)"))
    #expect(try server.run("set", "a", "1").status == 0)
    #expect(server.stop().status == 0)
  }
}

@Suite("The log of what is refused")
struct RefusalLogTests {
  @Test func `at the level debug every refusal and connection is a line, without what was sent`() throws {
    let server = try RunningServer(["--log-level", "debug"])
    #expect(server.complaint().contains("started"))
    #expect(try server.run("set", "a", #""s3cret""#).status == 0)
    #expect(server.complaint().contains(/debug +connection opened peer=127\.0\.0\.1:\d+$/))
    #expect(server.complaint().contains(/debug +connection closed peer=127\.0\.0\.1:\d+$/))
    #expect(try server.run("set", "b", #""s3cret""#, "--if", "value == 's3cret'").status == 1)
    let said = server.stop().errors
    #expect(
      said.contains(
        /debug +request refused code=precondition_failed method=PUT path=\/properties\/b peer=127\.0\.0\.1:\d+ status=412\n/
      ),
      "\(said)")
    #expect(!said.contains("s3cret"))
  }

  @Test func `at other levels there is nothing of it`() throws {
    let server = try RunningServer(["--log-level", "info"])
    #expect(try server.run("get", "none").status == 1)
    #expect(!server.stop().errors.contains("none"))
  }
}
