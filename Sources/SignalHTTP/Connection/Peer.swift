// SPDX-License-Identifier: MIT

/// Identifies one of a server's listeners, by its index in ``ServerConfiguration/listeners``.
public struct ListenerID: Sendable, Hashable {
  /// Counted from zero.
  public var index: Int { Int(number) }
  private let number: UInt8

  init(_ number: UInt8) { self.number = number }
}

/// What the peers of a listener have in common; one object for each loop, so that counting its references is cheap.
final class PeerListener: Sendable {
  let id: ListenerID
  let endpoint: Endpoint
  let servesConsole: Bool
  let asksForCertificates: Bool

  init(_ id: ListenerID, _ endpoint: Endpoint, servesConsole: Bool = true, asksForCertificates: Bool = false) {
    self.id = id
    self.endpoint = endpoint
    self.servesConsole = servesConsole
    self.asksForCertificates = asksForCertificates
  }

  /// That of outgoing connections, which have none.
  static let none = PeerListener(ListenerID(0), .unix(path: ""))
}

/// The client of a connection or of a request, and how it comes to the server.
///
/// Usually the other end of the socket. Where a trusted proxy says, by the PROXY protocol or in `Forwarded` and its
/// like, who its own peer is, it is that one (``TrustedProxies``). Passing it on costs one reference.
public struct Peer: Sendable, Hashable, CustomStringConvertible {
  /// Who is at the other end of a unix socket, as the system tells it.
  public struct Credentials: Sendable, Hashable {
    /// The effective user when it connected.
    public let user: UInt32
    /// The process when it connected; it may have ended, and its number may be another one's.
    public let process: Int32
  }

  /// What is known of it: one object, so that a peer is copied with each request as one reference.
  final class Facts: Sendable {
    fileprivate let numeric: PeerAddress
    fileprivate let entry: PeerListener
    fileprivate let certificate: ClientCertificate?
    fileprivate let isSecured: Bool
    fileprivate let isForwarded: Bool

    fileprivate init(
      _ numeric: PeerAddress, _ entry: PeerListener, _ certificate: ClientCertificate?, isSecured: Bool,
      isForwarded: Bool
    ) {
      self.numeric = numeric
      self.entry = entry
      self.certificate = certificate
      self.isSecured = isSecured
      self.isForwarded = isForwarded
    }
  }

  let facts: Facts

  init(_ facts: Facts) { self.facts = facts }

  private var numeric: PeerAddress { facts.numeric }
  private var entry: PeerListener { facts.entry }

  private init(
    _ numeric: PeerAddress, _ entry: PeerListener, _ certificate: ClientCertificate? = nil, isSecured: Bool,
    isForwarded: Bool = false
  ) {
    facts = Facts(numeric, entry, certificate, isSecured: isSecured, isForwarded: isForwarded)
  }

  /// The other end of an accepted socket.
  init(_ numeric: PeerAddress, of listener: PeerListener) {
    self.init(numeric, listener, isSecured: listener.endpoint.isSecured)
  }

  /// The other end of an outgoing connection.
  static let ofOutgoing = Peer(.none, of: .none)

  /// The same with the certificate that it has shown.
  func showing(_ certificate: ClientCertificate) -> Peer {
    Peer(numeric, entry, certificate, isSecured: isSecured, isForwarded: isForwarded)
  }

  /// The client that this peer, a trusted proxy, names in a request.
  ///
  /// It has neither the proxy's certificate nor its credentials.
  func naming(_ client: ForwardedClient) -> Peer {
    let named: PeerAddress =
      switch client.node {
      case .address(let address, let port)?: PeerAddress(address, port: port)
      case .unknown?: .none
      // Only the scheme is given: the address of the proxy is all that is known.
      case nil: numeric.isUnix ? .none : numeric
      }
    return Peer(named, entry, isSecured: client.isSecured ?? isSecured, isForwarded: true)
  }

