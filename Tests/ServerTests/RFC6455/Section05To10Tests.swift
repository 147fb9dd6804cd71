// SPDX-License-Identifier: MIT
import SignalHTTP
import SignalStore
import TestSupport
import Testing

@Suite("Frames over sockets, RFC 6455 §5")
struct Section05FrameTests {
  @Test(arguments: [0, 1, 125, 126, 127, 65_535, 65_536, 200_000])
  func `messages of every form of length come back as they went (5.2)`(_ count: Int) throws {
    let client = try ApplicationServer.echo().webSocket()
    let text = Array(repeating: UInt8(ascii: "x"), count: count)
    let binary = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    try client.socket.send(.text, text)
    #expect(try client.next() == .text(text))
    try client.socket.send(.binary, binary)
    #expect(try client.next() == .binary(binary))
  }

  @Test func `the server's frames have no mask and are whole messages (5.1)`() throws {
    let client = try ApplicationServer.echo().webSocket()
    try client.socket.send("text")
    #expect(
      try client.nextFrame() == .init(opcode: .text, isFinal: true, payload: Array("text".utf8)))
  }

  @Test func `fragments are joined, with pings between them answered at once (5.4)`() throws {
    let client = try ApplicationServer.echo().webSocket()
    try client.socket.send(
      raw: frame(0x01, Array("al".utf8)) + frame(0x89, [1]) + frame(0x00, Array("to".utf8)) + frame(0x8A, [9])
        + frame(0x00) + frame(0x89, [2]))
    #expect(try client.nextFrame() == .init(opcode: .pong, isFinal: true, payload: [1]))
    #expect(try client.nextFrame() == .init(opcode: .pong, isFinal: true, payload: [2]))
    try client.socket.send(raw: frame(0x80, Array("gether".utf8)))
    #expect(
      try client.nextFrame() == .init(opcode: .text, isFinal: true, payload: Array("altogether".utf8)))
  }

  @Test func `a thousand fragments are one message (5.4)`() throws {
    let client = try ApplicationServer.echo().webSocket()
    var bytes = frame(0x02, [0])
    for number in 1..<1000 { bytes += frame(0x00, [UInt8(truncatingIfNeeded: number)]) }
    try client.socket.send(raw: bytes + frame(0x80))
    #expect(
      try client.next() == .binary((0..<1000).map { UInt8(truncatingIfNeeded: $0) }))
  }

  @Test func `a ping is answered with its payload, in order (5.5.2)`() throws {
    let client = try ApplicationServer.echo().webSocket()
    let payloads = [[], [7], [UInt8](repeating: 0xFF, count: 125)]
    try client.socket.send(raw: payloads.flatMap { frame(0x89, $0) })
    for payload in payloads {
      #expect(try client.nextFrame() == .init(opcode: .pong, isFinal: true, payload: payload))
    }
  }

  @Test func `a pong that nobody asked for is ignored (5.5.3)`() throws {
    let client = try ApplicationServer.echo().webSocket()
    try client.socket.send(raw: frame(0x8A) + frame(0x8A, [1, 2, 3]))
    try client.socket.send("still here")
    #expect(try client.next() == .text(Array("still here".utf8)))
  }

  @Test func `replies to pings behind much output keep the order of the wire (5.5.3)`() throws {
    let client = try ApplicationServer.echo().webSocket()
    let large = [UInt8](repeating: 0x61, count: 60_000)
    var bytes: [UInt8] = []
    for number in 0..<20 { bytes += frame(0x81, large) + frame(0x89, [UInt8(number)]) }
    try client.socket.send(raw: bytes)
    for number in 0..<20 {
      #expect(try client.nextFrame().payload == large)
      #expect(try client.nextFrame().payload == [UInt8(number)])
    }
  }
}

@Suite("Closing over sockets, RFC 6455 §7")
struct Section07ClosingTests {
  @Test(arguments: [1000, 1001, 1002, 1003, 1007, 1011, 1014, 3000, 3999, 4000, 4999] as [UInt16])
  func `a close is answered with its code and the end of the connection (5.5.1, 7.1.1)`(_ code: UInt16) throws {
    let client = try ApplicationServer.echo().webSocket()
    try client.socket.send(raw: frame(0x88, [UInt8(code >> 8), UInt8(code & 0xFF)] + Array("bye".utf8)))
    let answer = try client.nextFrame()
    #expect(answer.opcode == .close)
    #expect(Array(answer.payload.prefix(2)) == [UInt8(code >> 8), UInt8(code & 0xFF)])
    #expect(client.socket.awaitEnd(timeout: LiveClient.patience))
  }

  @Test func `a close without a code is answered by one without (7.1.5)`() throws {
    let client = try ApplicationServer.echo().webSocket()
    try client.socket.send(raw: frame(0x88))
    #expect(try client.nextFrame() == .init(opcode: .close, isFinal: true, payload: []))
    #expect(client.socket.awaitEnd(timeout: LiveClient.patience))
  }

