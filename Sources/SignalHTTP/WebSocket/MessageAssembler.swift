// SPDX-License-Identifier: MIT

/// A complete message.
package struct WebSocketMessage: Sendable {
  /// Text, which has been validated as UTF-8 unless it is compressed, or binary.
  package let kind: MessageKind
  /// Whether the bytes have to be decompressed: see ``WebSocketMachine/inflate(_:in:by:replies:)``.
  package let isCompressed: Bool
  /// Its bytes.
  package let payload: Payload
}

/// Assembles messages from frames (RFC 6455 §5.4) and validates text as UTF-8 (§8.1) as it arrives.
///
/// A message in one frame that is complete in the buffer stays there. Any other is joined in a buffer of its own, which
/// grows with what has actually been received, not with what was announced, and is freed with the message: between
/// messages nothing is held.
///
/// After a throw the assembler must not be used again.
package struct MessageAssembler: Sendable {
  private let messageLimit: Int
  private let acceptsBinary: Bool

  /// The kind of the current message; nil between messages.
  private var kind: MessageKind?
  private var isCompressed = false
  private var joined: [UInt8] = []
  /// At a character boundary whenever a message begins, because a message can only end there.
  private var validator = UTF8Validator()

  /// Creates an assembler; a message over `messageLimit` bytes is refused.
  package init(messageLimit: Int, acceptsBinary: Bool = true) {
    self.messageLimit = max(0, messageLimit)
    self.acceptsBinary = acceptsBinary
  }

  /// Whether a message has begun and not ended.
  package var isInsideMessage: Bool { kind != nil }

  /// Bytes that the current message occupies.
  package var heldBytes: Int { joined.capacity }

  /// Forgets the current message.
  package mutating func abandon() { joined = [] }

  /// Adds a piece that the frame parser found in `buffer`, and returns the message when this was its last.
  @inline(__always)
  package mutating func add(
    _ slice: DataSlice, from buffer: borrowing MutableSpan<UInt8>
  ) throws(WebSocketError) -> WebSocketMessage? {
    if slice.startsFrame { try begin(slice) }
    guard let kind else { preconditionFailure("a piece of a frame whose first piece was not added") }
    let isWhole = slice.endsFrame && slice.isFinal
    if kind == .text, !isCompressed {
      guard validator.consume(buffer.span.extracting(slice.range)) else { throw .invalidText }
      if isWhole {
        guard validator.isComplete else { throw .invalidText }
      }
    }
    if isWhole, slice.startsFrame, slice.opcode != .continuation {
      self.kind = nil
      return WebSocketMessage(kind: kind, isCompressed: isCompressed, payload: .inBuffer(slice.range))
    }
    return join(slice, buffer, isWhole, kind)
  }

  /// Checks the order of frames (§5.4) and the limit (§10.4), as soon as a frame's header is known.
  @inline(__always)
  private mutating func begin(_ slice: DataSlice) throws(WebSocketError) {
    if slice.opcode == .continuation {
      guard kind != nil else { throw .unexpectedContinuation }
    } else {
      guard kind == nil else { throw .interruptedMessage }
      guard slice.opcode == .text || acceptsBinary else { throw .binaryRefused }
      kind = slice.opcode == .text ? .text : .binary
      isCompressed = slice.isCompressed
    }
    guard slice.frameLength <= messageLimit - joined.count else { throw .messageTooLarge }
  }

  private mutating func join(
    _ slice: DataSlice, _ buffer: borrowing MutableSpan<UInt8>, _ isWhole: Bool, _ kind: MessageKind
  ) -> WebSocketMessage? {
    // Capacity for small messages is reserved at once, for large ones as they arrive: an announcement costs the peer
    // nothing and must not cost us more.
    if joined.isEmpty { joined.reserveCapacity(min(slice.frameLength, Self.trustedLength)) }
    let piece = buffer.span.extracting(slice.range)
    // The pointer is used only for the copy.
    unsafe piece.withUnsafeBufferPointer { unsafe joined.append(contentsOf: $0) }
    guard isWhole else { return nil }
    let message = WebSocketMessage(kind: kind, isCompressed: isCompressed, payload: .joined(joined))
    joined = []
    self.kind = nil
    return message
  }

  /// Bytes that are allocated because of a frame's header alone.
  private static let trustedLength = 4096
}
