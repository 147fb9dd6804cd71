// SPDX-License-Identifier: MIT
import SignalHTTP
import SignalStore
import TestSupport
import Testing

@Suite("Persistence, RFC 9112 §9.3")
struct Section09PersistenceTests {
  @Test func `a connection stays open without a word (9.3)`() throws {
    let client = try TestServer().connect()
    for _ in 0..<100 {
      let response = try client.request("GET", "/health/live")
      #expect(response.status == 200 && response.values("Connection").isEmpty)
    }
  }

  @Test(arguments: ["close", "Close", "keep-alive, close", "close, keep-alive", "x, close"])
  func `a client that says close gets close (9.6)`(_ option: String) throws {
    let client = try TestServer().connect(
      sending: "GET /health/live HTTP/1.1\r\nHost: x\r\nConnection: \(option)\r\n\r\nGET /health/live HTTP/1.1\r\n")
    #expect(try client.receive().value("Connection") == "close")
    #expect(client.awaitEnd())
  }

  @Test func `HTTP 1.0 closes unless it asks for keep-alive, and is told (9.3, C.2.2)`() throws {
    let server = try TestServer()
    let closing = try server.connect(sending: "GET /health/live HTTP/1.0\r\n\r\n")
    #expect(try closing.receive().value("Connection") == "close")
    #expect(closing.awaitEnd())
    let staying = try server.connect()
    for _ in 0..<3 {
      try staying.send("GET /health/live HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
      #expect(try staying.receive().value("Connection") == "keep-alive")
    }
  }

  // MARK: Pipelining

  @Test func `pipelined requests are answered in order (9.3.2)`() throws {
    let server = try TestServer()
    var requests = ""
    for number in 0..<200 {
      requests += "PUT /properties/a HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\n\(100 + number)"
      requests += "GET /properties/a HTTP/1.1\r\nHost: x\r\n\r\n"
    }
    let client = try server.connect(sending: requests)
    for number in 0..<200 {
      #expect(try client.receive().status == (number == 0 ? 201 : 204))
      #expect(try client.receive().text == "\(100 + number)")
    }
  }

  @Test func `pipelined requests mean the same however they are cut (9.3.2)`() throws {
    let server = try TestServer()
    let requests = """
      PUT /properties/a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n[1\r\n1\r\n]\r\n0\r\n\r\n\
      GET /properties/a HTTP/1.1\r\nHost: x\r\n\r\n\
      PUT /properties/a HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}\
      HEAD /properties/a HTTP/1.1\r\nHost: x\r\n\r\n\r\n\
      DELETE /properties/a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n
      """
    let outcome = try Splits.all(of: Array(requests.utf8)) { pieces in
      let client = try server.connect()
      for piece in pieces where !piece.isEmpty { try client.send(piece) }
      return try ["PUT", "GET", "PUT", "HEAD", "DELETE"].map { method in
        let response = try client.receive(answering: method)
        return "\(response.status) \(response.value("Content-Length") ?? "-") \(response.text)"
      }
    }
    #expect(outcome == ["201 0 ", "200 3 [1]", "204 - ", "200 2 ", "204 - "])
  }

  @Test func `requests behind more answers than may wait are answered when those have gone (9.3.2)`() throws {
    var limits = Limits()
    limits.highWaterMark = 16 << 10
    let server = try TestServer(limits: limits)
    let value = "\"" + String(repeating: "x", count: 10_000) + "\""
    try server.store.set("a", value)
    let requests = String(repeating: "GET /properties/a HTTP/1.1\r\nHost: x\r\n\r\n", count: 100)
    // The system takes a megabyte at once, so nothing tells the server to go on but itself.
    let client = try server.connect(sending: requests)
    for _ in 0..<100 { #expect(try client.receive().text == value) }
    #expect(client.isAlive())
  }

  @Test func `a client that sends and does not read is not read from for ever (9.3.2)`() throws {
    var limits = Limits()
    limits.highWaterMark = 16 << 10
    let server = try TestServer(limits: limits)
    try server.store.set("a", "\"" + String(repeating: "x", count: 60_000) + "\"")
    let client = try RawClient(server, receiveBuffer: 4096)
    let padding = String(repeating: "x", count: 10_000)
    let request = Array("GET /properties/a HTTP/1.1\r\nHost: x\r\nX: \(padding)\r\n\r\n".utf8)
    // Until the buffers of the system are full, and not for 50 MB.
    var sent = 0
    while sent < 5000, (try? client.http.send(request, timeout: .milliseconds(200))) != nil { sent += 1 }
    #expect(sent < 5000)
    #expect(try server.connect().isAlive())
  }

  @Test func `a refusal ends what is pipelined, behind the answers before it (9.3.2)`() throws {
    let server = try TestServer()
    let client = try server.connect(
      sending: """
        PUT /properties/a HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n1\
        GET /properties/a HTTP/1.1\r\nNo Host\r\n\r\n\
        PUT /properties/b HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n2
        """)
    #expect(try client.receive().status == 201)
    #expect(try client.receive().status == 400)
    #expect(client.awaitEnd())
    #expect(server.store.contents == ["a": "1"])
  }
}

/// Whether a new connection is served, at once or when one before it has been dropped.
private func isServed(by server: TestServer) -> Bool {
  let deadline = ContinuousClock.now + LiveClient.patience
  while ContinuousClock.now < deadline {
    if (try? server.connect().request("GET", "/health/live").status) == 200 { return true }
  }
  return false
}

@Suite("Failures and timeouts, RFC 9112 §9.5", .serialized)
struct Section09TimeoutTests {
  /// A time in which a client of a busy machine has sent what it has to send before.
  private let whatAClientNeeds = Duration.milliseconds(500)

  private func server(_ change: (inout Limits) -> Void) throws -> TestServer {
    var limits = Limits()
    change(&limits)
    return try TestServer(limits: limits)
  }

  @Test func `a head that does not come in time is 408 (9.5)`() throws {
    let server = try server { $0.headTimeout = whatAClientNeeds }
    let client = try server.connect(sending: "GET /health/live HTTP/1.1\r\nHo")
    let response = try client.receive()
    #expect(response.status == 408 && response.code == "request_timeout")
    #expect(response.value("Connection") == "close")
    #expect(try LiveMessage(response.text).bool("temporary") == true)
    #expect(client.awaitEnd())
  }

  @Test func `a byte now and then does not stretch the time for a head (9.5)`() throws {
    let server = try server { $0.headTimeout = whatAClientNeeds }
    let client = try server.connect(sending: "GET /")
    var answer: [UInt8]?
    for _ in 0..<2000 where answer == nil {
      try client.send("x")
      answer = try client.receive(within: .milliseconds(10))
    }
    #expect(String(decoding: answer ?? [], as: UTF8.self).hasPrefix("HTTP/1.1 408 "))
  }

  @Test func `a body that does not come in time is 408 (9.5)`() throws {
    let server = try server { $0.bodyTimeout = .milliseconds(80) }
    for framing in ["Content-Length: 5", "Transfer-Encoding: chunked"] {
      let client = try server.connect(sending: "PUT /properties/a HTTP/1.1\r\nHost: x\r\n\(framing)\r\n\r\n")
      #expect(try client.receive().code == "request_timeout")
      #expect(client.awaitEnd())
    }
    #expect(server.store.contents.isEmpty)
  }

  @Test func `a connection without a request is closed without a word (9.5)`() throws {
    let fresh = try server { $0.headTimeout = .milliseconds(80) }.connect()
    #expect(try fresh.receiveToEnd().isEmpty)
    let used = try server { $0.keepAliveTimeout = .milliseconds(80) }.connect()
    #expect(used.isAlive())
    #expect(try used.receiveToEnd().isEmpty)
  }

  @Test func `a client that takes nothing of its answer is dropped (9.5)`() throws {
    let server = try server {
      $0.sendTimeout = .milliseconds(100)
      $0.connections = 1
    }
    try server.store.set("a", "\"" + String(repeating: "x", count: 1_000_000) + "\"")
    let client = try RawClient(server, receiveBuffer: 4096)
    try client.send(String(repeating: "GET /properties/a HTTP/1.1\r\nHost: x\r\n\r\n", count: 20))
    // As long as it is there, nobody else is served.
    #expect(isServed(by: server))
    #expect(try client.receiveToEnd(allowingReset: true).count < 20_000_000)
  }

  @Test func `connections over the limit are answered 503 and closed (9.5)`() throws {
    let server = try server {
      $0.connections = 2
      $0.lingerTimeout = whatAClientNeeds
    }
    let first = try server.connect()
    let second = try server.connect()
    #expect(first.isAlive() && second.isAlive())
    let third = try server.connect()
    let response = try third.request("PUT", "/properties/a", body: "1")
    #expect(response.status == 503 && response.code == "too_many_connections")
    #expect(response.value("Retry-After") == "1" && response.value("Connection") == "close")
    #expect(third.awaitEnd())
    #expect(server.store.contents.isEmpty)
    #expect(first.isAlive() && second.isAlive())
    try second.send("GET /health/live HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    #expect(second.awaitEnd())
    #expect(isServed(by: server))
  }
}

@Suite("Tear-down, RFC 9112 §9.6")
struct Section09TearDownTests {
  @Test func `an answer arrives although the client keeps sending (9.6)`() throws {
    let server = try TestServer()
    let client = try server.connect(
      sending: "PUT /properties/a HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000\r\n\r\n")
    // More than the buffers hold: without lingering the system would answer with a reset and destroy the response.
    let block = [UInt8](repeating: 0x20, count: 100_000)
    for _ in 0..<30 { try client.send(block) }
    let response = try client.receive()
    #expect(response.status == 413 && response.code == "body_too_large")
    #expect(client.awaitEnd())
  }

  @Test func `a client that keeps sending for ever is dropped (9.6)`() throws {
    var limits = Limits()
    limits.lingerBytes = 200_000
    let server = try TestServer(limits: limits)
    let client = try server.connect(sending: "BROKEN\r\n\r\n")
    let block = [UInt8](repeating: 0x20, count: 100_000)
    var sent = 0
    while sent < 1000, (try? client.send(block)) != nil { sent += 1 }
    #expect(sent < 1000)
  }

  @Test func `a client that does not end is dropped (9.6)`() throws {
    var limits = Limits()
    limits.lingerTimeout = .milliseconds(50)
    limits.connections = 1
    let server = try TestServer(limits: limits)
    let client = try server.connect(sending: "BROKEN\r\n\r\n")
    #expect(try client.receive().status == 400)
    // Our end has come; the client's does not, and the server does not wait for it.
    #expect(client.awaitEnd())
    #expect(isServed(by: server))
    withExtendedLifetime(client) {}
  }
}
