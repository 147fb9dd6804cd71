// SPDX-License-Identifier: MIT

import Synchronization

/// The state of a store with its lock, which the store shares with its signals and timers, so that their effects are in
/// one order.
final class SharedState: Sendable {
  let limits: StoreLimits
  let state: Mutex<StoreState>

  init(_ state: consuming StoreState) {
    limits = state.judge.limits
    self.state = Mutex(state)
  }
}
