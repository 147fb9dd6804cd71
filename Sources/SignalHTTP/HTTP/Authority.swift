// SPDX-License-Identifier: MIT

/// A host with an optional port, as in `Host` (RFC 9110 §7.2) and in a target (RFC 9112 §3.2).
///
/// A host is a name of unreserved characters, an IPv4 address (which is such a name), or an IPv6 address in brackets.
/// User information, an empty host, `sub-delims` and percent-encoding are refused, and so are zones and addresses of
/// future versions: no server name here contains them.
package struct Authority {
  /// The host, an IPv6 address with its brackets.
  package let host: ByteView
  /// The port, if there is one; `example.com:` has none.
  package let port: UInt16?

  /// Nil if the bytes are not a host with an optional port.
  package init?(_ bytes: ByteView) {
    guard let end = Self.hostEnd(bytes), end > 0 else { return nil }
    host = bytes[0..<end]
    if end == bytes.count {
      port = nil
      return
    }
    guard bytes.byte(at: end) == ASCII.colon else { return nil }
    let digits = bytes[end + 1..<bytes.count]
    if digits.count == 0 {
      port = nil
      return
    }
    guard let port = Self.port(digits) else { return nil }
    self.port = port
  }

  private static func hostEnd(_ bytes: ByteView) -> Int? {
    guard bytes.count > 0 else { return nil }
    guard bytes.byte(at: 0) == ASCII.openBracket else { return bytes.firstIndex(notIn: .registeredName, from: 0) }
    guard let close = bytes.firstIndex(of: ASCII.closeBracket), isIPv6(bytes[1..<close]) else { return nil }
    return close + 1
  }

  private static func port(_ digits: ByteView) -> UInt16? {
    guard digits.count <= 5 else { return nil }
    var value = 0
    for index in 0..<digits.count {
      let digit = digits.byte(at: index)
      guard ASCII.isDigit(digit) else { return nil }
      value = value &* 10 &+ Int(digit &- ASCII.zero)
    }
    return UInt16(exactly: value)
  }

  /// `IPv6address` of RFC 3986 §3.2.2: eight groups of one to four digits, one run of zero groups abbreviated as `::`,
  /// the last two groups optionally as an IPv4 address.
  static func isIPv6(_ text: ByteView) -> Bool {
    var groups = 0
    var hasGap = false
    var index = 0
    if text.count >= 2, text.byte(at: 0) == ASCII.colon {
      guard text.byte(at: 1) == ASCII.colon else { return false }
      hasGap = true
      index = 2
    }
    while index < text.count {
      let start = index
      while index < text.count, ASCII.hexValue(text.byte(at: index)) != nil { index += 1 }
      if index < text.count, text.byte(at: index) == ASCII.dot {
        guard isIPv4(text[start..<text.count]) else { return false }
        groups += 2
        break
      }
      guard index > start, index - start <= 4 else { return false }
      groups += 1
      if index == text.count { break }
      guard text.byte(at: index) == ASCII.colon, index + 1 < text.count else { return false }
      index += 1
      if text.byte(at: index) == ASCII.colon {
        guard !hasGap else { return false }
        hasGap = true
        index += 1
      }
    }
    return hasGap ? groups <= 7 : groups == 8
  }

  /// Whether a host is an address and not a name.
  static func isAddress(_ host: ByteView) -> Bool {
    host.count > 0 && (host.byte(at: 0) == ASCII.openBracket || isIPv4(host))
  }

  /// Four decimal numbers up to 255, without leading zeros.
  private static func isIPv4(_ text: ByteView) -> Bool {
    var parts = 0
    var value = -1
    for byte in text {
      if byte == ASCII.dot {
        guard value >= 0 else { return false }
        parts += 1
        value = -1
      } else {
        guard ASCII.isDigit(byte), value != 0 else { return false }
        value = max(value, 0) * 10 + Int(byte - ASCII.zero)
        guard value <= 255 else { return false }
      }
    }
    return parts == 3 && value >= 0
  }
}
