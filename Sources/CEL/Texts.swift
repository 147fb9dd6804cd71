// SPDX-License-Identifier: MIT

/// Comparing and searching UTF-8 by bytes, which finds the same as by code points.
enum Texts {
  static func areEqual(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Bool {
    left.count == right.count && hasPrefix(left, right)
  }

  /// Whether the bytes of `part` are those of `text` from an offset on.
  static func hasPrefix(_ text: Span<UInt8>, _ part: Span<UInt8>, at offset: Int = 0) -> Bool {
    guard offset >= 0, part.count <= text.count - offset else { return false }
    for index in 0..<part.count where text[offset + index] != part[index] { return false }
    return true
  }

  static func hasSuffix(_ text: Span<UInt8>, _ part: Span<UInt8>) -> Bool {
    part.count <= text.count && hasPrefix(text, part, at: text.count - part.count)
  }

  /// Negative, zero or positive, as `left` sorts before, with or after `right`.
  static func compare(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Int {
    for index in 0..<min(left.count, right.count) where left[index] != right[index] {
      return Int(left[index]) - Int(right[index])
    }
    return left.count - right.count
  }

  /// The first offset, from `start` on, at which `part` is found, nil when there is none; and what the search costs.
  ///
  /// Text × part at worst, as the language allows; so it stops, with a cost above it, at a limit.
  static func find(
    _ part: Span<UInt8>, in text: Span<UInt8>, from start: Int = 0, limit: Int = .max
  ) -> (offset: Int?, cost: Int) {
    guard start >= 0, part.count <= text.count - start else { return (nil, 1) }
    guard part.count > 0 else { return (start, 1) }
    let first = part[0]
    var offset = start
    var compared = 0
    while offset <= text.count - part.count {
      if text[offset] == first {
        var length = 1
        while length < part.count, text[offset + length] == part[length] { length += 1 }
        if length == part.count { return (offset, (offset - start + compared) / 8) }
        compared += length
        if compared / 8 > limit { break }
      }
      offset += 1
    }
    return (nil, (offset - start + compared) / 8)
  }

  /// The number of code points.
  static func length(_ text: Span<UInt8>) -> Int {
    var count = 0
    for index in 0..<text.count where text[index] & 0xC0 != 0x80 { count += 1 }
    return count
  }

  /// FNV-1a.
  static func hash(_ text: Span<UInt8>) -> UInt64 {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for index in 0..<text.count { hash = (hash ^ UInt64(text[index])) &* 0x100_0000_01B3 }
    return hash
  }
}
