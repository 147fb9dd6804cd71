// SPDX-License-Identifier: MIT

/// The content of a peer's close frame (RFC 6455 §5.5.1).
package struct CloseFrame: Equatable, Sendable {
  /// Why; nil when the frame was empty, which is reported to an application as 1005.
  package let code: CloseCode?
  /// A sentence for debugging; may be empty.
  package let reason: String

  /// Parses a payload: empty, or a code that may be sent and a reason in UTF-8.
  package init(_ payload: Span<UInt8>) throws(WebSocketError) {
    if payload.isEmpty {
      code = nil
      reason = ""
      return
    }
    guard payload.count >= 2 else { throw .truncatedCloseCode }
    let code = CloseCode(rawValue: UInt16(payload[0]) << 8 | UInt16(payload[1]))
    guard code.isLegalOnWire else { throw .invalidCloseCode(code.rawValue) }
    self.code = code
    let text = payload.extracting(droppingFirst: 2)
    var validator = UTF8Validator()
    guard validator.consume(text), validator.isComplete else { throw .invalidCloseReason }
    // The pointer is used only for the copy.
    reason = unsafe text.withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
  }
}
