// SPDX-License-Identifier: MIT

import Synchronization

/// Brings the messages of several sources into one order for one subscriber.
///
/// What the sources sent is kept under a lock, and what follows from it is enqueued there, so the order of the results is
/// the order of the changes; it is delivered after the lock, one result at a time, as by any signal.
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

  /// Changes what is kept, and sends what `change` answers.
  ///
  /// `change` runs under the lock: it may move values, and call and release nothing of the user. `releases` says that it
  /// replaces something, which then is kept until after the lock by a copy of the state.
  func change(releases: Bool = true, _ change: (inout State) -> Event<Message, End>?) {
    // The copies keep what is replaced until after the lock.
    let (before, event, waits) = state.withLock { guarded in
      let before = releases ? guarded.state : nil
      let event = change(&guarded.state)
      if let event { results.enqueue(event) }
      return (before, event, guarded.isAttaching)
    }
    withExtendedLifetime((before, event)) {}
    if !waits { results.deliver() }
  }

  /// Runs `attach`, which subscribes to several sources, and only then sends what they told meanwhile: what the observer
  /// sends in turn has to reach all of them.
  func attachingAll(_ attach: () -> Void) {
    state.withLock { $0.isAttaching = true }
    attach()
    state.withLock { $0.isAttaching = false }
    results.deliver()
  }

  /// Keeps an upstream subscription.
  func hold(_ subscription: Subscription) { link.hold(subscription) }

  /// The token for the subscriber.
  func token() -> Subscription { link.token() }
}
