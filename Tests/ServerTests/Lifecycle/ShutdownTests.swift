// SPDX-License-Identifier: MIT
import Foundation
import SignalHTTP
import SignalStore
import TestSupport
import Testing

@Suite("Start and shutdown")
struct ShutdownTests {
  // MARK: Start

  @Test func `a port that is taken is an error that names it, and nothing is left running`() throws {
    let first = try TestServer()
    let second = Server(ServerConfiguration(port: first.port, loops: 1)) { _, _ in .response(HTTPResponse(.ok)) }
    do {
      try second.start()
      Issue.record("two servers on one port")
    } catch {
      #expect("\(error)".contains("127.0.0.1:\(first.port)"))
      #expect(error.code == EADDRINUSE)
    }
    #expect(second.address == nil)
    #expect(try first.connect().isAlive())
  }

  @Test func `a host that is not known is an error`() {
    let server = Server(ServerConfiguration(host: "no.such.host.invalid", port: 0)) { _, _ in .later }
    #expect(throws: ServerError.self) { try server.start() }
  }

  @Test func `the address tells the port until the end`() async throws {
    let server = Server(ServerConfiguration(port: 0, loops: 1)) { _, _ in .response(HTTPResponse(.ok)) }
    #expect(server.address == nil)
    try server.start()
    #expect(server.address?.port != 0 && server.address?.host == "127.0.0.1")
    server.shutdown()
    try await server.run()
    #expect(server.address == nil)
  }

  @Test func `a server listens on IPv6, too`() throws {
    let server = Server(ServerConfiguration(host: "::1", port: 0, loops: 1)) { request, _ in
      .response(HTTPResponse(.ok, body: Array(request.authority.utf8)))
    }
    do {
      try server.start()
    } catch {
      // A machine without IPv6.
      return
    }
    defer { server.shutdown() }
    let port = try #require(server.address?.port)
    #expect(try HTTPClient(.tcp(host: "::1", port: port)).request("GET", "/").text == "[::1]:\(port)")
  }

  // MARK: Shutdown

  /// A client that has been sent the end and keeps its own back is not waited for.
  private var quick: Limits {
    var limits = Limits()
    limits.lingerTimeout = .milliseconds(20)
    return limits
  }

  @Test func `run returns when the server has shut down`() async throws {
    let server = Server(ServerConfiguration(port: 0, loops: 2)) { _, _ in .response(HTTPResponse(.ok)) }
    let running = Task { try await server.run() }
    while server.address == nil { await Task.yield() }
    server.shutdown()
    server.shutdown()
    try await running.value
  }

  @Test func `cancelling the task of run shuts down`() async throws {
    let server = Server(ServerConfiguration(port: 0, loops: 2)) { _, _ in .response(HTTPResponse(.ok)) }
    let running = Task { try await server.run() }
    while server.address == nil { await Task.yield() }
    running.cancel()
    try await running.value
    #expect(server.address == nil)
  }

  @Test func `after the shutdown nobody is listening`() async throws {
    let test = try TestServer()
    test.server.shutdown()
    try await test.server.run()
    #expect(throws: ClientError.self) { try test.connect() }
  }

  @Test func `requests under way are finished and idle connections closed`() async throws {
    // One loop: the end of the idle connection shows that it has begun to drain.
    let test = try TestServer(limits: quick, loops: 1)
    let idle = try test.connect()
    #expect(idle.isAlive())
    let inHead = try test.connect(beginning: "PUT /properties/a HTTP/1.1\r\nHost: x\r\nContent-")
    let inBody = try test.connect(beginning: "PUT /properties/b HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n1")
    test.server.shutdown()
    #expect(idle.awaitEnd())
    try inHead.send("Length: 1\r\n\r\n1")
    try inBody.send("2")
    for client in [inHead, inBody] {
      let response = try client.receive()
      #expect(response.status == 201 && response.value("Connection") == "close")
      #expect(client.awaitEnd())
    }
    try await test.server.run()
    #expect(test.store.contents == ["a": "1", "b": "12"])
  }

  @Test func `WebSockets are closed with 1001 and event streams end`() async throws {
    let test = try TestServer(limits: quick)
    let sockets = try (0..<6).map { _ in try LiveClient(test) }
    for socket in sockets { _ = try socket.subscribe(#""match":"**""#) }
    let streams = try (0..<6).map { _ in try EventStreamClient(test, query: "match=**") }
    for stream in streams { _ = try stream.next(2) }
    test.server.shutdown()
    for socket in sockets { #expect(try socket.awaitClose().code == .goingAway) }
    for stream in streams { #expect(try stream.rest().last?.comment == "the server shuts down") }
    try await test.server.run()
  }

  @Test func `an upgrade that is asked for meanwhile is closed with 1001 at once`() throws {
    let test = try TestServer(limits: quick, loops: 1)
    let client = try test.connect(
      beginning: """
        GET /events HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r
        Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n
        """)
    let idle = try test.connect()
    #expect(idle.isAlive())
    test.server.shutdown()
    #expect(idle.awaitEnd())
    try client.send("\r\n")
    let response = try client.receive(upTo: "the server shuts down")
    #expect(response.hasPrefix("HTTP/1.1 101 "))
  }

  @Test func `what has not finished in time is dropped`() async throws {
    var limits = Limits()
    limits.drainTimeout = .milliseconds(80)
    let test = try TestServer(limits: limits)
    let client = try test.connect(beginning: "PUT /properties/a HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n1")
    let silent = try LiveClient(test)
    test.server.shutdown()
    try await test.server.run()
    #expect(client.awaitEnd())
    #expect(silent.socket.awaitEnd())
    #expect(test.store.contents.isEmpty)
  }

  @Test func `servers that are gone leave no descriptor behind`() async {
    await #expect(processExitsWith: .success) {
      func cycle() async throws {
        var limits = Limits()
        limits.lingerTimeout = .milliseconds(20)
        for _ in 0..<10 {
          let test = try TestServer(limits: limits)
          let client = try LiveClient(test)
          #expect(try test.connect().isAlive())
          test.server.shutdown()
          _ = try client.awaitClose()
          try await test.server.run()
        }
      }
      // The first cycle opens what the runtime keeps.
      try await cycle()
      let before = try descriptors()
      for _ in 0..<3 { try await cycle() }
      try awaitDescriptors(atMost: before)
    }
  }
}
