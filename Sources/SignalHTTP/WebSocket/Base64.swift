// SPDX-License-Identifier: MIT

/// Base64 with padding (RFC 4648 §4), for the two short values of the handshake.
package enum Base64 {
  private static let alphabet: StaticString = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

  /// Encodes bytes.
  package static func encode(_ bytes: Span<UInt8>) -> [UInt8] {
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count + 2) / 3 * 4)
    var index = 0
    while index < bytes.count {
      let left = bytes.count - index
      let second = left > 1 ? bytes[index + 1] : 0
      let third = left > 2 ? bytes[index + 2] : 0
      let group = UInt32(bytes[index]) << 16 | UInt32(second) << 8 | UInt32(third)
      text.append(letter(group >> 18))
      text.append(letter(group >> 12))
      text.append(left > 1 ? letter(group >> 6) : UInt8(ascii: "="))
      text.append(left > 2 ? letter(group) : UInt8(ascii: "="))
      index += 3
    }
    return text
  }

  private static func letter(_ bits: UInt32) -> UInt8 {
    // Six bits are always an index into the 64 letters.
    unsafe alphabet.utf8Start[Int(bits & 63)]
  }

  /// The number of bytes that a text encodes; nil when it is not Base64 with its padding.
  ///
  /// The unused bits of the last letter may have any value: RFC 6455 §4.1 does not forbid them.
  package static func decodedCount(_ text: Span<UInt8>) -> Int? {
    guard text.count % 4 == 0 else { return nil }
    var padding = 0
    while padding < 2, padding < text.count, text[text.count - 1 - padding] == UInt8(ascii: "=") { padding += 1 }
    for index in 0..<(text.count - padding) {
      switch text[index] {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"):
        continue
      default: return nil
      }
    }
    return text.count / 4 * 3 - padding
  }
}
