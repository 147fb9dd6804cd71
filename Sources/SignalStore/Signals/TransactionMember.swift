// SPDX-License-Identifier: MIT

// How a property takes part in transactions.

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

  func transactionBegan() { core.transactionBegan() }

  func transactionEnded() { core.transactionEnded() }

  func enqueueCommit(from old: (any Sendable)?, number: UInt64, of transaction: Transaction) -> Bool {
    let isSame = if let isUnchanged, let old = old as? Value { isUnchanged(old, value) } else { false }
    return core.withLock { guarded in
      guarded.untoldVersion = 0
      if isSame || core.isUnobserved { return false }
      unsafe core.queue.append(
        Pending(number: number, target: 0, message: core.memory.value, transaction: transaction))
      core.setPending()
      return true
    }
  }

  func deliverCommit() { core.deliver() }

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
  @usableFromInline
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
