// SPDX-License-Identifier: MIT
import SignalHTTP
import Foundation
import TestSupport
import Testing

@Suite("Opening handshake over sockets, RFC 6455 §4")
struct Section04HandshakeTests {
  /// A request with the RFC's own key and these further lines.
  private func request(_ lines: String..., target: String = "/", method: String = "GET", version: String = "1.1")
    -> String
  {
    (["\(method) \(target) HTTP/\(version)", "Host: server.example", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="]
      + lines)
      .joined(separator: "\r\n") + "\r\n\r\n"
  }
  private let upgrade = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13"

  @Test func `the answer is that of the RFC's example (1.3)`() throws {
    let server = try ApplicationServer.echo()
    let client = try server.connect()
    try client.send(request(upgrade, "Sec-WebSocket-Protocol: echo"))
    let response = try client.receive()
    #expect(response.status == 101)
    #expect(response.value("Sec-WebSocket-Accept") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
    #expect(response.value("Upgrade") == "websocket" && response.value("Connection") == "Upgrade")
    #expect(response.value("Sec-WebSocket-Protocol") == "echo")
    #expect(response.values("Sec-WebSocket-Extensions").isEmpty && response.values("Content-Length").isEmpty)
  }

  @Test(arguments: [
    "Upgrade: WebSocket\r\nConnection: upgrade", "Upgrade: h2c, websocket\r\nConnection: keep-alive, Upgrade",
    "Upgrade: h2c\r\nUpgrade: websocket\r\nConnection: x\r\nConnection: Upgrade",
    "upgrade:websocket\r\nCONNECTION:UPGRADE", "Upgrade: websocket\r\nConnection: ,Upgrade,",
  ])
  func `the fields are lists without regard to case (4.2.1)`(_ fields: String) throws {
    let client = try ApplicationServer.echo().connect()
    try client.send(request(fields, "Sec-WebSocket-Version: 13"))
    #expect(try client.receive().status == 101)
  }

  @Test func `version 1.0 cannot upgrade (4.2.1)`() throws {
    let client = try ApplicationServer.echo().connect()
    try client.send(request(upgrade, version: "1.0"))
    #expect(try client.receive().status == 426)
  }

  @Test func `another method cannot upgrade (4.2.1)`() throws {
    let client = try ApplicationServer.echo().connect()
    try client.send(request(upgrade, "Content-Length: 0", method: "POST"))
    let response = try client.receive()
    #expect(response.status == 405 && response.value("Allow") == "GET")
  }

  @Test func `a version that is not 13 is told which there is (4.4)`() throws {
    let client = try ApplicationServer.echo().connect()
    for version in ["8", "12", "14", "013", "13, 8"] {
      try client.send(request("Upgrade: websocket\r\nConnection: Upgrade", "Sec-WebSocket-Version: \(version)"))
      let response = try client.receive()
      #expect(response.status == 426 && response.value("Sec-WebSocket-Version") == "13")
      #expect(response.value("Upgrade") == "websocket")
    }
    // The connection is still one of HTTP: the right handshake follows.
    try client.send(request(upgrade))
    #expect(try client.receive().status == 101)
  }

  @Test func `the first of the server's subprotocols that the client offers is chosen (4.2.2)`() throws {
    let server = try ApplicationServer.echo()
    #expect(try server.webSocket(subprotocols: ["echo.v2", "echo"]).socket.subprotocol == "echo")
    #expect(try server.webSocket(subprotocols: ["ECHO", "echo.v2"]).socket.subprotocol == "echo.v2")
    #expect(try server.webSocket(subprotocols: ["other"]).socket.subprotocol == nil)
  }

  @Test func `extensions are not taken up (4.2.2)`() throws {
    let client = try ApplicationServer.echo().connect()
    try client.send(request(upgrade, "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits"))
    let response = try client.receive()
    #expect(response.status == 101 && response.values("Sec-WebSocket-Extensions").isEmpty)
  }

  @Test func `a request that does not ask for an upgrade is answered by HTTP`() throws {
    let client = try ApplicationServer.echo().connect()
    #expect(try client.request("GET", "/").status == 426)
    #expect(try client.request("GET", "/", fields: [("Upgrade", "websocket")]).status == 426)
    #expect(try client.request("GET", "/", fields: [("Connection", "Upgrade")]).status == 426)
  }

  @Test func `an upgrade behind pipelined requests comes in its turn`() throws {
    let server = try TestServer()
    let client = try server.connect(
      sending: "GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n" + request(upgrade, target: "/events"))
    #expect(try client.receive().status == 200)
    #expect(try client.receive().status == 101)
  }

  @Test func `handshake and frames mean the same however they are cut`() throws {
    let server = try ApplicationServer.echo()
    let frames =
      frame(0x81, Array("one".utf8)) + frame(0x01, Array("tw".utf8)) + frame(0x89, [1, 2])
      + frame(0x80, Array("o".utf8)) + frame(0x88, [0x03, 0xE8])
    let input = Array(request(upgrade).utf8) + frames
    let outcome = try Splits.all(of: input) { pieces in
      let client = try server.connect()
      for piece in pieces where !piece.isEmpty { try client.send(piece) }
      let bytes = try client.receiveToEnd()
      // Behind the response's head.
      let end = try #require(String(decoding: bytes, as: UTF8.self).range(of: "\r\n\r\n"))
      let head = String(decoding: bytes, as: UTF8.self)[..<end.upperBound]
      return Array(bytes.dropFirst(head.utf8.count))
    }
    #expect(
      outcome == [0x81, 3] + Array("one".utf8) + [0x8A, 2, 1, 2] + [0x81, 3] + Array("two".utf8) + [
        0x88, 2, 0x03, 0xE8,
      ])
  }
}
