// SPDX-License-Identifier: MIT

public import Synchronization

/// What is collected inside of a transaction, and done in one step at its end before anybody is told.
package protocol TransactionStep: AnyObject, Sendable {
  /// Does it; sets of properties are part of the transaction still.
  func perform()
}

/// Sets of several properties that observers see as one; see ``withTransaction(_:)``.
///
/// It ends in rounds. A round gives the message of each property that was set its place and delivers them. What is bound to
/// these properties is set meanwhile, and makes the next round. When there is none any more, what is combined from several
/// properties is told; and what is bound to that makes another round.
///
/// Unchecked because of its state: while messages are on their way a lock guards it, because other threads may deliver them
/// and set what is bound to them. Before and between the rounds only one thread reaches it.
@safe
public final class Transaction: @unchecked Sendable {
  private struct State {
    var parts = TransactionParts()
    /// Messages of this round that have not been delivered, and one for the thread that began it.
    var outstanding = 0
    /// Seldom needed; nil until it is.
    var extras: Extras?
  }

  /// Used as the state is.
  private final class Extras: @unchecked Sendable {
    var steps: [(key: ObjectIdentifier, step: any TransactionStep)] = []
    /// What is told when all messages have been delivered: a list for each height of combinations.
    var postponed: [[@Sendable () -> Void]] = []
    var isPostponed: Set<ObjectIdentifier> = []
  }

  /// How many there are in the process that have not told everything: while it is 0, nobody need look for one.
  @usableFromInline static let openCount = Atomic<Int>(0)

  private static let open = ThreadLocal<Transaction>()
  private static let telling = ThreadLocal<Transaction>()

  private let lock = Mutex(())
  /// Whether messages are on their way, so that others may reach the state.
  ///
  /// Set before the first goes out, which lets others see it, and cleared by the thread that found that all had been told.
  @exclusivity(unchecked) nonisolated(unsafe) private var isShared = false
  /// Reached through ``withState(_:)`` only.
  @exclusivity(unchecked) nonisolated(unsafe) private var state = State()

  private init() {}

  /// Runs `body` with the state; it may not call or release anything of the user.
  @inline(__always)
  private func withState<Result>(_ body: (inout State) -> Result) -> Result {
    if unsafe isShared { return lock.withLock { _ in unsafe body(&state) } }
    return unsafe body(&state)
  }

  /// The transaction that the caller is in.
  @inlinable
  package static var current: Transaction? { openCount.load(ordering: .relaxed) == 0 ? nil : openOne }

  @usableFromInline static var openOne: Transaction? { open.object }

  /// The same, for those who use it only while the caller is in it.
  @inlinable
  static var currentReference: Unmanaged<Transaction>? {
    openCount.load(ordering: .relaxed) == 0 ? nil : unsafe openReference
  }

  @usableFromInline static var openReference: Unmanaged<Transaction>? { unsafe open.reference }

  /// Makes one that the caller is in until ``end()``; the caller is in none.
  @usableFromInline
  static func begin() -> Transaction {
    let transaction = Transaction()
    // Counted down when everything has been told.
    openCount.add(1, ordering: .relaxed)
    open.set(transaction)
    return transaction
  }

  /// Ends what ``begin()`` began, and tells.
  @usableFromInline
  func end() {
    Self.open.set(nil)
    goOn()
  }

  private func run(_ body: () -> Void) { Self.open.with(self, body) }

  /// Takes a source in, if it is not yet.
  @usableFromInline
  func enter(_ core: ObserverList) -> TransactionEntry {
    withState { state in
      if let number = state.parts.number(of: core) { return number == 0 ? .unset : .set }
      state.parts.append(TransactionPart(core))
      return .new
    }
  }

  /// Notes a set of a source that has entered; of the old values only the first counts.
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

  /// Runs `body`, which sets what follows from a message: as part of the transaction whose message it is, if it is one's.
  static func following(_ body: () -> Void) {
    guard openCount.load(ordering: .relaxed) != 0, open.object == nil, let transaction = telling.object else {
      return body()
    }
    transaction.run(body)
  }

  /// While messages of a transaction are delivered: runs `deliver` once, after all of them.
  ///
  /// Those of lower height run first. False, and nothing done, at other times.
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

  /// Notes that one of its messages has been delivered or given up; the last one goes on with the rest.
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

  /// Does what is left, until there is nothing or messages of a round are on their way.
  ///
  /// Called when no message is on its way, so nobody else reaches the state.
  private func goOn() {
    unsafe isShared = false
    while true {
      switch unsafe Self.nextWork(&state) {
      case .steps(let steps): run { for (_, step) in steps { step.perform() } }
      case .single(let part):
        unsafe isShared = true
        // Most often this thread delivers the message itself, at once.
        guard part.core.carryOut(.commit, part, of: self) else { return wasTold() }
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
    // Those that nobody has set stay in the transaction until its end, or until they are set in a later round.
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

  /// Tells the observers of these sources.
  ///
  /// All messages take their places before the first is delivered.
  private func deliver(_ parts: TransactionParts) {
    // One for this call, which goes on with the rest at the earliest.
    var told = 1
    parts.forEach { part in
      if !part.core.carryOut(.enqueue, part, of: self) {
        part.core.transactionEnded()
        told += 1
      }
    }
    parts.forEach { part in if part.core.carryOut(.deliver, part, of: self) { told += 1 } }
    wasTold(told)
  }
}

/// Runs `body`, and lets observers see all that it sets as one step.
///
/// Inside, a set is stored at once and can be read, but nobody is told. When the outermost transaction ends, the observers
/// of each property that was set are called once, with the last value, and the value before the transaction as the old one.
/// All properties take their new places in their orders before the first observer is called, and what is combined from
/// several of them (`combineLatest`, `flatMapLatest`) is told once, after all parts are there, also when other threads
/// deliver some of them. What is bound to a property (`bind(to:)`) is set in the same transaction, so it, too, is told once.
///
/// Who subscribes from ``StartingPoint/current`` while a transaction is open gets what has been set so far as the value of
/// now, and at the end only what was set after that.
///
/// A throwing `body` ends the transaction too: what it had set stays set, and is told. Tasks that `body` starts are not part
/// of the transaction.
@discardableResult @inlinable
public func withTransaction<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
  if Transaction.current != nil { return try body() }
  let transaction = Transaction.begin()
  defer { transaction.end() }
  return try body()
}
