// SPDX-License-Identifier: MIT
import SignalStore
import Synchronization

/// Commits on their way from any thread to one loop.
final class Mailbox: Sendable {
  private struct State {
    var commits: [Commit] = []
    /// The loop is in a turn and will take what comes in before the turn ends: it need not be woken.
    var ownerWillTake = false
  }

  private let state = Mutex(State())
  private let wake: @Sendable () -> Void

  init(wake: @escaping @Sendable () -> Void) { self.wake = wake }

  func put(_ commit: Commit) {
    let mustWake = state.withLock { state in
      state.commits.append(commit)
      return state.commits.count == 1 && !state.ownerWillTake
    }
    if mustWake { wake() }
  }

  func ownerWillTake() { state.withLock { $0.ownerWillTake = true } }

  func take() -> [Commit] {
    state.withLock { state in
      state.ownerWillTake = false
      guard !state.commits.isEmpty else { return [] }
      var taken: [Commit] = []
      swap(&taken, &state.commits)
      return taken
    }
  }
}
