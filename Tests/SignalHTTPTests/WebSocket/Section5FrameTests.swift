// SPDX-License-Identifier: MIT
import SignalHTTP
import TestSupport
import Testing

/// Runs a parser alone and joins the pieces of each data frame, so that what is told does not depend on the cuts.
private enum Seen: Equatable {
  case data(Opcode, fin: Bool, [UInt8])
  case control(Opcode, [UInt8])
  case unfinished(Opcode, [UInt8])
  case fault(WebSocketError)
}

private func parse(
  _ pieces: [[UInt8]], role: WebSocketRole = .server, frameLimit: Int = 1 << 20
) -> [Seen] {
  var parser = FrameParser(role: role, frameLimit: frameLimit)
  var seen: [Seen] = []
  var open: (opcode: Opcode, payload: [UInt8])?
  for piece in pieces {
    var buffer = piece
    var bytes = buffer.mutableSpan
    var position = 0
    do throws(WebSocketError) {
      loop: while true {
        switch try parser.next(in: &bytes, at: &position) {
        case .needMore: break loop
        case .control(let opcode, let payload):
          seen.append(.control(opcode, payload.withBytes(in: bytes) { span in span.indices.map { span[$0] } }))
        case .data(let slice):
          if slice.startsFrame { open = (slice.opcode, []) }
          open!.payload += slice.range.map { bytes[$0] }
          if slice.endsFrame {
            precondition(slice.frameLength == open!.payload.count, "another length than announced")
            seen.append(.data(slice.opcode, fin: slice.isFinal, open!.payload))
            open = nil
          }
        }
      }
    } catch {
      // What had come of the frame before the fault does not matter: it is dropped with the connection.
      return seen + [.fault(error)]
    }
    precondition(position == piece.count, "the parser left bytes behind")
  }
  if let open { seen.append(.unfinished(open.opcode, open.payload)) }
  return seen
}

/// The same however the input is cut; returns what it is.
private func parse(
  everyWay input: [UInt8], role: WebSocketRole = .server, frameLimit: Int = 1 << 20
) throws -> [Seen] {
  try Splits.all(of: input) { parse($0, role: role, frameLimit: frameLimit) }
}

@Suite("Data framing, RFC 6455 section 5")
struct Section5FrameTests {
  @Suite("Overview, section 5.1")
  struct Overview {
    @Test(arguments: [Opcode.continuation, .text, .binary, .close, .ping, .pong])
    func `a server refuses a frame without a mask`(opcode: Opcode) throws {
      for payload in [[], [1], [UInt8](repeating: 1, count: 125)] {
        let input = TestFrame(first: 0x80 | opcode.rawValue, payload: payload, key: nil).bytes
        #expect(try parse(everyWay: input) == [.fault(.unmaskedFrame)])
      }
    }

    @Test(arguments: [Opcode.continuation, .text, .binary, .close, .ping, .pong])
    func `a client refuses a frame with a mask`(opcode: Opcode) throws {
      let input = TestFrame(first: 0x80 | opcode.rawValue, payload: [1, 2]).bytes
      #expect(try parse(everyWay: input, role: .client) == [.fault(.maskedFrame)])
    }

    @Test func `a client takes frames without a mask as they are`() throws {
      let payload = [UInt8](0...200)
      let input =
        TestFrame(first: 0x82, payload: payload, key: nil).bytes + TestFrame(first: 0x89, payload: [1], key: nil).bytes
      #expect(try parse(everyWay: input, role: .client) == [.data(.binary, fin: true, payload), .control(.ping, [1])])
    }
  }

