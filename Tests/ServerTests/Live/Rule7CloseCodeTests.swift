// SPDX-License-Identifier: MIT
import SignalHTTP
import SignalStore
import TestSupport
import Testing

@Suite("Live protocol §4 rule 7, close codes")
struct Rule7CloseCodeTests {
  private func frame(_ opcode: Opcode, _ payload: [UInt8]) -> [UInt8] {
    var bytes: [UInt8] = []
    FrameWriter.append(opcode, payload, mask: .random(), to: &bytes)
    return bytes
  }

  @Test func `1000 answers a client that is done`() throws {
    let client = try LiveClient(try TestServer())
    try client.socket.close(.normal)
    #expect(client.socket.closeFrame?.code == .normal)
  }

  @Test func `1001 is for a server that shuts down`() throws {
    let server = try TestServer()
    let client = try LiveClient(server)
    _ = try client.subscribe(#""match":"**""#)
    server.server.shutdown()
    #expect(try client.awaitClose().code == .goingAway)
    #expect(client.socket.awaitEnd())
  }

  @Test func `nothing is told behind the server's close`() throws {
    let server = try TestServer()
    let client = try server.connect(
      sending: """
        GET /events?match=** HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r
        Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n
        """)
    _ = try client.receive(upTo: #""type":"live""#)
    server.server.shutdown()
    _ = try client.receive(upTo: "the server shuts down")
    _ = try server.store.set("a", "1")
    // The client does not answer the close, so the connection stands.
    #expect(try client.receive(within: .milliseconds(150)) == nil)
  }

  @Test func `1002 is for a client that breaks RFC 6455`() throws {
    let client = try LiveClient(try TestServer())
    try client.socket.send(raw: [0x81, 0x02, 0x7B, 0x7D])  // without a mask
    #expect(try client.awaitClose().code == .protocolError)
    #expect(client.socket.awaitEnd())
  }

  @Test func `1003 is for a binary message`() throws {
    let client = try LiveClient(try TestServer())
    try client.socket.send(.binary, Array(#"{"id":1,"type":"ping"}"#.utf8))
    #expect(try client.awaitClose().code == .unsupportedData)
  }

  @Test func `1007 is for text that is not UTF-8`() throws {
    let client = try LiveClient(try TestServer())
    try client.socket.send(raw: frame(.text, [0x22, 0xC3, 0x28, 0x22]))
    #expect(try client.awaitClose().code == .invalidData)
  }

  @Test func `1009 is for a message over the limit, 1 MiB and 64 KiB`() throws {
    let server = try TestServer()
    let limit = WebSocketLimits().messageBytes
    let client = try LiveClient(server)
    #expect(client.hello.object("limits")?.int("messageBytes") == limit)
    // As long as allowed: a ping with white space around it.
    let ping = #"{"id":1,"type":"ping"}"#
    let longest = ping + String(repeating: " ", count: limit - ping.utf8.count)
    #expect(try client.ask(longest).description == "ok 1 @0")
    try client.send(longest + " ")
    #expect(try client.awaitClose().code == .tooLarge)
  }
}
