// SPDX-License-Identifier: MIT

public import Synchronization

/// The observers of one source, and the state word that decides who may call them.
///
///                    send, nobody delivers                      nothing came in meanwhile
///        idle (0) ───────────────────────────▶ draining ───────────────────────────────────▶ idle
///          │                                      │ ▲
///          │ enqueue                              │ │ message sent, observer cancelled meanwhile
///          ▼                 deliver              ▼ │
///        pending ─────────────────────▶ draining + pending ──▶ takes work items one by one, under the lock,
///                                                              until there is none ──▶ idle
///
/// * *draining* is the right to call observers, to remove closures from the table and to compact it. One thread at a
///   time has it.
/// * *pending* says that the queue has messages or that cancelled closures wait. It is set only under the lock, and
///   cleared only under the lock by the drainer that found nothing left. So a thread that sees another one drain can
///   return: its message is in the queue, and that drainer checks the queue before it becomes idle.
/// * *dead* says that cancelled closures wait, so that the drainer checks for them between two messages that it has
///   already taken out of the queue.
/// * The lock guards everything else. No observer is called and no object of the user is released while it is held.
///
/// Nothing here is generic, see ``ErasedClosure``; generic code is in ``DeliveryCore``. Unchecked because of the
/// pointers in the table: the rights above make it safe to share.
@safe @usableFromInline
class ObserverList: @unchecked Sendable {
  @usableFromInline static var draining: UInt { 1 }
  @usableFromInline static var pending: UInt { 2 }
  @usableFromInline static var dead: UInt { 4 }

  /// The state guarded by the lock, besides the queue and the stored state of the source.
  ///
  /// Unchecked: its pointers make it non-Sendable, but they are reached only through the lock.
  @usableFromInline
  struct Guarded: ~Copyable, @unchecked Sendable {
    var editor = ObserverTableEditor()
    /// Counts subscriptions and queued messages; see ``Stamp``.
    @usableFromInline var clock: UInt64 = 0
    /// Observers that are not cancelled.
    var live = 0
    /// Transactions that the source takes part in and that have not notified its observers yet.
    var openTransactions = 0
    /// The version of a property's value that was set in a transaction and not sent yet; 0 for none.
    @usableFromInline var untoldVersion: UInt64 = 0
    /// Rarely needed; created on first use.
    var extras: ObserverExtras?
  }

  @usableFromInline let state: Atomic<UInt>
  @usableFromInline let table: ObserverTable
  @usableFromInline let lock = ShortLock()
  /// Reached through ``withLock(_:)`` only: the lock separates accesses, so exclusivity is not checked again.
  @exclusivity(unchecked) @usableFromInline nonisolated(unsafe) var guarded = Guarded()
  /// Whether there are ``Guarded/extras``; so that sources without them need not check under the lock.
  @usableFromInline let hasExtras: Atomic<Bool>

  /// How a transaction ends for a source that takes part in them.
  let committing: Committing?

  @usableFromInline
  init(committing: Committing?) {
    self.committing = committing
    state = Atomic(0)
    hasExtras = Atomic(false)
    table = ObserverTable()
  }

  deinit {
    unsafe guarded.editor.destroy(table)
  }

  /// Runs `body` with the lock; it must not wait, nor call or release anything of the user.
  @inlinable @inline(__always)
  final func withLock<Result: ~Copyable>(_ body: (inout Guarded) -> Result) -> Result {
    lock.lock()
    defer { lock.unlock() }
    return unsafe body(&guarded)
  }

  /// Whether there is no entry at all; exact for what happened before on this thread.
  @inlinable final var isUnobserved: Bool { table.used.load(ordering: .relaxed) == 0 }

  /// Whether there is an observer that is not cancelled.
  final var hasLive: Bool { withLock { $0.live > 0 } }

  // MARK: The right to drain

  /// Takes the right to drain, if no thread has it and nothing is pending.
  @inlinable
  final func begin() -> Bool {
    // Even a failing compare-and-exchange would take the cache line from the draining thread.
    state.load(ordering: .relaxed) == 0
      && state.compareExchange(
        expected: 0, desired: Self.draining, successOrdering: .acquiring, failureOrdering: .relaxed
      ).exchanged
  }

