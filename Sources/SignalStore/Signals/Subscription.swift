// SPDX-License-Identifier: MIT

/// The source of a subscription, which can end it.
///
/// A protocol because a token must be storable without the message type of its source.
@usableFromInline
package protocol SubscriptionSource: AnyObject, Sendable {
  /// Ends the subscription; a second call for the same one does nothing.
  func cancel(_ subscription: Subscription)

  /// Ends the subscription of a token being deallocated, unless the source or a receiver owns it.
  func release(_ subscription: Subscription)

  /// Lets the subscription continue without its token.
  ///
  /// - Returns: A closure to end it later, which retains no source.
  func detach(_ subscription: Subscription) -> @Sendable () -> Void

  /// Whether the subscription still gets messages.
  func isActive(_ subscription: Subscription) -> Bool

  /// Sends what the source remembers to this observer only; false when there is nothing.
  func replay(to subscription: Subscription) -> Bool

  /// Ends the subscription with its next message.
  func endAfterNext(_ subscription: Subscription)

  /// Changes where the observer is called; false when that cannot be changed.
  func setDelivery(_ delivery: Delivery, of subscription: Subscription) -> Bool
}

extension SubscriptionSource {
  @usableFromInline
  package func setDelivery(_ delivery: Delivery, of subscription: Subscription) -> Bool { false }
}

/// An active subscription: keep it to stay subscribed, release it to stop.
///
/// A subscription keeps its source alive, including every step of a derived chain, so it is enough to keep the
/// subscription. Dropping the last reference cancels it. That is why the result of `subscribe` must be used: a
/// subscription that is discarded ends at once.
@safe
public final class Subscription: Sendable {
  /// Not cleared by `cancel`, so that no lock or counter is needed to read it.
  @usableFromInline let source: any SubscriptionSource

  /// The entry of this subscription in the table of its source, nil when it has ended.
  ///
  /// Unchecked because it belongs to the source: it is read and written only under the lock of the source.
  @usableFromInline nonisolated(unsafe) var slot: UnsafeMutableRawPointer?

  @usableFromInline
  package init(source: any SubscriptionSource) {
    self.source = source
    unsafe slot = nil
  }

  /// Ends the subscription.
  ///
  /// After `cancel` has returned, no call of the observer starts on this thread. A call that another thread has already
  /// begun is not waited for: waiting would deadlock whenever that observer waits for this thread. Cancelling again, or
  /// from inside the observer itself, is allowed. The captures of the observer are released at once, or as soon as the
  /// message that is being delivered has been handled.
  public func cancel() {
    source.cancel(self)
  }

  /// Whether the subscription has not ended yet.
  public var isActive: Bool { source.isActive(self) }

  /// Hands the subscription to its source: it continues until cancelled or the source is gone, even without a token.
  public func keepWhileSourceLives() {
    _ = source.detach(self)
  }

  /// Sends the current value of its property, or the last message of its signal, to the observer again.
  ///
  /// - Returns: False when there is no such message, or the subscription has ended.
  @discardableResult
  public func replay() -> Bool { source.replay(to: self) }

  /// Ends the subscription with the next message.
  public func endAfterNext() { source.endAfterNext(self) }

  deinit {
    source.release(self)
  }
}