  @Suite("Base framing protocol, section 5.2")
  struct BaseFraming {
    @Test func `of the 256 first bytes exactly nine begin a frame`() throws {
      var begun: [UInt8] = []
      for first in UInt8.min...UInt8.max {
        let input = TestFrame(first: first, payload: [0x61]).bytes
        let seen = try parse(everyWay: input)
        let opcode = first & 0x0F
        let expected: Seen =
          if first & 0x70 != 0 {
            .fault(.reservedBit)
          } else if let known = Opcode(rawValue: opcode) {
            if !known.isControl {
              .data(known, fin: first & 0x80 != 0, [0x61])
            } else if first & 0x80 == 0 {
              .fault(.fragmentedControlFrame)
            } else {
              .control(known, [0x61])
            }
          } else {
            .fault(.reservedOpcode(opcode))
          }
        #expect(seen == [expected], "first byte \(first)")
        if case .fault = expected {} else { begun.append(first) }
        // The first byte alone is enough to refuse.
        if case .fault = expected { #expect(parse([[first]]) == [expected]) }
      }
      #expect(begun == [0x00, 0x01, 0x02, 0x80, 0x81, 0x82, 0x88, 0x89, 0x8A])
    }

    @Test(arguments: [0, 1, 2, 7, 8, 124, 125, 126, 127, 128, 65534, 65535, 65536, 65537])
    func `every length has one form, and comes through`(count: Int) {
      let payload = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
      let input = TestFrame(first: 0x82, payload: payload).bytes
      #expect(input.count == FrameWriter.headerCount(payloadCount: count, masked: true) + count)
      let expected = [Seen.data(.binary, fin: true, payload)]
      #expect(parse([input]) == expected)
      // Not every cut of the long ones: each place in the header, and around the end.
      for place in Array(0...min(20, input.count)) + Array(max(0, input.count - 3)...input.count) {
        #expect(parse([Array(input[..<place]), Array(input[place...])]) == expected)
      }
      if count <= 128 || count == 65536 { #expect(parse(input.map { [$0] }) == expected) }
    }

    @Test(arguments: [0, 1, 124, 125])
    func `a length that fits seven bits is refused in sixteen`(count: UInt64) throws {
      let input = TestFrame(first: 0x82, lengthForm: .two, announced: count).bytes
      #expect(try parse(everyWay: input) == [.fault(.nonMinimalLength)])
    }

    @Test(arguments: [0, 125, 126, 65535])
    func `a length that fits sixteen bits is refused in sixty-four`(count: UInt64) throws {
      let input = TestFrame(first: 0x82, lengthForm: .eight, announced: count).bytes
      #expect(try parse(everyWay: input) == [.fault(.nonMinimalLength)])
    }

    @Test(arguments: [UInt64(1) << 63, .max, 1 << 63 | 5])
    func `a length with the top bit is refused`(count: UInt64) throws {
      let input = TestFrame(first: 0x82, lengthForm: .eight, announced: count).bytes
      #expect(try parse(everyWay: input, frameLimit: .max) == [.fault(.lengthOutOfRange)])
    }

    @Test func `the longest legal length is only a matter of the limit`() throws {
      let input = TestFrame(first: 0x82, lengthForm: .eight, announced: 1 << 63 - 1).bytes + [1, 2, 3]
      #expect(try parse(everyWay: input) == [.fault(.frameTooLarge)])
      #expect(parse([input], frameLimit: .max).count == 1)
    }

    @Test func `a length is refused before the mask has come`() {
      #expect(parse([[0x82, 0xFE, 0x00, 0x7D]]) == [.fault(.nonMinimalLength)])
      #expect(parse([[0x82, 0xFE, 0xFF, 0xFF]], frameLimit: 65534) == [.fault(.frameTooLarge)])
      #expect(parse([[0x82, 0x83]], frameLimit: 2) == [.fault(.frameTooLarge)])
    }

    @Test func `frames that follow each other are told one by one`() throws {
      let input =
        TestFrame(first: 0x01, payload: [1, 2, 3]).bytes + TestFrame(first: 0x89).bytes
        + TestFrame(first: 0x80, payload: [4]).bytes + TestFrame(first: 0x82).bytes
      #expect(
        try parse(everyWay: input) == [
          .data(.text, fin: false, [1, 2, 3]), .control(.ping, []), .data(.continuation, fin: true, [4]),
          .data(.binary, fin: true, []),
        ])
    }

    @Test func `bytes behind the event that was told are not touched`() throws {
      let frame = TestFrame(first: 0x82, payload: [1, 2, 3]).bytes
      var buffer = frame + frame
      var parser = FrameParser(role: .server, frameLimit: 100)
      var bytes = buffer.mutableSpan
      var position = 0
      _ = try parser.next(in: &bytes, at: &position)
      #expect(position == frame.count)
      #expect((position..<bytes.count).map { bytes[$0] } == frame)
    }
  }

