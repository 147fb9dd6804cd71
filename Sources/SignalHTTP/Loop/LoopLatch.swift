// SPDX-License-Identifier: MIT
import Synchronization

/// Calls back once, when a given number of parties have reported.
final class LoopLatch: Sendable {
  private let left: Atomic<Int>
  private let whenZero: @Sendable () -> Void

  init(_ count: Int, _ whenZero: @escaping @Sendable () -> Void) {
    left = Atomic(count)
    self.whenZero = whenZero
  }

  func countDown() {
    if left.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { whenZero() }
  }
}
