// SPDX-License-Identifier: MIT

public import Synchronization

// How a property takes part in transactions.

/// A source that takes part in a transaction.
protocol TransactionMember: AnyObject, Sendable {
  /// Joins a transaction, if it has not yet, and notifies observers of transactions of its beginning.
  func join(_ transaction: Transaction)

  /// Calls `observer` with the number of open transactions that the source takes part in, now and each time it changes.
  func subscribeToTransactions(_ observer: @escaping @Sendable (Int) -> Void) -> Subscription
}

/// The steps of a source at the end of a transaction.
@usableFromInline
enum CommitStep: Sendable {
  /// Reserves the place of the message in the order, without calling anyone; false when there is nothing to send, or no
  /// observer.
  case enqueue
  /// Delivers what it enqueued; true when that has been done, false when it reports that itself, at once or later.
  case deliver
  /// Does both for a single source; false when others may still be delivering the message.
  case commit
}

/// How a transaction calls a property at its end.
///
/// A closure that captures nothing, made where the property is, so that it is compiled for its type: a protocol would
/// lead to code that is generic at run time, and takes 1.3 µs instead of 0.1.
@usableFromInline
struct Committing: Sendable {
  @usableFromInline let run: @Sendable (TransactionPart, CommitStep, Transaction) -> Bool

  @inlinable
  init<Value: Sendable>(_: Value.Type) {
    run = { part, step, transaction in
      // This closure was made by a property of this type, together with this core.
      let core = unsafe unsafeDowncast(part.core, to: DeliveryCore<ValueKind<Value>>.self)
      if step == .deliver { return core.deliverCommit(of: transaction) }
      var isSame = false
      if let old = part.old {
        let old = unsafe unsafeDowncast(old, to: ValueBefore<Value>.self)
        isSame = old.isUnchanged(old.value, core.withLock { _ in unsafe core.memory.value })
      }
      if step == .enqueue { return core.enqueueCommit(part.number, isSame: isSame, of: transaction) }
      return core.commit(part.number, isSame: isSame, of: transaction)
    }
  }
}

/// The value before a transaction, for a property that compares values.
@usableFromInline
final class ValueBefore<Value: Sendable>: Sendable {
  @usableFromInline let value: Value
  @usableFromInline let isUnchanged: @Sendable (Value, Value) -> Bool

  @inlinable
  init(_ value: Value, _ isUnchanged: @escaping @Sendable (Value, Value) -> Bool) {
    self.value = value
    self.isUnchanged = isUnchanged
  }
}

extension DeliveryCore {
  /// How the outcome of a transaction is handled.
  @usableFromInline
  enum CommitRoute<Value> {
    /// There is nothing to send, except to observers of transactions, if any.
    case nobody(Signal<Int>?)
    /// This thread delivers it at once to the first `end` entries.
    case direct(Value, end: Int)
    /// It waits in the queue.
    case queued
  }

  /// Reserves the place of the message in the order, or only records that there is nothing left to send.
  ///
  /// `number` is the place of the last set in the transaction: later subscribers have already received that value.
  @inlinable
  func enqueueCommit<Value>(_ number: UInt64, isSame: Bool, of transaction: Transaction) -> Bool
  where Kind == ValueKind<Value> {
    withLock { guarded in
      guarded.untoldVersion = 0
      if isSame || isUnobserved { return false }
      unsafe queue.append(Pending(number: number, target: 0, message: memory.value, transaction: transaction))
      setPending()
      return true
    }
  }

  /// Delivers the outcome of a transaction and returns true, if it waits alone; otherwise drains the queue, and false.
  @inlinable
  func deliverCommit(of transaction: Transaction) -> Bool {
    var end = 0
    let next: Pending<Message>? = withLock { guarded in
      // Only if the right to drain is free; other threads take it without the lock.
      guard unsafe queue.count == 1, unsafe queue.first.transaction === transaction,
        state.compareExchange(
          expected: Self.pending, desired: Self.draining, successOrdering: .acquiring, failureOrdering: .relaxed
        ).exchanged
      else { return nil }
      end = table.used.load(ordering: .relaxed)
      return unsafe queue.popFirst()
    }
    guard let next else {
      deliver()
      return false
    }
    transaction.tell { fire(next.message, number: next.number, end: end) }
    finishCommit()
    return true
  }

  /// Records that the outcome of a transaction has been delivered, and releases the right to drain.
  @inlinable
  func finishCommit() {
    if endAlone() { return }
    transactionEnded()
    finish()
  }

