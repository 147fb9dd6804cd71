// SPDX-License-Identifier: MIT

import Synchronization

/// Holds subscriptions, and what they need, until it is cancelled or released.
///
/// ```swift
/// let bag = SubscriptionBag()
/// bag.insert(property.subscribe { … })
/// bag.insert(signal.subscribe { … })
/// bag.cancel()                      // both stop; the bag can be used again
/// ```
///
/// Cancels in the order of insertion and without a lock, so that objects released by it may use the bag.
public final class SubscriptionBag: Sendable {
  private enum Item: Sendable {
    case subscription(Subscription)
    case bag(SubscriptionBag)
    case object(any Sendable)
    case cleanUp(@Sendable () -> Void)
  }

  private struct Contents {
    var items: [Item] = []
    /// The number of items at which subscriptions that have ended by themselves are removed, so that the bag of a
    /// long-lived object does not grow.
    var sweepAt = 32
  }

  private let contents = Mutex(Contents())

  /// Makes an empty bag.
  public init() {}

  /// Holds a subscription.
  public func insert(_ subscription: Subscription) { insert(.subscription(subscription)) }

  /// Holds another bag, which is cancelled with this one.
  public func insert(_ bag: SubscriptionBag) {
    precondition(bag !== self, "a bag cannot be put into itself")
    insert(.bag(bag))
  }

  /// Keeps an object alive as long as the subscriptions of this bag.
  public func hold(_ object: any Sendable) { insert(.object(object)) }

  /// Runs `cleanUp` once, when the bag is cancelled or released.
  public func onCancel(_ cleanUp: @escaping @Sendable () -> Void) { insert(.cleanUp(cleanUp)) }

  /// The number of items in the bag.
  public var count: Int { contents.withLock { $0.items.count } }

  /// Cancels every subscription and bag, runs the clean-ups and releases the objects.
  ///
  /// The bag is empty then.
  public func cancel() {
    // Taken out first, run afterwards: each clean-up runs once, even with concurrent cancellations.
    let items = contents.withLock { contents in
      let items = contents.items
      contents.items = []
      return items
    }
    for item in items {
      switch item {
      case .subscription(let subscription): subscription.cancel()
      case .bag(let bag): bag.cancel()
      case .object: break
      case .cleanUp(let cleanUp): cleanUp()
      }
    }
  }

  private func insert(_ item: Item) {
    let full = contents.withLock { contents in
      contents.items.append(item)
      return contents.items.count >= contents.sweepAt
    }
    if full { sweep() }
  }

  /// Drops ended subscriptions.
  ///
  /// The copy of the items keeps them alive until after unlocking.
  private func sweep() {
    let items = contents.withLock { $0.items }
    var ended: Set<ObjectIdentifier> = []
    for case .subscription(let subscription) in items where !subscription.isActive {
      ended.insert(ObjectIdentifier(subscription))
    }
    contents.withLock { contents in
      contents.items.removeAll {
        if case .subscription(let subscription) = $0 { ended.contains(ObjectIdentifier(subscription)) } else { false }
      }
      contents.sweepAt = max(32, contents.items.count * 2)
    }
    withExtendedLifetime(items) {}
  }

  deinit { cancel() }
}

extension Subscription {
  /// Puts the subscription into a bag.
  public func stored(in bag: SubscriptionBag) { bag.insert(self) }
}
