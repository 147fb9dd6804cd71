// SPDX-License-Identifier: MIT
import SignalHTTP
import SignalStore
import TestSupport
import Testing

@Suite("Bodies on the wire, RFC 9112 §6")
struct Section06BodyTests {
  @Test(arguments: ["1", "01", "0000000000000000001"])
  func `zeros before a length mean nothing (6.2, 9110 §8.6)`(_ length: String) throws {
    let server = try TestServer()
    let client = try server.connect(
      sending: "PUT /properties/a HTTP/1.1\r\nHost: x\r\nContent-Length: \(length)\r\n\r\n7")
    #expect(try client.receive().status == 201)
    #expect(server.store.contents == ["a": "7"] && client.isAlive())
  }

  @Test func `a body ends where its length says, and the next request begins there (6.2)`() throws {
    let server = try TestServer()
    let client = try server.connect(
      sending: """
        PUT /properties/a HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\n123\
        GET /properties/a HTTP/1.1\r\nHost: x\r\n\r\n
        """)
    #expect(try client.receive().status == 201)
    #expect(try client.receive().text == "123")
  }

  @Test func `a request without framing has no body (6.3)`() throws {
    let client = try TestServer().connect(sending: "PUT /properties/a HTTP/1.1\r\nHost: x\r\n\r\n")
    let response = try client.receive()
    #expect(response.status == 400 && response.code == "bad_json")
    #expect(client.isAlive())
  }

  @Test(arguments: ["GET", "HEAD", "DELETE", "OPTIONS"])
  func `a body that a method does not need is read to its end (6)`(_ method: String) throws {
    let server = try TestServer()
    try server.store.set("a", "1")
    let smuggled = "PUT /properties/smuggled HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n1"
    let client = try server.connect(
      sending:
        "\(method) /properties/a HTTP/1.1\r\nHost: x\r\nContent-Length: \(smuggled.utf8.count)\r\n\r\n\(smuggled)")
    #expect([200, 204].contains(try client.receive(answering: method).status))
    #expect(client.isAlive())
    #expect(try server.store.text("smuggled") == nil)
  }

  @Test func `responses to HEAD, 204 and 304 have no body (6.3)`() throws {
    let server = try TestServer()
    try server.store.set("a", "[1,2,3]")
    let client = try server.connect()
    let head = try client.request("HEAD", "/properties/a")
    #expect(head.status == 200 && head.value("Content-Length") == "7" && head.body.isEmpty)
    let none = try client.request("PUT", "/properties/a", body: "1")
    #expect(none.status == 204 && none.values("Content-Length").isEmpty)
    let same = try client.request("GET", "/properties/a", fields: [("If-None-Match", "*")])
    #expect(same.status == 304 && same.values("Content-Length").isEmpty && same.body.isEmpty)
    let missing = try client.request("HEAD", "/properties/none")
    #expect(missing.status == 404 && missing.body.isEmpty)
    #expect(client.isAlive())
  }

  @Test func `a body of the largest size is taken`() throws {
    let server = try TestServer()
    let client = try server.connect()
    let largest = "\"" + String(repeating: "x", count: (1 << 20) - 2) + "\""
    #expect(try client.request("PUT", "/properties/a", body: largest).status == 201)
    #expect(try client.request("GET", "/properties/a").text == largest)
    #expect(try client.request("PUT", "/properties/a", body: largest + " ").status == 413)
    #expect(client.isAlive())
  }
}

@Suite("Chunks on the wire, RFC 9112 §7")
struct Section07ChunkTests {
  private func put(_ body: String) throws -> (status: Int, value: String?) {
    let server = try TestServer()
    let client = try server.connect(
      sending: "PUT /properties/a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n\(body)")
    let status = try client.receive().status
    #expect(client.isAlive())
    return (status, try server.store.text("a"))
  }

  @Test(arguments: [
    ("3\r\n123\r\n0\r\n\r\n", "123"), ("1\r\n1\r\n1\r\n2\r\n1\r\n3\r\n0\r\n\r\n", "123"),
    ("0003\r\n123\r\n000\r\n\r\n", "123"), ("B\r\n[1,2,3,4,5]\r\n0\r\n\r\n", "[1,2,3,4,5]"),
    ("b\r\n[1,2,3,4,5]\r\n0\r\n\r\n", "[1,2,3,4,5]"), ("3;a\r\n123\r\n0;b=c\r\n\r\n", "123"),
    ("3 ; a = \"\\\"\r\n123\r\n0\r\n\r\n".replacing("\"\\\"", with: "\"q\\\"uoted\""), "123"),
    ("3\r\n123\r\n0\r\nX-Checksum: 5\r\nY: z\r\n\r\n", "123"),
  ])
  func `chunks add up to the body, extensions and trailers are thrown away (7.1)`(
    _ body: String, _ value: String
  ) throws {
    let (status, stored) = try put(body)
    #expect(status == 201)
    #expect(stored == value)
  }

  @Test func `chunked is recognized in any case and with white space around (7)`() throws {
    let server = try TestServer()
    for coding in ["Chunked", "CHUNKED", "\tchunked \t"] {
      let client = try server.connect(
        sending: "PUT /properties/a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding:\(coding)\r\n\r\n1\r\n7\r\n0\r\n\r\n")
      #expect([201, 204].contains(try client.receive().status))
    }
  }

  @Test func `a body in a great many chunks is one body`() throws {
    let server = try TestServer()
    let text = "1\r\n\"\r\n" + String(repeating: "1\r\n7\r\n", count: 20_000) + "1\r\n\"\r\n"
    let client = try server.connect(
      sending: "PUT /properties/a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n\(text)0\r\n\r\n")
    #expect(try client.receive().status == 201)
    #expect(try server.store.text("a")?.utf8.count == 20_002)
  }
}

@Suite("Requests that do not end, RFC 9112 §8")
struct Section08IncompleteTests {
  @Test(arguments: [
    "GET /properties/a HTTP/1.1\r\nHost", "PUT /properties/b HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n1",
    "PUT /properties/b HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n1\r\n",
  ])
  func `an incomplete request is not carried out (8)`(_ request: String) throws {
    let server = try TestServer()
    let client = try server.connect(sending: request)
    client.socket.endSending()
    #expect(client.awaitEnd())
    #expect(server.store.contents.isEmpty)
    #expect(try server.connect().isAlive())
  }

  @Test func `a complete request before the client's end is answered (8)`() throws {
    let server = try TestServer()
    let client = try server.connect(sending: "PUT /properties/a HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n1")
    client.socket.endSending()
    #expect(try client.receive().status == 201)
    #expect(client.awaitEnd())
  }
}
