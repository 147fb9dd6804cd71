// SPDX-License-Identifier: MIT
import SignalHTTP
import TestSupport
import Testing

private let hello = Array("Hello".utf8)

/// A client's frame.
private func frame(_ first: UInt8, _ payload: [UInt8]) -> [UInt8] {
  var output: [UInt8] = []
  let opcode = Opcode(rawValue: first & 0x0F) ?? .text
  FrameWriter.append(opcode, payload.span, mask: .random(), to: &output)
  output[0] = first
  return output
}

/// What a server that has negotiated compression makes of its input.
private func take(_ pieces: [[UInt8]], limit: Int = 1 << 20) -> Outcome {
  var limits = WebSocketLimits()
  limits.messageBytes = limit
  var machine = WebSocketMachine(role: .server, limits: limits, allowsCompression: true)
  let inflater = Inflater()
  var outcome = Outcome()
  for piece in pieces {
    var buffer = piece
    var bytes = buffer.mutableSpan
    var position = 0
    loop: while true {
      var event = machine.next(in: &bytes, at: &position, replies: &outcome.replies)
      if case .message(let message) = event, message.isCompressed {
        event = machine.inflate(message, in: bytes, by: inflater, replies: &outcome.replies)
      }
      switch event {
      case .needMore: break loop
      case .message(let message):
        let payload = message.payload.withBytes(in: bytes) { span in span.indices.map { span[$0] } }
        outcome.told.append(message.kind == .text ? .text(payload) : .binary(payload))
      case .replied: outcome.told.append(.replied)
      case .pong: outcome.told.append(.pong)
      case .end(let end):
        outcome.told.append(.end(end))
        break loop
      }
    }
  }
  outcome.state = machine.state
  return outcome
}

private func choose(_ fields: String...) -> MessageDeflate? {
  ExtensionOffer.parse(fields.map { Array($0.utf8) }).flatMap { MessageDeflate.choose(from: $0) }
}

@Suite("permessage-deflate, RFC 7692")
struct RFC7692Tests {
  @Suite("Negotiation, section 7.1")
  struct Negotiation {
    @Test func `parameters are agreed to as they are offered`() {
      #expect(choose("permessage-deflate") == MessageDeflate())
      #expect(choose("permessage-deflate; client_no_context_takeover") == MessageDeflate())
      #expect(choose("permessage-deflate; client_max_window_bits") == MessageDeflate())
      #expect(choose("permessage-deflate; client_max_window_bits=8") == MessageDeflate())
      #expect(choose("permessage-deflate; server_no_context_takeover") == MessageDeflate(isWithoutContext: true))
      for bits in UInt8(8)...15 {
        #expect(choose("permessage-deflate; server_max_window_bits=\(bits)") == MessageDeflate(windowBits: bits))
        #expect(choose("permessage-deflate;server_max_window_bits=\"\(bits)\"") == MessageDeflate(windowBits: bits))
      }
    }

    @Test(arguments: [
      "permessage-deflate; server_max_window_bits", "permessage-deflate; server_max_window_bits=7",
      "permessage-deflate; server_max_window_bits=16", "permessage-deflate; server_max_window_bits=010",
      "permessage-deflate; server_max_window_bits=1", "permessage-deflate; server_max_window_bits=1x",
      "permessage-deflate; client_max_window_bits=7", "permessage-deflate; client_max_window_bits=99",
      "permessage-deflate; server_no_context_takeover=1", "permessage-deflate; client_no_context_takeover=true",
      "permessage-deflate; unknown", "permessage-deflate; client_max_window_bits; client_max_window_bits",
      "permessage-deflate; server_max_window_bits=10; server_max_window_bits=10", "x-webkit-deflate-frame",
      "permessage-bzip2", "", " , ",
    ]) func `what cannot be agreed to is declined`(offer: String) {
      #expect(choose(offer) == nil)
      // The next one is taken.
      #expect(
        choose(offer + ", permessage-deflate; server_max_window_bits=9", "permessage-deflate")
          == MessageDeflate(windowBits: 9))
    }

