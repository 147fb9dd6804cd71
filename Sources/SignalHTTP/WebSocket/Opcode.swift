// SPDX-License-Identifier: MIT

/// What a frame is (RFC 6455 §5.2); the other ten values are reserved.
package enum Opcode: UInt8, Sendable {
  /// The next fragment of the message under way.
  case continuation = 0
  /// The first fragment of a text message, or a whole one.
  case text = 1
  /// The first fragment of a binary message, or a whole one.
  case binary = 2
  /// The last frame of a side.
  case close = 8
  /// Asks for a pong.
  case ping = 9
  /// Answers a ping, or shows that the peer is there.
  case pong = 10

  /// Whether the frame is about the connection: it may stand between fragments, and is short and undivided (§5.5).
  @inline(__always)
  package var isControl: Bool { rawValue & 8 != 0 }
}

/// What a message is.
public enum MessageKind: Sendable {
  /// UTF-8.
  case text
  /// Any bytes.
  case binary
}

/// Which side of the connection we are: masks go from client to server, and only there (RFC 6455 §5.1).
package enum WebSocketRole: Sendable {
  /// Takes masked frames, sends unmasked ones.
  case server
  /// Takes unmasked frames, sends masked ones.
  case client
}

/// Where received bytes are: still in the buffer they came in, or, when they came in pieces, joined in their own.
package enum Payload: Sendable {
  /// A range of the receive buffer; good until the buffer is used again.
  case inBuffer(Range<Int>)
  /// Bytes that were joined.
  case joined([UInt8])

  /// How many bytes.
  package var count: Int {
    switch self {
    case .inBuffer(let range): range.count
    case .joined(let bytes): bytes.count
    }
  }

  /// Calls `body` with the bytes.
  ///
  /// `buffer` is the one that the machine or parser was given when it told of them.
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
