// SPDX-License-Identifier: MIT
import Foundation
import Processes
import SignalHTTP
import Testing

@testable import signal_server

/// Limits of clients and quotas that change while a server runs.
@Suite("Limits at a hang-up")
struct LimitReloadTests {
  private static let free = "log.level: notice\nlimits: {local: true, address.requests: 0, address.arrivals: 0}\n"

  /// Bursts that nothing is added to while a test runs, but for one in a second.
  private static func limited(_ burst: Int) -> String {
    free.replacing("address.requests: 0", with: "address.requests: 1, address.burst: \(burst)")
  }

  private func server(_ settings: String, _ body: (Program, URL, UInt16) throws -> Void) throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "signal-\(UUID()).yaml")
    defer { try? FileManager.default.removeItem(at: file) }
    try settings.write(to: file, atomically: true, encoding: .utf8)
    let program = try Program(["serve", "--port", "0", "--config", file.path])
    let port = try #require(program.line().split(separator: ":").last.flatMap { UInt16($0) })
    try body(program, file, port)
    program.process.terminate()
    #expect(program.end().status == 0)
  }

  private func reload(_ program: Program, _ file: URL, _ settings: String, changes: String) throws {
    try settings.write(to: file, atomically: true, encoding: .utf8)
    program.process.send(SIGHUP)
    let line = program.complaint()
    #expect(line.contains("the settings have been read anew") && line.contains(changes), "\(line)")
  }

  private func status(_ client: HTTPClient) throws -> Int { try client.request("GET", "/properties").status }

  /// The statuses of requests on connections of their own; the loops take new settings over in their turns.
  private func statuses(_ port: UInt16, _ count: Int) throws -> [Int] {
    try (0..<count).map { _ in try status(HTTPClient(.tcp(host: "127.0.0.1", port: port))) }
  }

  @Test func `limits of requests count for connections that follow, and go as they came`() throws {
    try server(Self.free) { program, file, port in
      #expect(try statuses(port, 50).allSatisfy { $0 == 200 })
      let old = try HTTPClient(.tcp(host: "127.0.0.1", port: port))
      #expect(try status(old) == 200)
      try reload(program, file, Self.limited(3), changes: "limits.address.requests, limits.address.burst")
      let deadline = ContinuousClock.now + .seconds(60)
      while try !statuses(port, 5).contains(429), ContinuousClock.now < deadline {}
      #expect(try statuses(port, 40).contains(429))
      // An established connection keeps what it was accepted with.
      #expect(try (0..<20).allSatisfy { _ in try status(old) == 200 })
      try reload(program, file, Self.free, changes: "limits.address.requests, limits.address.burst")
      while try statuses(port, 20).contains(429), ContinuousClock.now < deadline {}
      #expect(try statuses(port, 50).allSatisfy { $0 == 200 })
    }
  }

  @Test func `limits of connections and of failures count at once for what follows`() throws {
    let tokens = FileManager.default.temporaryDirectory.appending(path: "tokens-\(UUID()).json").path
    defer { try? FileManager.default.removeItem(atPath: tokens) }
    _ = try Program.run(["token", "create", "--id", "ann", "--file", tokens])
    let free = Self.free + "auth.tokens: \(tokens)\n"
    try server(free.replacing("local: true", with: "local: true, failures: 0")) { program, file, port in
      func failed() throws -> Int {
        try HTTPClient(.tcp(host: "127.0.0.1", port: port)).request(
          "GET", "/properties", fields: [("Authorization", "Bearer none")]
        ).status
      }
      for _ in 0..<30 { #expect(try failed() == 401) }
      try reload(program, file, free.replacing("local: true", with: "local: true, failures: 2"), changes: "failures")
      let deadline = ContinuousClock.now + .seconds(60)
      while try failed() != 429, ContinuousClock.now < deadline {}
      #expect(try failed() == 429)
      // Nobody else is looked at differently for that.
      #expect(try statuses(port, 3) == [200, 200, 200])
      try reload(
        program, file, free.replacing("address.arrivals: 0", with: "address.arrivals: 0, address.connections: 1"),
        changes: "limits.address.connections")
      // Those before may not be gone yet.
      var held = try HTTPClient(.tcp(host: "127.0.0.1", port: port))
      while (try? status(held)) != 200, ContinuousClock.now < deadline {
        held = try HTTPClient(.tcp(host: "127.0.0.1", port: port))
      }
      while (try? statuses(port, 1)) != nil, ContinuousClock.now < deadline {}
      #expect((try? statuses(port, 1)) == nil)
      #expect(try status(held) == 200)
    }
  }

  @Test func `quotas count as soon as everything has been counted by them`() throws {
    let settings = "log.level: notice\n"
    try server(settings) { program, file, port in
      func put(_ name: String) throws -> Int {
        try HTTPClient(.tcp(host: "127.0.0.1", port: port)).request(
          "PUT", "/properties/\(name)", body: Array("1".utf8)
        ).status
      }
      #expect(try put("q/a") == 201 && put("q/b") == 201)
      // They count before the log says that the settings were read.
      try reload(program, file, settings + "quotas: [q/** properties 2]\n", changes: "quotas")
      #expect(try put("q/c") == 507 && put("q/a") == 204 && put("r") == 201)
      try reload(program, file, settings + "quotas: [q/** properties 3]\n", changes: "quotas")
      #expect(try put("q/c") == 201 && put("q/d") == 507)
      try reload(program, file, settings, changes: "quotas")
      #expect(try put("q/d") == 201)
    }
  }
}