  /// Takes the right to drain, if no thread has it and something is pending.
  @inlinable
  final func beginPending() -> Bool {
    var seen = state.load(ordering: .relaxed)
    while seen & Self.pending != 0, seen & Self.draining == 0 {
      let (won, current) = state.weakCompareExchange(
        expected: seen, desired: seen | Self.draining, successOrdering: .acquiring, failureOrdering: .relaxed)
      if won { return true }
      seen = current
    }
    return false
  }

  /// Releases the right to drain, unless something came in meanwhile.
  @inlinable
  final func end() -> Bool {
    state.compareExchange(
      expected: Self.draining, desired: 0, successOrdering: .releasing, failureOrdering: .relaxed
    ).exchanged
  }

  /// Releases the right to drain.
  ///
  /// Needs the lock; nothing may be left to do.
  @inlinable
  final func endLocked() { state.store(0, ordering: .releasing) }

  /// Signals to the current drainer, or the next one, that there is work.
  ///
  /// Needs the lock, which also orders it.
  @inlinable
  final func setPending() {
    if state.load(ordering: .relaxed) & Self.pending == 0 { state.bitwiseOr(Self.pending, ordering: .relaxed) }
  }

  /// Whether closures of cancelled observers wait.
  @inlinable final var hasDead: Bool { state.load(ordering: .relaxed) & Self.dead != 0 }

  /// Removes the closures of observers cancelled while a thread was draining.
  ///
  /// Needs the lock and the right to drain.
  @usableFromInline
  final func takeDead(_ guarded: inout Guarded) -> [ErasedClosure]? {
    if unsafe guarded.editor.dead.isEmpty { return nil }
    state.bitwiseAnd(~Self.dead, ordering: .relaxed)
    let closures = guarded.editor.takeDead()
    guarded.editor.compactIfNeeded(table)
    return closures
  }

  // MARK: Subscriptions

  /// Appends an observer and returns its order, to address a first message to it.
  ///
  /// Needs the lock. `flags` are bits of ``Stamp``.
  @usableFromInline
  final func append(
    _ closure: ErasedClosure, flags: UInt64, token: Subscription, _ guarded: inout Guarded
  ) -> UInt64 {
    if let limit = guarded.extras?.limit, guarded.live >= limit {
      preconditionFailure("There are \(limit) observers already, and no more are allowed; see `trySubscribe`.")
    }
    guarded.clock += Stamp.step
    let entry = ObserverEntry(stamp: guarded.clock | flags, closure: closure, token: token)
    let slot = unsafe guarded.editor.append(entry, to: table)
    unsafe token.slot = UnsafeMutableRawPointer(slot)
    guarded.live += 1
    guarded.extras?.countChanged(to: guarded.live)
    return guarded.clock
  }

  /// Appends an observer.
  @usableFromInline
  final func append(_ closure: ErasedClosure, flags: UInt64, token: Subscription) {
    noticeGoneReceivers()
    withLock { _ = append(closure, flags: flags, token: token, &$0) }
    watcher?.deliver()
  }

  /// Ends a subscription.
  @usableFromInline
  final func cancel(_ token: Subscription) {
    noticeGoneReceivers()
    // The closure is released after unlocking.
    let closure: ErasedClosure? = withLock { guarded in
      guard let slot = unsafe Self.slot(of: token) else { return nil }
      return unsafe remove(slot, &guarded)
    }
    closure?.release()
    watcher?.deliver()
  }

  /// Ends the subscription of a token that is being deallocated, unless it is detached.
  @usableFromInline
  final func release(_ token: Subscription) {
    let closure: ErasedClosure? = withLock { guarded in
      guard let slot = unsafe Self.slot(of: token) else { return nil }
      if unsafe slot.pointee.stamp.load(ordering: .relaxed) & Stamp.detached == 0 {
        return unsafe remove(slot, &guarded)
      }
      unsafe token.slot = nil
      unsafe slot.pointee.token = nil
      return nil
    }
    closure?.release()
    watcher?.deliver()
  }

  /// Sets or clears flags of a running subscription.
  final func change(_ token: Subscription, set flags: UInt64) {
    withLock { _ in
      guard let slot = unsafe Self.slot(of: token) else { return }
      unsafe slot.pointee.stamp.bitwiseOr(flags, ordering: .relaxed)
    }
  }

