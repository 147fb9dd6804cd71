// SPDX-License-Identifier: MIT

import Synchronization

/// A subscription that consists of others, and that an operator can end itself.
///
/// The closure of an operator may retain its link, and the link retains the upstream subscriptions: this reference
/// cycle through the source is broken when the link ends, and it ends with the token returned to the subscriber.
@usableFromInline
package final class Link: SubscriptionSource {
  private struct State {
    var upstream: [Subscription] = []
    var cleanUps: [@Sendable () -> Void] = []
    /// Closures that end the upstream subscriptions owned by their sources.
    var detached: [@Sendable () -> Void] = []
    /// Changes where the observer is called.
    var move: (@Sendable (Delivery) -> Void)?
    var ended = false
    var isDetached = false
  }

  private let state = Mutex(State())

  package init() {}

  /// Retains an upstream subscription, or ends it if the link has ended meanwhile.
  ///
  /// In a link that is owned by its sources, the subscription is handed to its own source.
  package func hold(_ subscription: Subscription) { replace(nil, with: subscription) }

  /// Replaces one upstream subscription by another.
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

  /// Runs `cleanUp` once, when the link ends; at once if it has ended.
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
  /// True for the one call that ended it.
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
    // From here on the upstream sources own the subscriptions. Retaining them here as well would make a reference cycle
    // that is never broken.
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
    // If this link is gone by then, because only its token retained it, the upstream is still active and has to be
    // ended.
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
