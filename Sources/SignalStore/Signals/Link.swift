// SPDX-License-Identifier: MIT

import Synchronization

/// A subscription that consists of others, and that an operator can end from inside.
///
/// The closure of an operator may keep its link, and the link keeps the upstream subscriptions: the circle through the
/// source is broken when the link ends, and it ends with the token given to the subscriber.
@usableFromInline
package final class Link: SubscriptionSource {
  private struct State {
    var upstream: [Subscription] = []
    var cleanUps: [@Sendable () -> Void] = []
    /// How to end those upstream subscriptions that were given to their sources.
    var detached: [@Sendable () -> Void] = []
    /// Changes where the observer is called.
    var move: (@Sendable (Delivery) -> Void)?
    var ended = false
    var isDetached = false
  }

  private let state = Mutex(State())

  package init() {}

  /// Keeps an upstream subscription, or ends it if the link has ended while it was made.
  ///
  /// In a link that was given to its sources it is given to its own.
  package func hold(_ subscription: Subscription) { replace(nil, with: subscription) }

  /// Lets one upstream subscription go for another.
  func replace(_ old: Subscription?, with new: Subscription?) {
    let (ended, isDetached) = state.withLock { state in
      if let old { state.upstream.removeAll { $0 === old } }
      if let new, !state.ended, !state.isDetached { state.upstream.append(new) }
      return (state.ended, state.isDetached)
    }
    old?.cancel()
    guard let new else { return }
    if ended { return new.cancel() }
    guard isDetached else { return }
    let end = new.source.detach(new)
    let late = state.withLock { state in
      if !state.ended { state.detached.append(end) }
      return state.ended
    }
    if late { end() }
  }

  /// Runs `cleanUp` once, when the link ends; at once if it has.
  package func onEnd(_ cleanUp: @escaping @Sendable () -> Void) {
    let ended = state.withLock { state in
      if !state.ended { state.cleanUps.append(cleanUp) }
      return state.ended
    }
    if ended { cleanUp() }
  }

  /// Lets `move` change where the observer is called, until the link ends.
  func onMove(_ move: @escaping @Sendable (Delivery) -> Void) { state.withLock { $0.move = move } }

  /// Ends all upstream subscriptions.
  ///
  /// True for the one call that did it.
  @discardableResult
  func end() -> Bool {
    let last: State? = state.withLock { state in
      if state.ended { return nil }
      let last = state
      state = State(ended: true)
      return last
    }
    guard let last else { return false }
    for subscription in last.upstream { subscription.cancel() }
    for end in last.detached { end() }
    for cleanUp in last.cleanUps { cleanUp() }
    return true
  }

  var hasEnded: Bool { state.withLock { $0.ended } }

  /// The token for the subscriber.
  package func token() -> Subscription { Subscription(source: self) }

  @usableFromInline package func cancel(_ subscription: Subscription) { end() }

  @usableFromInline package func release(_ subscription: Subscription) {
    if !state.withLock({ $0.isDetached }) { end() }
  }

  @usableFromInline package func detach(_ subscription: Subscription) -> @Sendable () -> Void {
    // The upstream sources keep the subscriptions from here on. Holding them here as well would close a circle that
    // nothing opens any more.
    let upstream = state.withLock { state in
      state.isDetached = true
      let upstream = state.upstream
      state.upstream = []
      return upstream
    }
    let ends = upstream.map { $0.source.detach($0) }
    let ended = state.withLock { state in
      if !state.ended { state.detached += ends }
      return state.ended
    }
    if ended { for end in ends { end() } }
    // When this link is gone by then, as one is that only its token kept, what is above it goes on and has to be ended.
    return { [weak self] in if let self { self.end() } else { for end in ends { end() } } }
  }

  @usableFromInline package func isActive(_ subscription: Subscription) -> Bool { !hasEnded }

  @usableFromInline package func replay(to subscription: Subscription) -> Bool {
    let upstream = state.withLock { $0.upstream }
    return upstream.reduce(false) { $1.replay() || $0 }
  }

  @usableFromInline package func setDelivery(_ delivery: Delivery, of subscription: Subscription) -> Bool {
    guard let move = state.withLock({ $0.move }) else { return false }
    move(delivery)
    return true
  }

  @usableFromInline package func endAfterNext(_ subscription: Subscription) {
    for subscription in state.withLock({ $0.upstream }) { subscription.endAfterNext() }
  }
}

extension Subscription {
  /// Makes a subscription that runs `cleanUp` once, when it is cancelled or dropped.
  public convenience init(_ cleanUp: @escaping @Sendable () -> Void) {
    let link = Link()
    link.onEnd(cleanUp)
    self.init(source: link)
  }
}
