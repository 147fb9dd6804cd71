// SPDX-License-Identifier: MIT

/// A piece of a data frame's payload, unmasked: all of it, or as much as has been received.
package struct DataSlice: Sendable {
  /// `text`, `binary` or `continuation`.
  package let opcode: Opcode
  /// FIN: the frame is the last of its message.
  package let isFinal: Bool
  /// RSV1: the frame begins a compressed message (RFC 7692 §6).
  package let isCompressed: Bool
  /// Bytes of the whole frame's payload, as announced.
  package let frameLength: Int
  /// The first piece of its frame; it comes as soon as the header is known, perhaps without a byte.
  package let startsFrame: Bool
  /// The last piece of its frame.
  package let endsFrame: Bool
  /// Where the piece is in the buffer.
  package let range: Range<Int>
}

/// What a frame parser found.
package enum FrameEvent: Sendable {
  /// All bytes are consumed, and more are needed for the next event.
  case needMore
  /// A piece of a data frame.
  case data(DataSlice)
  /// A whole control frame, unmasked.
  case control(Opcode, Payload)
}

/// Finds frames in a stream of bytes (RFC 6455 §5.2), however it is split.
///
/// It consumes every byte it is given: an unfinished header is kept as a few numbers, the payload of data frames is
/// passed on as it arrives, and only a control frame that is split (125 bytes at most) is copied. So usually nothing is
/// allocated, and never an amount that the peer determines.
///
/// Every fault is reported at the earliest byte that shows it. After a throw the parser must not be used again.
package struct FrameParser: Sendable {
  private enum Step { case first, second, length, mask, payload }

  private let role: WebSocketRole
  private let frameLimit: UInt64
  /// The reserved bits that no extension defines.
  private let reservedBits: UInt8

  private var step = Step.first
  private var opcode = Opcode.continuation
  private var isFinal = false
  private var isCompressed = false
  private var startsFrame = false
  /// Missing bytes of the length or of the mask.
  private var missing = 0
  /// The length field of the second byte: up to 125 the length itself, 126 for two bytes more, 127 for eight.
  private var lengthForm: UInt8 = 0
  /// The announced length of the payload.
  private var length: UInt64 = 0
  private var mask = FrameMask(key: 0)
  /// Remaining bytes of the payload.
  private var remaining = 0
  /// The beginning of a control frame's payload whose rest has not arrived.
  private var held: [UInt8] = []

  /// At the beginning of a stream; a data frame over `frameLimit` bytes of payload is refused.
  ///
  /// - Parameter allowsCompression: permessage-deflate has been negotiated.
  package init(role: WebSocketRole, frameLimit: Int, allowsCompression: Bool = false) {
    self.role = role
    self.frameLimit = UInt64(clamping: frameLimit)
    reservedBits = allowsCompression ? 0x30 : 0x70
  }

  /// Finds the next event in `buffer` from `position` on, and advances `position` past it.
  ///
  /// Payload is unmasked in place, so the bytes up to the new position must not be passed again; those after it are
  /// unchanged.
  @inline(__always)
  package mutating func next(
    in buffer: inout MutableSpan<UInt8>, at position: inout Int
  ) throws(WebSocketError) -> FrameEvent {
    if step == .first, buffer.count &- position >= Self.longestHeader {
      try readHeader(in: buffer, at: &position)
    } else if step != .payload {
      guard try readHeaderBytewise(in: buffer, at: &position) else { return .needMore }
    }
    if opcode.isControl { return readControlPayload(in: &buffer, at: &position) }
    let count = min(remaining, buffer.count &- position)
    if count == 0, !startsFrame { return .needMore }
    let range = position..<(position &+ count)
    position &+= count
    remaining &-= count
    if role == .server { mask.apply(to: &buffer, in: range) }
    let slice = DataSlice(
      opcode: opcode, isFinal: isFinal, isCompressed: isCompressed, frameLength: Int(length), startsFrame: startsFrame,
      endsFrame: remaining == 0, range: range)
    startsFrame = false
    if remaining == 0 { step = .first }
    return .data(slice)
  }

  private mutating func readControlPayload(
    in buffer: inout MutableSpan<UInt8>, at position: inout Int
  ) -> FrameEvent {
    let count = min(remaining, buffer.count - position)
    let range = position..<(position + count)
    position += count
    remaining -= count
    if role == .server { mask.apply(to: &buffer, in: range) }
    startsFrame = false
    if remaining == 0, held.isEmpty {
      step = .first
      return .control(opcode, .inBuffer(range))
    }
    for index in range { held.append(buffer[index]) }
    guard remaining == 0 else { return .needMore }
    step = .first
    let joined = held
    held = []
    return .control(opcode, .joined(joined))
  }

  // MARK: Header

  /// Two bytes, an eight-byte length, a four-byte mask.
  private static let longestHeader = 14

  /// Parses a header that is known to be complete.
  @inline(__always)
  private mutating func readHeader(
    in buffer: borrowing MutableSpan<UInt8>, at position: inout Int
  ) throws(WebSocketError) {
    try take(first: buffer[position])
    try take(second: buffer[position &+ 1])
    position &+= 2
    while missing > 0 {
      length = length << 8 | UInt64(buffer[position])
      position &+= 1
      missing &-= 1
    }
    try checkLength()
    if role == .server {
      mask = FrameMask(
        key: UInt32(buffer[position]) | UInt32(buffer[position &+ 1]) << 8 | UInt32(buffer[position &+ 2]) << 16
          | UInt32(buffer[position &+ 3]) << 24)
      position &+= 4
    }
    beginPayload()
  }

  /// Parses the available part of a header, and returns whether it is complete.
  private mutating func readHeaderBytewise(
    in buffer: borrowing MutableSpan<UInt8>, at position: inout Int
  ) throws(WebSocketError) -> Bool {
    while position < buffer.count {
      let byte = buffer[position]
      position += 1
      switch step {
      case .first:
        try take(first: byte)
        step = .second
      case .second:
        try take(second: byte)
        step = .length
        if missing == 0 { try endLength() }
      case .length:
        length = length << 8 | UInt64(byte)
        missing -= 1
        if missing == 0 { try endLength() }
      case .mask:
        mask = FrameMask(key: mask.key >> 8 | UInt32(byte) << 24)
        missing -= 1
        if missing == 0 { beginPayload() }
      case .payload: break
      }
      if step == .payload { return true }
    }
    return false
  }

  /// FIN, RSV1–3 and the opcode (§5.2).
  @inline(__always)
  private mutating func take(first byte: UInt8) throws(WebSocketError) {
    guard byte & reservedBits == 0 else { throw .reservedBit }
    guard let opcode = Opcode(rawValue: byte & 0x0F) else { throw .reservedOpcode(byte & 0x0F) }
    isFinal = byte & 0x80 != 0
    isCompressed = byte & 0x40 != 0
    // Only the first frame of a message says that it is compressed (RFC 7692 §6.1).
    guard !isCompressed || opcode == .text || opcode == .binary else { throw .misplacedCompression }
    guard isFinal || !opcode.isControl else { throw .fragmentedControlFrame }
    self.opcode = opcode
  }

  /// MASK (§5.1) and the short length, or how many bytes of an extended one follow.
  @inline(__always)
  private mutating func take(second byte: UInt8) throws(WebSocketError) {
    if role == .server {
      guard byte & 0x80 != 0 else { throw .unmaskedFrame }
    } else {
      guard byte & 0x80 == 0 else { throw .maskedFrame }
    }
    let short = byte & 0x7F
    guard short <= 125 || !opcode.isControl else { throw .controlFrameTooLong }
    length = short <= 125 ? UInt64(short) : 0
    lengthForm = short
    missing = short <= 125 ? 0 : short == 126 ? 2 : 8
  }

  private mutating func endLength() throws(WebSocketError) {
    try checkLength()
    if role == .server {
      step = .mask
      missing = 4
    } else {
      beginPayload()
    }
  }

  /// Checks the shortest form (§5.2), then the limit (§10.4).
  @inline(__always)
  private func checkLength() throws(WebSocketError) {
    if lengthForm == 126 {
      guard length > 125 else { throw .nonMinimalLength }
    } else if lengthForm == 127 {
      guard length >> 63 == 0 else { throw .lengthOutOfRange }
      guard length > 0xFFFF else { throw .nonMinimalLength }
    }
    guard length <= frameLimit || opcode.isControl else { throw .frameTooLarge }
  }

  @inline(__always)
  private mutating func beginPayload() {
    step = .payload
    startsFrame = true
    remaining = Int(length)
  }
}
