// SPDX-License-Identifier: MIT

/// Eight bytes at a time: the arithmetic with which the parsers skip runs of plain bytes.
///
/// Each test sets the high bit of exactly the bytes that match. The bytes' own high bits are cleared first, so that no
/// sum carries from one byte to the next. In a little-endian word the lowest mark is the first byte in memory.
package enum ByteWord {
  private static let ones: UInt64 = 0x0101_0101_0101_0101
  private static let highs: UInt64 = 0x8080_8080_8080_8080

  /// Marks control characters: below 0x20, and 0x7F.
  @inline(__always)
  package static func controls(_ word: UInt64) -> UInt64 {
    let ascii = word & ~highs
    let isDelete = ascii &+ ones
    let isPrintable = ascii &+ ones &* (0x80 - 0x20)
    return (isDelete | ~isPrintable) & ~word & highs
  }

  /// Marks everything but visible ASCII: white space, control characters, and anything above 0x7E.
  @inline(__always)
  package static func invisibles(_ word: UInt64) -> UInt64 {
    let ascii = word & ~highs
    let isDelete = ascii &+ ones
    let isVisible = ascii &+ ones &* (0x80 - 0x21)
    return (isDelete | ~isVisible | word) & highs
  }

  /// Marks everything but ASCII letters and `-`, which is nearly all that field names are made of.
  @inline(__always)
  package static func notNameLetters(_ word: UInt64) -> UInt64 {
    let ascii = word & ~highs
    let folded = ascii | (ones &* 0x20)
    let letters = (folded &+ ones &* (0x80 - 0x61)) & ~(folded &+ ones &* (0x80 - 0x7B))
    let hyphens = ~((ascii ^ (ones &* 0x2D)) &+ ones &* 0x7F)
    return (~(letters | hyphens) | word) & highs
  }

  /// Marks everything but ASCII letters, digits, `-`, `.` and `/`, which is nearly all that paths are made of.
  @inline(__always)
  package static func notPathCharacters(_ word: UInt64) -> UInt64 {
    let ascii = word & ~highs
    let folded = ascii | (ones &* 0x20)
    let letters = (folded &+ ones &* (0x80 - 0x61)) & ~(folded &+ ones &* (0x80 - 0x7B))
    // There is nothing else from `-` to `9`.
    let others = (ascii &+ ones &* (0x80 - 0x2D)) & ~(ascii &+ ones &* (0x80 - 0x3A))
    return (~(letters | others) | word) & highs
  }

  /// Whether eight bytes equal eight characters that are lower-case letters or below `@`, ignoring case.
  @inline(__always)
  package static func areSameLetters(_ word: UInt64, _ small: UInt64) -> Bool {
    // A letter has the bit 0x40; there, and only there, the bit 0x20 may differ.
    (word ^ small) & ~((small & (ones &* 0x40)) &>> 1) == 0
  }

  @inline(__always)
  package static func isSameLetter(_ byte: UInt8, _ small: UInt8) -> Bool {
    (byte ^ small) & ~((small & 0x40) &>> 1) == 0
  }

  /// The position, in memory order, of the first marked byte of a test that is not zero.
  @inline(__always)
  package static func firstIndex(_ marks: UInt64) -> Int { marks.trailingZeroBitCount &>> 3 }
}
