// SPDX-License-Identifier: MIT
import Foundation
import SignalHTTP
import SignalStore
import Synchronization
import TestSupport
import Testing

@Suite("Start and shutdown")
struct LifecycleTests {
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
    #expect(throws: SystemError.self) { try server.start() }
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
    #expect(try HTTPClient(host: "::1", port: port).request("GET", "/").text == "[::1]:\(port)")
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
    let inHead = try test.connect(sending: "PUT /properties/a HTTP/1.1\r\nHost: x\r\nContent-")
    let inBody = try test.connect(sending: "PUT /properties/b HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n1")
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
      sending: """
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
    let client = try test.connect(sending: "PUT /properties/a HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n1")
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

@Suite("Connections that come and go")
struct ConnectionLifeTests {
  @Test func `a second round of 500 idle connections adds no descriptor`() async {
    await #expect(processExitsWith: .success) {
      raiseDescriptorLimit()
      let test = try TestServer()
      func round() throws {
        var clients: [RawClient] = []
        for index in 0..<500 {
          let client = try test.connect()
          if index.isMultiple(of: 5) { try client.send("GET / HTT") }
          if index.isMultiple(of: 3) { client.socket.resetAtEnd() }
          clients.append(client)
        }
        #expect(try test.connect().isAlive())
      }
      #expect(try test.connect().isAlive())
      let before = try descriptors()
      for _ in 0..<2 {
        try round()
        try awaitDescriptors(atMost: before)
      }
    }
  }

  @Test func `a client that has sent its last and reads on gets its answer`() throws {
    let test = try TestServer()
    let client = try test.connect(
      sending: "PUT /properties/a HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n1"
        + "GET /properties/a HTTP/1.1\r\nHost: x\r\n\r\n")
    client.socket.endSending()
    #expect(try client.receive().status == 201)
    #expect(try client.receive().text == "1")
    #expect(client.awaitEnd())
  }

  @Test func `a client that has sent its last and waits for a large answer gets all of it`() throws {
    let test = try TestServer()
    let value = "\"" + String(repeating: "x", count: 1_000_000) + "\""
    try test.store.set("a", value)
    let client = try RawClient(test, receiveBuffer: 4096)
    for _ in 0..<8 { try client.send("GET /properties/a HTTP/1.1\r\nHost: x\r\n\r\n") }
    client.socket.endSending()
    for _ in 0..<8 { #expect(try client.receive().body.count == value.utf8.count) }
    #expect(client.awaitEnd())
  }

  @Test func `a client that breaks the connection at any moment harms nobody`() throws {
    let test = try TestServer()
    try test.store.set("a", "\"" + String(repeating: "x", count: 200_000) + "\"")
    let watcher = try LiveClient(test)
    _ = try watcher.subscribe(#""match":"b""#)
    let deeds = [
      "", "GET /prop", "GET /properties/a HTTP/1.1\r\nHost: x\r\n\r\n",
      String(repeating: "GET /properties/a HTTP/1.1\r\nHost: x\r\n\r\n", count: 20),
      "PUT /properties/c HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n1", "BROKEN\r\n\r\n",
      "GET /events?match=** HTTP/1.1\r\nHost: x\r\n\r\n",
      "GET /events?match=** HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
    ]
    for round in 0..<10 {
      for deed in deeds {
        let client = try test.connect(sending: deed)
        client.socket.resetAtEnd()
        // Sometimes the server has begun to answer, sometimes not.
        if round.isMultiple(of: 2), deed.contains("\r\n\r\n"), !deed.hasPrefix("PUT") {
          _ = try client.receive(within: .seconds(1))
        }
      }
      try test.store.set("b", "\(round)")
      #expect(try watcher.next().raw("value") == "\(round)")
    }
    #expect(test.store.contents.count == 2)
    #expect(try test.connect().isAlive())
  }
}

@Suite("Answers for later")
struct ResponderTests {
  /// Keeps what waits for an answer.
  private final class Waiting: Sendable {
    private let responders = Mutex<[(target: String, responder: HTTPResponder)]>([])
    func add(_ request: HTTPRequest, _ responder: HTTPResponder) {
      responders.withLock { $0.append((request.target, responder)) }
    }
    /// Waits until so many are there and takes them.
    func take(_ count: Int) throws -> [(target: String, responder: HTTPResponder)] {
      let deadline = ContinuousClock.now + LiveClient.patience
      while .now < deadline {
        let taken = responders.withLock { waiting in
          guard waiting.count >= count else { return [] as [(target: String, responder: HTTPResponder)] }
          defer { waiting = [] }
          return waiting
        }
        if taken.count >= count { return taken }
        sched_yield()
      }
      throw LiveClient.Failure.silence
    }
  }

  /// A server that keeps the requests below `/later` and answers the others with their target.
  private func server(_ waiting: Waiting, limits: Limits = Limits()) throws -> ApplicationServer {
    try ApplicationServer(limits: limits) { request, responder in
      guard request.path.hasPrefix("/later") else {
        return .response(HTTPResponse(.ok, body: Array(request.target.utf8)))
      }
      waiting.add(request, responder)
      return .later
    }
  }

  @Test func `an answer may come later, from another thread, and pipelined ones keep their order`() throws {
    let waiting = Waiting()
    let server = try server(waiting)
    let client = try server.connect()
    try client.send(
      "GET /later/1 HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\n\r\n"
        + "GET /later/3 HTTP/1.1\r\nHost: x\r\n\r\n")
    let first = try waiting.take(1)
    #expect(first.map(\.target) == ["/later/1"])
    try concurrently(1) { _ in first[0].responder.respond(HTTPResponse(.created, body: [0x31])) }
    #expect(try client.receive().status == 201)
    #expect(try client.receive().text == "/2")
    let third = try waiting.take(1)
    try concurrently(1) { _ in third[0].responder.respond(HTTPResponse(.accepted)) }
    #expect(try client.receive().status == 202)
  }

  @Test func `only the first answer to a request counts`() throws {
    let waiting = Waiting()
    let server = try server(waiting)
    let client = try server.connect()
    try client.send("GET /later/1 HTTP/1.1\r\nHost: x\r\n\r\n")
    let first = try waiting.take(1)[0].responder
    for status in [HTTPStatus.ok, .created, .accepted] { first.respond(HTTPResponse(status)) }
    #expect(try client.receive().status == 200)
    // Nor does a late one answer the next request of the connection.
    try client.send("GET /later/2 HTTP/1.1\r\nHost: x\r\n\r\n")
    let second = try waiting.take(1)[0].responder
    first.respond(HTTPResponse(.created))
    second.respond(HTTPResponse(.accepted))
    #expect(try client.receive().status == 202)
  }

  @Test func `an answer for a client that is gone goes nowhere`() throws {
    let waiting = Waiting()
    let server = try server(waiting)
    for reset in [true, false] {
      let client = try server.connect()
      try client.send("GET /later HTTP/1.1\r\nHost: x\r\n\r\n")
      let responder = try waiting.take(1)[0].responder
      if reset { client.socket.resetAtEnd() } else { client.socket.endSending() }
      _ = consume client
      responder.respond(HTTPResponse(.ok))
      responder.respond(HTTPResponse(.ok))
    }
    #expect(try server.connect().request("GET", "/now").text == "/now")
  }

  @Test func `an answer that does not come in time is 503`() throws {
    var limits = Limits()
    limits.responseTimeout = .milliseconds(60)
    let waiting = Waiting()
    let server = try server(waiting, limits: limits)
    let client = try server.connect()
    try client.send("GET /later HTTP/1.1\r\nHost: x\r\n\r\n")
    let response = try client.receive()
    #expect(response.status == 503 && response.value("Connection") == "close")
    #expect(client.awaitEnd())
    try waiting.take(1)[0].responder.respond(HTTPResponse(.ok))
    #expect(try server.connect().request("GET", "/now").status == 200)
  }

  @Test func `a shutdown waits for an answer that was promised`() async throws {
    var limits = Limits()
    limits.lingerTimeout = .milliseconds(20)
    let waiting = Waiting()
    let server = try server(waiting, limits: limits)
    let client = try server.connect()
    try client.send("GET /later HTTP/1.1\r\nHost: x\r\n\r\n")
    let responder = try waiting.take(1)[0].responder
    server.server.shutdown()
    responder.respond(HTTPResponse(.ok, body: [0x31]))
    let response = try client.receive()
    #expect(response.status == 200 && response.text == "1" && response.value("Connection") == "close")
    #expect(client.awaitEnd())
    try await server.server.run()
  }

  @Test func `a HEAD that is answered later has no body`() throws {
    let waiting = Waiting()
    let server = try server(waiting)
    let client = try server.connect()
    try client.send("HEAD /later HTTP/1.1\r\nHost: x\r\n\r\n")
    try waiting.take(1)[0].responder.respond(HTTPResponse(.ok, body: [1, 2, 3]))
    let response = try client.receive(answering: "HEAD")
    #expect(response.value("Content-Length") == "3" && response.body.isEmpty)
    #expect(try client.request("GET", "/now").text == "/now")
  }

  @Test func `a WebSocket can be written to and closed from any thread`() throws {
    let handles = Mutex<[WebSocketHandle]>([])
    let shared = Shared(handles)
    let server = try ApplicationServer { _, _ in .webSocket(HandleKeeper(shared)) }
    let client = try server.webSocket()
    try client.socket.send("hello")
    #expect(try client.next() == .text(Array("hello".utf8)))
    let handle = try #require(shared.handles.withLock { $0.first })
    try concurrently(4) { index in
      for number in 0..<50 { handle.send("\(index) \(number)") }
    }
    var last = [-1, -1, -1, -1]
    for _ in 0..<200 {
      guard case .text(let bytes)? = try client.next() else {
        Issue.record("no text")
        return
      }
      let parts = String(decoding: bytes, as: UTF8.self).split(separator: " ").compactMap { Int($0) }
      #expect(parts[1] == last[parts[0]] + 1)
      last[parts[0]] = parts[1]
    }
    handle.close(CloseCode(rawValue: 4001), reason: "enough")
    guard case .closed(let frame)? = try client.next() else {
      Issue.record("no close")
      return
    }
    #expect(frame.code?.rawValue == 4001 && frame.reason == "enough")
    handle.send("to nobody")
  }
}

private final class Shared: Sendable {
  let handles: Mutex<[WebSocketHandle]>
  init(_ handles: consuming sending Mutex<[WebSocketHandle]>) { self.handles = handles }
}

/// Sends messages back and shows its handle.
private final class HandleKeeper: WebSocketHandler {
  private let shared: Shared
  init(_ shared: Shared) { self.shared = shared }

  func opened(_ socket: WebSocket, on loop: isolated EventLoop) {
    let handle = socket.handle
    shared.handles.withLock { $0.append(handle) }
  }

  func received(_ message: Span<UInt8>, _ kind: MessageKind, from socket: WebSocket, on loop: isolated EventLoop) {
    socket.send(message, kind, on: loop)
  }
}

/// The descriptors of this process.
private func descriptors() throws -> Int {
  try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
}

/// Waits until there are no more than before, because a server closes what its clients have left a moment later; ends
/// the process when that does not happen.
private func awaitDescriptors(atMost limit: Int) throws {
  let deadline = ContinuousClock.now + LiveClient.patience
  while true {
    let count = try descriptors()
    if count <= limit { return }
    guard .now < deadline else { fatalError("\(count) descriptors instead of \(limit)") }
    sched_yield()
  }
}

/// As many descriptors as the system lets this process have.
private func raiseDescriptorLimit() {
  var limit = rlimit()
  guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
  limit.rlim_cur = limit.rlim_max
  _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
}