  /// The client that this peer, a trusted proxy, has named before the first byte of the connection.
  func relayed(from source: ProxyHeader.Source) -> Peer {
    switch source {
    case .proxy: self
    case .client(let address, let port): Peer(PeerAddress(address, port: port), entry, isSecured: isSecured)
    // The proxy's credentials are not the client's; its address is all that is known.
    case .unknown: numeric.isUnix ? Peer(.none, entry, isSecured: isSecured) : self
    }
  }

  /// Whether it speaks `https`: to this server or, as a trusted proxy says, to that proxy.
  public var isSecured: Bool { facts.isSecured }
  /// Whether a trusted proxy that speaks HTTP is between, which has named it; TLS then ends there at the latest.
  public var isForwarded: Bool { facts.isForwarded }

  /// The listener that accepted the connection.
  public var listener: ListenerID { entry.id }

  /// Where that listener listens, as in the list of ``Server/endpoints``.
  public var endpoint: Endpoint { entry.endpoint }

  /// Whether that listener serves the console.
  var mayUseConsole: Bool { entry.servesConsole }

  /// Whether that listener asks for certificates, and it could show one: no proxy that speaks HTTP is between.
  var mayShowCertificate: Bool { entry.asksForCertificates && !isForwarded }

  /// Its address with the port; nil when it came through a unix socket, or a proxy does not know it.
  public var address: SocketAddress? { numeric.socketAddress }

  /// Its IP address alone; nil when it came through a unix socket, or a proxy does not know it.
  public var ipAddress: IPAddress? { numeric.bytes.map { IPAddress($0, isIPv4: numeric.family == .ipv4) } }

  /// The user and the process at the other end of a unix socket; nil for others, and for whom a proxy has named.
  public var credentials: Credentials? { numeric.credentials.map { Credentials(user: $0.user, process: $0.process) } }

  /// Whether it is root or the server's own user on the same machine, who could as well change the server itself.
  public var isAdministrator: Bool { credentials.map { $0.user == 0 || $0.user == ownUser } ?? false }

  /// The certificate that it has shown to this server, verified; nil when it has shown none, and for whom a proxy that
  /// speaks HTTP has named.
  public var certificate: ClientCertificate? { facts.certificate }

  /// Whether it is on a network, even if only that of this machine.
  var isRemote: Bool { !numeric.isUnix }

  /// Whether it came through a unix socket of this machine, and no proxy has named another.
  var isUnix: Bool { numeric.isUnix }

  /// Address and port as they stand in a URL, the address alone when the port is not known; or `unix`, or `unknown`.
  public var description: String {
    guard let address else { return numeric.isUnix ? "unix" : "unknown" }
    guard address.port == 0 else { return address.description }
    return numeric.family == .ipv6 ? "[\(address.host)]" : address.host
  }

  /// Whether all that is known of both is the same.
  public static func == (a: Peer, b: Peer) -> Bool {
    a.facts === b.facts
      || a.numeric == b.numeric && a.listener == b.listener && a.isSecured == b.isSecured
        && a.isForwarded == b.isForwarded && a.certificate == b.certificate
  }

  /// Hashes the address and the listener.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(numeric)
    hasher.combine(listener)
  }
}

extension PeerAddress {
  /// An address that a proxy has named.
  init(_ address: IPAddress, port: UInt16) {
    if let ipv4 = address.ipv4 {
      self.init(bytes: ((UInt64(ipv4) << 32).bigEndian, 0), isIPv4: true, port: port)
    } else {
      self.init(bytes: (address.high.bigEndian, address.low.bigEndian), isIPv4: false, port: port)
    }
  }
}

extension IPAddress {
  /// - Parameter bytes: In network order, those of an IPv4 address in the first four.
  fileprivate init(_ bytes: (UInt64, UInt64), isIPv4: Bool) {
    if isIPv4 {
      self.init(ipv4: UInt32(UInt64(bigEndian: bytes.0) >> 32))
    } else {
      self.init(high: UInt64(bigEndian: bytes.0), low: UInt64(bigEndian: bytes.1))
    }
  }
}

extension TrustedProxies {
  /// Whether this peer is one of them.
  func contains(_ peer: Peer) -> Bool {
    if let address = peer.ipAddress { return contains(address) }
    return peer.isUnix && includesUnixSockets
  }
}
