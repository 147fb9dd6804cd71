// SPDX-License-Identifier: MIT

import Synchronization

/// Brings the messages of several sources into one order for one subscriber.
///
/// What the sources sent is kept under a lock, and what follows from it is enqueued there, so the order of the results is
/// the order of the changes; it is delivered after the lock, one result at a time, as by any signal.
final class Relay<State: Sendable, Message: Sendable, End: Ending>: Sendable {
  let link = Link()
  private let state: Mutex<State>
  private let results = Signal<Event<Message, End>>()

  init(_ state: State, into sink: Sink<Message, End>) {
    self.state = Mutex(state)
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
    let (before, event) = state.withLock { state in
      let before = releases ? state : nil
      let event = change(&state)
      if let event { results.enqueue(event) }
      return (before, event)
    }
    withExtendedLifetime((before, event)) {}
    results.deliver()
  }

  /// Keeps an upstream subscription.
  func hold(_ subscription: Subscription) { link.hold(subscription) }

  /// The token for the subscriber.
  func token() -> Subscription { link.token() }
}
