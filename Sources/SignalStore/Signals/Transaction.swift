// SPDX-License-Identifier: MIT

import Synchronization

/// A source that takes part in a transaction.
protocol TransactionMember: AnyObject, Sendable {
  /// Notes that a transaction has begun that the source takes part in, and tells those who follow transactions.
  func transactionBegan()

  /// Takes the place of its message in the order, without calling anybody.
  ///
  /// `number` is the place of its last set in the transaction: who subscribed later has got that value already.
  ///
  /// - Returns: False when there is nothing to tell, or nobody to be told.
  func enqueueCommit(from old: any Sendable, number: UInt64, of transaction: Transaction) -> Bool

  /// Delivers what it enqueued.
  func deliverCommit()

  /// Notes that it has told its observers, or had nothing to tell.
  func transactionEnded()
}

/// Sets of several properties that observers see as one; see ``withTransaction(_:)``.
public final class Transaction: Sendable {
  private struct Member: Sendable {
    let source: any TransactionMember
    /// The value before the first set, and the place of the last one; nil as long as nothing was set.
    var change: (old: any Sendable, number: UInt64)?
  }

  private struct State {
    var members: [Member] = []
    /// Where a source is in `members`.
    var index: [ObjectIdentifier: Int] = [:]
    /// Messages that have not been delivered, and one for the thread that commits.
    var outstanding = 0
    /// What is told when all messages have been delivered: a list for each height of combinations.
    var postponed: [[@Sendable () -> Void]] = []
    var isPostponed: Set<ObjectIdentifier> = []
  }

  /// How many there are in the process that have not told everything: while it is 0, nobody need look for one.
  static let openCount = Atomic<Int>(0)

  @TaskLocal static var open: Transaction?
  @TaskLocal private static var delivering: Transaction?

  private let state = Mutex(State())

  fileprivate init() {}

  /// The transaction that the caller is in.
  @usableFromInline
  static var current: Transaction? { openCount.load(ordering: .relaxed) == 0 ? nil : open }

  /// Takes a source in, if it is not yet.
  func join(_ source: any TransactionMember) {
    let isNew = state.withLock { state in
      if state.index[ObjectIdentifier(source)] != nil { return false }
      state.index[ObjectIdentifier(source)] = state.members.count
      state.members.append(Member(source: source))
      return true
    }
    if isNew { source.transactionBegan() }
  }

  /// Notes a set of a source that has joined; of the old values only the first counts.
  func note(_ source: any TransactionMember, old: any Sendable, number: UInt64) {
    state.withLock { state in
      guard let index = state.index[ObjectIdentifier(source)] else { return }
      state.members[index].change = (state.members[index].change?.old ?? old, number)
    }
  }

  /// While messages of a transaction are delivered: runs `deliver` once, after all of them.
  ///
  /// Those of lower height run first. False, and nothing done, at other times.
  static func postpone<Key: AnyObject & Sendable>(
    _ key: Key, height: Int, _ deliver: @escaping @Sendable (Key) -> Void
  ) -> Bool {
    guard openCount.load(ordering: .relaxed) != 0, let transaction = delivering else { return false }
    transaction.state.withLock { state in
      guard state.isPostponed.insert(ObjectIdentifier(key)).inserted else { return }
      while state.postponed.count <= height { state.postponed.append([]) }
      state.postponed[height].append {
        transaction.state.withLock { _ = $0.isPostponed.remove(ObjectIdentifier(key)) }
        deliver(key)
      }
    }
    return true
  }

  /// Tells the observers.
  ///
  /// All messages take their places before the first is delivered.
  fileprivate func commit() {
    let members = state.withLock { state in
      state.outstanding = state.members.count + 1
      return state.members
    }
    for member in members {
      if let (old, number) = member.change, member.source.enqueueCommit(from: old, number: number, of: self) {
        continue
      }
      member.source.transactionEnded()
      wasTold()
    }
    for member in members where member.change != nil { member.source.deliverCommit() }
    wasTold()
  }

  /// Calls observers, and postpones the combinations among them.
  func tell(_ call: () -> Void) { Self.$delivering.withValue(self, operation: call) }

