// SPDX-License-Identifier: MIT
import Synchronization

/// The connections of one loop: how many there are, and their limits.
///
/// The number can be read from every thread: the listener hands to the loop with the fewest. The limits are here because
/// a copy in each connection would be a quarter of what an idle one takes.
final class LoopConnections: Sendable {
  let limits: Limits
  /// Who is told of what happens on them.
  let observer: (@Sendable (ServerEvent) -> Void)?
  private let number = Atomic<Int>(0)

  init(limits: Limits, observer: (@Sendable (ServerEvent) -> Void)? = nil) {
    self.limits = limits
    self.observer = observer
  }

  /// What tells of the connection of a socket; nil when nobody wants to know.
  func observe(_ descriptor: Int32) -> Observation? {
    observer.map { Observation($0, peer: SocketAddress(peerOf: descriptor)) }
  }

  var count: Int { number.load(ordering: .relaxed) }

  func add() { number.add(1, ordering: .relaxed) }
  func remove() { number.subtract(1, ordering: .relaxed) }
}
