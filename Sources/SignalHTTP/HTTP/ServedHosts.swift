// SPDX-License-Identifier: MIT

/// The host names for which a server answers (RFC 9110 §7.4).
///
/// To a browser, a page of `evil.example` whose name has been rebound to 127.0.0.1 has the same origin as a server
/// there. It can be recognized by the name in `Host`, so that is what is checked. The port is not: a forwarded one may
/// be any.
package struct ServedHosts: Sendable {
  /// What a server listens on.
  package struct Listening: Sendable {
    /// Names and addresses, an IPv6 address with or without brackets.
    package let names: [String]
    /// Every address of the machine.
    package let isEverywhere: Bool

    package init(names: [String], isEverywhere: Bool) {
      self.names = names
      self.isEverywhere = isEverywhere
    }
  }

  private let isAny: Bool
  /// Any address is served: an address cannot be rebound, and which of them lead here is not known behind a forwarded
  /// port.
  private let hasEveryAddress: Bool
  /// All names, concatenated, so that searching them accesses no other memory and counts no references.
  private let text: [UInt8]
  private let names: [Range<Int>]

  /// - Parameter listed: Names and addresses besides those listened on and the loopback interface's own; `*` is all.
  package init(_ listed: [String], listeningOn listening: Listening) {
    isAny = listed.contains("*")
    hasEveryAddress = listening.isEverywhere
    var text: [UInt8] = []
    // The names that are in nearly every request come first.
    names = (["localhost", "127.0.0.1", "::1"] + listening.names + listed).map { name in
      let start = text.count
      text += Array((name.contains(":") && !name.hasPrefix("[") ? "[\(name)]" : name).utf8)
      return start..<text.count
    }
    self.text = text
  }

  /// Whether `*.example.com`, from a certificate, matches a name: one with exactly one label in its place (RFC 6125
  /// §6.4.3).
  private func covers(_ pattern: ByteView, _ name: ByteView) -> Bool {
    guard pattern.count > 2, pattern.byte(at: 1) == ASCII.dot, let dot = name.firstIndex(of: ASCII.dot), dot > 0 else {
      return false
    }
    return name[dot..<name.count].equalsIgnoringCase(pattern[1..<pattern.count])
  }

  /// Whether a request for this host, without its port, is served.
  ///
  /// A request without a host, which only HTTP/1.0 allows, is served: no browser sends one.
  package func contains(_ host: ByteView) -> Bool {
    if isAny || host.count == 0 { return true }
    // A trailing dot only means that the name is complete.
    let name = host.byte(at: host.count - 1) == ASCII.dot ? host[0..<host.count - 1] : host
    let isListed = text.withView { text in
      names.contains { range in
        if range.count == name.count, text[range].equalsIgnoringCase(name) { return true }
        return text[range.lowerBound] == ASCII.asterisk && covers(text[range], name)
      }
    }
    if isListed { return true }
    guard Authority.isAddress(name) else { return false }
    return hasEveryAddress || name[0..<4].equals("127.")
  }
}
