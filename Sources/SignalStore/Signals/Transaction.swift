// SPDX-License-Identifier: MIT

import Synchronization

/// A source that takes part in a transaction.
protocol TransactionMember: AnyObject, Sendable {
  /// Takes the place of its message in the order, without calling anybody.
  func enqueueCommit(from old: any Sendable)

  /// Delivers what it enqueued.
  func deliverCommit()
}

/// Sets of several properties that observers see as one.
public final class Transaction: Sendable {
  private struct State {
    var members: [(member: any TransactionMember, old: any Sendable)] = []
    var known: Set<ObjectIdentifier> = []
    var postponed: [(key: ObjectIdentifier, run: @Sendable () -> Void)] = []
  }

  /// How many are open in the process: while it is 0, a set need not look for its own.
  static let openCount = Atomic<Int>(0)

  @TaskLocal static var open: Transaction?
  @TaskLocal private static var delivering: Transaction?

  private let state = Mutex(State())

  fileprivate init() {}

  /// The transaction that the caller is in.
  @usableFromInline
  static var current: Transaction? { openCount.load(ordering: .relaxed) == 0 ? nil : open }

  /// Notes a property and the value that it had before the transaction; only the first value counts.
  func join(_ member: any TransactionMember, old: any Sendable) {
    state.withLock { state in
      if state.known.insert(ObjectIdentifier(member)).inserted { state.members.append((member, old)) }
    }
  }

  /// While a transaction delivers: runs `deliver` once, after all its properties have told their observers.
  ///
  /// False, and nothing done, at other times.
  static func postpone<Key: AnyObject & Sendable>(_ key: Key, _ deliver: @escaping @Sendable (Key) -> Void) -> Bool {
    guard openCount.load(ordering: .relaxed) != 0, let transaction = delivering else { return false }
    transaction.state.withLock { state in
      if !state.postponed.contains(where: { $0.key == ObjectIdentifier(key) }) {
        state.postponed.append((ObjectIdentifier(key), { deliver(key) }))
      }
    }
    return true
  }

  /// Tells the observers.
  ///
  /// All messages take their places before the first is delivered.
  fileprivate func commit() {
    let members = state.withLock { $0.members }
    for (member, old) in members { member.enqueueCommit(from: old) }
    Transaction.$delivering.withValue(self) {
      for (member, _) in members { member.deliverCommit() }
    }
    while true {
      let postponed = state.withLock { state in
        let postponed = state.postponed
        state.postponed = []
        return postponed
      }
      if postponed.isEmpty { return }
      for entry in postponed { entry.run() }
    }
  }
}

/// Runs `body`, and lets observers see all that it sets as one step.
///
/// Inside, a set is stored at once and can be read, but nobody is told. When the outermost transaction ends, the observers
/// of each property that was set are called once, with the last value, and the value before the transaction as the old one.
/// All properties take their new places in their orders before the first observer is called, and what is combined from
/// several of them (`combineLatest`) is told once, after all parts are there.
///
/// A throwing `body` ends the transaction too: what it had set stays set, and is told.
///
/// - Note: When another thread happens to be delivering one of these properties, that thread tells its observers; a
///   combination may then be told in two steps, the last of which is complete.
@discardableResult
public func withTransaction<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
  if Transaction.current != nil { return try body() }
  let transaction = Transaction()
  Transaction.openCount.add(1, ordering: .relaxed)
  defer { Transaction.openCount.subtract(1, ordering: .relaxed) }
  let outcome: Swift.Result<Result, Failure> = Transaction.$open.withValue(transaction) {
    do throws(Failure) { return .success(try body()) } catch { return .failure(error) }
  }
  transaction.commit()
  return try outcome.get()
}

extension Property: TransactionMember {
  func enqueueCommit(from old: any Sendable) {
    guard let old = old as? Value else { return }
    let new = value
    if let isUnchanged, isUnchanged(old, new) { return }
    core.list.lock.withLock { guarded in
      if core.list.isUnobserved { return }
      core.push(ValueChange(new: unsafe core.memory.value, old: old), target: 0, &guarded)
    }
  }

  func deliverCommit() { core.deliver() }

  /// Stores a value inside a transaction, without telling anybody.
  @usableFromInline
  func store(_ value: Value, over version: UInt64?, in transaction: Transaction) -> Bool {
    let old: Value? = core.list.lock.withLock { _ in
      if let version, unsafe core.memory.version != version { return nil }
      var old = value
      unsafe swap(&old, &core.memory.value)
      unsafe core.memory.version += 1
      return old
    }
    guard let old else { return false }
    transaction.join(self, old: old)
    return true
  }
}
