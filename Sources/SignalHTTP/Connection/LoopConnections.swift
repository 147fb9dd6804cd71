// SPDX-License-Identifier: MIT
import Synchronization

/// How many connections a loop has, which every thread may ask: the listener hands to the loop with the fewest.
final class ConnectionCount: Sendable {
  private let number = Atomic<Int>(0)

  var value: Int { number.load(ordering: .relaxed) }

  func add() { number.add(1, ordering: .relaxed) }
  func remove() { number.subtract(1, ordering: .relaxed) }
}

/// What connections of one loop have in common: their limits, and who is told of them.
///
/// The limits are here because a copy in each connection would be a quarter of what an idle one takes. When they change,
/// the connections that follow have another object with the same count.
final class LoopConnections: Sendable {
  let limits: Limits
  /// Who is told of what happens on them.
  let observer: (@Sendable (ServerEvent) -> Void)?
  let count: ConnectionCount

  init(
    limits: Limits, observer: (@Sendable (ServerEvent) -> Void)? = nil, count: ConnectionCount = ConnectionCount()
  ) {
    self.limits = limits
    self.observer = observer
    self.count = count
  }

  /// What tells of the connection of a peer; nil when nobody wants to know.
  func observe(_ peer: Peer) -> Observation? { observer.map { Observation($0, peer: peer) } }
}
