// SPDX-License-Identifier: MIT
import SignalHTTP
import SignalStore
import TestSupport
import Testing

@Suite("Expectations, RFC 9110 §10.1.1")
struct ExpectationTests {
  private let head = "PUT /properties/a HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1\r\n"

  @Test func `a client that waits is told to go on, and then answered`() throws {
    let client = try TestServer().connect(sending: head + "\r\n")
    #expect(try client.receive(upTo: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
    try client.send("1")
    #expect(try client.receive().status == 201)
  }

  @Test func `a client that does not wait is not told`() throws {
    let client = try TestServer().connect(sending: head + "\r\n1")
    let response = try client.receive()
    #expect(response.status == 201 && response.interim.isEmpty)
  }

  @Test func `a body that is refused for its size is not asked for`() throws {
    let client = try TestServer().connect(
      sending: "PUT /properties/a HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 9000000\r\n\r\n")
    let response = try client.receive()
    #expect(response.status == 413 && response.interim.isEmpty)
    #expect(client.awaitEnd())
  }

  @Test func `HTTP 1.0 does not know it`() throws {
    let client = try TestServer().connect(
      sending: "PUT /properties/a HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n")
    try client.send("1")
    let response = try client.receive()
    #expect(response.status == 201 && response.interim.isEmpty)
  }

  @Test func `with chunks it is the same`() throws {
    let client = try TestServer().connect(
      sending: "PUT /properties/a HTTP/1.1\r\nHost: x\r\nExpect: 100-Continue\r\nTransfer-Encoding: chunked\r\n\r\n")
    #expect(try client.receive(upTo: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
    try client.send("1\r\n1\r\n0\r\n\r\n")
    #expect(try client.receive().status == 201)
  }

  @Test(arguments: [
    ("PUT /none", [], 404), ("JUMP /properties/a", [], 501), ("POST /properties/a", [], 405),
    ("DELETE /transactions", [], 405), ("PUT /properties/a//b", [], 400), ("PUT /properties/a?x=1", [], 400),
    ("PUT /properties/a?ttl=1", [], 400), ("PUT /properties/a?if=(", [], 400), ("POST /signals/a?remember=1", [], 400),
    ("PUT /properties/a", ["Origin: http://evil.example"], 403), ("PUT /properties/a", ["Content-Encoding: gzip"], 415),
    ("PUT /properties/a", ["Content-Range: bytes 0-0/2"], 400), ("PUT /properties/a", ["If-Match: 1"], 400),
    ("PATCH /properties/a", ["Content-Type: text/plain"], 415), ("PUT /timers/a", ["Content-Encoding: br"], 415),
    ("POST /transactions", ["Content-Encoding: br"], 415), ("POST /expressions/explain?x=1", [], 400),
    ("PUT http://evil.example/properties/a", [], 421), ("PUT https://x/properties/a", [], 421),
  ])
  func `what the head alone decides is answered without asking for the body`(
    _ line: String, _ fields: [String], _ status: Int
  ) throws {
    // The scheme is right then.
    if TestTransport.isSecured, line.contains("https:") { return }
    let server = try TestServer(hosts: ["x"])
    for framing in ["Content-Length: 2", "Transfer-Encoding: chunked"] {
      let lines = ["\(line) HTTP/1.1", "Host: x", "Expect: 100-continue", framing] + fields
      let client = try server.connect(sending: lines.joined(separator: "\r\n") + "\r\n\r\n")
      let response = try client.receive()
      #expect(response.status == status && response.interim.isEmpty)
      // The client may send the body that it has announced, or not: what comes is not taken for a request.
      #expect(response.value("Connection") == "close")
      #expect(client.awaitEnd())
    }
    #expect(server.store.contents.isEmpty)
    #expect(try server.connect().isAlive())
  }

  @Test(arguments: [
    ("PUT /properties/a", [], "1", 204), ("PUT /properties/a", ["Content-Type: application/cel"], "1", 204),
    ("PATCH /properties/a", ["Content-Type: application/merge-patch+json"], "1", 204),
    ("POST /signals/a", [], "1", 204),
    ("PUT /timers/a", [], #"{"after":"1h"}"#, 201), ("POST /transactions", [], #"{"operations":[]}"#, 200),
    ("POST /expressions/explain", [], #"{"where":"true"}"#, 200), ("DELETE /properties/a", [], "1", 204),
    ("GET /properties/a", [], "1", 200), ("PUT /properties/a?if=value==0", ["If-Match: *"], "1", 204),
  ])
  func `everything else is asked for its body, once, and nothing is done before`(
    _ line: String, _ fields: [String], _ body: String, _ status: Int
  ) throws {
    let server = try TestServer()
    try server.store.set("a", "0")
    let head = ["\(line) HTTP/1.1", "Host: x", "Expect: 100-continue", "Content-Length: \(body.utf8.count)"] + fields
    let client = try server.connect(sending: head.joined(separator: "\r\n") + "\r\n\r\n")
    #expect(try client.receive(upTo: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
    #expect(server.store.contents == ["a": "0"] && server.store.revision == 1)
    try client.send(body)
    #expect(try client.receive().status == status)
    #expect(client.isAlive())
  }

  @Test func `a connection over the limit is refused without asking for the body`() throws {
    var limits = Limits()
    limits.connections = 1
    let server = try TestServer(limits: limits)
    let first = try server.connect()
    #expect(first.isAlive())
    let response = try server.connect(sending: head + "\r\n").receive()
    #expect(response.status == 503 && response.interim.isEmpty)
    withExtendedLifetime(first) {}
  }

  @Test func `behind pipelined requests it is told in its turn`() throws {
    let client = try TestServer().connect(sending: "GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n" + head + "\r\n")
    #expect(try client.receive().status == 200)
    try client.send("1")
    let response = try client.receive()
    #expect(response.status == 201 && response.interim == [100])
  }
}

@Suite("Dates, RFC 9110 §6.6.1")
struct DateTests {
  @Test(arguments: [("GET", "/health/live"), ("GET", "/none"), ("PUT", "/properties/a"), ("OPTIONS", "/events")])
  func `every response has a date in the preferred form`(_ method: String, _ target: String) throws {
    let response = try TestServer().connect().request(method, target, body: "1")
    let date = try #require(response.value("Date"))
    #expect(date.wholeMatch(of: /(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT/) != nil)
  }
}
