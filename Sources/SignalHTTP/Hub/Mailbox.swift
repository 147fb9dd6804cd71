// SPDX-License-Identifier: MIT
import Synchronization

/// What is on its way from any thread to one loop: commits, or demand.
final class Mailbox<Element: Sendable>: Sendable {
  private struct State {
    var elements: [Element] = []
    /// The loop is in a turn and will take what comes in before the turn ends: it need not be woken.
    var ownerWillTake = false
  }

  private let state = Mutex(State())
  private let wake: @Sendable () -> Void

  init(wake: @escaping @Sendable () -> Void) { self.wake = wake }

  func put(_ element: Element) {
    let mustWake = state.withLock { state in
      state.elements.append(element)
      return state.elements.count == 1 && !state.ownerWillTake
    }
    if mustWake { wake() }
  }

  func ownerWillTake() { state.withLock { $0.ownerWillTake = true } }

  func take() -> [Element] {
    state.withLock { state in
      state.ownerWillTake = false
      guard !state.elements.isEmpty else { return [] }
      var taken: [Element] = []
      swap(&taken, &state.elements)
      return taken
    }
  }
}
