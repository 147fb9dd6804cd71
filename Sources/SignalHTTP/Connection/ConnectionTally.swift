// SPDX-License-Identifier: MIT
import Synchronization

/// Counts the connections of one loop, readable from every thread: the listener hands to the loop with the fewest.
final class ConnectionTally: Sendable {
  private let number = Atomic<Int>(0)

  var count: Int { number.load(ordering: .relaxed) }

  func add() { number.add(1, ordering: .relaxed) }
  func remove() { number.subtract(1, ordering: .relaxed) }
}
