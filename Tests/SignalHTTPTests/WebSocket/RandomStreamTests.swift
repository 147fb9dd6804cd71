// SPDX-License-Identifier: MIT
import SignalHTTP
import TestSupport
import Testing

/// A second WebSocket receiver, written in the plainest way: it looks at the whole stream from its beginning, knows no
/// pieces and no speed, and says what a server machine has to tell.
private struct Reference {
  var limit: Int
  var outcome = Outcome()

  mutating func read(_ stream: [UInt8]) {
    var rest = stream[...]
    var message: (text: Bool, bytes: [UInt8])?
    while outcome.state == .open, !rest.isEmpty {
      do {
        guard try readFrame(&rest, &message) else { return }
      } catch {
        let close = reply(.close, closing(error.closeCode.rawValue, error.description))
        outcome.told.append(.end(.failed(error)))
        outcome.replies += close
        outcome.state = .closed
      }
    }
  }

  /// False when the frame is not whole and nothing is wrong so far.
  private mutating func readFrame(
    _ rest: inout ArraySlice<UInt8>, _ message: inout (text: Bool, bytes: [UInt8])?
  ) throws(WebSocketError) -> Bool {
    let bytes = Array(rest)
    let opcode = bytes[0] & 0x0F
    let fin = bytes[0] >= 0x80
    if bytes[0] & 0x70 != 0 { throw .reservedBit }
    if ![0, 1, 2, 8, 9, 10].contains(opcode) { throw .reservedOpcode(opcode) }
    if opcode >= 8, !fin { throw .fragmentedControlFrame }
    guard bytes.count >= 2 else { return false }
    if bytes[1] < 0x80 { throw .unmaskedFrame }
    var length = UInt64(bytes[1] & 0x7F)
    if opcode >= 8, length > 125 { throw .controlFrameTooLong }
    var at = 2
    if length == 126 {
      guard bytes.count >= 4 else { return false }
      length = UInt64(bytes[2]) * 256 + UInt64(bytes[3])
      if length < 126 { throw .nonMinimalLength }
      at = 4
    } else if length == 127 {
      guard bytes.count >= 10 else { return false }
      length = bytes[2..<10].reduce(0) { $0 << 8 | UInt64($1) }
      if length >= 1 << 63 { throw .lengthOutOfRange }
      if length < 65536 { throw .nonMinimalLength }
      at = 10
    }
    if opcode < 8, length > UInt64(limit) { throw .frameTooLarge }
    guard bytes.count >= at + 4 else { return false }
    let key = Array(bytes[at..<(at + 4)])
    let present = bytes[(at + 4)...].prefix(Int(length))
    let payload = present.enumerated().map { $1 ^ key[$0 % 4] }
    let isWhole = payload.count == Int(length)

    if opcode >= 8 {
      guard isWhole else { return false }
      try control(opcode, payload)
    } else {
      try data(opcode, fin && isWhole, payload, Int(length), &message)
      guard isWhole else { return false }
    }
    rest = rest.dropFirst(at + 4 + Int(length))
    return true
  }

  private mutating func control(_ opcode: UInt8, _ payload: [UInt8]) throws(WebSocketError) {
    switch opcode {
    case 9:
      outcome.replies += reply(.pong, payload)
      outcome.told.append(.replied)
    case 10: outcome.told.append(.pong)
    default:
      if payload.count == 1 { throw .truncatedCloseCode }
      if payload.count >= 2 {
        let code = UInt16(payload[0]) << 8 | UInt16(payload[1])
        let registered = (1000...1014).contains(code) && ![1004, 1005, 1006].contains(code)
        if !registered, !(3000...4999).contains(code) { throw .invalidCloseCode(code) }
        if judge(Array(payload[2...])) != .whole { throw .invalidCloseReason }
      }
      outcome.replies += reply(.close, Array(payload.prefix(2)))
      outcome.told.append(.end(.closedByPeer(try CloseFrame(payload.span))))
      outcome.state = .closeReceived
    }
  }

  private mutating func data(
    _ opcode: UInt8, _ isLast: Bool, _ payload: [UInt8], _ length: Int,
    _ message: inout (text: Bool, bytes: [UInt8])?
  ) throws(WebSocketError) {
    if opcode == 0, message == nil { throw .unexpectedContinuation }
    if opcode != 0 {
      if message != nil { throw .interruptedMessage }
      message = (opcode == 1, [])
    }
    if message!.bytes.count + length > limit { throw .messageTooLarge }
    message!.bytes += payload
    if message!.text {
      let verdict = judge(message!.bytes)
      if case .bad = verdict { throw .invalidText }
      if isLast, verdict != .whole { throw .invalidText }
    }
    guard isLast else { return }
    outcome.told.append(message!.text ? .text(message!.bytes) : .binary(message!.bytes))
    message = nil
  }
}

