// SPDX-License-Identifier: MIT
import SignalHTTP
import TestSupport
import Testing

@Suite("Closing the connection, RFC 6455 section 7")
struct Section7ClosingTests {

  @Suite("The closing handshake, section 7.1")
  struct Handshake {
    @Test func `the peer's close is answered with its code, and that is the end`() throws {
      let input = text("a") + frame(.close, closing(1000, "bye")) + text("b") + frame(.ping)
      let outcome = try everyWay(input)
      #expect(outcome.told == [.text([0x61]), .end(.closedByPeer(closed(closing(1000, "bye"))))])
      #expect(outcome.replies == reply(.close, closing(1000)))
      #expect(outcome.state == .closeReceived)
    }

    @Test func `a close without a code is answered without one`() throws {
      let outcome = try everyWay(frame(.close))
      #expect(outcome.told == [.end(.closedByPeer(closed([])))])
      #expect(outcome.replies == reply(.close))
      #expect(closed([]) == closed([]) && closed([]).code == nil && closed([]).reason.isEmpty)
    }

    @Test func `a close inside a message ends it undelivered`() throws {
      let input = text("part", fin: false) + frame(.close, closing(1001))
      #expect(try everyWay(input).told == [.end(.closedByPeer(closed(closing(1001))))])
    }

    @Test func `after our close messages are dropped and pings answered until the peer's close comes`() throws {
      let input =
        text("late") + frame(.ping, [1]) + frame(.text, [0xFF]) + frame(.continuation) + frame(.pong)
        + frame(.close, closing(1001, "ok")) + text("never")
      let outcome = try Splits.all(of: input) { pieces in
        var machine = WebSocketMachine(role: .server)
        var outcome = Outcome()
        machine.close(.goingAway, reason: "restart", to: &outcome.replies)
        for piece in pieces { machine.feed(piece, into: &outcome) }
        return outcome
      }
      #expect(outcome.told == [.replied, .pong, .end(.closedByUs(closed(closing(1001, "ok"))))])
      #expect(outcome.replies == reply(.close, closing(1001, "restart")) + reply(.pong, [1]))
      #expect(outcome.state == .closed)
    }

    @Test func `the end takes all that was received`() {
      for input in [frame(.close), [0xFF, 0xFF], text("a") + frame(.close, [1])] {
        var machine = WebSocketMachine(role: .server)
        var buffer = input + text("behind")
        var bytes = buffer.mutableSpan
        var position = 0
        var replies: [UInt8] = []
        loop: while true {
          switch machine.next(in: &bytes, at: &position, replies: &replies) {
          case .needMore: Issue.record("no end")
          case .end: break loop
          default: continue
          }
          break
        }
        #expect(position == input.count + text("behind").count)
      }
    }

    @Test func `a message begun before our close is not delivered after it`() {
      var machine = WebSocketMachine(role: .server)
      var outcome = Outcome()
      machine.feed(text("be", fin: false), into: &outcome)
      #expect(machine.isInsideMessage)
      machine.close(.normal, to: &outcome.replies)
      machine.feed(frame(.continuation, [0x66]) + frame(.close), into: &outcome)
      #expect(outcome.told == [.end(.closedByUs(closed([])))])
    }

    @Test func `closing twice sends one close`() {
      var machine = WebSocketMachine(role: .server)
      var output: [UInt8] = []
      machine.close(.normal, to: &output)
      #expect(machine.state == .closeSent)
      machine.close(.internalError, to: &output)
      #expect(output == reply(.close, closing(1000)))
    }

    @Test func `a fault after our close ends without a second close`() {
      var machine = WebSocketMachine(role: .server)
      var outcome = Outcome()
      machine.close(.normal, to: &outcome.replies)
      machine.feed([0xFF], into: &outcome)
      #expect(outcome.told == [.end(.failed(.reservedBit))])
      #expect(outcome.replies == reply(.close, closing(1000)))
      #expect(outcome.state == .closed)
    }

    @Test func `after the end everything is swallowed in silence, section 7_1_7`() {
      var machine = WebSocketMachine(role: .server)
      var outcome = Outcome()
      machine.feed([0x83], into: &outcome)
      let end = failure(.reservedOpcode(3))
      #expect(outcome == end)
      machine.feed(text("x") + frame(.close) + [0xFF, 0xFF], into: &outcome)
      machine.close(.normal, to: &outcome.replies)
      #expect(outcome == end)
    }

    @Test func `when the connection is gone nothing goes on`() {
      var machine = WebSocketMachine(role: .server)
      machine.ended()
      var outcome = Outcome(state: .closed)
      machine.feed(text("x"), into: &outcome)
      machine.close(.normal, to: &outcome.replies)
      #expect(outcome == Outcome(state: .closed))
      #expect(!machine.maySend)
    }
  }

  @Suite("Close frames, section 5.5.1")
  struct Frames {
    @Test func `one byte is no close code`() throws {
      #expect(try everyWay(frame(.close, [3])) == failure(.truncatedCloseCode))
    }

    @Test(arguments: [
      "", "x", "größer als 漢字 🜁", String(repeating: "é", count: 61), String(repeating: "r", count: 123),
    ])
    func `a reason is UTF-8 and up to 123 bytes`(reason: String) {
      let outcome = receive([frame(.close, closing(3000, reason))])
      guard case .end(.closedByPeer(let close)) = outcome.told.first else {
        Issue.record("not closed")
        return
      }
      #expect(close.code == CloseCode(rawValue: 3000) && close.reason == reason)
    }

