// SPDX-License-Identifier: MIT
import Foundation
import SignalHTTP
import Synchronization
import TestSupport
import Testing

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

  @Test func `a WebSocket that sends something long is told when it may go on, as often as it asks`() throws {
    let server = try ApplicationServer { _, _ in .webSocket(Pieces(count: 5, bytes: 3_000_000)) }
    let client = try server.webSocket()
    for number in 1...5 {
      guard case .binary(let piece)? = try client.next() else {
        Issue.record("no piece")
        return
      }
      #expect(piece.count == 3_000_000 && piece[0] == UInt8(number))
    }
    // It did not ask after the last piece, so nothing comes but the echo.
    try client.socket.send("hello")
    #expect(try client.next() == .text(Array("5".utf8)))
  }
}

/// Sends a long message in pieces, each when the one before has been sent, and then tells how many it was asked for.
private final class Pieces: WebSocketHandler {
  private let count: Int
  private let bytes: Int
  private var sent = 0

  init(count: Int, bytes: Int) {
    self.count = count
    self.bytes = bytes
  }

  func opened(_ socket: WebSocket, on loop: isolated EventLoop) { socket.askForDrained(on: loop) }

  func drained(_ socket: WebSocket, on loop: isolated EventLoop) {
    sent += 1
    socket.send([UInt8](repeating: UInt8(sent), count: bytes).span, .binary, on: loop)
    if sent < count { socket.askForDrained(on: loop) }
  }

  func received(_ message: Span<UInt8>, _ kind: MessageKind, from socket: WebSocket, on loop: isolated EventLoop) {
    socket.send("\(sent)", on: loop)
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
