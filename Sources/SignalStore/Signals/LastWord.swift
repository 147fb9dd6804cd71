// SPDX-License-Identifier: MIT

import Synchronization

/// The final message to a subscriber that leaves, sent last and not during a call of its observer (delivery rule 3).
///
/// A subscription can be cancelled while another thread calls its observer, or from inside the observer. Then the final
/// message is sent after that call.
final class LastWord: Sendable {
  private struct State {
    var isCalling = false
    var hasLeft = false
    var word: (@Sendable () -> Void)?
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
    let word = state.withLock { state in
      state.isCalling = false
      var word: (@Sendable () -> Void)?
      swap(&word, &state.word)
      return word
    }
    word?()
  }

  /// Stops calling the observer, except for `word`; a second call does nothing.
  func leave(_ word: @escaping @Sendable () -> Void) {
    let isNow = state.withLock { state in
      if state.hasLeft { return false }
      state.hasLeft = true
      if state.isCalling { state.word = word }
      return !state.isCalling
    }
    if isNow { word() }
  }
}