  @Test func `what comes before a close is answered, what comes behind it is not read (5.5.1)`() throws {
    let client = try ApplicationServer.echo().webSocket()
    try client.socket.send(raw: frame(0x81, [0x61]) + frame(0x88, [0x03, 0xE8]) + frame(0x81, [0x62]) + [0xFF, 0xFF])
    #expect(try client.nextFrame().payload == [0x61])
    #expect(try client.nextFrame().opcode == .close)
    #expect(client.socket.awaitEnd(timeout: LiveClient.patience))
  }

  @Test func `a close between fragments is answered (5.4)`() throws {
    let client = try ApplicationServer.echo().webSocket()
    try client.socket.send(raw: frame(0x01, [0x61]) + frame(0x88, [0x03, 0xE8]))
    #expect(try client.nextFrame() == .init(opcode: .close, isFinal: true, payload: [0x03, 0xE8]))
  }

  @Test func `the connection's end without a close ends the subscriptions (7.1.4)`() throws {
    let server = try TestServer(loops: 1)
    let staying = try LiveClient(server)
    _ = try staying.subscribe(#""match":"**""#)
    for number in 0..<20 {
      let leaving = try LiveClient(server)
      _ = try leaving.subscribe(#""match":"**""#)
      if number.isMultiple(of: 2) { leaving.socket.socket.resetAtEnd() } else { leaving.socket.socket.endSending() }
    }
    try server.store.set("a", "1")
    #expect(try staying.settle().map(\.description) == ["didSet 1 a=1 @1"])
  }

  @Test func `a client that does not answer the server's close is dropped (7.1.1)`() throws {
    var limits = Limits()
    limits.closeTimeout = .milliseconds(50)
    let server = try TestServer(limits: limits)
    let client = try LiveClient(server)
    server.server.shutdown()
    // Frames as they are, so that nothing is answered.
    #expect(try client.socket.receiveFrame(timeout: LiveClient.patience).opcode == .close)
    #expect(client.socket.awaitEnd(timeout: LiveClient.patience))
  }
}

@Suite("Silence over sockets, RFC 6455 §5.5.2", .serialized)
struct SilenceTests {
  private func limits(idle: Duration) -> Limits {
    var limits = Limits()
    limits.pingInterval = .milliseconds(40)
    limits.idleTimeout = idle
    return limits
  }

  @Test func `a client that is silent is pinged, and dropped when it does not answer`() throws {
    let client = try LiveClient(try TestServer(limits: limits(idle: .milliseconds(120))))
    #expect(
      try client.socket.receiveFrame(timeout: LiveClient.patience) == .init(opcode: .ping, isFinal: true, payload: []))
    #expect(client.socket.awaitEnd(timeout: LiveClient.patience))
  }

  @Test func `a client that answers pings stays`() throws {
    let client = try LiveClient(try TestServer(limits: limits(idle: .seconds(5))))
    for _ in 0..<5 {
      #expect(try client.socket.receiveFrame(timeout: LiveClient.patience).opcode == .ping)
      try client.socket.send(raw: frame(0x8A))
    }
    #expect(try client.ask(#"{"id":1,"type":"ping"}"#).type == "ok")
  }

  @Test func `a client that is sent events all the time is pinged nevertheless`() throws {
    let server = try TestServer(limits: limits(idle: .seconds(5)))
    let client = try LiveClient(server)
    _ = try client.subscribe(#""match":"**""#)
    var pings = 0
    for number in 1...100_000 where pings < 2 {
      try server.store.set("a", "\(number)")
      let got = try client.socket.receiveFrame()
      guard got.opcode == .ping else { continue }
      pings += 1
      try client.socket.send(raw: frame(0x8A))
    }
    #expect(pings == 2)
  }
}

@Suite("Text and limits over sockets, RFC 6455 §8, §10.4")
struct Section08To10Tests {
  @Test func `characters may be cut by fragments (8.1)`() throws {
    let client = try ApplicationServer.echo().webSocket()
    let text = Array("κόσμε 🌍".utf8)
    var bytes: [UInt8] = []
    for (index, byte) in text.enumerated() {
      bytes += frame((index == 0 ? 0x01 : 0x00) | (index == text.count - 1 ? 0x80 : 0), [byte])
    }
    try client.socket.send(raw: bytes)
    #expect(try client.next() == .text(text))
  }

  @Test func `a message of the largest size passes in one frame and in many (10.4)`() throws {
    var limits = Limits()
    limits.webSocket.messageBytes = 10_000
    let server = try ApplicationServer.echo(limits: limits)
    let client = try server.webSocket()
    let largest = [UInt8](repeating: 0x61, count: 10_000)
    try client.socket.send(raw: frame(0x82, largest))
    #expect(try client.next() == .binary(largest))
    try client.socket.send(raw: frame(0x02, Array(largest.prefix(9999))) + frame(0x80, [0x61]))
    #expect(try client.next() == .binary(largest))
    try client.socket.send(raw: frame(0x82, largest + [0x61]))
    guard case .closed(let close)? = try client.next() else {
      Issue.record("no close")
      return
    }
    #expect(close.code == .tooLarge)
  }
}
