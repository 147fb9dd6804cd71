// SPDX-License-Identifier: MIT
import Foundation
import SignalHTTP
import Testing

extension ScriptedServer.Peer {
  /// Reads an upgrade request and returns its lines and the accept value for its key.
  fileprivate func readUpgrade() throws -> (request: String, accept: [UInt8]) {
    let request = try read(upTo: "\r\n\r\n")
    let line = try #require(request.split(separator: "\r\n").first { $0.hasPrefix("Sec-WebSocket-Key: ") })
    return (request, WebSocketHandshake.acceptKey(for: Array(line.dropFirst(19).utf8)))
  }

  /// Answers an upgrade request, with bytes right behind the answer.
  fileprivate func upgrade(subprotocol: String? = nil, then bytes: [UInt8] = []) throws {
    let accept = try readUpgrade().accept
    var output: [UInt8] = []
    WebSocketHandshake.appendResponse(acceptKey: accept, subprotocol: subprotocol, to: &output)
    try send(output + bytes)
  }

  /// Speaks WebSocket until the end: sends every message back.
  fileprivate func echo() throws -> WebSocketEnd? {
    var machine = WebSocketMachine(role: .server, limits: WebSocketClient.largeLimits)
    while true {
      var input: [UInt8] = []
      guard try socket.receive(into: &input, by: Deadline(after: .seconds(20))) > 0 else { return nil }
      var output: [UInt8] = []
      var position = 0
      var end: WebSocketEnd?
      var bytes = input.mutableSpan
      loop: while true {
        switch machine.next(in: &bytes, at: &position, replies: &output) {
        case .needMore: break loop
        case .message(let message):
          let content = message.payload.withBytes(in: bytes) { span in span.indices.map { span[$0] } }
          _ = machine.send(message.kind, content.span, to: &output)
        case .replied, .pong: break
        case .end(let told): end = told
        }
      }
      try send(output)
      if let end { return end }
    }
  }
}

private func serverFrame(_ opcode: Opcode, _ payload: [UInt8] = [], fin: Bool = true) -> [UInt8] {
  var bytes: [UInt8] = []
  FrameWriter.append(opcode, payload, to: &bytes)
  if !fin { bytes[0] &= 0x7F }
  return bytes
}

private func connect(_ port: UInt16, _ subprotocols: [String] = []) throws -> WebSocketClient {
  try WebSocketClient(.tcp(host: "127.0.0.1", port: port), target: "/events?match=a", subprotocols: subprotocols)
}

@Suite("WebSocket client")
struct WebSocketClientTests {
  @Test func `messages go out masked and come back, small and large`() throws {
    try exchange { peer in
      try peer.upgrade()
      guard case .closedByPeer(let frame) = try peer.echo() else {
        Issue.record("not closed by the client")
        return
      }
      #expect(frame.code == .normal && frame.reason == "done")
    } _: { port in
      let client = try connect(port)
      try client.send("größer")
      #expect(try client.receive() == .text(Array("größer".utf8)))
      let large = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
      try client.send(.binary, large)
      #expect(try client.receive() == .binary(large))
      try client.ping([1, 2, 3])
      #expect(try client.receive() == .pong([1, 2, 3]))
      try client.close(reason: "done")
      #expect(client.closeFrame?.code == .normal)
      #expect(throws: ClientError.closed) { try client.send("late") }
      #expect(throws: ClientError.closed) { try client.receive() }
    }
  }

  @Test func `the handshake asks for what was said and tells what was chosen`() throws {
    try exchange { peer in
      let (request, accept) = try peer.readUpgrade()
      #expect(request.hasPrefix("GET /live HTTP/1.1\r\nHost: 127.0.0.1:"))
      #expect(request.contains("\r\nSec-WebSocket-Protocol: signal.v1.json, other\r\n"))
      #expect(request.contains("\r\nOrigin: http://a\r\n") && request.contains("\r\nSec-WebSocket-Version: 13\r\n"))
      var output: [UInt8] = []
      WebSocketHandshake.appendResponse(acceptKey: accept, subprotocol: "other", to: &output)
      try peer.send(output)
    } _: { port in
      let client = try WebSocketClient(
        .tcp(host: "127.0.0.1", port: port), target: "/live", subprotocols: ["signal.v1.json", "other"],
        fields: [("Origin", "http://a")])
      #expect(client.subprotocol == "other" && client.response.status == 101)
    }
  }

