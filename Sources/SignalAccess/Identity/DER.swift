// SPDX-License-Identifier: MIT

/// The few elements of DER (ITU-T X.690) that keys and signatures are made of for libcrypto.
enum DER {
  /// A sequence of elements.
  static func sequence(_ content: [UInt8]) -> [UInt8] { element(0x30, content) }

  /// A bit string of whole bytes.
  static func bits(_ content: [UInt8]) -> [UInt8] { element(0x03, [0] + content) }

  /// A positive integer from its bytes, the most significant first; nil for zero.
  static func integer(_ bytes: some Sequence<UInt8>) -> [UInt8]? {
    let digits = Array(bytes.drop { $0 == 0 })
    guard let first = digits.first else { return nil }
    // A number that is not negative begins with a bit that is not set.
    return element(0x02, first & 0x80 == 0 ? digits : [0] + digits)
  }

  private static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
    switch content.count {
    case ..<0x80: [tag, UInt8(content.count)] + content
    case ..<0x100: [tag, 0x81, UInt8(content.count)] + content
    default:
      [tag, 0x82, UInt8(truncatingIfNeeded: content.count >> 8), UInt8(truncatingIfNeeded: content.count)] + content
    }
  }
}
