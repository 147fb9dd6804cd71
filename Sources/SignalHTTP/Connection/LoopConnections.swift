// SPDX-License-Identifier: MIT
import Synchronization

/// How many connections a loop has, readable from every thread: the listener hands new ones to the loop with the
/// fewest.
final class ConnectionCount: Sendable {
  private let number = Atomic<Int>(0)

  var value: Int { number.load(ordering: .relaxed) }

  func add() { number.add(1, ordering: .relaxed) }
  func remove() { number.subtract(1, ordering: .relaxed) }
}

/// State shared by the connections of one loop: their limits and their observer.
///
/// The limits are here because a copy in each connection would be a quarter of the memory of an idle one. When they
/// change, new connections get another object with the same count.
final class LoopConnections: Sendable {
  let limits: Limits
  /// Is notified of events on these connections.
  let observer: (@Sendable (ServerEvent) -> Void)?
  /// Is notified of connections that are not served.
  let refusalObserver: (@Sendable (ServerEvent) -> Void)?
  let count: ConnectionCount

  init(
    limits: Limits, observer: (@Sendable (ServerEvent) -> Void)? = nil,
    refusalObserver: (@Sendable (ServerEvent) -> Void)? = nil, count: ConnectionCount = ConnectionCount()
  ) {
    self.limits = limits
    self.observer = observer
    self.refusalObserver = refusalObserver
    self.count = count
  }

  /// Counts and reports a connection that is not served.
  ///
  /// - Parameter isAnswered: Whether its first request will be answered, of which the observer is notified then.
  func refuse(
    _ peer: Peer, because reason: ConnectionRefusal, isAnswered: Bool = false, on loop: isolated EventLoop
  ) {
    loop.counters.add(reason.counter)
    let event = ServerEvent(reason.event, peer: peer)
    if !isAnswered { observer?(event) }
    refusalObserver?(event)
  }

  /// Creates the observation of a peer's connection; nil when there is no observer.
  func observe(_ peer: Peer) -> Observation? { observer.map { Observation($0, peer: peer) } }
}