    @Test(arguments: [[0xFF], [0xC3], [0x61, 0xED, 0xA0, 0x80], [0xC0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0x80]])
    func `a reason that is not UTF-8 is answered 1007`(reason: [UInt8]) throws {
      #expect(try everyWay(frame(.close, closing(1000) + reason)) == failure(.invalidCloseReason))
    }

    @Test func `a reason of ours that is too long is cut between characters`() {
      var output: [UInt8] = []
      FrameWriter.appendClose(.normal, reason: String(repeating: "é", count: 100), to: &output)
      #expect(output == reply(.close, closing(1000, String(repeating: "é", count: 61))))
      output = []
      FrameWriter.appendClose(.normal, reason: String(repeating: "r", count: 500), to: &output)
      #expect(output == reply(.close, closing(1000, String(repeating: "r", count: 123))))
    }

    @Test func `our close may have no code`() {
      var output: [UInt8] = []
      FrameWriter.appendClose(nil, reason: "not sent without a code", to: &output)
      #expect(output == reply(.close))
    }

    @Test func `sending a code that must not be sent is our own mistake and traps`() async {
      await #expect(processExitsWith: .failure) {
        var output: [UInt8] = []
        FrameWriter.appendClose(CloseCode(rawValue: 1005), to: &output)
      }
    }
  }

  @Suite("Status codes, section 7.4")
  struct Codes {
    private static func mayBeSent(_ code: Int) -> Bool {
      let registered = [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014]
      return registered.contains(code) || (3000...4999).contains(code)
    }

    @Test func `every code from 0 to 5000 is taken or refused as the registry says`() {
      var legal = 0
      for number in 0...5000 {
        let code = CloseCode(rawValue: UInt16(number))
        #expect(code.isLegalOnWire == Self.mayBeSent(number))
        let outcome = receive([frame(.close, closing(code.rawValue))])
        if Self.mayBeSent(number) {
          legal += 1
          #expect(outcome.told == [.end(.closedByPeer(closed(closing(code.rawValue))))])
          #expect(outcome.replies == reply(.close, closing(code.rawValue)))
        } else {
          #expect(outcome == failure(.invalidCloseCode(code.rawValue)))
        }
      }
      #expect(legal == 2012)
    }

    @Test(arguments: [5001, 9999, 32767, 65535] as [UInt16])
    func `codes above 5000 are refused`(code: UInt16) {
      #expect(receive([frame(.close, closing(code))]) == failure(.invalidCloseCode(code)))
    }

    @Test(arguments: [
      (1000, CloseCode.Advice.doNotReconnect), (1001, .reconnectLater), (1002, .reconnectAfterFixing),
      (1003, .reconnectAfterFixing), (1005, .reconnectLater), (1006, .reconnectLater), (1007, .reconnectAfterFixing),
      (1008, .reconnectAfterFixing), (1009, .reconnectAfterFixing), (1011, .reconnectLater), (1012, .reconnectLater),
      (1013, .reconnectLater), (1014, .reconnectLater), (3000, .reconnectAfterFixing), (3999, .reconnectAfterFixing),
      (4000, .reconnectLater), (4008, .reconnectLater), (4399, .reconnectLater), (4400, .reconnectAfterFixing),
      (4799, .reconnectAfterFixing), (4800, .doNotReconnect), (4999, .doNotReconnect),
    ])
    func `a code, or its range, tells the client what to do next`(code: Int, advice: CloseCode.Advice) {
      #expect(CloseCode(rawValue: UInt16(code)).advice == advice)
    }

    @Test func `every code with a name may be sent`() {
      let named: [CloseCode] = [
        .normal, .goingAway, .protocolError, .unsupportedData, .invalidData, .policyViolation, .tooLarge,
        .internalError, .serviceRestart, .tryAgainLater, .tooSlow,
      ]
      #expect(named.allSatisfy { $0.isLegalOnWire })
      #expect(named.map(\.rawValue) == [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1011, 1012, 1013, 4008])
    }
  }

  @Suite("Errors")
  struct Errors {
    static let all: [(WebSocketError, UInt16)] = [
      (.reservedBit, 1002), (.reservedOpcode(7), 1002), (.unmaskedFrame, 1002), (.maskedFrame, 1002),
      (.fragmentedControlFrame, 1002), (.controlFrameTooLong, 1002), (.nonMinimalLength, 1002),
      (.lengthOutOfRange, 1002), (.unexpectedContinuation, 1002), (.interruptedMessage, 1002), (.invalidText, 1007),
      (.truncatedCloseCode, 1002), (.invalidCloseCode(65535), 1002), (.invalidCloseReason, 1007),
      (.frameTooLarge, 1009), (.messageTooLarge, 1009), (.binaryRefused, 1003),
    ]

    @Test(arguments: all)
    func `an error has a close code and a sentence with its section that fits a close frame`(
      error: WebSocketError, code: UInt16
    ) {
      #expect(error.closeCode.rawValue == code)
      #expect(error.description.contains("(RFC 6455 section "))
      #expect(error.description.utf8.count <= 123)
    }

    @Test func `an error stays small`() {
      #expect(MemoryLayout<WebSocketError>.size <= 16)
    }
  }
}

private func closed(_ payload: [UInt8]) -> CloseFrame { try! CloseFrame(payload.span) }
