// SPDX-License-Identifier: MIT

/// What a proxy says about a connection before its first byte: the header of the PROXY protocol, version 1 or 2
/// (haproxy.org, "The PROXY protocol").
///
/// A header is required, never guessed: bytes that are none are an error, however they would be understood otherwise.
package struct ProxyHeader: Equatable, Sendable {
  /// Where a connection comes from.
  package enum Source: Equatable, Sendable {
    /// From a client of the proxy.
    case client(IPAddress, port: UInt16)
    /// From a client whose address the proxy does not know, or that has none.
    case unknown
    /// From the proxy itself, as with its probes.
    case proxy
  }

  package let source: Source
  /// The bytes of the header.
  package let length: Int

  /// The longest header that is taken: some hundred bytes are usual, and extensions may carry names of certificates.
  package static let mostBytes = 4 << 10
  /// The longest header of version 1, with its line end.
  private static let mostTextBytes = 107

  private static var signature: ByteView { ByteView("\r\n\r\n\0\r\nQUIT\n") }

  /// Reads the header that the bytes begin with; nil when more of them are needed.
  package static func parse(_ bytes: ByteView) throws(ProxyHeaderError) -> ProxyHeader? {
    guard bytes.count > 0 else { return nil }
    let isBinary = bytes.byte(at: 0) == ASCII.cr
    let beginning = isBinary ? signature : ByteView("PROXY ")
    let common = min(bytes.count, beginning.count)
    guard bytes[0..<common].equals(beginning[0..<common]) else { throw .missing }
    guard common == beginning.count else { return nil }
    return isBinary ? try binary(bytes) : try text(bytes)
  }

  // MARK: Version 1

  /// `PROXY TCP4 192.0.2.1 198.51.100.2 50000 443` and CRLF.
  private static func text(_ bytes: ByteView) throws(ProxyHeaderError) -> ProxyHeader? {
    let searched = min(bytes.count, mostTextBytes)
    guard let end = bytes[0..<searched].firstIndex(of: ASCII.cr), end + 1 < searched else {
      guard bytes.count < mostTextBytes else { throw .tooLong }
      return nil
    }
    guard bytes.byte(at: end + 1) == ASCII.lf else { throw .malformed }
    return ProxyHeader(source: try source(bytes[6..<end]), length: end + 2)
  }

  private static func source(_ line: ByteView) throws(ProxyHeaderError) -> Source {
    var rest = line
    let family = rest.takeWord()
    // Whatever stands behind it means nothing.
    if family.equals("UNKNOWN") { return .unknown }
    let isIPv4 = family.equals("TCP4")
    guard isIPv4 || family.equals("TCP6") else { throw .malformed }
    func address() -> IPAddress? {
      let word = rest.takeWord()
      return isIPv4 ? IPAddress.ipv4(word).map { IPAddress(ipv4: $0) } : IPAddress.ipv6(word)
    }
    guard let client = address(), address() != nil, let port = Self.port(rest.takeWord()), Self.port(rest) != nil
    else {
      throw .malformed
    }
    return .client(client, port: port)
  }

  private static func port(_ word: ByteView) -> UInt16? {
    guard word.count == 1 || word.count > 1 && word.byte(at: 0) != ASCII.zero else { return nil }
    return Authority.port(word)
  }

  // MARK: Version 2

  /// The signature, version and command, family and transport, the length of the rest; addresses; extensions.
  private static func binary(_ bytes: ByteView) throws(ProxyHeaderError) -> ProxyHeader? {
    let fixed = 16
    guard bytes.count > 12 else { return nil }
    let (version, command) = (bytes.byte(at: 12) >> 4, bytes.byte(at: 12) & 0xF)
    guard version == 2, command <= 1 else { throw .unsupported }
    guard bytes.count > 13 else { return nil }
    let (family, transport) = (bytes.byte(at: 13) >> 4, bytes.byte(at: 13) & 0xF)
    // For a connection of the proxy itself the family is ignored, whatever it is (§2.2, LOCAL).
    guard command == 0 || family <= 3 && transport <= 2 else { throw .malformed }
    guard bytes.count >= fixed else { return nil }
    let length = fixed + Int(bytes.number(at: 14, bytes: 2))
    guard length <= mostBytes else { throw .tooLong }
    // What the addresses take; none are there without a transport.
    let isKnown = command == 1 && family > 0 && transport > 0
    guard !isKnown || length >= fixed + [0, 12, 36, 216][Int(family)] else { throw .malformed }
    guard bytes.count >= length else { return nil }
    guard command == 1 else { return ProxyHeader(source: .proxy, length: length) }
    let source: Source =
      // A receiver falls back to an unknown client for what it does not handle: datagrams, unix sockets (§2.2).
      switch (isKnown && transport == 1, family) {
      case (true, 1):
        .client(
          IPAddress(ipv4: UInt32(truncatingIfNeeded: bytes.number(at: 16, bytes: 4))), port: bytes.port(at: 24))
      case (true, 2):
        .client(
          IPAddress(high: bytes.number(at: 16, bytes: 8), low: bytes.number(at: 24, bytes: 8)), port: bytes.port(at: 48)
        )
      default: .unknown
      }
    return ProxyHeader(source: source, length: length)
  }
}

/// Why bytes are no header of the PROXY protocol that is served here; nothing is answered to them.
package enum ProxyHeaderError: Error, Equatable, Sendable, CustomStringConvertible {
  /// They do not begin with one.
  case missing
  /// It has other parts than it may have.
  case malformed
  /// A version or command that is not served.
  case unsupported
  /// It is longer than ``ProxyHeader/mostBytes``, or than its version allows.
  case tooLong

  /// A phrase for a log.
  package var description: String {
    switch self {
    case .missing: "no header of the PROXY protocol"
    case .malformed: "a malformed header of the PROXY protocol"
    case .unsupported: "a version or command of the PROXY protocol that is not served"
    case .tooLong: "a header of the PROXY protocol that is too long"
    }
  }
}

extension ByteView {
  /// Removes the bytes up to the first space, which goes with them, and returns them.
  fileprivate mutating func takeWord() -> ByteView {
    let end = firstIndex(of: ASCII.space) ?? count
    defer { self = self[Swift.min(end + 1, count)..<count] }
    return self[0..<end]
  }

  /// A number, its most significant byte first.
  fileprivate func number(at offset: Int, bytes: Int) -> UInt64 {
    self[offset..<offset + bytes].reduce(0) { $0 << 8 | UInt64($1) }
  }

  fileprivate func port(at offset: Int) -> UInt16 { UInt16(truncatingIfNeeded: number(at: offset, bytes: 2)) }
}
