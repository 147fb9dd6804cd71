// SPDX-License-Identifier: MIT
import SignalHTTP
import TestSupport
import Testing

/// What a client gets out of a stream of responses.
private struct Read: Equatable {
  var responses: [HTTPClientResponse] = []
  var keepsAlive: Bool?
  var error: ClientError?
  var rest: [UInt8] = []
}

private func read(_ pieces: [[UInt8]], methods: [String], ended: Bool, limit: Int = 1 << 20) -> Read {
  var parser = ResponseParser()
  var read = Read()
  var pieces = pieces[...]
  do throws(ClientError) {
    for method in methods {
      var response: HTTPClientResponse?
      while response == nil {
        response = try parser.takeHead(answering: method)
        if response == nil {
          guard let piece = pieces.popFirst() else { return read }
          parser.receive(piece)
        }
      }
      while try !parser.takeBody(into: &response!.body, limit: limit, isEnded: ended && pieces.isEmpty) {
        guard let piece = pieces.popFirst() else { return read }
        parser.receive(piece)
      }
      read.responses.append(response!)
      read.keepsAlive = parser.keepsAlive
    }
  } catch {
    read.error = error
    return read
  }
  for piece in pieces { parser.receive(parser.takeRest() + piece) }
  read.rest = parser.takeRest()
  return read
}

private func readEveryWay(
  _ text: String, methods: [String] = ["GET"], ended: Bool = false, limit: Int = 1 << 20
) throws -> Read {
  try Splits.all(of: Array(text.utf8)) { read($0, methods: methods, ended: ended, limit: limit) }
}

@Suite("A client's view of responses, RFC 9112 sections 4 to 7")
struct ResponseParserTests {
  @Test func `status, fields and content come out`() throws {
    let read = try readEveryWay(
      "HTTP/1.1 201 Created\r\nContent-Length: 5\r\nX-A:  b c\t\r\nx-a: d\r\nEmpty:\r\n\r\nhello")
    let response = try #require(read.responses.first)
    #expect(response.status == 201 && response.reason == "Created" && response.text == "hello")
    #expect(response.fields.map(\.name) == ["Content-Length", "X-A", "x-a", "Empty"])
    #expect(response.values("X-a") == ["b c", "d"])
    #expect(response.value("X-A") == nil && response.value("empty") == "" && response.value("none") == nil)
    #expect(read.keepsAlive == true)
  }

  @Test func `responses follow each other on one connection`() throws {
    let read = try readEveryWay(
      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na" + "HTTP/1.1 204 No Content\r\n\r\n"
        + "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n" + "HTTP/1.1 304 \r\n\r\nrest",
      methods: ["GET", "PUT", "GET", "GET"])
    #expect(read.responses.map(\.status) == [200, 204, 200, 304])
    #expect(read.responses.map(\.text) == ["a", "", "abc", ""])
    #expect(read.rest == Array("rest".utf8))
  }

