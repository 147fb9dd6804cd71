// SPDX-License-Identifier: MIT

/// Takes over accepted sockets on one loop, within the limit of connections.
final class Acceptor: ConnectionAcceptor {
  /// Connections over the limit that may wait for their 503 at a time; others are closed without a response.
  private static let refusedAtATime = 64

  /// How the connections of one listener are served.
  struct Entrance {
    let service: HTTPService
    let listener: OpenedListener
    let peers: PeerListener
  }

  /// Whether a connection that has been counted is served.
  struct Admission {
    /// Memory claimed for it; nil when there was none.
    let memory: Int?
    /// It is only to be refused.
    let isRefused: Bool
  }

  /// Indexed by the listeners' numbers.
  private let entrances: [Entrance]
  private let configuration: ServerConfiguration
  private let connections: LoopConnections
  private let rates: RateTable
  private let all: [ConnectionCount]

  /// Answers the requests of the accepted connections, unless their listener redirects.
  let handler: any RequestHandler

  /// - Parameters:
  ///   - listeners: What the server listens on.
  ///   - configuration: What applies to the accepted connections besides the listeners' own settings.
  ///   - rates: What clients have used of what they may do.
  ///   - count: The connections of this loop.
  ///   - all: How many there are on each loop of the server.
  init(
    handler: any RequestHandler, listeners: [OpenedListener], configuration: ServerConfiguration,
    rates: RateTable, count: ConnectionCount = ConnectionCount(), all: [ConnectionCount]
  ) {
    self.handler = handler
    self.rates = rates
    self.configuration = configuration
    let reporter = RequestReporter(configuration.requestLog)
    entrances = listeners.enumerated().map { number, listener in
      let service = HTTPService(
        handler: listener.redirect.map {
          RedirectHandler(to: $0, orServeBy: handler, configuration.exposedTokenObserver)
        } ?? handler,
        limits: configuration.limits, isSecured: listener.tls != nil, trusted: configuration.trustedProxies,
        hsts: configuration.hsts, reporter: reporter)
      return Entrance(
        service: service, listener: listener,
        peers: PeerListener(
          ListenerID(UInt8(number)), listener.endpoint, servesConsole: listener.servesConsole,
          asksForCertificates: listener.asksForCertificates))
    }
    connections = LoopConnections(
      limits: configuration.limits, observer: configuration.observer,
      refusalObserver: configuration.refusalObserver, count: count)
    self.all = all
  }

  /// Creates an acceptor for new connections; established ones keep their settings.
  func successor(
    handler: any RequestHandler, listeners: [OpenedListener], configuration: ServerConfiguration
  ) -> Acceptor {
    Acceptor(
      handler: handler, listeners: listeners, configuration: configuration, rates: rates, count: connections.count,
      all: all)
  }

  /// The connections of all loops.
  var connectionCount: Int { all.reduce(0) { $0 + $1.value } }

  /// The socket has already been counted by the code that chose this loop.
  func accept(_ socket: AcceptedSocket, on loop: isolated EventLoop) {
    let handle = SocketHandle(owning: socket.descriptor)
    let entrance = entrances[Int(socket.listener)]
    let peer = Peer(socket.peer, of: entrance.peers)
    guard let admission = admit(peer, entrance, on: loop) else { return connections.count.remove() }
    guard entrance.listener.awaitsProxyHeader else { return serve(handle, of: peer, entrance, admission, on: loop) }
    guard configuration.trustedProxies.contains(peer) else {
      return refuse(peer, because: .proxyProtocol("it is none of the trusted proxies"), admission, on: loop)
    }
    do throws(SystemError) {
      try ProxyHeaderReader.begin(
        handle, of: peer, timeout: configuration.limits.proxyHeaderTimeout, for: self, entrance, admission, on: loop)
    } catch {
      forget(admission, on: loop)
    }
  }

  /// Decides whether a connection is served, and claims memory for it; nil when it is closed without a response.
  private func admit(_ peer: Peer, _ entrance: Entrance, on loop: isolated EventLoop) -> Admission? {
    var excess = connectionCount - configuration.limits.connections
    loop.counters.add(.acceptedConnections)
    var reason = ConnectionRefusal.limit
    // A connection for which there is no memory is treated as over the limit.
    let memory = loop.memory.map { $0.takeConnection(isSecured: entrance.listener.tls != nil) } ?? 0
    if memory == nil, let refused = loop.memory?.budget.refusedConnections, refused > excess {
      excess = refused
      reason = .memory
    }
    if excess > 0 || loop.isDraining {
      connections.refuse(
        peer, because: loop.isDraining ? .draining : reason,
        isAnswered: excess <= Self.refusedAtATime && !loop.isDraining, on: loop)
    }
    guard excess <= Self.refusedAtATime, !loop.isDraining else {
      loop.memory?.release(input: 0, connection: memory)
      return nil
    }
    return Admission(memory: memory, isRefused: excess > 0)
  }

  /// Makes a connection of a socket on which TLS or a request comes next.
  func serve(
    _ handle: consuming SocketHandle, of peer: Peer, _ entrance: Entrance, _ admission: Admission,
    on loop: isolated EventLoop
  ) {
    let claim: RateClaim?
    do throws(RateAccount.Refusal) {
      claim = try self.claim(peer, on: loop)
    } catch {
      configuration.audit?.record(
        AuditEvent(.limitExceeded, peer: peer, outcome: "closed", subject: error.kind.rawValue))
      return refuse(peer, because: .rate, admission, on: loop)
    }
    let session = HTTPSession(entrance.service, isRefusing: admission.isRefused)
    do throws(SystemError) {
      let connection = try Connection.adopt(
        Transport(handle, try channel(entrance.listener.tls, on: loop)), of: peer, session: session,
        connections: connections, awaitsCertificate: entrance.listener.asksForCertificates, gate: handler.gate,
        memory: admission.memory, claim: claim, on: loop)
      // The deadline includes the TLS handshake.
      connection.setDeadline(after: configuration.limits.headTimeout, on: loop)
    } catch {
      forget(admission, on: loop)
    }
  }

  /// Counts a connection of an address; nil for those who are not limited.
  private func claim(_ peer: Peer, on loop: isolated EventLoop) throws(RateAccount.Refusal) -> RateClaim? {
    let limits = configuration.limits.rates
    // A proxy comes for many; whom it names is limited by requests.
    guard limits.local || !peer.isLocal, !configuration.trustedProxies.contains(peer) else { return nil }
    return try rates.account(of: peer.rateKey).connect(limits.address, at: loop.now)
  }

  /// Ends a connection that does not begin as its listener requires, after its socket has been closed.
  ///
  func refuse(
    _ peer: Peer, because reason: ConnectionRefusal, _ admission: Admission, on loop: isolated EventLoop
  ) {
    connections.refuse(peer, because: reason, on: loop)
    forget(admission, on: loop)
  }

  private func forget(_ admission: Admission, on loop: isolated EventLoop) {
    loop.memory?.release(input: 0, connection: admission.memory)
    connections.count.remove()
  }

  private func channel(_ context: TLSContext?, on loop: isolated EventLoop) throws(SystemError) -> TLSChannel? {
    guard let context else { return nil }
    if let channel = TLSChannel(context, loop.sealedBuffers) { return channel }
    throw .noMemory("begin TLS")
  }
}
