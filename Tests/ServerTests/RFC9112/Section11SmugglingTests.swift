// SPDX-License-Identifier: MIT
import SignalHTTP
import Foundation
import SignalStore
import TestSupport
import Testing

/// What two readers could understand differently.
///
/// Each row hides a request that sets `smuggled`: it must be refused with
/// one answer and the end of the connection, so that whoever sits before the server never sees a second one.
@Suite("Request smuggling, RFC 9112 §11.2")
struct Section11SmugglingTests {
  private static let hidden = "PUT /properties/smuggled HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n1"

  /// The fields of the request in front, and its body up to the hidden request.
  static let rows: [(fields: String, body: String)] = [
    // Both framings
    ("Content-Length: 5\r\nTransfer-Encoding: chunked", "0\r\n\r\n"),
    ("Transfer-Encoding: chunked\r\nContent-Length: 5", "0\r\n\r\n"),
    ("Content-Length: 0\r\nTransfer-Encoding: chunked", "0\r\n\r\n"),
    ("Content-Length: 5\r\nTransfer-Encoding: identity", "12345"),
    ("Content-Length: 5\r\nTransfer-Encoding: gzip", "12345"),
    // A coding in disguise
    ("Content-Length: 5\r\nTransfer-Encoding : chunked", "0\r\n\r\n"),
    ("Content-Length: 5\r\nTransfer-Encoding\t: chunked", "0\r\n\r\n"),
    ("Content-Length: 5\r\n Transfer-Encoding: chunked", "0\r\n\r\n"),
    ("Content-Length: 5\r\nX: y\r\n Transfer-Encoding: chunked", "0\r\n\r\n"),
    ("Content-Length: 5\r\nX: y\nTransfer-Encoding: chunked", "0\r\n\r\n"),
    ("Content-Length: 5\r\nX: y\rTransfer-Encoding: chunked", "0\r\n\r\n"),
    ("Content-Length: 5\r\nX: y\u{0}Transfer-Encoding: chunked", "0\r\n\r\n"),
    ("Content-Length: 5\r\nTransfer_Encoding: chunked", "0\r\n\r\n"),
    ("Content-Length: 5\r\nTransfer-Encoding:\u{B}chunked", "0\r\n\r\n"),
    ("Content-Length: 5\r\nTransfer-Encoding: \"chunked\"", "0\r\n\r\n"),
    ("Content-Length: 5\r\nTransfer-Encoding: chunked,", "0\r\n\r\n"),
    ("Content-Length: 5\r\nTransfer-Encoding: ,chunked", "0\r\n\r\n"),
    ("Content-Length: 5\r\nTransfer-Encoding:", "0\r\n\r\n"),
    ("Content-Length: 5\r\nTransfer-Encoding\r\n: chunked", "0\r\n\r\n"),
    ("Content-Length: 5\r\n\u{FEFF}Transfer-Encoding: chunked", "0\r\n\r\n"),
    ("Transfer-Encoding: chunked, identity", "0\r\n\r\n"),
    ("Transfer-Encoding: identity, chunked", "0\r\n\r\n"),
    ("Transfer-Encoding: x\r\nTransfer-Encoding: chunked", "0\r\n\r\n"),
    ("Transfer-Encoding: chunked\r\nTransfer-Encoding: x", "0\r\n\r\n"),
    ("Transfer-Encoding: chunked;x", "0\r\n\r\n"),
    ("Transfer-Encoding: chun\u{212A}ed", "0\r\n\r\n"),
    ("Transfer-Encoding: chunked\u{A0}", "0\r\n\r\n"),
    // Lengths
    ("Content-Length: 1\r\nContent-Length: 6", "1"), ("Content-Length: 1\r\nContent-Length: 1", "1"),
    ("Content-Length: 1, 6", "1"), ("Content-Length: 1 6", "1"), ("Content-Length: +1", "1"),
    ("Content-Length: 0x1", "1"), ("Content-Length: 1.0", "1"), ("Content-Length: 00000000000000000001", "1"),
    ("Content-Length: 1;", "1"), ("Content-Length: \"1\"", "1"), ("Content-Length: -0", ""),
    ("Content-Length: 18446744073709551617", "1"), ("Content-Length:\u{C}1", "1"), ("Content-Length : 1", "1"),
    ("Content_Length: 1\r\nContent-Length: 6", "1"), ("X: y\r\n Content-Length: 1", "1"),
    // Chunks
    ("Transfer-Encoding: chunked", "0\n\r\n"), ("Transfer-Encoding: chunked", "0x0\r\n\r\n"),
    ("Transfer-Encoding: chunked", "+0\r\n\r\n"), ("Transfer-Encoding: chunked", "-0\r\n\r\n"),
    ("Transfer-Encoding: chunked", "1\r\n12\r\n0\r\n\r\n"), ("Transfer-Encoding: chunked", "1\r\n1\n0\r\n\r\n"),
    ("Transfer-Encoding: chunked", "1\r\n10\r\n\r\n"), ("Transfer-Encoding: chunked", "1;\n1\r\n0\r\n\r\n"),
    ("Transfer-Encoding: chunked", "1;a=\"\r\n\"\r\n1\r\n0\r\n\r\n"),
    ("Transfer-Encoding: chunked", "1\r1\r\n0\r\n\r\n"),
    ("Transfer-Encoding: chunked", "10000000000000000\r\n1\r\n0\r\n\r\n"),
    ("Transfer-Encoding: chunked", "0\r\nContent-Length: 9\r\n\r\n"),
    ("Transfer-Encoding: chunked", "0\r\nTransfer-Encoding: chunked\r\n\r\n"),
    ("Transfer-Encoding: chunked", "0\r\nX: y\n\r\n"), ("Transfer-Encoding: chunked", "0\r\n X: y\r\n\r\n"),
    ("Transfer-Encoding: chunked", "0\r\nX\r\n\r\n"),
    // Other fields that say where a request belongs
    ("Host: y", ""), ("X y: z", ""), ("X", ""), (": z", ""),
  ]

