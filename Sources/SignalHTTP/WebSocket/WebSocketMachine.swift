// SPDX-License-Identifier: MIT

/// What the owner of a `WebSocketMachine` has to do next.
package enum WebSocketEvent: Sendable {
  /// Nothing: all bytes are consumed. Call again when there are more.
  case needMore
  /// Handle a message; its bytes are in the buffer or in an array of its own.
  case message(WebSocketMessage)
  /// Send the replies eventually; a pong was added to them. (A peer that pings and never reads fills them.)
  case replied
  /// Nothing, or measure the round trip: a pong arrived, with this payload.
  case pong(Payload)
  /// Send pending output, then end the connection: nothing more will be received or sent. Returned once.
  case end(WebSocketEnd)
}

/// How a WebSocket ended.
package enum WebSocketEnd: Equatable, Sendable {
  /// The peer closed, and our close has answered it.
  case closedByPeer(CloseFrame)
  /// We closed, and the peer answered.
  case closedByUs(CloseFrame)
  /// The peer violated the protocol or a limit; a close frame reports it, unless ours had been sent already.
  case failed(WebSocketError)
}

/// One WebSocket, without the socket: takes received bytes, returns messages, answers pings and closes.
///
///     open ── close() ──▶ closeSent ── peer's close ──▶ closed
///      ├── peer's close, answered ──▶ closeReceived ── ended() ──▶ closed
///      └── fault, answered by a close ──────────────────────────▶ closed
///
/// It has no notion of time: timeouts for silence and for an unanswered close are up to the owner.
package struct WebSocketMachine: Sendable {
  /// The progress of the closing handshake (RFC 6455 §7).
  package enum State: Equatable, Sendable {
    /// Messages can be sent both ways.
    case open
    /// Our close is sent and the peer's has not arrived: its messages are read and dropped, its pings answered
    /// (§5.5.2).
    case closeSent
    /// The peer's close came first and is answered: nothing more is read or sent. A server ends the connection now, a
    /// client waits a little for the server to do so (§7.1.1).
    case closeReceived
    /// Nothing more is read or sent.
    case closed
  }

  /// The progress of the closing handshake.
  package private(set) var state = State.open
  private let role: WebSocketRole
  private var parser: FrameParser
  private var assembler: MessageAssembler
  private var masks = FrameMaskSource()
  private let messageLimit: Int

  /// An open WebSocket, right after the handshake.
  ///
  /// Without `acceptsBinary` a binary message is refused with 1003.
  ///
  /// - Parameter allowsCompression: permessage-deflate has been negotiated, with a peer that compresses each message by
  ///   itself.
  package init(
    role: WebSocketRole, limits: WebSocketLimits = WebSocketLimits(), acceptsBinary: Bool = true,
    allowsCompression: Bool = false
  ) {
    self.role = role
    messageLimit = limits.messageBytes
    parser = FrameParser(role: role, frameLimit: limits.messageBytes, allowsCompression: allowsCompression)
    assembler = MessageAssembler(messageLimit: limits.messageBytes, acceptsBinary: acceptsBinary)
  }

  /// Whether data frames and pings may be sent.
  @inline(__always)
  package var maySend: Bool { state == .open }

  /// Whether the peer has begun a message and not ended it.
  package var isInsideMessage: Bool { assembler.isInsideMessage }

  /// Bytes that are kept of an incomplete message.
  package var heldBytes: Int { assembler.heldBytes }

  // MARK: Receiving

  /// Takes bytes of `buffer` from `position` on until there is something to do, and advances `position` past them.
  ///
  /// Call it until it returns `needMore` or `end`, which have consumed everything. Payload is unmasked in place, so
  /// bytes before the new position must not be passed again. Answers to the peer (pong, close) are appended to
  /// `replies`.
  @inline(__always)
  package mutating func next(
    in buffer: inout MutableSpan<UInt8>, at position: inout Int, replies: inout [UInt8]
  ) -> WebSocketEvent {
    guard state == .open || state == .closeSent else {
      position = buffer.count
      return .needMore
    }
    do {
      while true {
        switch try parser.next(in: &buffer, at: &position) {
        case .needMore: return .needMore
        case .data(let slice):
          if state == .open, let message = try assembler.add(slice, from: buffer) { return .message(message) }
        case .control(let opcode, let payload):
          let event = try control(opcode, payload, buffer, &replies)
          if case .end = event { position = buffer.count }
          return event
        }
      }
    } catch {
      position = buffer.count
      return fail(error, &replies)
    }
  }

  /// Decompresses a message that is compressed: the message with its content, or the end when there is none.
  ///
  /// - Parameter buffer: The one that ``next(in:at:replies:)`` was given when it returned the message.
  package mutating func inflate(
    _ message: WebSocketMessage, in buffer: borrowing MutableSpan<UInt8>, by inflater: Inflater,
    replies: inout [UInt8]
  ) -> WebSocketEvent {
    var content: [UInt8] = []
    content.reserveCapacity(min(message.payload.count * 4, Self.trustedContent))
    do throws(InflateError) {
      try message.payload.withBytes(in: buffer) { bytes throws(InflateError) in
        try inflater.inflate(bytes, limit: messageLimit, to: &content)
      }
    } catch {
      return fail(error == .tooLarge ? .messageTooLarge : .damagedCompression, &replies)
    }
    if message.kind == .text {
      var validator = UTF8Validator()
      guard validator.consume(content.span), validator.isComplete else { return fail(.invalidText, &replies) }
    }
    return .message(WebSocketMessage(kind: message.kind, isCompressed: false, payload: .joined(content)))
  }

  /// Bytes that are allocated for a content before it is known.
  private static let trustedContent = 16 << 10

  private mutating func control(
    _ opcode: Opcode, _ payload: Payload, _ buffer: borrowing MutableSpan<UInt8>, _ replies: inout [UInt8]
  ) throws(WebSocketError) -> WebSocketEvent {
    switch opcode {
    case .ping:
      payload.withBytes(in: buffer) { FrameWriter.append(.pong, $0, mask: newMask(), to: &replies) }
      return .replied
    case .close:
      let close = try payload.withBytes(in: buffer) { bytes throws(WebSocketError) in try CloseFrame(bytes) }
      if state == .closeSent {
        state = .closed
        return .end(.closedByUs(close))
      }
      FrameWriter.appendClose(close.code, mask: newMask(), to: &replies)
      state = .closeReceived
      return .end(.closedByPeer(close))
    case .pong, .continuation, .text, .binary: return .pong(payload)
    }
  }

  private mutating func fail(_ error: WebSocketError, _ replies: inout [UInt8]) -> WebSocketEvent {
    close(error.closeCode, reason: error.description, to: &replies)
    state = .closed
    return .end(.failed(error))
  }

  // MARK: Sending

  /// Appends a message as one frame; false, with nothing appended, when closing has begun.
  package mutating func send(_ kind: MessageKind, _ payload: Span<UInt8>, to output: inout [UInt8]) -> Bool {
    guard maySend else { return false }
    FrameWriter.append(kind == .text ? .text : .binary, payload, mask: newMask(), to: &output)
    return true
  }

  /// Appends a message as one frame whose payload is compressed; false, with nothing appended, when closing has begun.
  package mutating func send(_ kind: MessageKind, compressed payload: Span<UInt8>, to output: inout [UInt8]) -> Bool {
    guard maySend else { return false }
    let start = output.count
    FrameWriter.append(kind == .text ? .text : .binary, payload, mask: newMask(), to: &output)
    output[start] |= FrameWriter.compressedBit
    return true
  }

  /// Appends a ping; nothing when closing has begun.
  package mutating func ping(_ payload: [UInt8] = [], to output: inout [UInt8]) {
    guard maySend else { return }
    FrameWriter.append(.ping, payload, mask: newMask(), to: &output)
  }

  /// Begins to close: appends our close frame; nothing when closing has begun.
  ///
  /// The owner keeps passing received bytes until `end` is returned, and sets a deadline for it. A reason that is too
  /// long is truncated.
  package mutating func close(_ code: CloseCode, reason: String = "", to output: inout [UInt8]) {
    guard state == .open else { return }
    FrameWriter.appendClose(code, reason: reason, mask: newMask(), to: &output)
    state = .closeSent
  }

  /// Forgets the incomplete message; its rest would be refused, so the owner has to close.
  package mutating func abandonMessage() { assembler.abandon() }

  /// Reports that the connection is gone.
  package mutating func ended() { state = .closed }

  private mutating func newMask() -> FrameMask? { role == .client ? masks.next() : nil }
}
