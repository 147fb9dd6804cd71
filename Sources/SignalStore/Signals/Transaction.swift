// SPDX-License-Identifier: MIT

import Synchronization

/// A source that takes part in a transaction.
@usableFromInline
protocol TransactionMember: AnyObject, Sendable {
  /// Notes that a transaction has begun that the source takes part in, and tells those who follow transactions.
  func transactionBegan()

  /// Takes the place of its message in the order, without calling anybody.
  ///
  /// `number` is the place of its last set in the transaction: who subscribed later has got that value already. `old` is the
  /// value before the transaction, for a source that has to compare.
  ///
  /// - Returns: False when there is nothing to tell, or nobody to be told.
  func enqueueCommit(from old: (any Sendable)?, number: UInt64, of transaction: Transaction) -> Bool

  /// Delivers what it enqueued.
  func deliverCommit()

  /// Notes that it has told its observers, or had nothing to tell.
  func transactionEnded()

  /// Calls `observer` with the number of open transactions that the source takes part in, now and each time it changes.
  func subscribeToTransactions(_ observer: @escaping @Sendable (Int) -> Void) -> Subscription
}

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
public final class Transaction: Sendable {
  private struct Member: Sendable {
    let source: any TransactionMember
    /// The place of its last set; 0 as long as nothing was set.
    var number: UInt64 = 0
    /// The value before the first set, if the source wants to compare.
    var old: (any Sendable)?
  }

  private struct State {
    var members: [Member] = []
    /// Where a source is in `members`, when there are too many to look through.
    var index: [ObjectIdentifier: Int] = [:]
    /// Messages of this round that have not been delivered, and one for the thread that began it.
    var outstanding = 0
    var steps: [(key: ObjectIdentifier, step: any TransactionStep)] = []
    /// What is told when all messages have been delivered: a list for each height of combinations.
    var postponed: [[@Sendable () -> Void]] = []
    var isPostponed: Set<ObjectIdentifier> = []

    mutating func position(of source: any TransactionMember) -> Int? {
      if members.count <= Self.fewMembers { return members.firstIndex { $0.source === source } }
      for position in index.count..<members.count { index[ObjectIdentifier(members[position].source)] = position }
      return index[ObjectIdentifier(source)]
    }

    private static var fewMembers: Int { 8 }
  }

  /// How many there are in the process that have not told everything: while it is 0, nobody need look for one.
  static let openCount = Atomic<Int>(0)

  private static let open = ThreadLocal<Transaction>()
  private static let telling = ThreadLocal<Transaction>()

  private let state = Mutex(State())

  fileprivate init() {}

  /// The transaction that the caller is in.
  @usableFromInline
  package static var current: Transaction? { openCount.load(ordering: .relaxed) == 0 ? nil : open.object }

  fileprivate func run<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
    try Self.open.with(self, body)
  }

  /// Takes a source in, if it is not yet.
  @usableFromInline
  func join(_ source: any TransactionMember) {
    let isNew = state.withLock { state in
      if state.position(of: source) != nil { return false }
      state.members.append(Member(source: source))
      return true
    }
    if isNew { source.transactionBegan() }
  }

  /// Notes a set of a source that has joined; of the old values only the first counts.
  @usableFromInline
  func note(_ source: any TransactionMember, old: (any Sendable)?, number: UInt64) {
    state.withLock { state in
      guard let position = state.position(of: source) else { return }
      if state.members[position].number == 0 { state.members[position].old = old }
      state.members[position].number = number
    }
  }

  /// The step of this transaction that belongs to `key`, if there is one.
  package func step(for key: AnyObject) -> (any TransactionStep)? {
    state.withLock { $0.steps.first { $0.key == ObjectIdentifier(key) }?.step }
  }

  /// Adds a step that belongs to `key`, unless there is one.
  package func add(_ step: any TransactionStep, for key: AnyObject) {
    state.withLock { state in
      if state.steps.contains(where: { $0.key == ObjectIdentifier(key) }) { return }
      state.steps.append((ObjectIdentifier(key), step))
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

  /// Calls observers, and postpones the combinations among them.
  @usableFromInline
  func tell(_ call: () -> Void) { Self.telling.with(self, call) }

  /// Notes that one of its messages has been delivered or given up; the last one goes on with the rest.
  @usableFromInline
  func wasTold() {
    let isLast = state.withLock { state in
      state.outstanding -= 1
      return state.outstanding == 0
    }
    if isLast { goOn() }
  }

  private enum Work {
    case round([Member])
    case steps([(key: ObjectIdentifier, step: any TransactionStep)])
    case postponed(@Sendable () -> Void)
    case done([Member])
  }

  /// Does what is left, until there is nothing or messages of a round are on their way.
  fileprivate func goOn() {
    while true {
      switch state.withLock({ Self.nextWork(&$0) }) {
      case .steps(let steps): run { for (_, step) in steps { step.perform() } }
      case .round(let members): return deliver(members)
      case .postponed(let deliver): tell(deliver)
      case .done(let members):
        for member in members { member.source.transactionEnded() }
        Self.openCount.subtract(1, ordering: .relaxed)
        return
      }
    }
  }

  private static func nextWork(_ state: inout State) -> Work {
    if !state.steps.isEmpty {
      let steps = state.steps
      state.steps = []
      return .steps(steps)
    }
    if state.members.contains(where: { $0.number != 0 }) {
      var changed: [Member] = []
      swap(&changed, &state.members)
      state.index = [:]
      if changed.contains(where: { $0.number == 0 }) {
        // Those that nobody has set stay in the transaction until its end, or until they are set in a later round.
        state.members = changed.filter { $0.number == 0 }
        changed.removeAll { $0.number == 0 }
      }
      state.outstanding = changed.count + 1
      return .round(changed)
    }
    if let height = state.postponed.firstIndex(where: { !$0.isEmpty }) {
      return .postponed(state.postponed[height].removeFirst())
    }
    let rest = state.members
    state.members = []
    return .done(rest)
  }

  /// Tells the observers of these sources.
  ///
  /// All messages take their places before the first is delivered.
  private func deliver(_ members: [Member]) {
    for member in members where !member.source.enqueueCommit(from: member.old, number: member.number, of: self) {
      member.source.transactionEnded()
      wasTold()
    }
    for member in members { member.source.deliverCommit() }
    wasTold()
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
@discardableResult
public func withTransaction<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
  if Transaction.current != nil { return try body() }
  let transaction = Transaction()
  // Counted down when everything has been told.
  Transaction.openCount.add(1, ordering: .relaxed)
  defer { transaction.goOn() }
  return try transaction.run(body)
}