  @Test(arguments: rows)
  func `it is answered once and the connection closes (11.2)`(_ row: (fields: String, body: String)) throws {
    let server = try TestServer()
    let client = try server.connect(
      sending: "POST /transactions HTTP/1.1\r\nHost: x\r\n\(row.fields)\r\n\r\n\(row.body)\(Self.hidden)")
    let answer = String(decoding: try client.receiveToEnd(), as: UTF8.self)
    #expect(answer.hasPrefix("HTTP/1.1 400 ") || answer.hasPrefix("HTTP/1.1 501 "))
    #expect(answer.contains("\r\nConnection: close\r\n"))
    #expect(answer.components(separatedBy: "HTTP/1.1 ").count == 2)
    #expect(server.store.contents.isEmpty)
    #expect(try server.connect().isAlive())
  }

  @Test(arguments: [
    "Content-Length: 78", "Content-Length:78", "Content-Length:\t78\t", "content-length: 78",
  ])
  func `what has one meaning only is read as a body (11.2)`(_ framing: String) throws {
    let server = try TestServer()
    #expect(Self.hidden.utf8.count + 12 == 78)
    let client = try server.connect(
      sending: "GET /health/live HTTP/1.1\r\nHost: x\r\n\(framing)\r\n\r\n            \(Self.hidden)")
    #expect(try client.receive().status == 200)
    #expect(client.isAlive())
    #expect(server.store.contents.isEmpty)
  }
}

@Suite("Response splitting, RFC 9112 §11.1")
struct Section11SplittingTests {
  @Test(arguments: ["%00", "a%0D%0ASet-Cookie:x", "%1F", "%7F", "%C2%80"])
  func `an encoded control character is syntax of a URI, and no path of a property`(_ text: String) throws {
    let server = try TestServer()
    let client = try server.connect()
    for (method, target) in [
      ("GET", "/properties/\(text)"), ("PUT", "/properties/\(text)"), ("DELETE", "/properties/\(text)"),
      ("POST", "/signals/\(text)"), ("PUT", "/timers/\(text)"), ("GET", "/history/\(text)"),
    ] {
      let response = try client.request(method, target, body: method.hasPrefix("P") ? "1" : nil)
      #expect(response.status == 400 && response.code == "bad_path", "\(method) \(target)")
      #expect(response.values("Set-Cookie").isEmpty && response.value("Connection") == nil)
    }
    let none = try client.request("GET", "/\(text)")
    #expect(none.status == 404 && none.text.contains(text))
    #expect(client.isAlive() && server.store.contents.isEmpty)
  }

  @Test(arguments: ["a%0D%0ASet-Cookie:x", "a%0aX:y", "a%00", "%E2%80%A8", "a%C2%85b"])
  func `nothing of a request ends a line of the response (11.1)`(_ text: String) throws {
    let server = try TestServer()
    for target in ["/properties/\(text)", "/properties?match=\(text)&limit=1", "/events?match=\(text)//", "/\(text)"] {
      let client = try server.connect()
      let response = try client.request("PUT", target, fields: [("X", "y")], body: "1")
      #expect(response.values("Set-Cookie").isEmpty && response.values("X").isEmpty)
      if let location = response.value("Location") { #expect(location == target) }
    }
  }
}
