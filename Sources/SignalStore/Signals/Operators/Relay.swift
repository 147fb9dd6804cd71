// SPDX-License-Identifier: MIT

import Synchronization

/// Serializes the messages of several sources for one subscriber.
///
/// The last messages of the sources are stored under a lock, and the results are enqueued under it, so the order of the
/// results is the order of the changes; they are delivered after unlocking, one at a time, as by any signal.
final class Relay<State: Sendable, Message: Sendable, End: Ending>: Sendable {
  let link = Link()
  private struct Guarded {
    var state: State
    /// Results wait until all sources have been subscribed to.
    var isAttaching = false
  }

  private let state: Mutex<Guarded>
  private let results = Signal<Event<Message, End>>()

  init(_ state: State, into sink: Sink<Message, End>) {
    self.state = Mutex(Guarded(state: state))
    let link = link
    let token = results.subscribe { event in
      switch event {
      case .message(let message): sink.message(message)
      case .end(let end):
        link.end()
        sink.end(end)
      }
    }
    link.hold(token)
  }

  /// Changes the state, and sends what `change` returns.
  ///
  /// `change` runs under the lock: it may move values, and must not call or release anything of the user. `releases`
  /// says that it replaces something, which a copy of the state then keeps alive until after unlocking.
  func change(releases: Bool = true, _ change: (inout State) -> Event<Message, End>?) {
    // The copies keep replaced values alive until after unlocking.
    let (before, event, waits) = state.withLock { guarded in
      let before = releases ? guarded.state : nil
      let event = change(&guarded.state)
      if let event { results.enqueue(event) }
      return (before, event, guarded.isAttaching)
    }
    withExtendedLifetime((before, event)) {}
    if !waits { results.deliver() }
  }

  /// Runs `attach`, which subscribes to several sources, and only then sends what came meanwhile: what the observer
  /// sends in turn has to reach all of them.
  func attachingAll(_ attach: () -> Void) {
    state.withLock { $0.isAttaching = true }
    attach()
    state.withLock { $0.isAttaching = false }
    results.deliver()
  }

  /// Retains an upstream subscription.
  func hold(_ subscription: Subscription) { link.hold(subscription) }

  /// The token for the subscriber.
  func token() -> Subscription { link.token() }
}
