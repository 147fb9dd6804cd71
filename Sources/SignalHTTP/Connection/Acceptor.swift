// SPDX-License-Identifier: MIT

/// Takes over accepted descriptors on one loop, within the limit of connections.
final class Acceptor: ConnectionAcceptor {
  /// Connections over the limit that may wait for their 503 at a time; others are closed without a word.
  private static let refusedAtATime = 64

  private let service: HTTPService
  private let connections: LoopConnections
  private let all: [LoopConnections]

  /// - Parameters:
  ///   - connections: Those of this loop.
  ///   - all: Those of all loops of the server.
  init(handler: any RequestHandler, connections: LoopConnections, all: [LoopConnections]) {
    service = HTTPService(handler: handler, limits: connections.limits)
    self.connections = connections
    self.all = all
  }

  /// The descriptor has been counted by whoever chose this loop.
  func accept(_ descriptor: Int32, on loop: isolated EventLoop) {
    let handle = SocketHandle(owning: descriptor)
    let excess = all.reduce(0) { $0 + $1.count } - service.limits.connections
    guard excess <= Self.refusedAtATime, !loop.isDraining else {
      connections.observe(descriptor)?.tell(.turnedAway)
      return connections.remove()
    }
    let session = HTTPSession(service, isRefusing: excess > 0)
    do {
      let connection = try Connection.adopt(handle, session: session, connections: connections, on: loop)
      connection.setDeadline(after: service.limits.headTimeout, on: loop)
    } catch {
      connections.remove()
    }
  }
}
