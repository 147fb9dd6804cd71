// SPDX-License-Identifier: MIT

/// Takes over accepted descriptors on one loop, within the limit of connections.
final class Acceptor: ConnectionAcceptor {
  /// Connections over the limit that may wait for their 503 at a time; others are closed without a word.
  private static let refusedAtATime = 64

  private let service: HTTPService
  private let tally: ConnectionTally
  private let all: [ConnectionTally]

  init(handler: any RequestHandler, limits: Limits, tally: ConnectionTally, all: [ConnectionTally]) {
    service = HTTPService(handler: handler, limits: limits)
    self.tally = tally
    self.all = all
  }

  /// The descriptor has been counted by whoever chose this loop.
  func accept(_ descriptor: Int32, on loop: isolated EventLoop) {
    let handle = SocketHandle(owning: descriptor)
    let excess = all.reduce(0) { $0 + $1.count } - service.limits.connections
    guard excess <= Self.refusedAtATime, !loop.isDraining else { return tally.remove() }
    let session = HTTPSession(service, isRefusing: excess > 0)
    do {
      let connection = try Connection.adopt(handle, session: session, limits: service.limits, tally: tally, on: loop)
      connection.setDeadline(after: service.limits.headTimeout, on: loop)
    } catch {
      tally.remove()
    }
  }
}