  @Test func `frames right behind the handshake are not lost`() throws {
    try exchange { peer in
      try peer.upgrade(then: serverFrame(.text, Array("hello".utf8)) + serverFrame(.binary, [1]))
      _ = try peer.readToEnd()
    } _: { port in
      let client = try connect(port)
      #expect(try client.receive() == .text(Array("hello".utf8)))
      #expect(try client.receive() == .binary([1]))
    }
  }

  @Test func `a refusal brings the server's response`() throws {
    try exchange { peer in
      _ = try peer.readUpgrade()
      try peer.send("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno")
    } _: { port in
      do {
        _ = try connect(port)
        Issue.record("connected")
      } catch ClientError.upgradeRefused(let response) {
        #expect(response.status == 403 && response.text == "no")
      }
    }
  }

  @Test(arguments: [
    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\n",
    "Upgrade: websocket\r\nConnection: Upgrade\r\n", "Connection: Upgrade\r\nSec-WebSocket-Accept: $\r\n",
    "Upgrade: websocket\r\nSec-WebSocket-Accept: $\r\n",
    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: $\r\nSec-WebSocket-Protocol: x\r\n",
    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: $\r\nSec-WebSocket-Extensions: x\r\n",
  ])
  func `a handshake that is wrong is not taken`(fields: String) throws {
    try exchange { peer in
      let accept = String(decoding: try peer.readUpgrade().accept, as: UTF8.self)
      let answer = fields.replacing("$", with: accept)
      try peer.send("HTTP/1.1 101 Switching Protocols\r\n" + answer + "\r\n")
    } _: { port in
      #expect(throws: ClientError.handshakeFailed) { try connect(port) }
    }
  }

  @Test func `pings are answered while waiting, fragments joined`() throws {
    try exchange { peer in
      try peer.upgrade()
      try peer.send(
        serverFrame(.text, Array("Hel".utf8), fin: false) + serverFrame(.ping, [7])
          + serverFrame(.continuation, Array("lo".utf8)))
      var pong = try peer.read(count: 7)
      #expect(pong[0] == 0x8A && pong[1] == 0x81)
      pong[6] ^= pong[2]
      #expect(pong[6] == 7)
    } _: { port in
      let client = try connect(port)
      #expect(try client.receive() == .text(Array("Hello".utf8)))
    }
  }

  @Test func `nothing in time is nil, and half a message is not lost`() throws {
    let go = DispatchSemaphore(value: 0)
    try exchange { peer in
      try peer.upgrade()
      let bytes = serverFrame(.text, Array("whole".utf8))
      try peer.send(Array(bytes[..<4]))
      go.wait()
      try peer.send(Array(bytes[4...]))
      _ = try peer.readToEnd()
    } _: { port in
      let client = try connect(port)
      #expect(try client.receive(timeout: .milliseconds(30)) == nil)
      go.signal()
      #expect(try client.receive() == .text(Array("whole".utf8)))
    }
  }