  /// Reserves the place of the message and delivers it; without the queue, if nothing else is being delivered.
  ///
  /// - Returns: False when it was queued.
  @inlinable
  func commit<Value>(_ number: UInt64, isSame: Bool, of transaction: Transaction) -> Bool
  where Kind == ValueKind<Value> {
    let route: CommitRoute<Value> = withLock { guarded in
      guarded.untoldVersion = 0
      let end = table.used.load(ordering: .relaxed)
      if isSame || end == 0 { return .nobody(changeOpenTransactions(by: -1, &guarded)) }
      if begin() { return unsafe .direct(memory.value, end: end) }
      unsafe queue.append(Pending(number: number, target: 0, message: memory.value, transaction: transaction))
      setPending()
      return .queued
    }
    switch route {
    case .nobody(let follower):
      follower?.deliver()
      return true
    case .direct(let value, let end):
      transaction.tell { fire(value, number: number, end: end) }
      finishCommit()
      return true
    case .queued:
      deliver()
      return false
    }
  }
}

extension ObserverList {
  /// Performs a step at the end of a transaction that it takes part in.
  final func perform(_ step: CommitStep, _ part: TransactionPart, of transaction: Transaction) -> Bool {
    committing?.run(part, step, transaction) ?? false
  }

  /// Records the beginning of a transaction that the source takes part in, and notifies observers of transactions.
  @usableFromInline
  final func transactionBegan() { withLock { changeOpenTransactions(by: 1, &$0) }?.deliver() }

  /// Records that it has notified its observers and releases the right to drain, in one step.
  ///
  /// Does nothing and returns false when something came in meanwhile or transactions are observed.
  @usableFromInline
  final func endAlone() -> Bool {
    withLock { guarded in
      if guarded.extras != nil || state.load(ordering: .relaxed) != Self.draining { return false }
      guarded.openTransactions -= 1
      endLocked()
      return true
    }
  }

  /// Records that it has notified its observers, or had nothing to send.
  @usableFromInline
  final func transactionEnded() { withLock { changeOpenTransactions(by: -1, &$0) }?.deliver() }

  /// Needs the lock; after unlocking the caller delivers to the observers of transactions, if any.
  @usableFromInline
  final func changeOpenTransactions(by difference: Int, _ guarded: inout Guarded) -> Signal<Int>? {
    guarded.openTransactions += difference
    guard let follower = guarded.extras?.transactions else { return nil }
    follower.enqueue(guarded.openTransactions)
    return follower
  }
}

extension Property: TransactionMember {
  /// Runs `body` in a transaction that this property takes part in, even when nothing sets it.
  ///
  /// Observers of ``updates`` receive the beginning before `body` runs.
  @discardableResult
  public func inTransaction<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
    try withTransaction { () throws(Failure) -> Result in
      if let transaction = Transaction.current { join(transaction) }
      return try body()
    }
  }

  func join(_ transaction: Transaction) {
    if transaction.enter(core) == .new { core.transactionBegan() }
  }

  func subscribeToTransactions(_ observer: @escaping @Sendable (Int) -> Void) -> Subscription {
    let new = Signal<Int>()
    let (signal, token) = core.withLock { guarded in
      let extras = core.extras(&guarded)
      let signal = extras.transactions ?? new
      extras.transactions = signal
      // Under the same lock as changes of the number, so that none is missed and none comes twice.
      let token = signal.subscribe(observer)
      signal.enqueue(guarded.openTransactions, to: token)
      return (signal, token)
    }
    signal.deliver()
    return token
  }

  /// Stores a value inside a transaction, without notifying anyone.
  @inlinable @inline(never)
  func store(_ value: Value, over version: UInt64?, in transaction: Transaction) -> Bool {
    let entry = transaction.enter(core)
    var begins = entry == .new
    if begins, core.hasExtras.load(ordering: .relaxed) {
      // Observers of transactions are notified before the value is stored.
      core.transactionBegan()
      begins = false
    }
    // Carries the old value out of the lock, to be released after unlocking.
    var old = value
    var follower: Signal<Int>?
    let number: UInt64? = core.withLock { guarded in
      if begins { follower = core.changeOpenTransactions(by: 1, &guarded) }
      if let version, unsafe core.memory.version != version { return nil }
      unsafe swap(&old, &core.memory.value)
      unsafe core.memory.version += 1
      unsafe guarded.untoldVersion = core.memory.version
      guarded.clock += Stamp.step
      return guarded.clock | Stamp.message
    }
    if let number {
      var before: ValueBefore<Value>?
      if entry != .set, let isUnchanged { before = ValueBefore(old, isUnchanged) }
      transaction.note(core, old: before, number: number)
    }
    follower?.deliver()
    return number != nil
  }

  /// The value of the property with this core, when it was set in a transaction that has not sent it yet.
  ///
  /// Callers that read it when they leave do not retain the property: it retains them.
  static func untoldValue(of core: DeliveryCore<ValueKind<Value>>?) -> Value? {
    guard let core else { return nil }
    return core.withLock { guarded in
      unsafe guarded.untoldVersion != 0 && guarded.untoldVersion == core.memory.version ? core.memory.value : nil
    }
  }
}
