// SPDX-License-Identifier: MIT

/// Why a byte sequence was refused as a JSON text, and where.
///
/// Small on purpose: two words, no strings until ``description`` is asked for.
public struct JSONError: Error, Equatable, Sendable {
  /// The rule that was broken.
  public enum Reason: UInt8, Sendable, CaseIterable {
    /// The text ends inside a value (RFC 8259 §2).
    case unexpectedEnd
    /// A byte that cannot start or continue what the grammar expects here (RFC 8259 §2).
    case unexpectedByte
    /// A literal that is not `true`, `false` or `null` in lower case (RFC 8259 §3).
    case badLiteral
    /// A number with a leading zero, or with a fraction or exponent without digits (RFC 8259 §6).
    case badNumber
    /// A backslash followed by something other than the eight short forms or `u` and four hex digits (RFC 8259 §7).
    case badEscape
    /// A byte below 0x20 inside a string, where it must be escaped (RFC 8259 §7).
    case controlInString
    /// Bytes that are not UTF-8: overlong, surrogate, beyond U+10FFFF, cut short (RFC 8259 §8.1, RFC 3629 §4).
    case badUTF8
    /// Something other than white space after the value (RFC 8259 §2).
    case trailingBytes
    /// More nested arrays and objects than ``JSONLimits/depth``.
    case tooDeep
    /// More digits in a number than ``JSONLimits/digits``; the place is the first that is too many.
    case tooManyDigits
    /// More bytes than ``JSONLimits/bytes``.
    case tooLarge
  }

  /// The rule that was broken.
  public let reason: Reason
  /// The byte offset in the source at which it was noticed; the length of the source when it ended too early.
  public let offset: Int

  /// An error at a place.
  public init(_ reason: Reason, at offset: Int) {
    self.reason = reason
    self.offset = offset
  }
}

extension JSONError: CustomStringConvertible {
  /// A sentence for a client: the rule, its section and the byte offset.
  public var description: String {
    switch reason {
    case .unexpectedEnd: "the text ends inside a value, at byte \(offset) (RFC 8259 §2)"
    case .unexpectedByte: "unexpected byte at offset \(offset) (RFC 8259 §2)"
    case .badLiteral: "expected true, false or null; not so at byte \(offset) (RFC 8259 §3)"
    case .badNumber: "malformed number at byte \(offset) (RFC 8259 §6)"
    case .badEscape: "malformed escape in a string at byte \(offset) (RFC 8259 §7)"
    case .controlInString: "unescaped control character in a string at byte \(offset) (RFC 8259 §7)"
    case .badUTF8: "not UTF-8 at byte \(offset) (RFC 8259 §8.1)"
    case .trailingBytes: "something follows the value, at byte \(offset) (RFC 8259 §2)"
    case .tooDeep: "arrays and objects are nested too deep at byte \(offset)"
    case .tooManyDigits: "a number has too many digits, from byte \(offset) on"
    case .tooLarge: "the text is larger than \(offset) bytes"
    }
  }
}
