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
