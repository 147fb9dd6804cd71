// SPDX-License-Identifier: MIT
import SignalHTTP
import SignalStore
import TestSupport
import Testing

@Suite("Messages on the wire, RFC 9112 §2")
struct Section02MessageTests {
  @Test func `empty lines before a request are skipped (2.2)`() throws {
    let client = try TestServer().connect(
      sending: "\r\n\r\nGET /health/live HTTP/1.1\r\nHost: x\r\n\r\n\r\nGET /health/live HTTP/1.1\r\nHost: x\r\n\r\n")
    #expect(try client.receive().status == 200)
    #expect(try client.receive().status == 200)
  }

  @Test(arguments: ["1.0", "1.1", "1.2", "1.9"])
  func `every minor version is answered with ours (2.3)`(_ version: String) throws {
    let client = try TestServer().connect(sending: "GET /health/live HTTP/\(version)\r\nHost: x\r\n\r\n")
    #expect(try client.receive(upTo: "\r\n").hasPrefix("HTTP/1.1 200 OK\r\n"))
  }

  @Test func `names of fields are compared without their case (5.1)`() throws {
    let server = try TestServer()
    let client = try server.connect(
      sending: "PUT /properties/a HTTP/1.1\r\nhOST: x\r\nCONTENT-length:3\r\niF-nOnE-mAtCh:\t* \t\r\n\r\n123")
    #expect(try client.receive().status == 201)
    #expect(try server.store.text("a") == "123")
  }
}

@Suite("Request lines on the wire, RFC 9112 §3")
struct Section03RequestLineTests {
  @Test func `the absolute form is served, and its host counts (3.2.2)`() throws {
    let server = try TestServer()
    try server.store.set("a", "1")
    let client = try server.connect(
      sending: "GET http://other.example:99/properties/a?pointer= HTTP/1.1\r\nHost: x\r\n\r\n")
    #expect(try client.receive().text == "1")
    // A page of the target's origin is the server's own; one of the Host field's is not.
    for (origin, status) in [("http://other.example:99", 201), ("http://x", 403)] {
      try client.send(
        """
        PUT http://other.example:99/properties/\(status) HTTP/1.1\r\nHost: x\r\nOrigin: \(TestTransport.adapted(origin))\r
        Content-Length: 1\r\n\r\n2
        """)
      #expect(try client.receive().status == status)
    }
  }

  @Test(arguments: ["OPTIONS * HTTP/1.1", "OPTIONS http://x HTTP/1.1"])
  func `the asterisk form asks for the whole server (3.2.4)`(_ line: String) throws {
    let client = try TestServer().connect(sending: "\(line)\r\nHost: x\r\n\r\n")
    let response = try client.receive()
    #expect(response.status == 204)
    #expect(response.value("Allow") == "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")
  }

  @Test func `nobody gets a tunnel, and what follows is not read as a request (3.2.3, 9110 §9.3.6)`() throws {
    let client = try ApplicationServer.echo().connect()
    try client.send("CONNECT x:443 HTTP/1.1\r\nHost: x:443\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n")
    #expect(try client.receive(answering: "CONNECT").status == 501)
    #expect(client.awaitEnd())
  }

  @Test func `a target of 8000 bytes is taken (3)`() throws {
    let client = try TestServer().connect()
    let query = String(repeating: "x", count: 7900)
    #expect(try client.request("GET", "/properties?where=path!='\(query)'").code == "bad_filter")
  }
}
