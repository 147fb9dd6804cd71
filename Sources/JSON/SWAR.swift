// SPDX-License-Identifier: MIT

/// SIMD within a register, eight bytes at a time: the arithmetic with which the scanners step over long runs of plain bytes.
///
/// Each test sets the high bit of every byte that matches. Borrows can also set bits *above* a match, never below
/// one, so the lowest set bit is always exact, and on a little-endian word that is the first byte in memory.
enum SWAR {
  static let ones: UInt64 = 0x0101_0101_0101_0101
  static let highs: UInt64 = 0x8080_8080_8080_8080

  /// Marks bytes that end the plain part of a JSON string: control characters, `"`, `\` and anything not ASCII.
  @inline(__always)
  static func stringSpecials(_ word: UInt64) -> UInt64 {
    let control = word &- ones &* 0x20
    let quote = (word ^ (ones &* 0x22)) &- ones
    let backslash = (word ^ (ones &* 0x5C)) &- ones
    return (control | quote | backslash | word) & highs
  }

  /// Marks bytes that must be escaped when a string is written: control characters, `"` and `\`.
  @inline(__always)
  static func mustEscape(_ word: UInt64) -> UInt64 {
    let control = word &- ones &* 0x20
    let quote = (word ^ (ones &* 0x22)) &- ones
    let backslash = (word ^ (ones &* 0x5C)) &- ones
    return (control | quote | backslash) & ~word & highs
  }

  /// Marks `"` and `\`: the end of a string, or an escape in it, in a text that is known to be valid.
  @inline(__always)
  static func quoteOrBackslash(_ word: UInt64) -> UInt64 {
    let quote = (word ^ (ones &* 0x22)) &- ones
    let backslash = (word ^ (ones &* 0x5C)) &- ones
    return (quote | backslash) & ~word & highs
  }

  /// The index, in memory order, of the first marked byte of a test that is not zero.
  @inline(__always)
  static func firstIndex(_ marks: UInt64) -> Int {
    marks.trailingZeroBitCount >> 3
  }
}

extension Span<UInt8> {
  /// The byte at an offset that the caller has just compared with `count`.
  @inline(__always)
  func byte(at offset: Int) -> UInt8 {
    assert(offset >= 0 && offset < count)
    // Unchecked: every caller has compared with `count` before; the assertion repeats it in debug builds.
    return unsafe self[unchecked: offset]
  }

  /// Eight bytes from an offset, the first in the lowest place; the caller knows that `offset + 8 <= count`.
  @inline(__always)
  func word(at offset: Int) -> UInt64 {
    assert(offset >= 0 && offset + 8 <= count)
    // Unchecked: as above. Any eight bytes are a valid UInt64.
    return UInt64(littleEndian: unsafe bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt64.self))
  }

  /// Four bytes from an offset, the first in the lowest place; missing ones, past the end, are zero.
  @inline(__always)
  func halfWord(at offset: Int) -> UInt32 {
    if offset + 4 <= count {
      // Unchecked: just compared. Any four bytes are a valid UInt32.
      return UInt32(littleEndian: unsafe bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt32.self))
    }
    var value: UInt32 = 0
    var shift: UInt32 = 0
    var index = offset
    while index < count {
      value |= UInt32(byte(at: index)) << shift
      shift += 8
      index += 1
    }
    return value
  }

  /// Whether two spans hold the same bytes; O(1) when they are the same memory.
  @inline(__always)
  func equals(_ other: Span<UInt8>) -> Bool {
    count == other.count && (isIdentical(to: other) || startsEqual(other, count: count))
  }

  /// Whether the first `length` bytes are the same; both spans have at least that many.
  func startsEqual(_ other: Span<UInt8>, count length: Int) -> Bool {
    precondition(length <= count && length <= other.count)
    var index = 0
    while index + 8 <= length {
      if word(at: index) != other.word(at: index) { return false }
      index += 8
    }
    // The last eight, some of which are known to be equal.
    if length >= 8 { return index == length || word(at: length - 8) == other.word(at: length - 8) }
    while index < length {
      if byte(at: index) != other.byte(at: index) { return false }
      index += 1
    }
    return true
  }
}