/// A stream of mostly right frames; now and then something is wrong with one.
private func randomStream(_ generator: inout SplitMix) -> [UInt8] {
  var stream: [UInt8] = []
  var isInside = false
  let faults = Bool.random(using: &generator)
  for _ in 0..<Int.random(in: 1...7, using: &generator) {
    var test = TestFrame(first: 0)
    test.key = (0..<4).map { _ in UInt8.random(in: 0...255, using: &generator) }
    let control = Int.random(in: 0...3, using: &generator) == 0
    if control {
      let opcode = [Opcode.ping, .ping, .pong, .pong, .pong, .close].randomElement(using: &generator)!
      test.first = 0x80 | opcode.rawValue
      test.payload = (0..<Int.random(in: 0...9, using: &generator)).map { _ in 0x61 }
      if opcode == .close { test.payload = closing([1000, 1001, 4008, 3333].randomElement(using: &generator)!, "é") }
    } else {
      let fin = Bool.random(using: &generator)
      let opcode: Opcode = isInside ? .continuation : Bool.random(using: &generator) ? .text : .binary
      test.first = (fin ? 0x80 : 0) | opcode.rawValue
      isInside = !fin
      let characters = Int.random(in: 0...[2, 2, 8, 40].randomElement(using: &generator)!, using: &generator)
      let string = String((0..<characters).map { _ in "aaaaé漢🜁".randomElement(using: &generator)! })
      test.payload = Array(string.utf8)
    }
    if faults, Int.random(in: 0...7, using: &generator) == 0 {
      switch Int.random(in: 0...6, using: &generator) {
      case 0: test.first ^= 1 << UInt8.random(in: 0...7, using: &generator)
      case 1: test.key = nil
      case 2: test.lengthForm = .two
      case 3: test.lengthForm = .eight
      case 4: test.announced = UInt64(1) << UInt64.random(in: 0...63, using: &generator)
      case 5: if !test.payload.isEmpty { test.payload.removeLast() }
      default:
        if let index = test.payload.indices.randomElement(using: &generator) {
          test.payload[index] = UInt8.random(in: 0...255, using: &generator)
        }
      }
    }
    stream += test.bytes
  }
  if Bool.random(using: &generator) { stream.removeLast(Int.random(in: 0...min(20, stream.count), using: &generator)) }
  return stream
}

@Suite("Random streams against a second receiver")
struct RandomStreamTests {
  private func check(_ stream: [UInt8], limit: Int, seed: UInt64) {
    var limits = WebSocketLimits()
    limits.messageBytes = limit
    var reference = Reference(limit: limit)
    reference.read(stream)
    do {
      let outcome = try Splits.all(of: stream, seed: seed) { receive($0, limits: limits) }
      if outcome != reference.outcome { Issue.record("seed \(seed): \(outcome), not \(reference.outcome)") }
    } catch {
      Issue.record("seed \(seed): \(error)")
    }
  }

  @Test func `streams of frames, some with faults, are told alike however they are cut`() {
    for seed in UInt64(1)...600 {
      var generator = SplitMix(state: seed)
      check(randomStream(&generator), limit: seed % 3 == 0 ? 40 : 100_000, seed: seed)
    }
  }

  @Test func `bytes without any sense are told alike however they are cut`() {
    for seed in UInt64(10_001)...10_600 {
      var generator = SplitMix(state: seed)
      var stream = (0..<Int.random(in: 0...40, using: &generator)).map { _ in
        UInt8.random(in: 0...255, using: &generator)
      }
      // Let more of them survive the first two bytes.
      if stream.count > 2, seed % 2 == 0 {
        stream[0] = [0x81, 0x01, 0x82, 0x88, 0x89, 0x8A].randomElement(using: &generator)!
        stream[1] |= 0x80
      }
      check(stream, limit: 30, seed: seed)
    }
  }

  @Test func `the random streams contain what they should`() {
    var ends: Set<String> = []
    var messages = 0
    for seed in UInt64(1)...600 {
      var generator = SplitMix(state: seed)
      var reference = Reference(limit: seed % 3 == 0 ? 40 : 100_000)
      reference.read(randomStream(&generator))
      for told in reference.outcome.told {
        switch told {
        case .end(.failed(let error)): ends.insert("\(error)")
        case .text, .binary: messages += 1
        default: break
        }
      }
    }
    #expect(messages > 150)
    #expect(ends.count >= 12, "\(ends)")
  }
}
