// SPDX-License-Identifier: MIT

/// Takes over accepted sockets on one loop, within the limit of connections.
final class Acceptor: ConnectionAcceptor {
  /// Connections over the limit that may wait for their 503 at a time; others are closed without a word.
  private static let refusedAtATime = 64

  /// What those who come by one listener are served with.
  struct Entrance {
    let service: HTTPService
    /// nil where there is no TLS.
    let tls: TLSContext?
  }

  /// By the numbers of the listeners.
  private let entrances: [Entrance]
  private let limits: Limits
  private let connections: LoopConnections
  private let all: [ConnectionCount]

  /// Answers the requests of the connections that it takes over, where they are not sent elsewhere.
  let handler: any RequestHandler

  /// - Parameters:
  ///   - listeners: What the server listens on.
  ///   - connections: Those of this loop.
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

  /// One for the connections to come; those that are there keep what they have.
  func successor(
    handler: any RequestHandler, listeners: [OpenedListener], limits: Limits,
    observer: (@Sendable (ServerEvent) -> Void)?
  ) -> Acceptor {
    Acceptor(
      handler: handler, listeners: listeners,
      connections: LoopConnections(limits: limits, observer: observer, count: connections.count),
      all: all)
  }

  /// The socket has been counted by whoever chose this loop.
  func accept(_ socket: AcceptedSocket, on loop: isolated EventLoop) {
    let handle = SocketHandle(owning: socket.descriptor)
    let entrance = entrances[Int(socket.listener)]
    let peer = Peer(socket)
    var excess = all.reduce(0) { $0 + $1.value } - limits.connections
    // One for which there is no memory is over the limit as well.
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
      // For a handshake of TLS as well.
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
