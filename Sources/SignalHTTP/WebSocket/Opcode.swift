// SPDX-License-Identifier: MIT

/// The type of a frame (RFC 6455 §5.2); the other ten values are reserved.
package enum Opcode: UInt8, Sendable {
  /// The next fragment of the current message.
  case continuation = 0
  /// The first fragment of a text message, or a complete one.
  case text = 1
  /// The first fragment of a binary message, or a complete one.
  case binary = 2
  /// The last frame that a side sends.
  case close = 8
  /// Asks for a pong.
  case ping = 9
  /// Answers a ping, or shows that the peer is there.
  case pong = 10

  /// Whether the frame is a control frame: it may be sent between fragments, and is short and unfragmented (§5.5).
  @inline(__always)
  package var isControl: Bool { rawValue & 8 != 0 }
}

/// The type of a message.
public enum MessageKind: Sendable {
  /// UTF-8.
  case text
  /// Any bytes.
  case binary
}

/// Which side of the connection we are: only frames from client to server are masked (RFC 6455 §5.1).
package enum WebSocketRole: Sendable {
  /// Receives masked frames, sends unmasked ones.
  case server
  /// Receives unmasked frames, sends masked ones.
  case client
}

/// Where received bytes are: still in the receive buffer, or, when they arrived in pieces, joined in an array.
package enum Payload: Sendable {
  /// A range of the receive buffer; valid until the buffer is used again.
  case inBuffer(Range<Int>)
  /// Bytes that were joined.
  case joined([UInt8])

  /// The number of bytes.
  package var count: Int {
    switch self {
    case .inBuffer(let range): range.count
    case .joined(let bytes): bytes.count
    }
  }

  /// Calls `body` with the bytes.
  ///
  /// `buffer` is the one that the machine or parser was given when it returned the payload.
  @inline(__always)
  package func withBytes<Result, Failure: Error>(
    in buffer: borrowing MutableSpan<UInt8>, _ body: (Span<UInt8>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    switch self {
    case .inBuffer(let range): try body(buffer.span.extracting(range))
    case .joined(let bytes): try body(bytes.span)
    }
  }
}