  /// Notes that one of its messages has been delivered or given up.
  ///
  /// The last one tells the combinations.
  func wasTold() {
    let isLast = state.withLock { state in
      state.outstanding -= 1
      return state.outstanding == 0
    }
    guard isLast else { return }
    tell { while let next = nextPostponed() { next() } }
    Self.openCount.subtract(1, ordering: .relaxed)
  }

  private func nextPostponed() -> (@Sendable () -> Void)? {
    state.withLock { state in
      guard let height = state.postponed.firstIndex(where: { !$0.isEmpty }) else { return nil }
      return state.postponed[height].removeFirst()
    }
  }
}

/// What a message says that is the outcome of a transaction for one source.
///
/// It may be delivered by a thread that is not in the transaction.
@usableFromInline
final class TransactionPart: Sendable {
  private let transaction: Transaction
  private let source: any TransactionMember

  init(of transaction: Transaction, for source: any TransactionMember) {
    self.transaction = transaction
    self.source = source
  }

  /// Calls the observers of the message.
  @usableFromInline
  func tell(_ call: () -> Void) {
    transaction.tell(call)
    end()
  }

  /// Notes that the message was delivered or given up.
  @usableFromInline
  func end() {
    source.transactionEnded()
    transaction.wasTold()
  }
}

/// Runs `body`, and lets observers see all that it sets as one step.
///
/// Inside, a set is stored at once and can be read, but nobody is told. When the outermost transaction ends, the observers
/// of each property that was set are called once, with the last value, and the value before the transaction as the old one.
/// All properties take their new places in their orders before the first observer is called, and what is combined from
/// several of them (`combineLatest`) is told once, after all parts are there, also when other threads deliver some of them.
///
/// Who subscribes from ``StartingPoint/current`` while a transaction is open gets what has been set so far as the value of
/// now, and at the end only what was set after that.
///
/// A throwing `body` ends the transaction too: what it had set stays set, and is told.
@discardableResult
public func withTransaction<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
  if Transaction.current != nil { return try body() }
  let transaction = Transaction()
  // Counted down when everything has been told.
  Transaction.openCount.add(1, ordering: .relaxed)
  let outcome: Swift.Result<Result, Failure> = Transaction.$open.withValue(transaction) {
    do throws(Failure) { return .success(try body()) } catch { return .failure(error) }
  }
  transaction.commit()
  return try outcome.get()
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

  func transactionBegan() {
    let follower = core.withLock { guarded in
      guarded.openTransactions += 1
      guarded.extras?.transactions?.enqueue(guarded.openTransactions)
      return guarded.extras?.transactions
    }
    follower?.deliver()
  }

  func transactionEnded() {
    let follower = core.withLock { guarded in
      guarded.openTransactions -= 1
      guarded.extras?.transactions?.enqueue(guarded.openTransactions)
      return guarded.extras?.transactions
    }
    follower?.deliver()
  }

  func enqueueCommit(from old: any Sendable, number: UInt64, of transaction: Transaction) -> Bool {
    guard let old = old as? Value else { return false }
    let part = TransactionPart(of: transaction, for: self)
    let new = value
    if let isUnchanged, isUnchanged(old, new) { return false }
    return core.withLock { _ in
      if core.isUnobserved { return false }
      unsafe core.queue.append(
        Pending(
          number: number, target: 0, message: ValueChange(new: core.memory.value, old: old), transaction: part))
      core.setPending()
      return true
    }
  }

  func deliverCommit() { core.deliver() }

  /// Stores a value inside a transaction, without telling anybody.
  @usableFromInline
  func store(_ value: Value, over version: UInt64?, in transaction: Transaction) -> Bool {
    transaction.join(self)
    let stored: (old: Value, number: UInt64)? = core.withLock { guarded in
      if let version, unsafe core.memory.version != version { return nil }
      var old = value
      unsafe swap(&old, &core.memory.value)
      unsafe core.memory.version += 1
      guarded.clock += Stamp.step
      return (old, guarded.clock | Stamp.message)
    }
    guard let stored else { return false }
    transaction.note(self, old: stored.old, number: stored.number)
    return true
  }
}
