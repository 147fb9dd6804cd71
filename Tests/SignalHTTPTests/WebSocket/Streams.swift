// SPDX-License-Identifier: MIT
import SignalHTTP
import TestSupport

/// What a WebSocket machine told, without the accidents of how its input was cut.
enum Told: Equatable, CustomStringConvertible {
  case text([UInt8])
  case binary([UInt8])
  case replied
  case pong
  case end(WebSocketEnd)

  var description: String {
    switch self {
    case .text(let bytes): "text(\(bytes.count): \(bytes.prefix(16)))"
    case .binary(let bytes): "binary(\(bytes.count): \(bytes.prefix(16)))"
    case .replied: "replied"
    case .pong: "pong"
    case .end(let end): "end(\(end))"
    }
  }
}

/// Everything that came of feeding a machine.
struct Outcome: Equatable {
  var told: [Told] = []
  var replies: [UInt8] = []
  var state = WebSocketMachine.State.open
}

extension WebSocketMachine {
  /// Gives one piece, in a buffer of its own, and collects what is told.
  mutating func feed(_ piece: [UInt8], into outcome: inout Outcome) {
    var buffer = piece
    var bytes = buffer.mutableSpan
    var position = 0
    loop: while true {
      switch next(in: &bytes, at: &position, replies: &outcome.replies) {
      case .needMore: break loop
      case .message(let message):
        let payload = message.payload.withBytes(in: bytes) { span in span.indices.map { span[$0] } }
        outcome.told.append(message.kind == .text ? .text(payload) : .binary(payload))
      case .replied: outcome.told.append(.replied)
      case .pong: outcome.told.append(.pong)
      case .end(let end): outcome.told.append(.end(end))
      }
    }
    precondition(position == piece.count, "the machine left bytes behind")
    outcome.state = state
  }
}

/// Feeds a fresh server machine with pieces.
func receive(_ pieces: [[UInt8]], limits: WebSocketLimits = WebSocketLimits(), acceptsBinary: Bool = true) -> Outcome {
  var machine = WebSocketMachine(role: .server, limits: limits, acceptsBinary: acceptsBinary)
  var outcome = Outcome()
  for piece in pieces { machine.feed(piece, into: &outcome) }
  return outcome
}

/// The same, fed in every way the bytes can be cut; throws when that makes a difference.
func everyWay(
  _ bytes: [UInt8], limits: WebSocketLimits = WebSocketLimits(), acceptsBinary: Bool = true
) throws -> Outcome {
  try Splits.all(of: bytes) { receive($0, limits: limits, acceptsBinary: acceptsBinary) }
}

/// Makes frames in the plainest way, right ones and wrong ones; independent of `FrameWriter`.
struct TestFrame {
  enum LengthForm { case shortest, two, eight }

  var first: UInt8
  var payload: [UInt8] = []
  var key: [UInt8]? = [0x37, 0xFA, 0x21, 0x3D]
  var lengthForm = LengthForm.shortest
  /// Announces another length than the payload has.
  var announced: UInt64?

  var bytes: [UInt8] {
    let length = announced ?? UInt64(payload.count)
    let maskBit: UInt8 = key == nil ? 0 : 0x80
    var out = [first]
    switch lengthForm {
    case .shortest where length <= 125: out.append(maskBit | UInt8(length))
    case .shortest where length <= 65535, .two: out += [maskBit | 126, UInt8(length >> 8 & 255), UInt8(length & 255)]
    case .shortest, .eight:
      out.append(maskBit | 127)
      for index in 0..<8 { out.append(UInt8(length >> (56 - 8 * index) & 255)) }
    }
    guard let key else { return out + payload }
    out += key
    for (index, byte) in payload.enumerated() { out.append(byte ^ key[index % 4]) }
    return out
  }
}

/// A client's frame; FIN is set unless said otherwise.
func frame(_ opcode: Opcode, _ payload: [UInt8] = [], fin: Bool = true) -> [UInt8] {
  TestFrame(first: (fin ? 0x80 : 0) | opcode.rawValue, payload: payload).bytes
}

/// A client's text frame.
func text(_ string: String, fin: Bool = true) -> [UInt8] { frame(.text, Array(string.utf8), fin: fin) }

/// A close payload.
func closing(_ code: UInt16, _ reason: String = "") -> [UInt8] {
  [UInt8(code >> 8), UInt8(code & 255)] + Array(reason.utf8)
}

/// A frame as a server sends it.
func reply(_ opcode: Opcode, _ payload: [UInt8] = []) -> [UInt8] {
  TestFrame(first: 0x80 | opcode.rawValue, payload: payload, key: nil).bytes
}

/// The end and the reply that a fault leads to.
func failure(_ error: WebSocketError, after told: [Told] = [], replies: [UInt8] = []) -> Outcome {
  let close = reply(.close, closing(error.closeCode.rawValue, error.description))
  return Outcome(told: told + [.end(.failed(error))], replies: replies + close, state: .closed)
}
