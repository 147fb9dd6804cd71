// SPDX-License-Identifier: MIT
import Foundation
import Processes
import SignalHTTP
import Testing

/// `docs/protocol.md` §9, by the program, killed and started again.
@Suite("A server that keeps its store in a folder")
struct DurableServerTests {
  private let folder = FileManager.default.temporaryDirectory.appending(path: "signal-\(UUID().uuidString)").path

  /// A server of the folder that ends, folder and all, with the test.
  private func withServer<Result>(
    _ arguments: String..., body: (RunningServer, HTTPClient) throws -> Result
  ) throws -> Result {
    let server = try RunningServer(["--data-dir", folder] + arguments)
    defer {
      server.program.process.send(SIGKILL)
      _ = server.program.end()
    }
    let port = try #require(server.url.split(separator: ":").last.flatMap { UInt16($0) })
    return try body(server, try HTTPClient(.tcp(host: "127.0.0.1", port: port), timeout: Self.patience))
  }

  /// A disk that others sync takes its time.
  private static let patience = Duration.seconds(60)

  private func removeFolder() { try? FileManager.default.removeItem(atPath: folder) }

  @Test(arguments: ["commit", "1ms"])
  func `what was acknowledged is there after the process was killed`(sync: String) throws {
    defer { removeFolder() }
    let cursor = try withServer("--data-sync", sync) { _, client throws in
      #expect(try client.request("PUT", "/properties/a", body: Array("1".utf8), timeout: Self.patience).status == 201)
      #expect(
        try client.request("PUT", "/properties/gone?ttl=50ms", body: Array("1".utf8), timeout: Self.patience).status
          == 201)
      #expect(
        try client.request("PUT", "/properties/stays?ttl=1h", body: Array("1".utf8), timeout: Self.patience).status
          == 201)
      let formula = Array("properties['a'] + 1".utf8)
      #expect(
        try client.request(
          "PUT", "/properties/b", fields: [("Content-Type", "application/cel")], body: formula, timeout: Self.patience
        ).status
          == 201)
      #expect(
        try client.request("PUT", "/timers/t", body: Array(#"{"every":"1h"}"#.utf8), timeout: Self.patience).status
          == 201)
      #expect(
        try client.request("POST", "/signals/s?remember=true", body: Array(#""kept""#.utf8), timeout: Self.patience)
          .status == 204)
      let cursor = try #require(
        try client.request("PUT", "/properties/a", body: Array("2".utf8), timeout: Self.patience).value(
          "Signal-Revision"))
      // Longer than the interval, and than the time to live.
      Thread.sleep(forTimeInterval: 0.3)
      return cursor
    }
    try withServer { _, client throws in
      #expect(try client.request("GET", "/properties/a", timeout: Self.patience).text == "2")
      #expect(try client.request("GET", "/properties/b", timeout: Self.patience).text == "3")
      #expect(try client.request("GET", "/properties/stays", timeout: Self.patience).value("Signal-Expires") != nil)
      #expect(try client.request("GET", "/properties/gone", timeout: Self.patience).status == 404)
      #expect(try client.request("GET", "/timers/t", timeout: Self.patience).status == 200)
      // Formulas follow their inputs again, and a cursor of before is as good as one of now.
      let changed = try client.request("PUT", "/properties/a", fields: [("If-Match", "\"\(cursor)\"")], body: [0x37])
      #expect(changed.status == 204)
      #expect(try client.request("GET", "/properties/b", timeout: Self.patience).text == "8")
      let stream = try client.request("GET", "/events?match=a&since=\(cursor)&take=1", timeout: Self.patience).text
      #expect(stream.contains(#""recovered":true"#) && stream.contains(#""value":7"#), "\(stream)")
    }
  }

  @Test func `what a connection held, and registered for its end, is settled before the port opens`() throws {
    defer { removeFolder() }
    try withServer { server, client throws in
      let port = try #require(server.url.split(separator: ":").last.flatMap { UInt16($0) })
      let socket = try WebSocketClient(.tcp(host: "127.0.0.1", port: port), target: "/events")
      try socket.send(#"{"id":1,"type":"set","path":"here/ann","value":1,"hold":true}"#)
      try socket.send(
        #"{"id":2,"type":"onDisconnect","operations":[{"op":"set","path":"state/ann","value":"lost"}]}"#)
      try socket.send(#"{"id":3,"type":"ping"}"#)
      for _ in 0..<4 { _ = try socket.receive(timeout: Self.patience) }
      #expect(try client.request("GET", "/properties/here/ann", timeout: Self.patience).text == "1")
    }
    try withServer { _, client throws in
      #expect(try client.request("GET", "/properties/here/ann", timeout: Self.patience).status == 404)
      #expect(try client.request("GET", "/properties/state/ann", timeout: Self.patience).text == #""lost""#)
    }
  }

  @Test func `what rules name is forgotten, or kept only so often, and those who resume are corrected`() throws {
    defer { removeFolder() }
    let rules = ["--data-rules", "here/** volatile,s/** every 1h"]
    let cursor = try withServer(rules[0], rules[1]) { server, client throws in
      func put(_ path: String, _ value: Int) throws -> HTTPClientResponse {
        try client.request("PUT", "/properties/\(path)", body: Array("\(value)".utf8), timeout: Self.patience)
      }
      for value in 1...3 { #expect(try [201, 204].contains(put("here/ann", value).status)) }
      for value in 1...3 { #expect(try [201, 204].contains(put("s/t", value).status)) }
      return try #require(try put("here/ann", 4).value("Signal-Revision"))
    }
    // It was killed: the newest value of s/t is lost, and nobody is left with it.
    let next = try withServer(rules[0], rules[1]) { server, client throws in
      #expect(try client.request("GET", "/properties/here/ann", timeout: Self.patience).status == 404)
      #expect(try client.request("GET", "/properties/s/t", timeout: Self.patience).text == "1")
      let stream = try client.request("GET", "/events?match=**&since=\(cursor)&take=2", timeout: Self.patience).text
      #expect(stream.contains(#""recovered":true"#) && !stream.contains("reset"), "\(stream)")
      #expect(stream.contains(#""type":"didDelete""#) && stream.contains(#""value":1"#), "\(stream)")
      let answer = try client.request("PUT", "/properties/s/t", body: Array("7".utf8), timeout: Self.patience)
      // At an orderly end everything is kept that has a rule with a time.
      #expect(server.stop().status == 0)
      return try #require(answer.value("Signal-Revision"))
    }
    try withServer { _, client throws in
      #expect(try client.request("GET", "/properties/s/t", timeout: Self.patience).text == "7")
      let stream = try client.request("GET", "/events?match=**&since=\(next)&take=1", timeout: Self.patience).text
      #expect(stream.contains(#""recovered":true"#), "\(stream)")
    }
  }

  @Test func `a folder belongs to one process at a time, and damage stops the start`() throws {
    defer { removeFolder() }
    try withServer { server, client throws in
      #expect(try client.request("PUT", "/properties/a", body: Array("1".utf8), timeout: Self.patience).status == 201)
      let second = try Program.run(["serve", "--port", "0", "--log-level", "error", "--data-dir", folder])
      #expect(second.status == 71)
      #expect(second.errors.contains("process \(server.program.process.processIdentifier)"), "\(second.errors)")
      #expect(server.stop().status == 0)
    }
    let state = folder + "/state.sqlite"
    var bytes = try [UInt8](Data(contentsOf: URL(filePath: state)))
    bytes.replaceSubrange(40..<200, with: repeatElement(0xFF, count: 160))
    try Data(bytes).write(to: URL(filePath: state))
    let refused = try Program.run(["serve", "--port", "0", "--log-level", "error", "--data-dir", folder])
    #expect(refused.status == 65 && refused.errors.contains("state.sqlite"), "\(refused)")
  }

  @Test func `without a folder it says that a restart forgets everything`() throws {
    let server = try RunningServer(["--log-level", "info"])
    #expect(server.complaint().contains("in memory only: a restart forgets everything"))
    _ = server.stop()
  }
}

extension HTTPClientResponse {
  fileprivate var text: String { String(decoding: body, as: UTF8.self) }
}
