// SPDX-License-Identifier: MIT

/// The origin of a request as the browser states it (RFC 6454 §7), parsed in place: `https://example.com:8443`, or
/// `null`.
///
/// The grammar allows a list; no browser sends one, and it is refused.
package struct Origin {
  /// The value as it came.
  package let bytes: ByteView
  private let schemeEnd: Int
  /// Nil when the browser hides the origin: a sandboxed page, a local file.
  private let authority: Authority?

  /// - Throws: `HTTPParseError.malformedOrigin`.
  package init(_ value: ByteView) throws(HTTPParseError) {
    bytes = value
    if value.equals("null") {
      schemeEnd = 0
      authority = nil
      return
    }
    let end = value.firstIndex(of: ASCII.colon) ?? 0
    guard end > 0, end + 3 < value.count, value[end..<end + 3].equals("://"), Self.isScheme(value[0..<end]),
      let authority = Authority(value[end + 3..<value.count])
    else { throw .malformedOrigin }
    schemeEnd = end
    self.authority = authority
  }

  /// Whether it is the origin that a connection serves with this host and port (RFC 6454 §5): the scheme is `https`
  /// with TLS and `http` without, and a missing port is the scheme's.
  package func matches(host: ByteView, port: UInt16?, isSecured: Bool) -> Bool {
    guard let authority, authority.host.equalsIgnoringCase(host) else { return false }
    let (scheme, ownPort): (StaticString, UInt16) = isSecured ? ("https", 443) : ("http", 80)
    return bytes[0..<schemeEnd].equalsIgnoringCase(scheme) && (authority.port ?? ownPort) == (port ?? ownPort)
  }

  /// A letter, then letters, digits, `+`, `-`, `.` (RFC 3986 §3.1).
  private static func isScheme(_ text: ByteView) -> Bool {
    text.allSatisfy { byte in
      ASCII.lowercased(byte) &- 0x61 < 26 || ASCII.isDigit(byte) || byte == ASCII.plus || byte == ASCII.hyphen
        || byte == ASCII.dot
    } && ASCII.lowercased(text[0]) &- 0x61 < 26
  }
}