  @Suite("Client-to-server masking, section 5.3")
  struct Masking {
    private func naive(_ bytes: [UInt8], _ key: [UInt8]) -> [UInt8] {
      bytes.enumerated().map { $1 ^ key[$0 % 4] }
    }

    @Test func `every length from every phase at every alignment is as the formula says`() {
      let key: [UInt8] = [0x12, 0x9C, 0x00, 0xFF]
      let word = UInt32(key[0]) | UInt32(key[1]) << 8 | UInt32(key[2]) << 16 | UInt32(key[3]) << 24
      for count in Array(0...150) + [1023, 4096, 4103] {
        let plain = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ 3) }
        for phase in 0..<min(4, count + 1) {
          var buffer = plain
          var mask = FrameMask(key: word)
          var bytes = buffer.mutableSpan
          mask.apply(to: &bytes, in: 0..<phase)
          mask.apply(to: &bytes, in: phase..<count)
          #expect(buffer == naive(plain, key), "\(count) bytes from phase \(phase)")
        }
      }
    }

    @Test func `a payload in seventeen pieces is unmasked like one in one`() {
      var generator = SplitMix(state: 53)
      for _ in 0..<200 {
        let count = Int.random(in: 0...600, using: &generator)
        let plain = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
        let mask = FrameMask(key: .random(in: 0 ... .max, using: &generator))
        var once = plain
        var pieces = plain
        var first = mask
        var second = mask
        var onceBytes = once.mutableSpan
        first.apply(to: &onceBytes, in: 0..<count)
        var piecesBytes = pieces.mutableSpan
        var places = (0..<16).map { _ in Int.random(in: 0...count, using: &generator) }.sorted()
        places.append(count)
        var start = 0
        for place in places {
          second.apply(to: &piecesBytes, in: start..<place)
          start = place
        }
        #expect(once == pieces)
        #expect(first == second)
      }
    }

    @Test func `nothing outside of the range is changed`() {
      for start in 0..<20 {
        for end in start..<60 {
          var buffer = [UInt8](repeating: 0xAA, count: 60)
          var mask = FrameMask(key: 0x0101_0101)
          var bytes = buffer.mutableSpan
          mask.apply(to: &bytes, in: start..<end)
          #expect(buffer.enumerated().allSatisfy { $1 == ($0 >= start && $0 < end ? 0xAB : 0xAA) })
        }
      }
    }

