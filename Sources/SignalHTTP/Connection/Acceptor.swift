// SPDX-License-Identifier: MIT

/// Takes over accepted sockets on one loop, within the limit of connections.
final class Acceptor: ConnectionAcceptor {
  /// Connections over the limit that may wait for their 503 at a time; others are closed without a word.
  private static let refusedAtATime = 64

  private let service: HTTPService
  private let connections: LoopConnections
  private let all: [ConnectionCount]

  /// Answers the requests of the connections that it takes over.
  var handler: any RequestHandler { service.handler }

  /// - Parameters:
  ///   - connections: Those of this loop.
  ///   - all: How many there are on each loop of the server.
  init(handler: any RequestHandler, connections: LoopConnections, all: [ConnectionCount]) {
    service = HTTPService(handler: handler, limits: connections.limits)
    self.connections = connections
    self.all = all
  }

  /// One for the connections to come; those that are there keep what they have.
  func successor(
    handler: any RequestHandler, limits: Limits, observer: (@Sendable (ServerEvent) -> Void)?
  ) -> Acceptor {
    Acceptor(
      handler: handler, connections: LoopConnections(limits: limits, observer: observer, count: connections.count),
      all: all)
  }

  /// The socket has been counted by whoever chose this loop.
  func accept(_ socket: AcceptedSocket, on loop: isolated EventLoop) {
    let handle = SocketHandle(owning: socket.descriptor)
    let peer = Peer(socket)
    var excess = all.reduce(0) { $0 + $1.value } - service.limits.connections
    // One for which there is no memory is over the limit as well.
    let memory = loop.memory.map { $0.takeConnection() } ?? 0
    if memory == nil, let refused = loop.memory?.budget.refusedConnections { excess = max(excess, refused) }
    guard excess <= Self.refusedAtATime, !loop.isDraining else {
      connections.observe(peer)?.tell(.turnedAway)
      loop.memory?.release(input: 0, connection: memory)
      return connections.count.remove()
    }
    let session = HTTPSession(service, isRefusing: excess > 0)
    do {
      let connection = try Connection.adopt(
        handle, of: peer, session: session, connections: connections, gate: service.handler.gate,
        memory: memory, on: loop)
      connection.setDeadline(after: service.limits.headTimeout, on: loop)
    } catch {
      loop.memory?.release(input: 0, connection: memory)
      connections.count.remove()
    }
  }
}
