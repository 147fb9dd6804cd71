// SPDX-License-Identifier: MIT

/// Appends frames (RFC 6455 §5.2) to an array: a server's without mask, a client's with one.
///
/// Every frame is a complete message: FIN is set and lengths have their shortest form.
package enum FrameWriter {
  /// RSV1 in the first byte of a frame: its message is compressed (RFC 7692 §6).
  package static let compressedBit: UInt8 = 0x40

  /// Bytes of the header of a frame with `payloadCount` bytes: 2, 4 or 10, and 4 more with a mask.
  package static func headerCount(payloadCount: Int, masked: Bool = false) -> Int {
    let length = payloadCount <= 125 ? 2 : payloadCount <= 0xFFFF ? 4 : 10
    return masked ? length + 4 : length
  }

  /// Appends a header alone; the caller appends exactly `payloadCount` bytes after it, combined with `mask` if any.
  ///
  /// A control frame has at most 125 bytes (§5.5).
  @inline(__always)
  package static func appendHeader(
    _ opcode: Opcode, payloadCount: Int, mask: FrameMask? = nil, to output: inout [UInt8]
  ) {
    precondition(payloadCount <= 125 || !opcode.isControl, "a control frame has at most 125 bytes")
    output.append(0x80 | opcode.rawValue)
    let maskBit: UInt8 = mask == nil ? 0 : 0x80
    if payloadCount <= 125 {
      output.append(maskBit | UInt8(truncatingIfNeeded: payloadCount))
    } else if payloadCount <= 0xFFFF {
      output.append(maskBit | 126)
      output.append(UInt8(truncatingIfNeeded: payloadCount >> 8))
      output.append(UInt8(truncatingIfNeeded: payloadCount))
    } else {
      output.append(maskBit | 127)
      for shift in stride(from: 56, through: 0, by: -8) {
        output.append(UInt8(truncatingIfNeeded: payloadCount >> shift))
      }
    }
    guard let mask else { return }
    let key = mask.bytes
    output.append(key.0)
    output.append(key.1)
    output.append(key.2)
    output.append(key.3)
  }

  /// Appends a frame.
  @inline(__always)
  package static func append(
    _ opcode: Opcode, _ payload: Span<UInt8>, mask: FrameMask? = nil, to output: inout [UInt8]
  ) {
    appendHeader(opcode, payloadCount: payload.count, mask: mask, to: &output)
    let start = output.count
    // The pointer is used only for the copy.
    unsafe payload.withUnsafeBufferPointer { unsafe output.append(contentsOf: $0) }
    guard var mask else { return }
    let range = start..<output.count
    var written = output.mutableSpan
    mask.apply(to: &written, in: range)
  }

  /// Appends a frame whose payload is an array.
  package static func append(
    _ opcode: Opcode, _ payload: [UInt8], mask: FrameMask? = nil, to output: inout [UInt8]
  ) {
    append(opcode, payload.span, mask: mask, to: &output)
  }

  /// Appends a close frame; with no code it has no payload (§5.5.1).
  ///
  /// `reason` is truncated, between two characters, so that the frame has at most 125 bytes.
  package static func appendClose(
    _ code: CloseCode?, reason: String = "", mask: FrameMask? = nil, to output: inout [UInt8]
  ) {
    var payload: [UInt8] = []
    if let code {
      precondition(code.isLegalOnWire, "close code \(code.rawValue) must not be sent")
      payload = [UInt8(code.rawValue >> 8), UInt8(truncatingIfNeeded: code.rawValue)]
      for scalar in reason.unicodeScalars {
        let bytes = UTF8.encode(scalar)
        guard let bytes, payload.count + bytes.count <= 125 else { break }
        payload.append(contentsOf: bytes)
      }
    }
    append(.close, payload.span, mask: mask, to: &output)
  }
}
