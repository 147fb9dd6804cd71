// SPDX-License-Identifier: MIT

// How a property takes part in transactions.

/// What a transaction does with a property at its end.
///
/// Closures that capture nothing, made where the property is, so that they are compiled for its type: a transaction reaches a
/// property through a protocol, behind which code is generic at run time, and takes 1.3 µs instead of 0.1.
@usableFromInline
struct Committing<Value: Sendable>: Sendable {
  @usableFromInline typealias Core = DeliveryCore<ValueKind<Value>>

  /// Takes the place of the message in the order, or with nil only notes that there is nothing to tell any more.
  @usableFromInline let enqueue: @Sendable (Core, UInt64?, Transaction) -> Bool
  @usableFromInline let deliver: @Sendable (Core) -> Void

  @inlinable
  init() {
    enqueue = { core, number, transaction in
      core.withLock { guarded in
        guarded.untoldVersion = 0
        guard let number, !core.isUnobserved else { return false }
        unsafe core.queue.append(
          Pending(number: number, target: 0, message: core.memory.value, transaction: transaction))
        core.setPending()
        return true
      }
    }
    deliver = { $0.deliver() }
  }
}

extension ObserverList {
  final func transactionBegan() { changeOpenTransactions(by: 1) }

  @usableFromInline
  final func transactionEnded() { changeOpenTransactions(by: -1) }

  private func changeOpenTransactions(by difference: Int) {
    let follower = withLock { guarded in
      guarded.openTransactions += difference
      guarded.extras?.transactions?.enqueue(guarded.openTransactions)
      return guarded.extras?.transactions
    }
    follower?.deliver()
  }
}

extension Property: TransactionMember {
  /// Runs `body` in a transaction that this property takes part in, also when nothing sets it.
  ///
  /// Those who follow ``updates`` are told of the beginning before `body` runs.
  @discardableResult
  public func inTransaction<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
    try withTransaction { () throws(Failure) -> Result in
      Transaction.current?.join(self)
      return try body()
    }
  }

  @usableFromInline
  func transactionBegan() { core.transactionBegan() }

  @usableFromInline
  func transactionEnded() { core.transactionEnded() }

  @usableFromInline
  func enqueueCommit(from old: (any Sendable)?, number: UInt64, of transaction: Transaction) -> Bool {
    let isSame = if let isUnchanged, let old = old as? Value { isUnchanged(old, value) } else { false }
    return committing.enqueue(core, isSame ? nil : number, transaction)
  }

  @usableFromInline
  func deliverCommit() { committing.deliver(core) }

  @usableFromInline
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
    transaction.join(self)
    // The old value leaves the lock in it, and is released after it.
    var old = value
    let number: UInt64? = core.withLock { guarded in
      if let version, unsafe core.memory.version != version { return nil }
      unsafe swap(&old, &core.memory.value)
      unsafe core.memory.version += 1
      unsafe guarded.untoldVersion = core.memory.version
      guarded.clock += Stamp.step
      return guarded.clock | Stamp.message
    }
    guard let number else { return false }
    transaction.note(self, old: isUnchanged == nil ? nil : old, number: number)
    return true
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
