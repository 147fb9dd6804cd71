// SPDX-License-Identifier: MIT

/// Takes over accepted sockets on one loop, within the limit of connections.
final class Acceptor: ConnectionAcceptor {
  /// Connections over the limit that may wait for their 503 at a time; others are closed without a response.
  private static let refusedAtATime = 64

  /// How the connections of one listener are served.
  struct Entrance {
    let service: HTTPService
    /// nil where there is no TLS.
    let tls: TLSContext?
  }

  /// Indexed by the listeners' numbers.
  private let entrances: [Entrance]
  private let limits: Limits
  private let connections: LoopConnections
  private let all: [ConnectionCount]

  /// Answers the requests of the accepted connections, unless their listener redirects.
  let handler: any RequestHandler

  /// - Parameters:
  ///   - listeners: What the server listens on.
  ///   - connections: The connections of this loop.
  ///   - all: How many there are on each loop of the server.
  init(
    handler: any RequestHandler, listeners: [OpenedListener], connections: LoopConnections, all: [ConnectionCount]
  ) {
    self.handler = handler
    limits = connections.limits
    entrances = listeners.map { listener in
      let handler = listener.redirect.map { RedirectHandler(to: $0) } ?? handler
      let service = HTTPService(handler: handler, limits: connections.limits, isSecured: listener.tls != nil)
      return Entrance(service: service, tls: listener.tls)
    }
    self.connections = connections
    self.all = all
  }

  /// Creates an acceptor for new connections; established ones keep their settings.
  func successor(
    handler: any RequestHandler, listeners: [OpenedListener], limits: Limits,
    observer: (@Sendable (ServerEvent) -> Void)?
  ) -> Acceptor {
    Acceptor(
      handler: handler, listeners: listeners,
      connections: LoopConnections(limits: limits, observer: observer, count: connections.count),
      all: all)
  }

  /// The socket has already been counted by the code that chose this loop.
  func accept(_ socket: AcceptedSocket, on loop: isolated EventLoop) {
    let handle = SocketHandle(owning: socket.descriptor)
    let entrance = entrances[Int(socket.listener)]
    let peer = Peer(socket)
    var excess = all.reduce(0) { $0 + $1.value } - limits.connections
    // A connection for which there is no memory is treated as over the limit.
    let memory = loop.memory.map { $0.takeConnection(isSecured: entrance.tls != nil) } ?? 0
    if memory == nil, let refused = loop.memory?.budget.refusedConnections { excess = max(excess, refused) }
    guard excess <= Self.refusedAtATime, !loop.isDraining else {
      connections.observe(peer)?.tell(.turnedAway)
      loop.memory?.release(input: 0, connection: memory)
      return connections.count.remove()
    }
    let session = HTTPSession(entrance.service, isRefusing: excess > 0)
    do {
      let connection = try Connection.adopt(
        Transport(handle, try channel(entrance.tls, on: loop)), of: peer, session: session, connections: connections,
        gate: handler.gate, memory: memory, on: loop)
      // The deadline includes the TLS handshake.
      connection.setDeadline(after: limits.headTimeout, on: loop)
    } catch {
      loop.memory?.release(input: 0, connection: memory)
      connections.count.remove()
    }
  }

  private func channel(_ context: TLSContext?, on loop: isolated EventLoop) throws(SystemError) -> TLSChannel? {
    guard let context else { return nil }
    if let channel = TLSChannel(context, loop.sealedBuffers) { return channel }
    throw .noMemory("begin TLS")
  }
}
