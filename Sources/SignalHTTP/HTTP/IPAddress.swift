// SPDX-License-Identifier: MIT

/// An IPv4 or IPv6 address.
///
/// An IPv4 address is kept as the IPv6 address that it is mapped to (RFC 4291 §2.5.5.2), so that `10.0.0.1` and
/// `::ffff:10.0.0.1`, which a socket of both families reports, are equal.
public struct IPAddress: Sendable, Hashable, CustomStringConvertible {
  /// The 128 bits, the first of them the most significant.
  let high: UInt64
  let low: UInt64

  /// The bits that IPv4 addresses begin with in `low`, and their number in both words.
  private static let mapped: UInt64 = 0xFFFF << 32
  static let mappedBits = 96

  /// - Parameters:
  ///   - high: The first eight bytes, the first of them the most significant.
  ///   - low: The other eight.
  init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// - Parameter ipv4: The four bytes, the first of them the most significant.
  init(ipv4: UInt32) { self.init(high: 0, low: Self.mapped | UInt64(ipv4)) }

  /// Reads `192.0.2.1` or `2001:db8::1`, without brackets, zone or port; nil for anything else.
  package init?(_ text: ByteView) {
    if let ipv4 = Self.ipv4(text) {
      self.init(ipv4: ipv4)
      return
    }
    guard let address = Self.ipv6(text) else { return nil }
    self = address
  }

  /// The IPv4 address; nil for one of IPv6.
  var ipv4: UInt32? { high == 0 && low & ~0xFFFF_FFFF == Self.mapped ? UInt32(truncatingIfNeeded: low) : nil }

  /// Whether it is this machine's own (RFC 1122 §3.2.1.3, RFC 4291 §2.5.3).
  var isLoopback: Bool { ipv4.map { $0 >> 24 == 127 } ?? (high == 0 && low == 1) }

  /// As in a URL, but without brackets: `192.0.2.1`, `2001:db8::1` (RFC 5952 §4).
  public var description: String {
    if let ipv4 { return (0..<4).map { "\(ipv4 >> (24 - 8 * UInt32($0)) & 0xFF)" }.joined(separator: ".") }
    let groups = (0..<8).map { UInt16(truncatingIfNeeded: ($0 < 4 ? high : low) >> UInt64(48 - 16 * ($0 % 4))) }
    let run = Self.longestRunOfZeros(groups)
    func text(_ range: Range<Int>) -> String {
      groups[range].map { String($0, radix: 16) }.joined(separator: ":")
    }
    return run.isEmpty ? text(0..<8) : "\(text(0..<run.lowerBound))::\(text(run.upperBound..<8))"
  }

  /// The first of the longest runs of at least two groups that are zero; empty when there is none.
  private static func longestRunOfZeros(_ groups: [UInt16]) -> Range<Int> {
    var longest = 0..<0
    var start = 0
    while start < groups.count {
      var end = start
      while end < groups.count, groups[end] == 0 { end += 1 }
      if end - start > max(longest.count, 1) { longest = start..<end }
      start = end + 1
    }
    return longest
  }

  // MARK: Parsing

  /// Four decimal numbers up to 255, without leading zeros; nil for anything else.
  static func ipv4(_ text: ByteView) -> UInt32? {
    var address: UInt32 = 0
    var parts = 0
    var value = -1
    for byte in text {
      if byte == ASCII.dot {
        guard value >= 0, parts < 3 else { return nil }
        address = address << 8 | UInt32(value)
        parts += 1
        value = -1
      } else {
        guard ASCII.isDigit(byte), value != 0 else { return nil }
        value = max(value, 0) * 10 + Int(byte - ASCII.zero)
        guard value <= 255 else { return nil }
      }
    }
    return parts == 3 && value >= 0 ? address << 8 | UInt32(value) : nil
  }

  /// `IPv6address` of RFC 3986 §3.2.2: eight groups of one to four digits, one run of zero groups abbreviated as `::`,
  /// the last two groups optionally as an IPv4 address; nil for anything else.
  static func ipv6(_ text: ByteView) -> IPAddress? {
    var groups = InlineArray<8, UInt16>(repeating: 0)
    var count = 0
    /// Where the abbreviation is.
    var gap: Int?
    var index = 0
    if text.count >= 2, text.byte(at: 0) == ASCII.colon {
      guard text.byte(at: 1) == ASCII.colon else { return nil }
      gap = 0
      index = 2
    }
    while index < text.count {
      let start = index
      var value: UInt16 = 0
      while index < text.count, let digit = ASCII.hexValue(text.byte(at: index)) {
        value = value << 4 | UInt16(digit)
        index += 1
      }
      if index < text.count, text.byte(at: index) == ASCII.dot {
        guard count <= 6, let ipv4 = ipv4(text[start..<text.count]) else { return nil }
        groups[count] = UInt16(ipv4 >> 16)
        groups[count + 1] = UInt16(truncatingIfNeeded: ipv4)
        count += 2
        break
      }
      guard index > start, index - start <= 4, count < 8 else { return nil }
      groups[count] = value
      count += 1
      if index == text.count { break }
      guard text.byte(at: index) == ASCII.colon, index + 1 < text.count else { return nil }
      index += 1
      if text.byte(at: index) == ASCII.colon {
        guard gap == nil else { return nil }
        gap = count
        index += 1
      }
    }
    guard gap == nil ? count == 8 : count <= 7 else { return nil }
    let end = gap ?? 8
    var words: (high: UInt64, low: UInt64) = (0, 0)
    for place in 0..<8 {
      // The groups behind the abbreviation are the last ones.
      let source = place < end ? place : place - (8 - count)
      let group = place < end || source >= end ? UInt64(groups[source]) : 0
      if place < 4 { words.high = words.high << 16 | group } else { words.low = words.low << 16 | group }
    }
    return IPAddress(high: words.high, low: words.low)
  }
}
