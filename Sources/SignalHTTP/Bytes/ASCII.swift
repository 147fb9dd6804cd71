// SPDX-License-Identifier: MIT

/// The bytes that the wire formats use, by their names in RFC 5234 where they have one.
package enum ASCII {
  package static let tab: UInt8 = 0x09
  package static let lf: UInt8 = 0x0A
  package static let cr: UInt8 = 0x0D
  package static let space: UInt8 = 0x20
  package static let quote: UInt8 = 0x22
  package static let percent: UInt8 = 0x25
  package static let ampersand: UInt8 = 0x26
  package static let asterisk: UInt8 = 0x2A
  package static let plus: UInt8 = 0x2B
  package static let comma: UInt8 = 0x2C
  package static let hyphen: UInt8 = 0x2D
  package static let dot: UInt8 = 0x2E
  package static let slash: UInt8 = 0x2F
  package static let zero: UInt8 = 0x30
  package static let colon: UInt8 = 0x3A
  package static let semicolon: UInt8 = 0x3B
  package static let equals: UInt8 = 0x3D
  package static let question: UInt8 = 0x3F
  package static let openBracket: UInt8 = 0x5B
  package static let backslash: UInt8 = 0x5C
  package static let closeBracket: UInt8 = 0x5D
  package static let underscore: UInt8 = 0x5F

  /// The lower case of an upper-case letter; any other byte, also a non-ASCII one, is unchanged.
  @inline(__always)
  package static func lowercased(_ byte: UInt8) -> UInt8 {
    byte &- 0x41 < 26 ? byte | 0x20 : byte
  }

  /// Whether the byte is optional white space: space or tab (OWS, RFC 9110 §5.6.3).
  @inline(__always)
  package static func isBlank(_ byte: UInt8) -> Bool { byte == space || byte == tab }

  @inline(__always)
  package static func isDigit(_ byte: UInt8) -> Bool { byte &- zero < 10 }

  /// The value of a hexadecimal digit, in either case; nil for any other byte.
  @inline(__always)
  package static func hexValue(_ byte: UInt8) -> UInt8? {
    let digit = byte &- zero
    if digit < 10 { return digit }
    let letter = (byte | 0x20) &- 0x61
    return letter < 6 ? letter + 10 : nil
  }
}
