// SPDX-License-Identifier: MIT

/// How the bytes of paths are ordered, compared and abbreviated.
///
/// "/" ranks below every other byte, so that a property and everything beneath it are
/// neighbours: `a` < `a/x` < `a-b`. All other bytes rank as they are. Paths hold no control
/// characters, so rank 1 is free for "/" and rank 0 means "the path has ended".
///
/// Two things follow, and the scans of ``PathTree`` depend on them: the least path after `p` is at
/// or after the bytes `p` + "/", and the least path after `p` and everything beneath it is at or
/// after `p` + 0x02.
enum PathOrder {
  static let slash = UInt8(ascii: "/")

  /// A byte that ranks above "/" and below every byte a path can hold.
  static let afterSubtree: UInt8 = 0x02

  static func rank(_ byte: UInt8) -> UInt8 {
    byte == slash ? 1 : byte
  }

  /// Whether `a` comes before `b`; the first `start` bytes are known to be equal.
  static func isLess(_ a: Span<UInt8>, _ b: Span<UInt8>, from start: Int = 0) -> Bool {
    let common = min(a.count, b.count)
    let index = commonPrefix(a, b, from: start)
    guard index < common else { return a.count < b.count }
    return rank(a[index]) < rank(b[index])
  }

  /// The number of bytes that `a` and `b` have in common at their beginning, given that the first
  /// `start` are.
  static func commonPrefix(_ a: Span<UInt8>, _ b: Span<UInt8>, from start: Int = 0) -> Int {
    let common = min(a.count, b.count)
    var index = start
    while index &+ 8 <= common {
      let difference = word(a, at: index) ^ word(b, at: index)
      if difference != 0 { return index &+ difference.leadingZeroBitCount / 8 }
      index &+= 8
    }
    if common >= 8, index < common {
      // The last eight, some of which are known to be equal.
      let difference = word(a, at: common &- 8) ^ word(b, at: common &- 8)
      return difference == 0 ? common : common &- 8 &+ difference.leadingZeroBitCount / 8
    }
    while index < common, a[index] == b[index] { index &+= 1 }
    return index
  }

  static func isEqual(_ a: Span<UInt8>, _ b: Span<UInt8>) -> Bool {
    a.count == b.count && commonPrefix(a, b) == a.count
  }

  /// The ranks of the eight bytes from `start` on as one number, most significant first.
  ///
  /// When two heads differ, they are ordered like the paths (whose first `start` bytes are
  /// equal); when they are equal, nothing is known. A path that has ended is padded with 0.
  static func head(_ bytes: Span<UInt8>, from start: Int) -> UInt64 {
    let missing = start &+ 8 &- bytes.count
    if missing <= 0 { return ranked(word(bytes, at: start)) }
    if missing < 8, bytes.count >= 8 {
      // The last eight, without those before `start`.
      return ranked(word(bytes, at: bytes.count &- 8)) &<< UInt64(missing &* 8)
    }
    var head: UInt64 = 0
    var shift: UInt64 = 56
    var index = start
    while index < bytes.count {
      head |= UInt64(rank(bytes[index])) &<< shift
      shift &-= 8
      index &+= 1
    }
    return head
  }

  /// Eight bytes, the first most significant.
  ///
  /// - Parameter index: At least 0, and at most 8 less than the count.
  private static func word(_ bytes: Span<UInt8>, at index: Int) -> UInt64 {
    // Unchecked: the caller has compared the offset with the count. Any eight bytes are a valid UInt64.
    unsafe UInt64(
      bigEndian: bytes.bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: index, as: UInt64.self))
  }

  /// The word with every 0x2F turned into 0x01, the other bytes as they are.
  private static func ranked(_ word: UInt64) -> UInt64 {
    let low: UInt64 = 0x7F7F_7F7F_7F7F_7F7F
    let difference = word ^ 0x2F2F_2F2F_2F2F_2F2F
    // 0x80 in exactly those bytes whose difference is zero; no carry crosses a byte.
    let slashes = ~(((difference & low) &+ low) | difference | low)
    return word &- (slashes &>> 7) &* 0x2E
  }
}

extension PropertyPath {
  func isEqual(to path: Span<UInt8>) -> Bool {
    PathOrder.isEqual(bytes.span, path)
  }

  /// Whether this path comes before the bytes, of which the first `start` are equal.
  func isBefore(_ path: Span<UInt8>, from start: Int) -> Bool {
    PathOrder.isLess(bytes.span, path, from: start)
  }

  func commonPrefix(with path: PropertyPath) -> Int {
    PathOrder.commonPrefix(bytes.span, path.bytes.span)
  }

  func head(from start: Int) -> UInt64 {
    PathOrder.head(bytes.span, from: start)
  }
}
