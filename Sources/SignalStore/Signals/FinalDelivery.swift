// SPDX-License-Identifier: MIT

import Synchronization

/// The final message to a subscriber that leaves, sent last and not during a call of its observer (delivery rule 3).
///
/// A subscription can be cancelled while another thread calls its observer, or from inside the observer. Then the final
/// message is sent after that call.
final class FinalDelivery: Sendable {
  private struct State {
    var isCalling = false
    var hasLeft = false
    var delivery: (@Sendable () -> Void)?
  }

  private let state = Mutex(State())

  /// Calls the observer, unless it has left.
  func call(_ observer: () -> Void) {
    let calls = state.withLock { state in
      state.isCalling = !state.hasLeft
      return state.isCalling
    }
    guard calls else { return }
    observer()
    let delivery = state.withLock { state in
      state.isCalling = false
      var delivery: (@Sendable () -> Void)?
      swap(&delivery, &state.delivery)
      return delivery
    }
    delivery?()
  }

  /// Stops calling the observer, except by `delivery`; a second call does nothing.
  func leave(_ delivery: @escaping @Sendable () -> Void) {
    let isNow = state.withLock { state in
      if state.hasLeft { return false }
      state.hasLeft = true
      if state.isCalling { state.delivery = delivery }
      return !state.isCalling
    }
    if isNow { delivery() }
  }
}