  /// Whether the subscription has not ended.
  @usableFromInline
  final func isActive(_ token: Subscription) -> Bool {
    withLock { _ in unsafe Self.slot(of: token) != nil }
  }

  /// Ends the subscription of an entry; only for the drainer; its closure is removed later.
  @usableFromInline
  final func retire(_ slot: ObserverTable.Slot) {
    withLock { unsafe retire(slot, &$0) }
    watcher?.deliver()
  }

  /// Ends the subscription with this order.
  final func cancel(order: UInt64) {
    let closure: ErasedClosure? = withLock { guarded in
      guard let slot = unsafe table.slot(withOrder: order) else { return nil }
      return unsafe remove(slot, &guarded)
    }
    closure?.release()
    watcher?.deliver()
  }

  /// Ends all current subscriptions.
  final func cancelAll() {
    let orders: [UInt64] = withLock { _ in
      var orders: [UInt64] = []
      unsafe table.forEach(end: table.used.load(ordering: .relaxed)) { slot in
        let stamp = unsafe slot.pointee.stamp.load(ordering: .relaxed)
        if stamp & Stamp.cancelled == 0 { orders.append(stamp & Stamp.order) }
        return true
      }
      return orders
    }
    for order in orders { cancel(order: order) }
  }

  /// Makes `token` the one of a running subscription whose own token was dropped; false when there is none.
  ///
  /// Needs the lock.
  final func adopt(_ token: Subscription, order: UInt64) -> Bool {
    guard let slot = unsafe table.slot(withOrder: order), unsafe slot.pointee.token == nil else { return false }
    unsafe slot.pointee.token = .passUnretained(token)
    unsafe token.slot = UnsafeMutableRawPointer(slot)
    return true
  }

  /// The order of a token's entry.
  ///
  /// Needs the lock.
  @usableFromInline
  final func order(of token: Subscription) -> UInt64? {
    guard let slot = unsafe Self.slot(of: token) else { return nil }
    return unsafe slot.pointee.stamp.load(ordering: .relaxed) & Stamp.order
  }

  /// The entry of a token; its address is stable while the caller has the right to drain.
  @usableFromInline
  final func entry(of token: Subscription) -> ObserverTable.Slot? {
    unsafe withLock { _ in unsafe Self.slot(of: token) }
  }

  /// The entry of a token.
  ///
  /// Needs the lock.
  private static func slot(of token: Subscription) -> ObserverTable.Slot? {
    unsafe token.slot?.assumingMemoryBound(to: ObserverEntry.self)
  }

  /// Marks an entry, and removes its closure if no thread is draining.
  ///
  /// Needs the lock; the caller releases the closure after unlocking.
  private final func remove(_ slot: ObserverTable.Slot, _ guarded: inout Guarded) -> ErasedClosure? {
    // Only with nothing pending: with messages in the queue, a thread about to deliver them relies on finding the right
    // free. As the right is taken and released under the lock, no thread sees it taken here and then gives up.
    guard begin() else {
      unsafe retire(slot, &guarded)
      return nil
    }
    unsafe mark(slot, &guarded)
    let closure = unsafe guarded.editor.takeClosure(of: slot)
    guarded.editor.compactIfNeeded(table)
    endLocked()
    return closure
  }

  private final func retire(_ slot: ObserverTable.Slot, _ guarded: inout Guarded) {
    if unsafe slot.pointee.stamp.load(ordering: .relaxed) & Stamp.cancelled != 0 { return }
    unsafe mark(slot, &guarded)
    unsafe guarded.editor.bury(slot)
    state.bitwiseOr(Self.pending | Self.dead, ordering: .relaxed)
  }

  private final func mark(_ slot: ObserverTable.Slot, _ guarded: inout Guarded) {
    unsafe slot.pointee.stamp.bitwiseOr(Stamp.cancelled, ordering: .relaxed)
    if let token = unsafe slot.pointee.token {
      unsafe token._withUnsafeGuaranteedRef { unsafe $0.slot = nil }
      unsafe slot.pointee.token = nil
    }
    guarded.live -= 1
    guarded.extras?.countChanged(to: guarded.live)
  }
}
