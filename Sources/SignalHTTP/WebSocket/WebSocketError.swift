// SPDX-License-Identifier: MIT

/// How a peer violated RFC 6455 or exceeded a limit; determines the close code, after which nothing more is read.
package enum WebSocketError: Error, Equatable, Sendable {
  // Protocol violations: frames.

  /// RSV1, RSV2 or RSV3 without an extension that defines it.
  case reservedBit
  /// RSV1 on a control frame, or on one that continues a message.
  case misplacedCompression
  /// Opcode 3–7 or 11–15.
  case reservedOpcode(UInt8)
  /// A client's frame without a mask.
  case unmaskedFrame
  /// A server's frame with a mask.
  case maskedFrame
  /// A control frame without FIN.
  case fragmentedControlFrame
  /// A control frame with more than 125 bytes.
  case controlFrameTooLong
  /// A length that fits a shorter form.
  case nonMinimalLength
  /// A 64-bit length with the most significant bit set.
  case lengthOutOfRange

  // Protocol violations: messages.

  /// A continuation frame with no message to continue.
  case unexpectedContinuation
  /// A new message before the last fragment of the current one.
  case interruptedMessage
  /// Text that is not UTF-8.
  case invalidText

  /// A compressed message that cannot be decompressed.
  case damagedCompression

  // Protocol violations: close frames.

  /// A close frame with a payload of one byte.
  case truncatedCloseCode
  /// A close code that must not be sent.
  case invalidCloseCode(UInt16)
  /// A close reason that is not UTF-8.
  case invalidCloseReason

  // Over a limit, or not accepted.

  /// A frame over `WebSocketLimits.messageBytes`.
  case frameTooLarge
  /// A message over `WebSocketLimits.messageBytes`, also when only its content is.
  case messageTooLarge
  /// A binary message where only text is accepted.
  case binaryRefused

  /// The code that is sent to the peer.
  package var closeCode: CloseCode {
    switch self {
    case .reservedBit, .misplacedCompression, .reservedOpcode, .unmaskedFrame, .maskedFrame, .fragmentedControlFrame,
      .controlFrameTooLong,
      .nonMinimalLength, .lengthOutOfRange, .unexpectedContinuation, .interruptedMessage, .truncatedCloseCode,
      .invalidCloseCode:
      .protocolError
    case .invalidText, .damagedCompression, .invalidCloseReason: .invalidData
    case .frameTooLarge, .messageTooLarge: .tooLarge
    case .binaryRefused: .unsupportedData
    }
  }
}

extension WebSocketError: CustomStringConvertible {
  /// One sentence with the violated section; also sent as the close reason, so at most 123 bytes.
  package var description: String {
    switch self {
    case .reservedBit: "a reserved bit is set without an extension (RFC 6455 section 5.2)"
    case .misplacedCompression: "RSV1 is only for the first frame of a message (RFC 7692 section 6.1)"
    case .reservedOpcode(let opcode): "opcode \(opcode) is reserved (RFC 6455 section 5.2)"
    case .unmaskedFrame: "a client's frame must be masked (RFC 6455 section 5.1)"
    case .maskedFrame: "a server's frame must not be masked (RFC 6455 section 5.1)"
    case .fragmentedControlFrame: "a control frame must not be fragmented (RFC 6455 section 5.5)"
    case .controlFrameTooLong: "a control frame has more than 125 bytes (RFC 6455 section 5.5)"
    case .nonMinimalLength: "a length is not in its shortest form (RFC 6455 section 5.2)"
    case .lengthOutOfRange: "a 64-bit length has its top bit set (RFC 6455 section 5.2)"
    case .unexpectedContinuation: "a continuation frame without a message (RFC 6455 section 5.4)"
    case .interruptedMessage: "a new message inside a fragmented one (RFC 6455 section 5.4)"
    case .invalidText: "text is not UTF-8 (RFC 6455 section 8.1)"
    case .damagedCompression: "a compressed message is damaged (RFC 7692 section 7.2.2)"
    case .truncatedCloseCode: "a close frame with one byte (RFC 6455 section 5.5.1)"
    case .invalidCloseCode(let code): "close code \(code) must not be sent (RFC 6455 section 7.4)"
    case .invalidCloseReason: "a close reason is not UTF-8 (RFC 6455 section 5.5.1)"
    case .frameTooLarge: "a frame is over the limit (RFC 6455 section 10.4)"
    case .messageTooLarge: "a message is over the limit (RFC 6455 section 10.4)"
    case .binaryRefused: "binary messages are not understood here (RFC 6455 section 7.4.1)"
    }
  }
}
