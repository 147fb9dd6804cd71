// SPDX-License-Identifier: MIT

import Synchronization

/// Brings the messages of several sources into one order for one subscriber.
///
/// What the sources sent is kept under a lock, and what follows from it is enqueued there, so the order of the results is
/// the order of the changes; it is delivered after the lock, one result at a time, as by any signal.
final class Relay<State: Sendable, Message: Sendable, End: Ending>: Sendable {
  let link = Link()
  private struct Contents {
    var state: State
    /// A result that waits for the end of a transaction.
    var postponed: Event<Message, End>?
  }

  private let contents: Mutex<Contents>
  private let results = Signal<Event<Message, End>>()

  /// Whether the results of one transaction become one.
  ///
  /// Each result must stand for those before it.
  private let coalesces: Bool

  init(_ state: State, coalesces: Bool = false, into sink: Sink<Message, End>) {
    contents = Mutex(Contents(state: state))
    self.coalesces = coalesces
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
    let postpones = coalesces && Transaction.postpone(self) { $0.deliverPostponed() }
    // The copies keep what is replaced until after the lock.
    let (before, event) = contents.withLock { contents in
      let before = releases ? contents : nil
      let event = change(&contents.state)
      if let event {
        if coalesces { contents.postponed = postpones ? event : nil }
        if !postpones { results.enqueue(event) }
      }
      return (before, event)
    }
    withExtendedLifetime((before, event)) {}
    if !postpones { results.deliver() }
  }

  private func deliverPostponed() {
    let event = contents.withLock { contents in
      let event = contents.postponed
      contents.postponed = nil
      if let event { results.enqueue(event) }
      return event
    }
    withExtendedLifetime(event) {}
    results.deliver()
  }

  /// Keeps an upstream subscription.
  func hold(_ subscription: Subscription) { link.hold(subscription) }

  /// The token for the subscriber.
  func token() -> Subscription { link.token() }
}
