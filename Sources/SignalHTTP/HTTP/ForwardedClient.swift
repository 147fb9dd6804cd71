// SPDX-License-Identifier: MIT

/// What the trusted proxies before a server say of the client of a request: in `Forwarded` (RFC 7239), or else in
/// `X-Forwarded-For` and `X-Forwarded-Proto`, which have no specification.
///
/// Each proxy appends its own peer, so the last word is that of the nearest one. From there on the addresses of trusted
/// proxies are passed over: the first that is not trusted is the client's, because whatever stands before it may have
/// been sent by the client itself. When all are trusted, the client is one of them, the first.
package struct ForwardedClient: Equatable, Sendable {
  /// Who a proxy says that its peer is.
  package enum Node: Equatable, Sendable {
    /// With port 0 if none is given.
    case address(IPAddress, port: UInt16)
    /// The proxy does not know, or does not say (RFC 7239 §6.2, §6.3).
    case unknown
  }

  /// nil when only the scheme is given.
  package let node: Node?
  /// Whether the client speaks `https`; nil when no proxy says so.
  package let isSecured: Bool?

  private init(node: Node?, isSecured: Bool?) {
    self.node = node
    self.isSecured = isSecured
  }

  /// Reads the fields of a request that came from a trusted proxy; nil when there are none.
  ///
  /// - Throws: `malformedForwarding` when what would count cannot be read, `contradictoryForwarding` when the two kinds
  ///   of fields name different clients: a proxy that knows one kind only passes the other one on as the client sent it.
  package init?(_ head: borrowing RequestHead, trusting trusted: TrustedProxies) throws(HTTPParseError) {
    let standard = try Self.standard(head, trusted)
    let customary = try Self.customary(head, trusted)
    guard let standard, let customary else {
      guard let one = standard ?? customary else { return nil }
      self = one
      return
    }
    if let one = standard.node, let other = customary.node, !one.isSame(as: other) { throw .contradictoryForwarding }
    if let one = standard.isSecured, let other = customary.isSecured, one != other { throw .contradictoryForwarding }
    self.init(node: standard.node ?? customary.node, isSecured: standard.isSecured ?? customary.isSecured)
  }

  private static func standard(
    _ head: borrowing RequestHead, _ trusted: TrustedProxies
  ) throws(HTTPParseError) -> ForwardedClient? {
    var chain = ProxyChain<ForwardedElement>(trusted)
    head.forEachElement(of: .forwarded) { element in
      let parsed = ForwardedElement(element)
      chain.append(parsed, node: parsed.map { $0.node ?? .unknown })
    }
    guard let client = chain.client else { return nil }
    guard let element = client.element else { throw .malformedForwarding }
    return ForwardedClient(node: element.node ?? .unknown, isSecured: element.isSecured)
  }

  private static func customary(
    _ head: borrowing RequestHead, _ trusted: TrustedProxies
  ) throws(HTTPParseError) -> ForwardedClient? {
    var chain = ProxyChain<Node>(trusted)
    head.forEachElement(of: .xForwardedFor) { element in
      let node = Node(customary: element)
      chain.append(node, node: node)
    }
    var node: Node?
    if let client = chain.client {
      guard let element = client.element else { throw .malformedForwarding }
      node = element
    }
    // One of them for the client alone, or one for each address.
    var schemes = 0
    var isSecured: Bool??
    head.forEachElement(of: .xForwardedProto) { element in
      if schemes == 0 || schemes == chain.client?.position { isSecured = .some(Self.isSecured(element)) }
      schemes += 1
    }
    guard let isSecured else { return node.map { ForwardedClient(node: $0, isSecured: nil) } }
    guard schemes == 1 || schemes == chain.count, let isSecured else { throw .malformedForwarding }
    return ForwardedClient(node: node, isSecured: isSecured)
  }

  /// Whether a scheme is one of TLS; nil when it is none of HTTP or WebSocket.
  fileprivate static func isSecured(_ scheme: ByteView) -> Bool? {
    if scheme.equalsIgnoringCase("https") || scheme.equalsIgnoringCase("wss") { return true }
    return scheme.equalsIgnoringCase("http") || scheme.equalsIgnoringCase("ws") ? false : nil
  }
}

