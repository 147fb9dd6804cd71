// SPDX-License-Identifier: MIT

public import Synchronization

/// Work collected inside a transaction, and performed in one step at its end before anyone is notified.
package protocol TransactionStep: AnyObject, Sendable {
  /// Performs it; sets of properties are still part of the transaction.
  func perform()
}

/// Sets of several properties that observers see as one; see ``withTransaction(_:)``.
///
/// It ends in rounds. A round assigns the message of each property that was set its place in the order and delivers
/// them. Properties bound to these are set meanwhile, and make the next round. When there is none left, combinations of
/// several properties are sent; and properties bound to those make another round.
///
/// Unchecked because of its state: while messages are in flight a lock guards it, because other threads may deliver
/// them and set bound properties. Before and between the rounds only one thread accesses it.
@safe
public final class Transaction: @unchecked Sendable {
  private struct State {
    var parts = TransactionParts()
    /// Messages of this round that have not been delivered, plus one for the thread that began it.
    var outstanding = 0
    /// Rarely needed; created on first use.
    var extras: Extras?
  }

  /// Guarded like the state.
  private final class Extras: @unchecked Sendable {
    var steps: [(key: ObjectIdentifier, step: any TransactionStep)] = []
    /// Deliveries postponed until all messages have been delivered: a list for each height of combinations.
    var postponed: [[@Sendable () -> Void]] = []
    var isPostponed: Set<ObjectIdentifier> = []
  }

  /// The number of transactions in the process that have not delivered everything: while 0, there is none to look up.
  @usableFromInline static let openCount = Atomic<Int>(0)

  private static let open = ThreadLocal<Transaction>()
  private static let telling = ThreadLocal<Transaction>()

  private let lock = Mutex(())
  /// Whether messages are in flight, so that other threads may access the state.
  ///
  /// Set before the first is sent, which publishes it, and cleared by the thread that found that all had been
  /// delivered.
  @exclusivity(unchecked) nonisolated(unsafe) private var isShared = false
  /// Reached through ``withState(_:)`` only.
  @exclusivity(unchecked) nonisolated(unsafe) private var state = State()

  private init() {}

  /// Runs `body` with the state; it must not call or release anything of the user.
  @inline(__always)
  private func withState<Result>(_ body: (inout State) -> Result) -> Result {
    if unsafe isShared { return lock.withLock { _ in unsafe body(&state) } }
    return unsafe body(&state)
  }

  /// The transaction that the caller is in.
  @inlinable
  package static var current: Transaction? { openCount.load(ordering: .relaxed) == 0 ? nil : openOne }

  @usableFromInline static var openOne: Transaction? { open.object }

  /// The same, unretained, for use only while the caller is in it.
  @inlinable
  static var currentReference: Unmanaged<Transaction>? {
    openCount.load(ordering: .relaxed) == 0 ? nil : unsafe openReference
  }

  @usableFromInline static var openReference: Unmanaged<Transaction>? { unsafe open.reference }

  /// Begins a transaction until ``end()``; the caller must be in none.
  @usableFromInline
  static func begin() -> Transaction {
    let transaction = Transaction()
    // Decremented when everything has been delivered.
    openCount.add(1, ordering: .relaxed)
    open.set(transaction)
    return transaction
  }

  /// Ends what ``begin()`` began, and delivers.
  @usableFromInline
  func end() {
    Self.open.set(nil)
    goOn()
  }

  private func run(_ body: () -> Void) { Self.open.with(self, body) }

  /// Adds a source, if it is not a part yet.
  @usableFromInline
  func enter(_ core: ObserverList) -> TransactionEntry {
    withState { state in
      if let number = state.parts.number(of: core) { return number == 0 ? .unset : .set }
      state.parts.append(TransactionPart(core))
      return .new
    }
  }

  /// Records a set of a source that is a part; only the first of the old values is kept.
  @usableFromInline
  func note(_ core: ObserverList, old: (any AnyObject & Sendable)?, number: UInt64) {
    withState { state in
      state.parts.change(core) { part in
        if part.number == 0 { part.old = old }
        part.number = max(part.number, number)
      }
    }
  }

  /// The step of this transaction that belongs to `key`, if there is one.
  package func step(for key: AnyObject) -> (any TransactionStep)? {
    withState { $0.extras?.steps.first { $0.key == ObjectIdentifier(key) }?.step }
  }

  /// Adds a step that belongs to `key`, unless there is one.
  package func add(_ step: any TransactionStep, for key: AnyObject) {
    withState { state in
      let extras = state.extras ?? Extras()
      if !extras.steps.contains(where: { $0.key == ObjectIdentifier(key) }) {
        extras.steps.append((ObjectIdentifier(key), step))
      }
      state.extras = extras
    }
  }

  /// Runs `body`, which sets what follows from a message, as part of the transaction of that message, if any.
  static func following(_ body: () -> Void) {
    guard openCount.load(ordering: .relaxed) != 0, open.object == nil, let transaction = telling.object else {
      return body()
    }
    transaction.run(body)
  }

