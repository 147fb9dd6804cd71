// SPDX-License-Identifier: MIT
import SignalHTTP
import TestSupport
import Testing

@Suite("Sending, RFC 6455 section 6.1")
struct Section6SendingTests {
  private static let lengths = [0, 1, 124, 125, 126, 127, 65534, 65535, 65536, 70000]

  @Test(arguments: lengths)
  func `a server's frame has the shortest length and no mask`(count: Int) {
    let payload = [UInt8](repeating: 0x2A, count: count)
    var output: [UInt8] = [1, 2, 3]
    FrameWriter.append(.text, payload, to: &output)
    #expect(output == [1, 2, 3] + TestFrame(first: 0x81, payload: payload, key: nil).bytes)
    #expect(output.count == 3 + FrameWriter.headerCount(payloadCount: count) + count)
  }

  @Test(arguments: lengths)
  func `a client's frame is combined with its key`(count: Int) {
    let payload = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
    var output: [UInt8] = [9]
    FrameWriter.append(.binary, payload, mask: FrameMask(key: 0x3D21_FA37), to: &output)
    #expect(output == [9] + TestFrame(first: 0x82, payload: payload).bytes)
    #expect(output.count == 1 + FrameWriter.headerCount(payloadCount: count, masked: true) + count)
  }

  @Test(arguments: [Opcode.text, .binary, .ping, .pong])
  func `what is written is read`(opcode: Opcode) throws {
    for count in [0, 1, 64, 125] {
      let payload = [UInt8](repeating: 0x41, count: count)
      for role in [WebSocketRole.server, .client] {
        var stream: [UInt8] = []
        FrameWriter.append(opcode, payload, mask: role == .server ? .random() : nil, to: &stream)
        var parser = FrameParser(role: role, frameLimit: 1000)
        var bytes = stream.mutableSpan
        var position = 0
        switch try parser.next(in: &bytes, at: &position) {
        case .data(let slice):
          #expect(slice.opcode == opcode && slice.isFinal && slice.startsFrame && slice.endsFrame)
          #expect(slice.range.map { bytes[$0] } == payload)
        case .control(let found, let content):
          let received = content.withBytes(in: bytes) { span in span.indices.map { span[$0] } }
          #expect(found == opcode && received == payload)
        case .needMore: Issue.record("not whole")
        }
      }
    }
  }

  @Test func `a header can be written alone`() {
    var output: [UInt8] = []
    FrameWriter.appendHeader(.text, payloadCount: 300, to: &output)
    #expect(output == [0x81, 126, 1, 44])
  }

  @Test func `an overlong control frame is our own mistake and traps`() async {
    await #expect(processExitsWith: .failure) {
      var output: [UInt8] = []
      FrameWriter.append(.ping, [UInt8](repeating: 0, count: 126), to: &output)
    }
  }

  @Test func `a machine sends messages and pings while it is open, and only then`() {
    var machine = WebSocketMachine(role: .server)
    var output: [UInt8] = []
    #expect(machine.send(.text, Array("a".utf8).span, to: &output))
    #expect(machine.send(.binary, [UInt8]([1]).span, to: &output))
    machine.ping([5], to: &output)
    #expect(output == reply(.text, [0x61]) + reply(.binary, [1]) + reply(.ping, [5]))
    machine.close(.normal, to: &output)
    let before = output
    #expect(!machine.maySend)
    #expect(!machine.send(.text, Array("b".utf8).span, to: &output))
    machine.ping(to: &output)
    #expect(output == before)
  }

  @Test func `a client masks everything it sends, each frame with a key of its own`() {
    var client = WebSocketMachine(role: .client)
    var stream: [UInt8] = []
    for _ in 0..<8 { #expect(client.send(.text, Array("same".utf8).span, to: &stream)) }
    client.ping([1, 2], to: &stream)
    client.close(.normal, reason: "done", to: &stream)
    var outcome = Outcome()
    var server = WebSocketMachine(role: .server)
    server.feed(stream, into: &outcome)
    #expect(outcome.told.prefix(8).allSatisfy { $0 == .text(Array("same".utf8)) })
    #expect(outcome.told.count == 10)
    #expect(outcome.replies == reply(.pong, [1, 2]) + reply(.close, closing(1000)))
    let keys = Set((0..<8).map { Array(stream[($0 * 10 + 2)..<($0 * 10 + 6)]) })
    #expect(keys.count > 1)
  }

  @Test func `a client's replies are masked too`() {
    var client = WebSocketMachine(role: .client)
    var outcome = Outcome()
    client.feed(reply(.ping, [7]) + reply(.close, closing(1001)), into: &outcome)
    #expect(outcome.told.count == 2)
    var answered = Outcome()
    var server = WebSocketMachine(role: .server)
    server.feed(outcome.replies, into: &answered)
    #expect(answered.told.first == .pong)
    #expect(answered.replies == reply(.close, closing(1001)))
  }
}