extension ForwardedClient.Node {
  /// Reads a node of `Forwarded` (RFC 7239 §6): an IPv6 address is in brackets, and everything may have a port.
  init?(_ text: ByteView) {
    guard text.count > 0 else { return nil }
    let isBracketed = text.byte(at: 0) == ASCII.openBracket
    let end = isBracketed ? text.firstIndex(of: ASCII.closeBracket).map { $0 + 1 } : text.firstIndex(of: ASCII.colon)
    guard let end = end ?? (isBracketed ? nil : text.count) else { return nil }
    var port: UInt16 = 0
    if end < text.count {
      guard text.byte(at: end) == ASCII.colon else { return nil }
      let digits = text[end + 1..<text.count]
      // An obfuscated port says nothing.
      if !Self.isObfuscated(digits) {
        guard let number = Authority.port(digits) else { return nil }
        port = number
      }
    }
    if isBracketed {
      guard let address = IPAddress.ipv6(text[1..<end - 1]) else { return nil }
      self = .address(address, port: port)
    } else if let address = IPAddress.ipv4(text[0..<end]) {
      self = .address(IPAddress(ipv4: address), port: port)
    } else {
      guard text[0..<end].equalsIgnoringCase("unknown") || Self.isObfuscated(text[0..<end]) else { return nil }
      self = .unknown
    }
  }

  /// Reads an element of `X-Forwarded-For`, where an IPv6 address may stand without brackets.
  init?(customary text: ByteView) {
    if let address = IPAddress.ipv6(text) {
      self = .address(address, port: 0)
    } else {
      self.init(text)
    }
  }

  /// `obfnode` and `obfport` of RFC 7239 §6: an underscore, and then letters, digits, dots, underscores and hyphens.
  private static func isObfuscated(_ text: ByteView) -> Bool {
    text.count > 1 && text.byte(at: 0) == ASCII.underscore
      && text.allSatisfy { byte in
        ASCII.isDigit(byte) || ASCII.lowercased(byte) &- 0x61 < 26 || byte == ASCII.dot || byte == ASCII.underscore
          || byte == ASCII.hyphen
      }
  }

  /// Whether two fields name the same client; of ports not all proxies tell.
  fileprivate func isSame(as other: Self) -> Bool {
    switch (self, other) {
    case (.address(let one, _), .address(let other, _)): one == other
    case (.unknown, .unknown): true
    default: false
    }
  }
}

/// An element of `Forwarded` (RFC 7239 §4): `for=192.0.2.60;proto=http;by=203.0.113.43`.
struct ForwardedElement {
  private(set) var node: ForwardedClient.Node?
  private(set) var isSecured: Bool?

  /// nil when it is malformed, or one of its parameters occurs twice.
  init?(_ element: ByteView) {
    var names: UInt8 = 0
    var index = 0
    while true {
      index = element.skipBlanks(from: index)
      let nameEnd = element.firstIndex(notIn: .token, from: index)
      if nameEnd > index {
        guard nameEnd < element.count, element.byte(at: nameEnd) == ASCII.equals else { return nil }
        let name = element[index..<nameEnd]
        let start = nameEnd + 1
        let tokenEnd = element.firstIndex(notIn: .token, from: start)
        guard let end = tokenEnd > start ? tokenEnd : QuotedString.end(in: element, from: start) else { return nil }
        let value = tokenEnd > start ? element[start..<end] : element[start + 1..<end - 1]
        guard take(name, value, &names) else { return nil }
        index = element.skipBlanks(from: end)
      }
      if index == element.count { return }
      guard element.byte(at: index) == ASCII.semicolon else { return nil }
      index += 1
    }
  }

  /// Takes a parameter; false when its value is malformed, or it has occurred before.
  private mutating func take(_ name: ByteView, _ value: ByteView, _ names: inout UInt8) -> Bool {
    var bit: UInt8 = 0
    if name.equalsIgnoringCase("for") {
      // What is escaped in a quoted string is none of the characters of an address.
      guard let node = ForwardedClient.Node(value) else { return false }
      self.node = node
      bit = 1
    } else if name.equalsIgnoringCase("proto") {
      guard let isSecured = ForwardedClient.isSecured(value) else { return false }
      self.isSecured = isSecured
      bit = 2
    } else if name.equalsIgnoringCase("by") {
      bit = 4
    } else if name.equalsIgnoringCase("host") {
      bit = 8
    }
    defer { names |= bit }
    return names & bit == 0
  }
}

/// The peers that proxies have noted, in the order of the fields, and which of them is the client.
private struct ProxyChain<Element> {
  private let trusted: TrustedProxies
  private(set) var count = 0
  /// The last that is not trusted, or else the first; its element is nil when it is malformed.
  private(set) var client: (position: Int, element: Element?)?

  init(_ trusted: TrustedProxies) { self.trusted = trusted }

  /// - Parameter node: nil when the element is malformed.
  mutating func append(_ element: Element?, node: ForwardedClient.Node?) {
    if client == nil || !isTrusted(node) { client = (count, element) }
    count += 1
  }

  private func isTrusted(_ node: ForwardedClient.Node?) -> Bool {
    if case .address(let address, _)? = node { trusted.contains(address) } else { false }
  }
}

extension ByteView {
  /// The offset of the first byte from an offset on that is neither space nor tab.
  fileprivate func skipBlanks(from offset: Int) -> Int {
    var index = offset
    while index < count, ASCII.isBlank(byte(at: index)) { index += 1 }
    return index
  }
}
