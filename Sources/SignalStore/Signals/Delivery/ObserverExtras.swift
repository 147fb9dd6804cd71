// SPDX-License-Identifier: MIT

import Synchronization

/// Data about observers that only some sources need, such as their receivers and their number.
///
/// Unchecked: reached only under the lock of the source.
final class ObserverExtras: @unchecked Sendable {
  /// Sends the number of observers.
  ///
  /// Filled under the lock, so in order; delivered after it.
  var counts: Signal<Int>?

  /// Observers that belong to an object, in any order.
  ///
  /// Entries of ended subscriptions are removed periodically.
  var receivers: [Receiver] = []
  var sweepAt = 16

  /// The maximum number of observers; nil for no limit.
  var limit: Int?

  /// The unique observers, by identifier.
  ///
  /// Entries of ended subscriptions are removed periodically.
  var uniques: [ObserverID: (order: UInt64, token: WeakReference<Subscription>)] = [:]
  private var sweepUniquesAt = 16

  /// The overrides of the property and of its parts.
  var overrides: [OverrideEntry] = []

  /// Sends the number of open transactions that the source takes part in; filled and delivered like ``counts``.
  var transactions: Signal<Int>?

  func sweepUniques(_ isLive: (_ order: UInt64) -> Bool) {
    guard uniques.count >= sweepUniquesAt else { return }
    uniques = uniques.filter { isLive($0.value.order) }
    sweepUniquesAt = max(16, uniques.count * 2)
  }

  func countChanged(to count: Int) { counts?.enqueue(count) }
}

/// The object that an observer belongs to.
final class Receiver: Sendable {
  private let holder: WeakReference<AnyObject>

  /// Identifies the receiver even when it is gone.
  let identifier: ObjectIdentifier

  /// The order of the entry; 0 until it has one.
  let order = Atomic<UInt64>(0)

  /// Ends the subscription where that takes more than removing the entry.
  let end: (@Sendable () -> Void)?

  init(_ object: AnyObject, end: (@Sendable () -> Void)? = nil) {
    holder = WeakReference(object)
    identifier = ObjectIdentifier(object)
    self.end = end
  }

  var object: AnyObject? { holder.object }
}

/// A weak reference to an object.
///
/// Unchecked: a weak reference that is written only at initialization may be read by several threads; whether the
/// object itself may be used there is ensured by the `Sendable` requirements of the callers.
package final class WeakReference<Object: AnyObject>: @unchecked Sendable {
  package private(set) weak var object: Object?
  package init(_ object: Object) { self.object = object }
}

extension ObserverList {
  /// Enqueues the number of observers, if anyone observes it; to be delivered after a change of the list.
  @usableFromInline
  final var watcher: Signal<Int>? {
    guard hasExtras.load(ordering: .relaxed) else { return nil }
    return withLock { $0.extras?.counts }
  }

  /// Ends the subscriptions whose receiver is gone, when the number of observers is observed.
  ///
  /// There is no notification when an object is deallocated, so this is done before each change of the list, to make
  /// the number sent then correct. It visits every receiver, but none while nobody observes the number.
  @usableFromInline
  final func noticeGoneReceivers() {
    guard hasExtras.load(ordering: .relaxed) else { return }
    let receivers = withLock { guarded -> [Receiver] in
      guard let extras = guarded.extras, let counts = extras.counts, !counts.core.isUnobserved else { return [] }
      return extras.receivers
    }
    for receiver in receivers where receiver.object == nil { cancel(order: receiver.order.load(ordering: .relaxed)) }
  }

  /// Sends the number of observers each time it changes.
  final var countSignal: Signal<Int> {
    let new = Signal<Int>()
    return withExtras { extras in
      if extras.counts == nil { extras.counts = new }
      return extras.counts ?? new
    }
  }

  /// Observers that are not cancelled and whose receiver is not gone.
  final var count: Int {
    for receiver in receivers where receiver.object == nil { cancel(order: receiver.order.load(ordering: .relaxed)) }
    return withLock { $0.live }
  }

  /// Whether an observer belongs to `object`.
  final func hasObserver(of object: AnyObject) -> Bool {
    let identifier = ObjectIdentifier(object)
    let orders = receivers.filter { $0.identifier == identifier && $0.object === object }
      .map { $0.order.load(ordering: .relaxed) }
    return withLock { _ in orders.contains { unsafe table.slot(withOrder: $0) != nil } }
  }

  /// Ends all subscriptions that belong to `object`.
  final func cancelAll(of object: AnyObject) {
    let identifier = ObjectIdentifier(object)
    for receiver in receivers where receiver.identifier == identifier && receiver.object === object {
      receiver.end?()
      cancel(order: receiver.order.load(ordering: .relaxed))
    }
  }

  /// Records that the observer of `token` belongs to a receiver.
  final func add(_ receiver: Receiver, for token: Subscription) {
    let ended: [Receiver] = withExtras { extras in
      guard let order = order(of: token) else { return [] }
      receiver.order.store(order, ordering: .relaxed)
      extras.receivers.append(receiver)
      guard extras.receivers.count >= extras.sweepAt else { return [] }
      let all = extras.receivers
      extras.receivers = all.filter {
        unsafe table.slot(withOrder: $0.order.load(ordering: .relaxed)) != nil
      }
      extras.sweepAt = max(16, extras.receivers.count * 2)
      return all
    }
    withExtendedLifetime(ended) {}
  }

  private final var receivers: [Receiver] {
    guard hasExtras.load(ordering: .relaxed) else { return [] }
    return withLock { $0.extras?.receivers ?? [] }
  }

  final func withExtras<Result: Sendable>(_ body: (ObserverExtras) -> Result) -> Result {
    withLock { body(extras(&$0)) }
  }

  /// The extras, created on first use.
  ///
  /// Needs the lock.
  final func extras(_ guarded: inout Guarded) -> ObserverExtras {
    if let extras = guarded.extras { return extras }
    let extras = ObserverExtras()
    guarded.extras = extras
    hasExtras.store(true, ordering: .relaxed)
    return extras
  }
}
