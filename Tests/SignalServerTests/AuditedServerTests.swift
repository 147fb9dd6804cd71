// SPDX-License-Identifier: MIT
import Foundation
import JSON
import Processes
import SignalHTTP
import Testing

/// What a server notes of what matters to security, and what never.
@Suite("The audit log of a server")
struct AuditedServerTests {
  /// A folder with what a server needs, which goes with it.
  private final class Place {
    let folder = FileManager.default.temporaryDirectory.appending(path: "signal-\(UUID().uuidString)").path
    var log: String { folder + "/audit.log" }

    init() throws { try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false) }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    func write(_ settings: String) throws -> String {
      try settings.write(toFile: folder + "/s.yaml", atomically: true, encoding: .utf8)
      return folder + "/s.yaml"
    }

    func token(_ id: String, _ more: String...) throws -> String {
      let made = try Program.run(["token", "create", "--id", id, "--file", folder + "/tokens.json"] + more)
      return made.output.trimmingCharacters(in: .newlines)
    }

    func text(_ path: String? = nil) throws -> String { try String(contentsOfFile: path ?? log, encoding: .utf8) }

    /// The lines, without times and addresses.
    func lines(_ path: String? = nil) throws -> [String] {
      try text(path).split(separator: "\n").map { line in
        String(line).replacing(/"(time|peer|listener|since)":"[^"]*",?/, with: "").replacing(/,}/, with: "}")
      }
    }

    /// Waits for a line.
    func awaitText(_ part: String, in path: String? = nil) throws {
      let deadline = ContinuousClock.now + .seconds(60)
      while try !text(path).contains(part) {
        let text = try text(path)
        try #require(ContinuousClock.now < deadline, "\(part) does not come: \(text)")
        usleep(5000)
      }
    }
  }

  private func client(_ server: Program, _ url: String) throws -> HTTPClient {
    let port = try #require(url.split(separator: ":").last.flatMap { UInt16($0) })
    return try HTTPClient(.tcp(host: "127.0.0.1", port: port))
  }

  @Test func `who was refused, has failed or has written is in it, and nothing that is secret`() throws {
    let place = try Place()
    let token = try place.token("ann")
    let canary = "canary7F3kQ"
    let settings = try place.write(
      """
      auth: {tokens: \(place.folder)/tokens.json, cookie: session, jwt: {keys: [{secret-file: \(place.folder)/key}]}}
      access:
        rules:
          - match: users/{id}/**
            read: auth.id == id
            set: auth.id == id
            validate: value != 7
          - {match: "full/**", read: "true", write: "true"}
      quotas: [full/** properties 1]
      audit: {file: \(place.log), events: [refusals, failures, sessions, tokens, limits, settings, writes]}
      """)
    _ = FileManager.default.createFile(
      atPath: place.folder + "/key", contents: Data(String(repeating: "k", count: 32).utf8),
      attributes: [.posixPermissions: 0o600])
    let program = try Program(["serve", "--port", "0", "--config", settings])
    let url = String(program.line().dropFirst("listening on ".count))

    func ask(
      _ method: String, _ target: String, _ token: String?, _ fields: [(String, String)] = [], body: String? = nil
    ) throws -> HTTPClientResponse {
      let proof = token.map { [("Authorization", "Bearer \($0)")] } ?? []
      return try client(program, url).request(
        method, target, fields: proof + fields, body: body.map { Array($0.utf8) })
    }
    #expect(try ask("PUT", "/properties/users/ann/x", token, body: "\"\(canary)\"").status == 201)
    #expect(try ask("PUT", "/properties/users/ann/x?if=value=='\(canary)'", token, body: "7").status == 422)
    #expect(try ask("GET", "/properties/users/bob/x?pointer=/\(canary)", token).status == 403)
    #expect(try ask("GET", "/properties/users/bob/x", nil).status == 401)
    #expect(try ask("PUT", "/properties/full/a", token, body: "1").status == 201)
    #expect(try ask("PUT", "/properties/full/b", token, body: "1").status == 507)
    let forged = "sgn_ann_" + canary + String(repeating: "A", count: 43 - canary.count)
    // {"alg":"HS256","kid":"k1"}
    let signed = "eyJhbGciOiJIUzI1NiIsImtpZCI6ImsxIn0.e30.\(canary)A"
    for bad in [forged, canary, signed, token + canary] {
      #expect(try ask("GET", "/properties/users/ann/x", bad).status == 401)
    }
    let origin = ("Origin", url)
    #expect(try ask("GET", "/properties/users/ann/x", nil, [("Cookie", "session=\(canary)"), origin]).status == 401)
    #expect(try ask("GET", "/events?match=users/ann/**&ticket=\(canary)", nil).status == 401)
    let issued = try ask("POST", "/auth/tickets", token)
    let answer = JSONTree(try JSONText(validating: issued.body))
    let ticket = try #require(answer.member("ticket", of: .root).flatMap { answer.string($0) })
    // A WebSocket by the ticket, and one that says who it is.
    let port = try #require(url.split(separator: ":").last.flatMap { UInt16($0) })
    let first = try WebSocketClient(
      .tcp(host: "127.0.0.1", port: port), target: "/events?match=users/ann/**&ticket=\(ticket)",
      timeout: .seconds(20))
    let second = try WebSocketClient(.tcp(host: "127.0.0.1", port: port), target: "/events", timeout: .seconds(20))
    for command in [
      #"{"id":1,"type":"auth","token":"\#(forged)"}"#, #"{"id":2,"type":"auth","token":"\#(token)"}"#,
      #"{"id":3,"type":"set","path":"users/bob/x","value":"\#(canary)"}"#,
      #"{"id":4,"type":"set","path":"users/ann/y","value":"\#(canary)"}"#,
    ] {
      try second.send(command, timeout: .seconds(20))
    }
    try place.awaitText(#""path":"users/ann/y""#)
    _ = try place.token("bob", "--claim", "role=x")
    try place.awaitText(#""event":"token-created""#)
    _ = try Program.run(["token", "revoke", "ann", "--file", place.folder + "/tokens.json"])
    try place.awaitText(#""event":"token-revoked""#)
    let patience = ContinuousClock.now + .seconds(60)
    while try place.text().matches(of: /session-ended/).count < 2, ContinuousClock.now < patience { usleep(5000) }
    withExtendedLifetime((first, second)) {}
    program.process.terminate()
    let end = program.end()
    #expect(end.status == 0)

    let lines = try place.lines()
    let ann = #""identity":{"kind":"token","id":"ann"}"#
    for expected in [
      #"{"event":"started","subject":"\#(url)"}"#,
      #"{"event":"write",\#(ann),"operation":"set","path":"users/ann/x","outcome":"created"}"#,
      #"{"event":"refused",\#(ann),"request":"PUT /properties/users/ann/x","operation":"set","path":"users/ann/x","outcome":"invalid_value","rule":"users/{id}/**"}"#,
      #"{"event":"refused",\#(ann),"request":"GET /properties/users/bob/x","operation":"get","path":"users/bob/x","outcome":"forbidden"}"#,
      #"{"event":"refused","request":"GET /properties/users/bob/x","operation":"get","path":"users/bob/x","outcome":"unauthenticated"}"#,
      #"{"event":"limit-exceeded",\#(ann),"request":"PUT /properties/full/b","outcome":"quota_exceeded","limit":"quota full/**"}"#,
      #"{"event":"authentication-failed","request":"GET /properties/users/ann/x","outcome":"unknown","proof":"token","key":"ann"}"#,
      #"{"event":"authentication-failed","request":"GET /properties/users/ann/x","outcome":"malformed","proof":"jwt"}"#,
      #"{"event":"authentication-failed","request":"GET /events","outcome":"unknown","proof":"ticket"}"#,
      #"{"event":"ticket-issued",\#(ann)}"#,
      #"{"event":"session-began",\#(ann),"request":"WebSocket"}"#,
      #"{"event":"authentication-failed","request":"auth","outcome":"unknown","proof":"token","key":"ann"}"#,
      #"{"event":"refused",\#(ann),"request":"set","operation":"set","path":"users/bob/x","outcome":"forbidden"}"#,
      #"{"event":"write",\#(ann),"operation":"set","path":"users/ann/y","outcome":"created"}"#,
      #"{"event":"token-created","key":"bob"}"#, #"{"event":"token-revoked","key":"ann"}"#,
      #"{"event":"session-ended",\#(ann),"request":"WebSocket","outcome":"the token is not accepted any more"}"#,
    ] {
      #expect(lines.contains(expected), "\(expected) is not in\n\(lines.joined(separator: "\n"))")
    }
    #expect(lines.contains { $0.hasSuffix(#""proof":"jwt","key":"k1"}"#) })
    #expect(lines.contains(#"{"event":"stopped"}"#))
    let text = try place.text()
    for line in text.split(separator: "\n") {
      #expect(throws: Never.self) { try JSONText(validating: String(line)) }
      #expect(line.contains(/^{"time":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z","event":"/))
    }
    #expect(text.contains(/"peer":"127\.0\.0\.1:\d+","listener":"http:\/\/127\.0\.0\.1:\d+"/))
    for secret in [canary, String(token.suffix(43)), ticket, "eyJ", "sgn_"] {
      #expect(!text.contains(secret), "\(secret) is in \(text)")
    }
    let mode = try FileManager.default.attributesOfItem(atPath: place.log)[.posixPermissions] as? Int
    #expect(mode == 0o600)
  }

  @Test func `at a hang-up the file is opened anew, also without a settings file`() throws {
    let place = try Place()
    let server = try RunningServer(["--audit-file", place.log, "--audit-events", "settings,writes"])
    #expect(try server.run("set", "a", "1").status == 0)
    try place.awaitText(#""path":"a""#)
    try FileManager.default.moveItem(atPath: place.log, toPath: place.log + ".1")
    #expect(try server.run("set", "b", "1").status == 0)
    try place.awaitText(#""path":"b""#, in: place.log + ".1")
    server.program.process.send(SIGHUP)
    let deadline = ContinuousClock.now + .seconds(60)
    while !FileManager.default.fileExists(atPath: place.log), ContinuousClock.now < deadline { usleep(5000) }
    try place.awaitText("settings-reloaded")
    #expect(try server.run("set", "c", "1").status == 0)
    #expect(server.stop() == .init(status: 0, output: "", errors: ""))
    #expect(
      try place.lines().map { $0.contains("users") ? "" : $0 } == [
        #"{"event":"settings-reloaded","settings":""}"#,
        #"{"event":"write","operation":"set","path":"c","outcome":"created"}"#, #"{"event":"stopped"}"#,
      ])
    #expect(try !place.text(place.log + ".1").contains(#""path":"c""#))
  }

  @Test func `what is noted, and where, changes at a hang-up, as a whole or not at all`() throws {
    let place = try Place()
    let settings = try place.write("log.level: error\naudit: {file: \(place.log), events: [settings]}\n")
    let program = try Program(["serve", "--port", "0", "--config", settings])
    let url = String(program.line().dropFirst("listening on ".count))
    func put(_ name: String) throws -> Int {
      try client(program, url).request("PUT", "/properties/\(name)", body: Array("1".utf8)).status
    }
    func hangUp() { program.process.send(SIGHUP) }
    #expect(try put("a") == 201)
    // A file that cannot be opened, and another change with it.
    _ = try place.write("log.level: error\nhosts: [x]\naudit: {file: /nowhere/at/all, events: [writes]}\n")
    hangUp()
    #expect(program.complaint().contains("the settings stay as they are: audit.file: /nowhere/at/all: No such file"))
    try place.awaitText("settings-refused")
    #expect(try put("b") == 201)
    _ = try place.write("log.level: error\naudit: {file: \(place.log).2, events: [settings, writes]}\n")
    hangUp()
    let deadline = ContinuousClock.now + .seconds(60)
    while (try? place.text(place.log + ".2").contains("settings-reloaded")) != true, ContinuousClock.now < deadline {
      usleep(5000)
    }
    #expect(try put("c") == 201)
    program.process.terminate()
    #expect(program.end().status == 0)
    #expect(
      try place.lines(place.log + ".2") == [
        #"{"event":"settings-reloaded","settings":"audit.file, audit.events"}"#,
        #"{"event":"write","operation":"set","path":"c","outcome":"created"}"#, #"{"event":"stopped"}"#,
      ])
    #expect(try place.lines().count == 3)
    #expect(try place.lines().last == #"{"event":"settings-reloaded","settings":"audit.file, audit.events"}"#)
  }

  @Test func `whoever ends a connection or turns the log off is in it`() throws {
    let place = try Place()
    let settings = try place.write("log.level: error\naudit: {file: \(place.log), events: [settings]}\n")
    let program = try Program(["serve", "--port", "0", "--config", settings])
    let url = String(program.line().dropFirst("listening on ".count))
    let port = try #require(url.split(separator: ":").last.flatMap { UInt16($0) })
    let socket = try WebSocketClient(.tcp(host: "127.0.0.1", port: port), target: "/events", timeout: .seconds(20))
    let list = JSONTree(
      try JSONText(validating: try client(program, url).request("GET", "/server/connections").body))
    let connections = try #require(list.member("connections", of: .root))
    let ids = list.elements(of: connections).compactMap { entry -> String? in
      guard list.member("kind", of: entry).flatMap({ list.string($0) }) == "websocket" else { return nil }
      return list.member("id", of: entry).flatMap { list.string($0) }
    }
    #expect(ids.count == 1)
    for id in ids { #expect(try client(program, url).request("DELETE", "/server/connections/\(id)").status == 204) }
    try place.awaitText(#""event":"connection-ended""#)
    withExtendedLifetime(socket) {}
    // Its last line.
    _ = try place.write("log.level: error\n")
    program.process.send(SIGHUP)
    try place.awaitText("settings-reloaded")
    program.process.terminate()
    #expect(program.end().status == 0)
    #expect(
      try place.lines().dropFirst() == [
        #"{"event":"connection-ended","key":"\#(ids[0])"}"#,
        #"{"event":"settings-reloaded","settings":"audit.file, audit.events"}"#,
      ])
  }

  @Test func `a full disk is logged once, and others are served`() throws {
    let server = try RunningServer(["--audit-file", "/dev/full", "--audit-events", "writes", "--log-level", "notice"])
    for index in 0..<20 { #expect(try server.run("set", "a", "\(index)").status == 0) }
    let end = server.stop()
    #expect(end.status == 0)
    #expect(end.errors.split(separator: "\n").count { $0.contains("the audit log cannot be written") } == 1)
    #expect(end.errors.contains("No space left on device"))
  }

  @Test func `a file that cannot be opened stops the start`() throws {
    let run = try Program.run(["serve", "--port", "0", "--audit-file", "/nowhere/at/all"])
    #expect(run.status == 78 && run.errors.contains("audit.file: /nowhere/at/all: No such file or directory"))
    let wrong = try Program.run(["serve", "--audit-events", "writes,wishes"])
    #expect(wrong.status == 78 && wrong.errors.contains("a list of some of refusals, failures, sessions"))
  }
}