    @Test(arguments: [
      "permessage-deflate;", "permessage-deflate; =1", "permessage-deflate; a=", "permessage-deflate; a=\"", ";",
      "permessage-deflate; a=\"b c\"", "permessage-deflate; a=\"\"", "a b", "permessage-deflate, b;", "\"a\"",
      "a; b=\"\\\"",
    ]) func `what violates the syntax fails the handshake`(field: String) {
      #expect(ExtensionOffer.parse([Array(field.utf8)]) == nil)
      let request = UpgradeRequest(
        isGet: true, isVersion1_1: true, upgrade: [Array("websocket".utf8)], connection: [Array("upgrade".utf8)],
        key: [Array("dGhlIHNhbXBsZSBub25jZQ==".utf8)], version: [Array("13".utf8)],
        extensions: [Array("permessage-deflate".utf8), Array(field.utf8)])
      #expect(WebSocketHandshake.answer(request, offering: []) == .refuse(.extensions))
      #expect(WebSocketHandshake.answer(request, offering: [], compresses: true) == .refuse(.extensions))
    }

    @Test func `a quoted value may have escapes`() {
      #expect(choose("permessage-deflate; server_max_window_bits=\"\\1\\0\"") == MessageDeflate(windowBits: 10))
    }

    @Test func `the response says what was agreed to`() {
      #expect(MessageDeflate().response == "permessage-deflate; client_no_context_takeover")
      #expect(
        MessageDeflate(isWithoutContext: true, windowBits: 10).response
          == "permessage-deflate; client_no_context_takeover; server_no_context_takeover; server_max_window_bits=10")
    }
  }

  @Suite("Examples, section 7.2.3")
  struct Examples {
    @Test func `a message compressed in one block, whole and in fragments`() throws {
      let payload: [UInt8] = [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00]
      #expect(try Splits.all(of: frame(0xC1, payload)) { take($0).told } == [.text(hello)])
      let fragments = frame(0x41, Array(payload[..<3])) + frame(0x80, Array(payload[3...]))
      #expect(try Splits.all(of: fragments) { take($0).told } == [.text(hello)])
      let withPing = frame(0x41, Array(payload[..<3])) + frame(0x89, []) + frame(0x80, Array(payload[3...]))
      #expect(try Splits.all(of: withPing) { take($0).told } == [.replied, .text(hello)])
    }

    @Test func `a message that refers to the one before is damaged, as that was not agreed to`() {
      let first = frame(0xC1, [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00])
      let second = frame(0xC1, [0xF2, 0x00, 0x11, 0x00, 0x00])
      let outcome = take([first + first + second])
      #expect(outcome.told == [.text(hello), .text(hello), .end(.failed(.damagedCompression))])
      #expect(outcome.replies[2...3] == [0x03, 0xEF])
    }

    @Test(
      arguments: [
        [0x00, 0x05, 0x00, 0xFA, 0xFF, 0x48, 0x65, 0x6C, 0x6C, 0x6F, 0x00],
        [0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00, 0x00],
        [0xF2, 0x48, 0x05, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xCA, 0xC9, 0xC9, 0x07, 0x00],
        // Ends with the final block, as some senders have it.
        [0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00],
      ] as [[UInt8]]) func `a block without compression, a final block, two blocks`(payload: [UInt8])
    {
      #expect(take([frame(0xC1, payload)]).told == [.text(hello)])
    }

    @Test func `an empty message, and one that is not compressed`() {
      #expect(take([frame(0xC1, [0x00])]).told == [.text([])])
      #expect(take([frame(0x81, hello)]).told == [.text(hello)])
    }
  }

  @Suite("Frames, section 6")
  struct Frames {
    @Test(arguments: [0xC9, 0xCA, 0xC8, 0xC0, 0x40] as [UInt8])
    func `RSV1 is for the first frame of a message alone`(first: UInt8) {
      let begun = frame(0x41, deflated(hello))
      #expect(take([begun + frame(first, [])]).told == [.end(.failed(.misplacedCompression))])
    }

    @Test func `other reserved bits stay reserved, and all are without the extension`() {
      #expect(take([frame(0xA1, [])]).told == [.end(.failed(.reservedBit))])
      #expect(take([frame(0xD1, [])]).told == [.end(.failed(.reservedBit))])
      #expect(receive([frame(0xC1, deflated(hello))]).told == [.end(.failed(.reservedBit))])
    }

    @Test(arguments: [16, 64, 256, 1024, 4096, 8192, 16_384, 32_768, 65_536, 131_072])
    func `messages of any size, window and level, in any fragments`(size: Int) throws {
      var random = SplitMix(state: UInt64(size))
      for bits in Int32(9)...15 {
        let word = (0..<40).map { _ in UInt8.random(in: 32..<127, using: &random) }
        let content = (0..<size).map {
          $0 % 7 == 0 ? UInt8.random(in: 32..<127, using: &random) : word[$0 % word.count]
        }
        let packed = deflated(
          content, level: Int32.random(in: 0...9, using: &random), windowBits: bits,
          memory: Int32.random(in: 1...9, using: &random))
        let cut = Int.random(in: 0...packed.count, using: &random)
        let input = frame(0x41, Array(packed[..<cut])) + frame(0x8A, []) + frame(0x80, Array(packed[cut...]))
        let half = Int.random(in: 0...input.count, using: &random)
        let outcome = take([Array(input[..<half]), Array(input[half...])])
        #expect(outcome.told == [.pong, .text(content)], "\(size) bytes, window \(bits)")
      }
    }
  }

  @Suite("Limits and damage")
  struct Limits {
    @Test func `a bomb ends at the limit of a message`() {
      let bomb = deflated([UInt8](repeating: 32, count: 4 << 20), level: 9)
      #expect(bomb.count < 20_000)
      #expect(take([frame(0xC1, bomb)]).told == [.end(.failed(.messageTooLarge))])
      var content: [UInt8] = []
      #expect(throws: InflateError.tooLarge) { try Inflater().inflate(bomb.span, limit: 1000, to: &content) }
      #expect(content.count < 1000 + 17 << 10)
    }

    @Test func `a message at the limit is taken, and one byte more is not`() {
      let content = [UInt8](repeating: 65, count: 1000)
      #expect(take([frame(0xC1, deflated(content))], limit: 1000).told == [.text(content)])
      #expect(take([frame(0xC1, deflated(content))], limit: 999).told == [.end(.failed(.messageTooLarge))])
    }

    @Test func `so many blocks that say nothing are refused`() {
      func blocks(_ block: [UInt8], _ count: Int) -> [UInt8] {
        Array([[UInt8]](repeating: block, count: count).joined())
      }
      let empty: [UInt8] = [0x00, 0x00, 0x00, 0xFF, 0xFF]
      let some = blocks(empty, Inflater.mostBlocks / 2) + [0]
      #expect(take([frame(0xC1, some)]).told == [.text([])])
      let many = blocks(empty, Inflater.mostBlocks + 1) + [0]
      #expect(take([frame(0xC1, many)]).told == [.end(.failed(.damagedCompression))])
      // Final blocks begin a stream each.
      let finals = blocks([0x03, 0x00], Inflater.mostBlocks + 1)
      #expect(take([frame(0xC1, finals)]).told == [.end(.failed(.damagedCompression))])
    }

    @Test func `a message cut anywhere is damaged`() {
      let packed = deflated(Array("the quick brown fox jumps over the lazy dog, the quick brown fox".utf8))
      for count in 1..<packed.count {
        #expect(
          take([frame(0xC1, Array(packed[..<count]))]).told == [.end(.failed(.damagedCompression))], "\(count)")
      }
    }

    @Test func `any bytes are taken, or refused, and the next message is read as if they had not been`() throws {
      var random = SplitMix(state: 7)
      let inflater = Inflater()
      for _ in 0..<2000 {
        var packed = deflated((0..<200).map { _ in UInt8.random(in: 97..<105, using: &random) })
        for _ in 0..<Int.random(in: 1...4, using: &random) {
          packed[Int.random(in: 0..<packed.count, using: &random)] = .random(in: 0...255, using: &random)
        }
        var content: [UInt8] = []
        try? inflater.inflate(packed.span, limit: 1000, to: &content)
        content = []
        try inflater.inflate(deflated(hello).span, limit: 5, to: &content)
        #expect(content == hello)
      }
    }

    @Test func `text is checked when it is decompressed`() {
      #expect(take([frame(0xC1, deflated([0xFF]))]).told == [.end(.failed(.invalidText))])
      #expect(take([frame(0xC1, deflated([0xC3]))]).told == [.end(.failed(.invalidText))])
      #expect(take([frame(0xC2, deflated([0xFF]))]).told == [.binary([0xFF])])
    }
  }
}