    @Test func `a range outside of the buffer traps`() async {
      await #expect(processExitsWith: .failure) {
        var buffer: [UInt8] = [1, 2, 3]
        var mask = FrameMask(key: 1)
        var bytes = buffer.mutableSpan
        mask.apply(to: &bytes, in: 1..<4)
      }
    }

    @Test func `a client's keys differ from frame to frame`() {
      var masks = FrameMaskSource()
      let keys = (0..<200).map { _ in masks.next() }
      // Two of 200 random ones are the same once in 200 000 times; a batch that is used twice makes dozens.
      #expect(Set(keys.map { "\($0)" }).count > 190)
    }
  }

  @Suite("Fragmentation, section 5.4")
  struct Fragmentation {
    @Test func `fragments become one message`() throws {
      let input = text("Hel", fin: false) + frame(.continuation, Array("lo".utf8))
      #expect(try everyWay(input).told == [.text(Array("Hello".utf8))])
    }

    @Test func `control frames may stand between fragments and are answered at once`() throws {
      let input =
        frame(.binary, [1], fin: false) + frame(.ping, [9]) + frame(.continuation, [2], fin: false) + frame(.pong)
        + frame(.continuation, [], fin: false) + frame(.ping) + frame(.continuation, [3])
      let outcome = try everyWay(input)
      #expect(outcome.told == [.replied, .pong, .replied, .binary([1, 2, 3])])
      #expect(outcome.replies == reply(.pong, [9]) + reply(.pong))
    }

    @Test func `fragments without a byte are fragments`() throws {
      for kind in [Opcode.text, .binary] {
        let input =
          frame(kind, fin: false) + frame(.continuation, fin: false) + frame(.continuation) + frame(kind)
        let empty: Told = kind == .text ? .text([]) : .binary([])
        #expect(try everyWay(input).told == [empty, empty])
      }
    }

    @Test func `a message of 65537 fragments is a message`() {
      var input = frame(.text, [0x61], fin: false)
      for _ in 0..<65_535 { input += frame(.continuation, [0x62], fin: false) }
      input += frame(.continuation, [0x63])
      let expected = [0x61] + [UInt8](repeating: 0x62, count: 65_535) + [0x63]
      #expect(receive([input]).told == [.text(expected)])
    }

    @Test func `fragments without a byte never reach a limit`() {
      var limits = WebSocketLimits()
      limits.messageBytes = 1
      var input = frame(.binary, fin: false)
      for _ in 0..<10_000 { input += frame(.continuation, fin: false) }
      input += frame(.continuation, [7])
      #expect(receive([input], limits: limits).told == [.binary([7])])
    }

    @Test(arguments: [true, false])
    func `a continuation without a message is refused`(fin: Bool) throws {
      let fault = failure(.unexpectedContinuation)
      #expect(try everyWay(frame(.continuation, [1, 2], fin: fin)) == fault)
      let after = text("a") + frame(.continuation, fin: fin)
      #expect(try everyWay(after) == failure(.unexpectedContinuation, after: [.text([0x61])]))
    }

    @Test(arguments: [(Opcode.text, true), (.text, false), (.binary, true), (.binary, false)])
    func `a new message inside another is refused`(opcode: Opcode, fin: Bool) throws {
      let input = text("a", fin: false) + frame(.ping) + frame(opcode, [0x62], fin: fin)
      let expected = failure(.interruptedMessage, after: [.replied], replies: reply(.pong))
      #expect(try everyWay(input) == expected)
    }

    @Test func `the order of frames is judged by the header, before the payload comes`() {
      let header = Array(TestFrame(first: 0x80, announced: 100).bytes)
      #expect(receive([header]) == failure(.unexpectedContinuation))
    }

    @Test func `a message in one frame and one reception stays in the buffer`() {
      var machine = WebSocketMachine(role: .server)
      var buffer = frame(.ping) + text("Hello")
      var replies: [UInt8] = []
      var position = 0
      var bytes = buffer.mutableSpan
      var ranges: [Range<Int>] = []
      loop: while true {
        switch machine.next(in: &bytes, at: &position, replies: &replies) {
        case .needMore: break loop
        case .message(let message):
          guard case .inBuffer(let range) = message.payload else {
            Issue.record("copied")
            return
          }
          ranges.append(range)
        default: break
        }
      }
      #expect(ranges == [12..<17])
      #expect(Array(buffer[12..<17]) == Array("Hello".utf8))
    }

    @Test func `a machine owns 128 bytes at most besides the message under way`() {
      #expect(MemoryLayout<WebSocketMachine>.size <= 128)
    }
  }

  @Suite("Control frames, section 5.5")
  struct Control {
    @Test(arguments: [Opcode.close, .ping, .pong])
    func `a control frame has at most 125 bytes`(opcode: Opcode) throws {
      for form in [TestFrame.LengthForm.two, .eight] {
        for announced in [0, 126, 127, 65536] as [UInt64] {
          let input = TestFrame(first: 0x80 | opcode.rawValue, lengthForm: form, announced: announced).bytes
          #expect(try parse(everyWay: input) == [.fault(.controlFrameTooLong)])
          #expect(parse([Array(input[..<2])]) == [.fault(.controlFrameTooLong)], "told by the second byte")
        }
      }
    }

    @Test(arguments: [0, 1, 2, 124, 125])
    func `a control frame up to 125 bytes comes whole`(count: Int) throws {
      let payload = [UInt8](repeating: 0xFE, count: count)
      for opcode in [Opcode.close, .ping, .pong] {
        #expect(try parse(everyWay: frame(opcode, payload), frameLimit: 1) == [.control(opcode, payload)])
      }
    }

    @Test(arguments: [Opcode.close, .ping, .pong])
    func `a control frame without FIN is refused`(opcode: Opcode) throws {
      #expect(try parse(everyWay: frame(opcode, fin: false)) == [.fault(.fragmentedControlFrame)])
    }

    @Test(arguments: [0, 1, 125])
    func `a ping is answered with its payload, section 5_5_2`(count: Int) throws {
      let payload = (0..<count).map { UInt8(truncatingIfNeeded: 255 - $0) }
      #expect(try everyWay(frame(.ping, payload)) == Outcome(told: [.replied], replies: reply(.pong, payload)))
    }

    @Test func `ten pings get ten pongs, in order`() throws {
      let input = (0..<10).flatMap { frame(.ping, [UInt8($0)]) }
      let pongs = (0..<10).flatMap { reply(.pong, [UInt8($0)]) }
      #expect(try everyWay(input).replies == pongs)
    }

    @Test func `a pong that nobody asked for is not answered, section 5_5_3`() throws {
      #expect(try everyWay(frame(.pong, [1, 2, 3]) + frame(.pong)) == Outcome(told: [.pong, .pong]))
    }
  }

  @Suite("Examples, section 5.7")
  struct Examples {
    @Test func `the frames of the RFC mean what it says`() throws {
      let masked: [UInt8] = [0x81, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58]
      #expect(try parse(everyWay: masked) == [.data(.text, fin: true, Array("Hello".utf8))])
      let unmasked: [UInt8] = [0x81, 0x05, 0x48, 0x65, 0x6C, 0x6C, 0x6F]
      #expect(try parse(everyWay: unmasked, role: .client) == [.data(.text, fin: true, Array("Hello".utf8))])
      let fragmented: [UInt8] = [0x01, 0x03, 0x48, 0x65, 0x6C, 0x80, 0x02, 0x6C, 0x6F]
      #expect(
        try parse(everyWay: fragmented, role: .client) == [
          .data(.text, fin: false, Array("Hel".utf8)), .data(.continuation, fin: true, Array("lo".utf8)),
        ])
      let ping: [UInt8] = [0x89, 0x05, 0x48, 0x65, 0x6C, 0x6C, 0x6F]
      #expect(try parse(everyWay: ping, role: .client) == [.control(.ping, Array("Hello".utf8))])
      let pong: [UInt8] = [0x8A, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58]
      #expect(try parse(everyWay: pong) == [.control(.pong, Array("Hello".utf8))])
      #expect(
        Array(TestFrame(first: 0x82, payload: .init(repeating: 0, count: 256), key: nil).bytes.prefix(4))
          == [0x82, 0x7E, 0x01, 0x00])
      #expect(
        Array(TestFrame(first: 0x82, payload: .init(repeating: 0, count: 65536), key: nil).bytes.prefix(10))
          == [0x82, 0x7F, 0, 0, 0, 0, 0, 1, 0, 0])
    }
  }
}