  @Test(arguments: [
    ("HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"), ("GET", "HTTP/1.1 204 No Content\r\n\r\n"),
    ("GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n"),
    ("GET", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"),
  ])
  func `some responses have no content, whatever their fields say, section 6_3`(method: String, text: String) throws {
    let read = try readEveryWay(text + "X", methods: [method])
    #expect(read.responses.first?.body == [])
    #expect(read.rest == [UInt8(ascii: "X")])
  }

  @Test func `chunks are joined, extensions and trailers left out, section 7_1`() throws {
    let read = try readEveryWay(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n5;a=\"b\"\r\nhello\r\n00a\r\n, world...\r\n0\r\nX-T: 1\r\n\r\n"
    )
    #expect(read.responses.first?.text == "hello, world...")
    #expect(read.responses.first?.fields.count == 1)
  }

  @Test func `without a length the content ends with the connection`() throws {
    let read = try readEveryWay("HTTP/1.0 200 OK\r\n\r\nall of it", ended: true)
    #expect(read.responses.first?.text == "all of it")
    #expect(read.keepsAlive == false)
  }

  @Test func `close, and HTTP 1.0, end the connection`() throws {
    #expect(try readEveryWay("HTTP/1.1 204 \r\nConnection: x, Close\r\n\r\n").keepsAlive == false)
    #expect(try readEveryWay("HTTP/1.0 204 \r\n\r\n").keepsAlive == false)
    #expect(try readEveryWay("HTTP/1.1 204 \r\nConnection: keep-alive\r\n\r\n").keepsAlive == true)
  }

  @Test(arguments: [
    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n",
  ])
  func `content that is cut off is not content`(text: String) throws {
    let read = try readEveryWay(text, ended: true)
    #expect(read.error == .closed && read.responses.isEmpty)
  }

  @Test(arguments: [
    "HTTP/2.0 200 OK\r\n\r\n", "HTTP/1.1 99 Low\r\n\r\n", "HTTP/1.1 099 Low\r\n\r\n", "HTTP/1.1 2000 Long\r\n\r\n",
    "HTTP/1.1 200\r\n\r\n", "HTTP/1.1  200 OK\r\n\r\n", "http/1.1 200 OK\r\n\r\n", "HTTP/1.1 2x0 OK\r\n\r\n",
    "\r\n\r\n",
    "GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 200 OK\r\nName\r\n\r\n", "HTTP/1.1 200 OK\r\nA b: c\r\n\r\n",
    "HTTP/1.1 200 OK\r\n: c\r\n\r\n", "HTTP/1.1 200 OK\r\nA : c\r\n\r\n", "HTTP/1.1 200 OK\r\nA: b\r\n folded\r\n\r\n",
    "HTTP/1.1 200 OK\nA: b\n\r\n\r\n", "HTTP/1.1 200 OK\r\nA: b\rc\r\n\r\n", "HTTP/1.1 200 OK\r\nA: \u{0}\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 0x1\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: \r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 9999999999999999999\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n",
  ])
  func `what is not HTTP 1.1 is refused`(text: String) throws {
    #expect(try readEveryWay(text).error == .malformedResponse)
  }

  @Test func `limits hold for heads and bodies of every framing`() throws {
    let head = "HTTP/1.1 200 OK\r\nX: " + String(repeating: "x", count: 70_000)
    #expect(read([Array(head.utf8)], methods: ["GET"], ended: false).error == .responseTooLarge)
    let bodies = [
      "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nabcdef\r\n5\r\nghijk\r\n0\r\n\r\n",
      "HTTP/1.1 200 OK\r\n\r\nabcdefghijk",
    ]
    for body in bodies { #expect(try readEveryWay(body, ended: true, limit: 10).error == .responseTooLarge) }
    #expect(try readEveryWay(bodies[1], limit: 11).responses.first?.text == "abcdefghijk")
  }
}

@Suite("Event streams, WHATWG HTML section 9.2")
struct ServerSentEventsTests {
  private func events(_ text: String) throws -> [ServerSentEvent] {
    try Splits.all(of: Array(text.utf8)) { pieces in
      var parser = ServerSentEvents()
      return pieces.flatMap { parser.receive($0) }
    }
  }

  @Test func `the examples of the specification are read as it says`() throws {
    #expect(
      try events("data: YHOO\ndata: +2\ndata: 10\n\n") == [ServerSentEvent(id: nil, data: "YHOO\n+2\n10")])
    #expect(
      try events(": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n") == [
        ServerSentEvent(id: "1", data: "first event"), ServerSentEvent(id: "", data: "second event"),
        ServerSentEvent(id: "", data: " third event"),
      ])
    #expect(
      try events("data\n\ndata\ndata\n\ndata:") == [
        ServerSentEvent(id: nil, data: ""), ServerSentEvent(id: nil, data: "\n"),
      ])
    #expect(try events("data:test\n\ndata: test\n\n").map(\.data) == ["test", "test"])
  }

  @Test func `lines end in any of three ways`() throws {
    let expected = [ServerSentEvent(id: "7", name: "n", data: "a\nb")]
    for end in ["\n", "\r", "\r\n"] {
      #expect(try events(["event: n", "data: a", "id: 7", "data: b", "", ""].joined(separator: end)) == expected)
    }
  }

  @Test func `a byte order mark at the beginning is no part of the stream`() throws {
    #expect(try events("\u{FEFF}data: a\n\n\u{FEFF}data: b\n\n").map(\.data) == ["a"])
  }

  @Test func `a mark that combines with the colon or the space belongs to the value`() throws {
    #expect(
      try events("data:\u{301}a\n\ndata: \u{301}b\n\n").map { Array($0.data.utf8) } == [
        Array("\u{301}a".utf8), Array("\u{301}b".utf8),
      ])
  }

  @Test func `a block with only an id moves the cursor and is no event`() {
    var parser = ServerSentEvents()
    #expect(parser.receive(Array("id: x7.5\n\n: keep-alive\nretry: 1500\nretry: soon\nid: a\u{0}b\n".utf8)).isEmpty)
    #expect(parser.lastID == "x7.5" && parser.retry == 1500 && parser.comments == 1)
    #expect(parser.receive(Array("other: x\nevent: e\n\ndata: d\n\n".utf8)) == [ServerSentEvent(id: "x7.5", data: "d")])
  }
}