  @Test func `the server's close is answered and shows code and reason`() throws {
    let done = DispatchSemaphore(value: 0)
    try exchange { peer in
      try peer.upgrade()
      var close: [UInt8] = []
      FrameWriter.appendClose(.tooSlow, reason: "resume from x7.12", to: &close)
      try peer.send(close)
      let answer = try peer.read(count: 8)
      #expect(answer[0] == 0x88 && answer[1] == 0x82)
      #expect([answer[6] ^ answer[2], answer[7] ^ answer[3]] == [0x0F, 0xA8])
      done.wait()
    } _: { port in
      let client = try connect(port)
      guard case .closed(let frame) = try client.receive() else {
        Issue.record("not closed")
        done.signal()
        return
      }
      #expect(frame.code == .tooSlow && frame.reason == "resume from x7.12" && client.closeFrame == frame)
      // Also while the server leaves the connection open.
      #expect(throws: ClientError.closed) { try client.receive(timeout: .seconds(5)) }
      #expect(!client.awaitEnd(timeout: .milliseconds(10)))
      done.signal()
      #expect(client.awaitEnd())
    }
  }

  @Test func `an end without a close is told`() throws {
    try exchange { peer in
      try peer.upgrade(then: [0x81])
    } _: { port in
      let client = try connect(port)
      #expect(throws: ClientError.closed) { try client.receive() }
      #expect(client.closeFrame == nil)
    }
  }

  @Test func `a server that breaks the protocol is told so`() throws {
    try exchange { peer in
      try peer.upgrade(then: [0x81, 0x81, 0, 0, 0, 0, 0x61])
      let answer = try peer.read(count: 8)
      #expect(answer[0] == 0x88)
      #expect([answer[6] ^ answer[2], answer[7] ^ answer[3]] == [0x03, 0xEA])
    } _: { port in
      let client = try connect(port)
      #expect(throws: ClientError.webSocket(.maskedFrame)) { try client.receive() }
    }
  }

  @Test func `single frames can be sent and seen as they are`() throws {
    try exchange { peer in
      try peer.upgrade(then: serverFrame(.text, [0x61], fin: false) + serverFrame(.ping, [1]))
      #expect(try peer.read(count: 3) == [0xFF, 0x00, 0x01])
      try peer.send(serverFrame(.continuation, [UInt8](repeating: 0x62, count: 100_000)) + [0x88, 0x00])
      #expect(try peer.readToEnd().isEmpty)
    } _: { port in
      let client = try connect(port)
      #expect(try client.receiveFrame() == .init(opcode: .text, isFinal: false, payload: [0x61]))
      #expect(try client.receiveFrame() == .init(opcode: .ping, isFinal: true, payload: [1]))
      try client.send(raw: [0xFF, 0x00, 0x01])
      let large = try client.receiveFrame()
      #expect(large.opcode == .continuation && large.isFinal && large.payload.count == 100_000)
      #expect(try client.receiveFrame() == .init(opcode: .close, isFinal: true, payload: []))
      #expect(throws: ClientError.timedOut) { try client.receiveFrame(timeout: .milliseconds(10)) }
    }
  }

  @Test func `closing waits for the server's close, dropping what comes before it`() throws {
    try exchange { peer in
      try peer.upgrade()
      _ = try peer.read(count: 8)
      try peer.send(serverFrame(.text, [0x61]) + serverFrame(.close, [0x03, 0xE9]))
    } _: { port in
      let client = try connect(port)
      try client.close(.goingAway)
      #expect(client.closeFrame?.code == .goingAway)
    }
  }

  @Test func `a server that does not answer a close is not waited for forever`() throws {
    let done = DispatchSemaphore(value: 0)
    try exchange { peer in
      try peer.upgrade()
      done.wait()
    } _: { port in
      let client = try connect(port)
      #expect(throws: ClientError.timedOut) { try client.close(timeout: .milliseconds(30)) }
      done.signal()
    }
  }

  @Test(arguments: [("/a b", "x"), ("/", "a b"), ("/\r\nX: y", "x"), ("", "x")])
  func `what would end a line early is not sent`(target: String, subprotocol: String) throws {
    try exchange { peer in
      let received = try peer.readToEnd()
      #expect(received.isEmpty)
    } _: { port in
      #expect(throws: ClientError.malformedRequest) {
        try WebSocketClient(.tcp(host: "127.0.0.1", port: port), target: target, subprotocols: [subprotocol])
      }
    }
  }
}
