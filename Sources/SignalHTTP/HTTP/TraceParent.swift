// SPDX-License-Identifier: MIT

/// The trace that a request belongs to, as `traceparent` names it (W3C Trace Context, §3.2).
public struct TraceParent: Sendable, Hashable, CustomStringConvertible {
  /// 32 hexadecimal digits in lower case, not all of them zero.
  public let traceID: String
  /// The sender's own part of the trace: 16 hexadecimal digits in lower case, not all of them zero.
  public let parentID: String
  /// Whether the sender may have recorded its part.
  public let isSampled: Bool

  /// As a field of version 00.
  public var description: String { "00-\(traceID)-\(parentID)-\(isSampled ? "01" : "00")" }

  /// Reads the field; nil when it breaks any rule, as a trace that is not valid must be ignored (§3.2.2.3).
  ///
  /// Of later versions what version 00 has is read, and anything behind another hyphen is not looked at (§3.2.4).
  init?(_ value: ByteView) {
    guard value.count >= 55, value.byte(at: 2) == Self.hyphen, value.byte(at: 35) == Self.hyphen,
      value.byte(at: 52) == Self.hyphen, let version = Self.octet(value, at: 0), version != 0xFF,
      let flags = Self.octet(value, at: 53), Self.isIdentifier(value[3..<35]), Self.isIdentifier(value[36..<52])
    else { return nil }
    guard value.count == 55 || (version > 0 && value.byte(at: 55) == Self.hyphen) else { return nil }
    traceID = value[3..<35].string
    parentID = value[36..<52].string
    isSampled = flags & 1 == 1
  }

  private static var hyphen: UInt8 { UInt8(ascii: "-") }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    default: nil
    }
  }

  private static func octet(_ value: ByteView, at place: Int) -> UInt8? {
    guard let high = digit(value.byte(at: place)), let low = digit(value.byte(at: place + 1)) else { return nil }
    return high << 4 | low
  }

  private static func isIdentifier(_ text: ByteView) -> Bool {
    var isZero = true
    for byte in text {
      guard let value = digit(byte) else { return false }
      if value != 0 { isZero = false }
    }
    return !isZero
  }
}

extension RequestHead {
  /// The trace that the request belongs to; nil when there is none, or no valid one, or more than one field.
  borrowing func traceParent() -> TraceParent? {
    guard let value = try? single(.traceparent) else { return nil }
    return TraceParent(value)
  }
}
