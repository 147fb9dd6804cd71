// SPDX-License-Identifier: MIT
import Synchronization

/// Passes commits, or demand, from any thread to one loop.
final class Mailbox<Element: Sendable>: Sendable {
  private struct State {
    var elements: [Element] = []
    /// When the first of them arrived, in the time of the loop.
    var since: UInt64 = 0
    /// The loop is in a turn and will empty the mailbox before the turn ends: it need not be woken.
    var ownerWillTake = false
  }

  private let state = Mutex(State())
  private let wake: @Sendable () -> Void

  init(wake: @escaping @Sendable () -> Void) { self.wake = wake }

  func put(_ element: Element) {
    let mustWake = state.withLock { state in
      if state.elements.isEmpty { state.since = EventLoop.time }
      state.elements.append(element)
      return state.elements.count == 1 && !state.ownerWillTake
    }
    if mustWake { wake() }
  }

  func ownerWillTake() { state.withLock { $0.ownerWillTake = true } }

  func take() -> [Element] { takeAll().elements }

  /// Takes everything, with the time when the first of it arrived.
  func takeAll() -> (elements: [Element], since: UInt64) {
    state.withLock { state in
      state.ownerWillTake = false
      guard !state.elements.isEmpty else { return ([], 0) }
      var taken: [Element] = []
      swap(&taken, &state.elements)
      return (taken, state.since)
    }
  }
}
