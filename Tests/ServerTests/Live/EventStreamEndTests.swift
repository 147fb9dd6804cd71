// SPDX-License-Identifier: MIT
import SignalHTTP
import SignalStore
import TestSupport
import Testing

/// The end of a stream of events is not the end of its connection (RFC 9112 §9.3), unless the head said so (§9.6).
@Suite("Live protocol §5, the end of a stream")
struct EventStreamEndTests {
  private static let finite = "GET /events?match=a&take=1 HTTP/1.1\r\nHost: x\r\n\r\n"
  private static let put = "PUT /properties/b HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n7"

  @Test func `a connection goes on behind the last chunk, also a thousand times`() throws {
    let server = try TestServer()
    try server.store.set("a", "1")
    let client = try server.connect()
    for number in 0..<1000 {
      let stream = try client.request("GET", "/events?match=a&take=1")
      #expect(stream.status == 200 && stream.values("Connection").isEmpty)
      #expect(stream.text.hasSuffix(": that was all\n\n"))
      #expect(try client.request("POST", "/signals/bell", body: "\(number)").status == 204)
    }
  }

  @Test func `a stream that ends by a later event keeps its connection`() throws {
    for loops in 1...2 {
      let server = try TestServer(loops: loops)
      let client = try server.connect()
      for number in 1...50 {
        #expect(try client.http.open("GET", "/events?match=a&initial=false&take=1").status == 200)
        var text = ""
        while !text.contains("live") {
          text += String(decoding: try #require(try client.http.nextPiece()), as: UTF8.self)
        }
        try server.store.set("a", "\(number)")
        while let piece = try client.http.nextPiece() { text += String(decoding: piece, as: UTF8.self) }
        #expect(text.contains(#""value":\#(number)"#))
        #expect(client.isAlive())
      }
    }
  }

  @Test func `requests that wait behind a stream are answered when it has ended, in order`() throws {
    let server = try TestServer()
    let client = try server.connect(sending: Self.finite + Self.put + Self.finite)
    try client.send("GET /properties/b HTTP/1.1\r\nHost: x\r\n\r\n")
    // Nothing is carried out before its turn.
    #expect(try client.receive(upTo: "live").contains("HTTP/1.1 200"))
    #expect(server.store.contents.isEmpty)
    try server.store.set("a", "1")
    let rest = try client.receive(upTo: "\r\n\r\n7")
    let order = ["that was all", "0\r\n\r\n", "201 Created", "200 OK", #""path":"a""#, "that was all", "\r\n\r\n7"]
    var place = rest.startIndex
    for text in order {
      let found = try #require(rest.range(of: text, in: place), "\(text) in \(rest)")
      place = found.upperBound
    }
  }

  @Test func `however the requests are cut, they mean the same`() throws {
    let server = try TestServer()
    try server.store.set("a", "1")
    let requests = Self.finite + Self.put + "GET /properties/b HTTP/1.1\r\nHost: x\r\n\r\n"
    let outcome = try Splits.all(of: Array(requests.utf8)) { pieces in
      let client = try server.connect()
      for piece in pieces where !piece.isEmpty { try client.send(piece) }
      return try ["GET", "PUT", "GET"].map { try client.receive(answering: $0) }.map { response in
        response.status == 201 || response.status == 204 ? "written" : "\(response.status) \(response.text.suffix(4))"
      }
    }
    #expect(outcome == ["200 ll\n\n", "written", "200 7"])
  }

  @Test(arguments: ["close", "keep-alive, close", "Close"])
  func `a request that says close is told close, and the connection ends with the stream`(_ option: String) throws {
    let server = try TestServer()
    try server.store.set("a", "1")
    let client = try server.connect(
      sending: "GET /events?match=a&take=1 HTTP/1.1\r\nHost: x\r\nConnection: \(option)\r\n\r\n" + Self.put)
    let stream = try client.receive()
    #expect(stream.status == 200 && stream.values("Connection") == ["close"])
    #expect(stream.value("Transfer-Encoding") == "chunked" && stream.text.hasSuffix("that was all\n\n"))
    #expect(client.awaitEnd())
    #expect(server.store.contents == ["a": "1"])
  }

  @Test(arguments: ["", "Connection: keep-alive\r\n"])
  func `in HTTP 1.0 the end of the connection is the end of the stream, and announced`(_ field: String) throws {
    let server = try TestServer()
    try server.store.set("a", "1")
    let client = try server.connect(sending: "GET /events?match=a&take=1 HTTP/1.0\r\n\(field)\r\n")
    let stream = String(decoding: try client.receiveToEnd(), as: UTF8.self)
    #expect(stream.contains("\r\nConnection: close\r\n\r\n") && !stream.contains("keep-alive"))
    #expect(stream.hasSuffix(": that was all\n\n"))
  }

  @Test func `a stream that is asked for while the server drains says close`() throws {
    let server = try TestServer(loops: 1)
    let client = try server.connect(beginning: "GET /events?match=a HTTP/1.1\r\nHost: x\r\n")
    let idle = try server.connect()
    #expect(idle.isAlive())
    server.server.shutdown()
    #expect(idle.awaitEnd())
    try client.send("\r\n")
    let stream = try client.receive()
    #expect(stream.value("Connection") == "close")
    #expect(stream.text.hasSuffix(": the server shuts down\n\n"))
    #expect(client.awaitEnd())
  }

  @Test func `a request that waits behind a stream when the server drains is answered, with close`() throws {
    let server = try TestServer(loops: 1)
    let client = try server.connect(sending: "GET /events?match=a HTTP/1.1\r\nHost: x\r\n\r\n" + Self.put + Self.put)
    let other = try server.connect()
    #expect(other.isAlive())
    server.server.shutdown()
    #expect(try client.receive().text.hasSuffix(": the server shuts down\n\n"))
    let answer = try client.receive(answering: "PUT")
    #expect(answer.status == 201 && answer.value("Connection") == "close")
    #expect(client.awaitEnd())
    #expect(server.store.contents == ["b": "7"])
  }

  @Test func `a reader that is too slow gets the end of its stream, and keeps its connection`() throws {
    var limits = Limits()
    limits.highWaterMark = 64 << 10
    let server = try TestServer(limits: limits)
    let client = try RawClient(server, receiveBuffer: 4096)
    try client.send("GET /events?match=a&mode=all HTTP/1.1\r\nHost: x\r\n\r\n" + Self.put)
    let value = String(repeating: "x", count: 20_000)
    // Until the buffers of the system are full, and the mark of the server is exceeded.
    for number in 0..<1000 { try server.store.set("a", "\"\(number)\(value)\"") }
    let stream = try client.receive()
    #expect(stream.text.hasSuffix("\n\n") && stream.text.contains("\n\n: too slow, resume from e."))
    #expect(try client.receive(answering: "PUT").status == 201)
    #expect(client.isAlive())
  }

  @Test func `a connection behind a stream has the time of an idle one, and no more`() throws {
    var limits = Limits()
    limits.keepAliveTimeout = .milliseconds(80)
    let server = try TestServer(limits: limits)
    try server.store.set("a", "1")
    let client = try server.connect(sending: Self.finite)
    #expect(try client.receive().status == 200)
    #expect(client.awaitEnd())
  }

  @Test func `nothing of the subscription comes behind its stream`() throws {
    let server = try TestServer(loops: 1)
    let client = try server.connect(sending: Self.finite)
    _ = try client.receive(upTo: "live")
    for number in 1...20 { try server.store.set("a", "\(number)") }
    _ = try client.receive(upTo: "0\r\n\r\n")
    for number in 1...20 { try server.store.set("a", "\(number)") }
    #expect(try client.request("GET", "/properties/a?watchers=true").value("Signal-Watchers") == "0")
    #expect(client.isAlive())
  }

  @Test(arguments: [true, false])
  func `a client that ends its side ends its stream`(_ hasBegun: Bool) throws {
    let server = try TestServer()
    let client = try server.connect(sending: "GET /events?match=a HTTP/1.1\r\nHost: x\r\n\r\n")
    if hasBegun { _ = try client.receive(upTo: "live") }
    client.socket.endSending()
    _ = try client.receiveToEnd(allowingReset: true)
    let other = try server.connect()
    let deadline = ContinuousClock.now + LiveClient.patience
    while try other.request("GET", "/properties/a?watchers=true").value("Signal-Watchers") != "0" {
      try #require(ContinuousClock.now < deadline, "the subscription is still there")
    }
  }
}

extension String {
  fileprivate func range(of text: String, in start: Index) -> Range<Index>? { self[start...].firstRange(of: text) }
}
