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
    guard let close = bytes.firstIndex(of: ASCII.closeBracket), IPAddress.ipv6(bytes[1..<close]) != nil else {
      return nil
    }
    return close + 1
  }

  /// The number of a port; nil when it is none.
  static func port(_ digits: ByteView) -> UInt16? {
    guard (1...5).contains(digits.count) else { return nil }
    var value = 0
    for index in 0..<digits.count {
      let digit = digits.byte(at: index)
      guard ASCII.isDigit(digit) else { return nil }
      value = value &* 10 &+ Int(digit &- ASCII.zero)
    }
    return UInt16(exactly: value)
  }

  /// Whether a host is an address and not a name.
  static func isAddress(_ host: ByteView) -> Bool {
    host.count > 0 && (host.byte(at: 0) == ASCII.openBracket || IPAddress.ipv4(host) != nil)
  }
}
