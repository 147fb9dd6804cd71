// SPDX-License-Identifier: MIT

/// The content of a string or key in a valid text: where it is, and how to read it unescaped, byte by byte.
///
/// Surrogate escapes are joined when a high one is followed by a low one; a lone one reads as U+FFFD.
struct StringContent {
  /// The bytes between the quotes.
  let range: Range<Int>
  /// Whether there is a backslash among them.
  let hasEscape: Bool

  @inline(__always)
  init(_ record: JSONTree.Record) {
    range = record.content
    hasEscape = record.flag
  }

  /// Whether the unescaped content is exactly these UTF-8 bytes.
  @inline(__always)
  func equals(_ other: Span<UInt8>, in source: Span<UInt8>) -> Bool {
    if !hasEscape {
      return range.count == other.count && source.extracting(range).startsEqual(other, count: other.count)
    }
    return equalsUnescaped(other, in: source)
  }

  private func equalsUnescaped(_ other: Span<UInt8>, in source: Span<UInt8>) -> Bool {
    // Unescaping never makes a string longer.
    guard other.count <= range.count else { return false }
    var reader = Reader(range)
    for index in 0..<other.count {
      guard reader.next(in: source) == other.byte(at: index) else { return false }
    }
    return reader.next(in: source) == nil
  }

  /// The unescaped bytes.
  func unescaped(in source: Span<UInt8>) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(range.count)
    var reader = Reader(range)
    while let byte = reader.next(in: source) { bytes.append(byte) }
    return bytes
  }

  /// Reads the content one unescaped byte at a time.
  struct Reader {
    private var position: Int
    private let end: Int
    /// The rest of the UTF-8 form of an escape, the next byte lowest; zero when there is none.
    private var pending: UInt32 = 0
    /// Whether an escape of half a surrogate pair has been read.
    private(set) var hasLoneSurrogate = false

    @inline(__always)
    init(_ range: Range<Int>) {
      position = range.lowerBound
      end = range.upperBound
    }

    @inline(__always)
    mutating func next(in source: Span<UInt8>) -> UInt8? {
      if pending != 0 {
        let byte = UInt8(truncatingIfNeeded: pending)
        pending >>= 8
        return byte
      }
      guard position < end else { return nil }
      let byte = source[position]
      position += 1
      return byte == UInt8(ascii: "\\") ? escape(in: source) : byte
    }

    private mutating func escape(in source: Span<UInt8>) -> UInt8 {
      guard position < end else { return UInt8(ascii: "\\") }
      let byte = source[position]
      position += 1
      switch byte {
      case UInt8(ascii: "b"): return 0x08
      case UInt8(ascii: "f"): return 0x0C
      case UInt8(ascii: "n"): return 0x0A
      case UInt8(ascii: "r"): return 0x0D
      case UInt8(ascii: "t"): return 0x09
      case UInt8(ascii: "u"): return utf8(of: scalar(in: source))
      default: return byte
      }
    }

    /// The scalar of an escape, or of a pair of them, whose `\u` has been read.
    private mutating func scalar(in source: Span<UInt8>) -> UInt32 {
      let unit = codeUnit(in: source)
      guard unit & 0xF800 == 0xD800 else { return unit }
      guard unit < 0xDC00, position + 6 <= end, source[position] == UInt8(ascii: "\\"),
        source[position + 1] == UInt8(ascii: "u")
      else { return replacement() }
      let resume = position
      position += 2
      let low = codeUnit(in: source)
      guard low & 0xFC00 == 0xDC00 else {
        // The other escape stands for itself.
        position = resume
        return replacement()
      }
      return 0x1_0000 + (unit & 0x3FF) << 10 + low & 0x3FF
    }

    /// Stands for half a surrogate pair.
    private mutating func replacement() -> UInt32 {
      hasLoneSurrogate = true
      return 0xFFFD
    }

    private mutating func codeUnit(in source: Span<UInt8>) -> UInt32 {
      var unit: UInt32 = 0
      var digits = 0
      while digits < 4, position < end {
        unit = unit << 4 | UInt32(source[position].hexDigit ?? 0)
        position += 1
        digits += 1
      }
      return unit
    }

    /// The first byte of a scalar's UTF-8 form; the others become pending.
    private mutating func utf8(of scalar: UInt32) -> UInt8 {
      let tail = 0x80 | scalar & 0x3F
      if scalar < 0x80 { return UInt8(truncatingIfNeeded: scalar) }
      if scalar < 0x800 {
        pending = tail
        return UInt8(truncatingIfNeeded: 0xC0 | scalar >> 6)
      }
      let middle = 0x80 | scalar >> 6 & 0x3F
      if scalar < 0x1_0000 {
        pending = middle | tail << 8
        return UInt8(truncatingIfNeeded: 0xE0 | scalar >> 12)
      }
      pending = (0x80 | scalar >> 12 & 0x3F) | middle << 8 | tail << 16
      return UInt8(truncatingIfNeeded: 0xF0 | scalar >> 18)
    }
  }
}