  /// While messages of a transaction are delivered: runs `deliver` once, after all of them.
  ///
  /// Those of lower height run first. At other times it does nothing and returns false.
  static func postpone<Key: AnyObject & Sendable>(
    _ key: Key, height: Int, _ deliver: @escaping @Sendable (Key) -> Void
  ) -> Bool {
    guard openCount.load(ordering: .relaxed) != 0, let transaction = telling.object else { return false }
    transaction.withState { state in
      let extras = state.extras ?? Extras()
      state.extras = extras
      guard extras.isPostponed.insert(ObjectIdentifier(key)).inserted else { return }
      while extras.postponed.count <= height { extras.postponed.append([]) }
      extras.postponed[height].append {
        transaction.withState { _ = $0.extras?.isPostponed.remove(ObjectIdentifier(key)) }
        deliver(key)
      }
    }
    return true
  }

  /// Calls observers, and postpones the combinations among them.
  @inlinable @inline(__always)
  func tell(_ call: () -> Void) {
    let previous = unsafe Self.beginTelling(self)
    call()
    unsafe Self.endTelling(previous)
  }

  @usableFromInline
  static func beginTelling(_ transaction: Transaction) -> UnsafeMutableRawPointer? {
    unsafe telling.replace(transaction)
  }

  @usableFromInline
  static func endTelling(_ previous: UnsafeMutableRawPointer?) { unsafe telling.putBack(previous) }

  /// Records that one of its messages has been delivered or dropped; the last one continues with the rest.
  @usableFromInline
  func wasTold(_ count: Int = 1) {
    let isLast = withState { state in
      state.outstanding -= count
      return state.outstanding == 0
    }
    if isLast { goOn() }
  }

  private enum Work {
    case steps([(key: ObjectIdentifier, step: any TransactionStep)])
    case single(TransactionPart)
    case round(TransactionParts)
    case postponed(@Sendable () -> Void)
    case done(TransactionParts)
  }

  /// Does the remaining work, until there is none or messages of a round are in flight.
  ///
  /// Called when no message is in flight, so no other thread accesses the state.
  private func goOn() {
    unsafe isShared = false
    while true {
      switch unsafe Self.nextWork(&state) {
      case .steps(let steps): run { for (_, step) in steps { step.perform() } }
      case .single(let part):
        unsafe isShared = true
        // Usually this thread delivers the message itself, at once.
        guard part.core.perform(.commit, part, of: self) else { return wasTold() }
        unsafe isShared = false
        unsafe state.outstanding = 0
      case .round(let parts):
        unsafe isShared = true
        return deliver(parts)
      case .postponed(let deliver): tell(deliver)
      case .done(let parts):
        parts.forEach { $0.core.transactionEnded() }
        Self.openCount.subtract(1, ordering: .relaxed)
        return
      }
    }
  }

  private static func nextWork(_ state: inout State) -> Work {
    if let extras = state.extras, !extras.steps.isEmpty {
      let steps = extras.steps
      extras.steps = []
      return .steps(steps)
    }
    // Sources that were not set stay in the transaction until its end, or until they are set in a later round.
    if let part = state.parts.takeSingleChanged() {
      state.outstanding = 2
      return .single(part)
    }
    let changed = state.parts.takeChanged()
    if !changed.isEmpty {
      state.outstanding = changed.count + 1
      return .round(changed)
    }
    if let extras = state.extras, let height = extras.postponed.firstIndex(where: { !$0.isEmpty }) {
      return .postponed(extras.postponed[height].removeFirst())
    }
    var rest = TransactionParts()
    swap(&rest, &state.parts)
    return .done(rest)
  }

  /// Notifies the observers of these sources.
  ///
  /// All messages get their places in the order before the first is delivered.
  private func deliver(_ parts: TransactionParts) {
    // One for this call, so that the rest cannot start before it returns.
    var told = 1
    parts.forEach { part in
      if !part.core.perform(.enqueue, part, of: self) {
        part.core.transactionEnded()
        told += 1
      }
    }
    parts.forEach { part in if part.core.perform(.deliver, part, of: self) { told += 1 } }
    wasTold(told)
  }
}

/// Runs `body`, and makes observers see everything that it sets as one step.
///
/// Inside, a set is stored at once and can be read, but nobody is notified. When the outermost transaction ends, the
/// observers of each property that was set are called once, with the last value, and the value before the transaction
/// as the old one. All properties take their new places in their orders before the first observer is called, and
/// combinations of several of them (`combineLatest`, `flatMapLatest`) are sent once, after all parts have arrived, also
/// when other threads deliver some of them. A property that is bound to another (`bind(to:)`) is set in the same
/// transaction, so it, too, sends once.
///
/// A subscriber from ``StartingPoint/current`` while a transaction is open receives what has been set so far as the
/// current value, and at the end only what was set after that.
///
/// A throwing `body` ends the transaction too: what it had set stays set, and is sent. Tasks that `body` starts are not
/// part of the transaction.
@discardableResult @inlinable
public func withTransaction<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
  if Transaction.current != nil { return try body() }
  let transaction = Transaction.begin()
  defer { transaction.end() }
  return try body()
}
