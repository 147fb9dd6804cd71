// SPDX-License-Identifier: MIT

public import Synchronization

// How a property takes part in transactions.

/// A source that takes part in a transaction.
protocol TransactionMember: AnyObject, Sendable {
  /// Takes part in a transaction, if it does not yet, and tells those who follow transactions of its beginning.
  func join(_ transaction: Transaction)

  /// Calls `observer` with the number of open transactions that the source takes part in, now and each time it changes.
  func subscribeToTransactions(_ observer: @escaping @Sendable (Int) -> Void) -> Subscription
}

/// What a transaction asks of a source at its end.
@usableFromInline
enum CommitStep: Sendable {
  /// To take the place of the message in the order, without calling anybody; false when there is nothing to tell, or nobody
  /// to be told.
  case enqueue
  /// To deliver what it enqueued; true when that has been done, false when it notes that itself, at once or later.
  case deliver
  /// To do both for a source that is the only one; false when others may be delivering the message still.
  case commit
}

/// How a transaction reaches a property at its end.
///
/// A closure that captures nothing, made where the property is, so that it is compiled for its type: a protocol would lead to
/// code that is generic at run time, and takes 1.3 µs instead of 0.1.
@usableFromInline
struct Committing: Sendable {
  @usableFromInline let run: @Sendable (TransactionPart, CommitStep, Transaction) -> Bool

  @inlinable
  init<Value: Sendable>(_: Value.Type) {
    run = { part, step, transaction in
      // It is the closure of a property of this type that came with this core.
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

/// The value before a transaction, of a property that compares.
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
  /// How the outcome of a transaction goes on.
  @usableFromInline
  enum CommitRoute<Value> {
    /// Nobody is told, but perhaps those who follow transactions.
    case nobody(Signal<Int>?)
    /// This thread delivers it at once to the first `end` entries.
    case direct(Value, end: Int)
    /// It waits in the queue.
    case queued
  }

  /// Takes the place of the message in the order, or only notes that there is nothing to tell any more.
  ///
  /// `number` is the place of the last set in the transaction: who subscribed later has got that value already.
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

  /// Delivers what a transaction has enqueued, and true, if it waits alone; otherwise does what there is to do, and false.
  @inlinable
  func deliverCommit(of transaction: Transaction) -> Bool {
    var end = 0
    let next: Pending<Message>? = withLock { guarded in
      // With the right to drain, which nobody has, if it can be had at once; others take it without the lock.
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

  /// Notes that the outcome of a transaction has been told, and gives the right to drain back.
  @inlinable
  func finishCommit() {
    if endAlone() { return }
    transactionEnded()
    finish()
  }

  /// Takes the place of the message in the order and delivers it; without the queue, if nothing else is being delivered.
  ///
  /// - Returns: False when it went into the queue.
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
  /// Does its part at the end of a transaction that it takes part in.
  final func carryOut(_ step: CommitStep, _ part: TransactionPart, of transaction: Transaction) -> Bool {
    committing?.run(part, step, transaction) ?? false
  }

  /// Notes that a transaction has begun that the source takes part in, and tells those who follow transactions.
  @usableFromInline
  final func transactionBegan() { withLock { changeOpenTransactions(by: 1, &$0) }?.deliver() }

  /// Notes that it has told its observers and gives the right to drain back, in one step.
  ///
  /// False, and nothing done, when something came in meanwhile or somebody follows transactions.
  @usableFromInline
  final func endAlone() -> Bool {
    withLock { guarded in
      if guarded.extras != nil || state.load(ordering: .relaxed) != Self.draining { return false }
      guarded.openTransactions -= 1
      endLocked()
      return true
    }
  }

  /// Notes that it has told its observers, or had nothing to tell.
  @usableFromInline
  final func transactionEnded() { withLock { changeOpenTransactions(by: -1, &$0) }?.deliver() }

  /// Needs the lock; the caller delivers after it what is for those who follow transactions, if there are any.
  @usableFromInline
  final func changeOpenTransactions(by difference: Int, _ guarded: inout Guarded) -> Signal<Int>? {
    guarded.openTransactions += difference
    guard let follower = guarded.extras?.transactions else { return nil }
    follower.enqueue(guarded.openTransactions)
    return follower
  }
}

extension Property: TransactionMember {
  /// Runs `body` in a transaction that this property takes part in, also when nothing sets it.
  ///
  /// Those who follow ``updates`` are told of the beginning before `body` runs.
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
      // Under the lock under which the number changes, so that none is missed and none comes twice.
      let token = signal.subscribe(observer)
      signal.enqueue(guarded.openTransactions, to: token)
      return (signal, token)
    }
    signal.deliver()
    return token
  }

  /// Stores a value inside a transaction, without telling anybody.
  @inlinable @inline(never)
  func store(_ value: Value, over version: UInt64?, in transaction: Transaction) -> Bool {
    let entry = transaction.enter(core)
    var begins = entry == .new
    if begins, core.hasExtras.load(ordering: .relaxed) {
      // Those who follow transactions are told before the value is stored.
      core.transactionBegan()
      begins = false
    }
    // The old value leaves the lock in it, and is released after it.
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

  /// The value of the property with this core, when it was set in a transaction that has not told it yet.
  ///
  /// Those who ask when they leave keep not the property: it keeps them.
  static func untoldValue(of core: DeliveryCore<ValueKind<Value>>?) -> Value? {
    guard let core else { return nil }
    return core.withLock { guarded in
      unsafe guarded.untoldVersion != 0 && guarded.untoldVersion == core.memory.version ? core.memory.value : nil
    }
  }
}
