// SPDX-License-Identifier: MIT

import SignalHTTP

extension FuzzTarget {
  /// What a client sends over a WebSocket, in pieces: the same events and the same replies however it is cut, no
  /// message over the limit, and text that the standard library also takes for UTF-8.
  static let frames = FuzzTarget(name: "Frames") { input in
    guard let input = CutInput(input) else { return }
    // Odd and even numbers of bytes choose, so that both ways need no byte of their own.
    let acceptsBinary = input.bytes.count % 2 == 0
    for (closesFirst, compresses) in [(false, false), (true, false), (false, true)] {
      _ = input.sameOutcome { bytes, cuts in
        var connection = ServerConnection(
          acceptsBinary: acceptsBinary, closesFirst: closesFirst, compresses: compresses)
        connection.receive(bytes, cutAt: cuts)
        return connection.seen
      }
    }
  }
}

/// The server's end of a WebSocket that notes all that happens.
private struct ServerConnection {
  /// What happened; two ways of cutting must agree in all of it.
  struct Seen: Equatable {
    var events: [Event] = []
    var replies: [UInt8] = []
    var state = WebSocketMachine.State.open
    var isInsideMessage = false
  }

  enum Event: Equatable {
    case message(MessageKind, [UInt8])
    case replied
    case pong([UInt8])
    case end(WebSocketEnd)
  }

  /// Low, so that inputs reach them.
  private static let limits: WebSocketLimits = {
    var limits = WebSocketLimits()
    limits.messageBytes = 1000
    return limits
  }()

  private(set) var seen = Seen()
  private var machine: WebSocketMachine

  init(acceptsBinary: Bool, closesFirst: Bool, compresses: Bool) {
    machine = WebSocketMachine(
      role: .server, limits: Self.limits, acceptsBinary: acceptsBinary, allowsCompression: compresses)
    if closesFirst { machine.close(.goingAway, to: &seen.replies) }
  }

  mutating func receive(_ bytes: [UInt8], cutAt cuts: [Int]) {
    var start = 0
    for cut in cuts {
      // A copy, so that the sanitizer sees an access outside of the piece.
      receive(Array(bytes[start..<cut]))
      start = cut
    }
    seen.state = machine.state
    seen.isInsideMessage = machine.isInsideMessage
  }

  private mutating func receive(_ piece: [UInt8]) {
    var piece = piece
    var buffer = piece.mutableSpan
    var position = 0
    while true {
      let before = position
      var event = machine.next(in: &buffer, at: &position, replies: &seen.replies)
      if case .message(let message) = event, message.isCompressed {
        event = machine.inflate(message, in: buffer, by: Inflater(), replies: &seen.replies)
        if case .end = event { position = buffer.count }
      }
      require((before...buffer.count).contains(position), "the position is outside of the piece")
      switch event {
      case .needMore:
        require(position == buffer.count, "bytes are left and more are asked for")
        return
      case .message(let message):
        let bytes = message.payload.bytes(in: buffer)
        require(bytes.count <= Self.limits.messageBytes, "a message over the limit")
        let isText = message.kind == .binary || String(validating: bytes, as: UTF8.self) != nil
        require(isText, "text that is not UTF-8")
        seen.events.append(.message(message.kind, bytes))
      case .replied: seen.events.append(.replied)
      case .pong(let payload): seen.events.append(.pong(payload.bytes(in: buffer)))
      case .end(let end):
        require(!seen.events.contains { if case .end = $0 { true } else { false } }, "it ends twice")
        seen.events.append(.end(end))
      }
    }
  }
}

extension Payload {
  fileprivate func bytes(in buffer: borrowing MutableSpan<UInt8>) -> [UInt8] {
    withBytes(in: buffer) { span in span.indices.map { span[$0] } }
  }
}
