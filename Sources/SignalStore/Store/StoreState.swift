// SPDX-License-Identifier: MIT

import JSON

/// What the lock of a store guards: a ``Replica``, and the ``Judge`` that decides what becomes of it.
///
/// Each operation is judged first and applied afterwards, as a ``Record``, so that a refusal finds nothing to undo.
/// Everything here runs under the lock: no observer is called, and what a change displaces is handed out to be released
/// later.
struct StoreState: Sendable {
  private(set) var replica: Replica
  private(set) var judge: Judge
  /// The timers of the replica that run here.
  var running: [PropertyPath: RunningTimer] = [:]
  /// Takes the records, if somebody wants them.
  var sink: (any RecordSink)?
  /// What is told later; nil when everything is told at once.
  var announcements: Announcements?
  /// What of the records is kept over a restart; nil when everything is.
  var omissions: Omissions?
  /// The number and the time of the last message, recorded or not.
  private(set) var lastMessage: (number: UInt64, time: Timestamp)

  init(epoch: Epoch, limits: StoreLimits) {
    self.init(Replica(epoch: epoch, limits: limits), Judge(limits: limits))
  }

  /// Goes on with a replica.
  ///
  /// - Parameter judge: One that was made of this replica.
  init(_ replica: Replica, _ judge: Judge) {
    self.replica = replica
    self.judge = judge
    lastMessage = (replica.signals.number, replica.signals.time)
  }

  // MARK: Records

  /// Applies a record that is no commit.
  mutating func apply(_ record: Record) {
    hand(record)
    replica.apply(record)
  }

  private mutating func hand(_ record: Record) {
    sink?.append(record)
    announcements?.count()
  }

  /// Applies a commit and hands it to `changes`.
  private mutating func apply(_ commit: Commit, _ changes: Signal<Commit>) -> History.Dropped? {
    hand(omissions?.omits(commit) == true ? .omittedCommit(commit) : .commit(commit))
    // Under the lock, so that commits are delivered in the order of their revisions.
    if announcements == nil { changes.enqueue(commit) } else { announcements?.keep(commit) }
    return replica.apply(commit)
  }

  private mutating func apply(_ draft: borrowing Draft, _ changes: Signal<Commit>) -> History.Dropped? {
    for property in draft.amendments { amend(property) }
    return draft.commit.flatMap { apply($0, changes) }
  }

  /// Gives a property another lease, or another reason of failure.
  private mutating func amend(_ property: StoredValue) {
    let isOmitted =
      omissions != nil
      && omissions?.omits(amendment: property, of: replica.tree.value(at: property.path)) == true
    apply(isOmitted ? .omittedAmendment(property) : .amendment(property))
  }

  /// Refuses what could not be kept.
  func checkStorage() throws(StoreError) {
    if let refusal = sink?.refusal { throw .notKept(refusal) }
  }

  // MARK: Operations

  /// Executes a single operation.
  mutating func execute(
    _ operation: PropertyStore.Operation, at now: Moment, _ changes: Signal<Commit>
  ) throws(StoreError) -> (OperationResult, History.Dropped?) {
    try checkStorage()
    let current = replica.tree.value(at: operation.path)
    guard !judge.concernsFormulas(operation, current) else {
      let (result, dropped) = try execute([operation], at: now, changes)
      return (result.results[0], dropped)
    }
    let outcome = try judge.outcome(of: operation, 0, current, in: replica)
    if operation.holder != nil { try judge.checkHolders(of: CollectionOfOne(operation), in: replica) }
    if outcome == .unchanged {
      let renewed = judge.renewal(of: current, by: operation, now)
      if let renewed { amend(renewed) }
      return (OperationResult(outcome: outcome, value: renewed ?? current, revision: replica.revision), nil)
    }
    var growth = Judge.Growth()
    growth.add(operation, outcome, current)
    try judge.checkRoom(for: growth, in: replica)
    let revision = replica.revision.next
    let time = max(replica.time, now.time)
    guard let change = judge.change(operation, current, revision: revision, time: time, now) else {
      preconditionFailure("A definition is no change by itself.")
    }
    let result = OperationResult(outcome: outcome, value: change.new ?? current, revision: revision)
    return (result, apply(Commit(change), changes))
  }

  /// Executes all operations in one commit.
  ///
  /// No path occurs twice.
  mutating func execute(
    _ operations: [PropertyStore.Operation], at now: Moment, _ changes: Signal<Commit>
  ) throws(StoreError) -> (TransactionResult, History.Dropped?) {
    try checkStorage()
    var judged: [(outcome: OperationResult.Outcome, current: StoredValue?)] = []
    judged.reserveCapacity(operations.count)
    var growth = Judge.Growth()
    var isChange = false
    for index in operations.indices {
      let current = replica.tree.value(at: operations[index].path)
      let outcome = try judge.outcome(of: operations[index], index, current, in: replica)
      growth.add(operations[index], outcome, current)
      isChange = isChange || outcome != .unchanged
      judged.append((outcome, current))
    }
    try judge.checkRoom(for: growth, in: replica)
    try judge.checkHolders(of: operations, in: replica)
    var budget = judge.formulaBudget
    let defined = try judge.define(operations, judged.map(\.outcome), &budget)
    var draft = Draft(after: replica, at: now.time)
    for (operation, (outcome, current)) in zip(operations, judged) {
      if outcome == .unchanged {
        if let renewed = judge.renewal(of: current, by: operation, now) { draft.amend(renewed) }
      } else if let change = judge.change(operation, current, revision: draft.revision, time: draft.time, now) {
        draft.add(change)
      }
    }
    if isChange { judge.compute(defined, in: &draft, of: replica, &budget) }
    let dropped = apply(draft, changes)
    let results = zip(operations, judged).map { operation, judged in
      let value = judged.outcome == .deleted ? judged.current : replica.tree.value(at: operation.path)
      return OperationResult(outcome: judged.outcome, value: value, revision: replica.revision)
    }
    return (TransactionResult(revision: replica.revision, results: results), dropped)
  }

  /// Removes what does not outlive a restart and computes every computed property anew, all in one revision, if there is
  /// anything to be changed.
  ///
  /// Each formula may cost what those of a commit may cost together: for a store that nobody waits for yet.
  ///
  /// - Parameter volatile: What is removed.
  /// - Returns: What is to be released without the lock.
  mutating func computeAll(
    removing volatile: [StoredValue], at now: Timestamp, _ changes: Signal<Commit>
  ) -> History.Dropped? {
    var draft = Draft(after: replica, at: now)
    draft.isCorrection = !replica.rules.isEmpty || !volatile.isEmpty
    for property in volatile { judge.end(property, by: .delete, in: &draft) }
    var budget = judge.formulaBudget
    judge.compute(judge.formulas.computed, in: &draft, of: replica, &budget, isShared: false)
    return apply(draft, changes)
  }

  /// Sets properties once more to what they have, in one revision, as somebody may have been told of another value.
  ///
  /// - Returns: What is to be released without the lock.
  mutating func setAnew(
    _ paths: some Sequence<PropertyPath>, at now: Timestamp, _ changes: Signal<Commit>
  ) -> History.Dropped? {
    var draft = Draft(after: replica, at: now)
    draft.isCorrection = true
    for path in paths {
      guard let old = replica.tree.value(at: path) else { continue }
      draft.add(Change(set: StoredValue(old, revision: draft.revision, time: draft.time), replacing: old))
    }
    return apply(draft, changes)
  }

  // MARK: Leases

  /// Ends properties whose time is over, each with a revision of its own, as far as the budget goes.
  ///
  /// - Returns: Whether there is nothing left to do at that time, and what is to be released without the lock.
  mutating func expire(
    at now: Moment, budget: Int, _ changes: Signal<Commit>
  ) -> (isDone: Bool, dropped: [History.Dropped]) {
    var budget = budget
    let most = judge.limits.formulaUnits
    var units = most
    var dropped: [History.Dropped] = []
    while let path = judge.leases.takeExpired(at: now, budget: &budget) {
      if let excess = end(CollectionOfOne(path), by: .expire, at: now.time, &units, changes) { dropped.append(excess) }
      // What follows from these is computed while others wait, too.
      if units < most * 3 / 4 { return (false, dropped) }
    }
    return (budget > 0, dropped)
  }

  /// Ends what a holder holds, in one revision, and forgets what was to be executed at its end.
  ///
  /// - Returns: How many properties have ended, and what is to be released without the lock.
  mutating func release(
    _ holder: Holder, at now: Timestamp, _ changes: Signal<Commit>
  ) -> (count: Int, dropped: History.Dropped?) {
    let paths = judge.leases.paths(heldBy: holder)
    var units = 0
    let dropped = end(paths, by: .release, at: now, &units, changes)
    if replica.lastOperations[holder] != nil { apply(.lastOperations(holder, nil)) }
    return (paths.count, dropped)
  }

  /// Ends properties in one revision.
  ///
  /// - Parameter units: Goes down by what the formulas have spent.
  mutating func end(
    _ paths: some Collection<PropertyPath>, by op: Change.Operation, at now: Timestamp, _ units: inout Int,
    _ changes: Signal<Commit>
  ) -> History.Dropped? {
    var draft = Draft(after: replica, at: now)
    for path in paths {
      guard let property = replica.tree.value(at: path) else { preconditionFailure("A lease ends with its property.") }
      judge.end(property, by: op, in: &draft)
    }
    var budget = judge.formulaBudget
    judge.compute([], in: &draft, of: replica, &budget)
    units -= judge.limits.formulaUnits - budget.units
    return apply(draft, changes)
  }

  /// When the store has to be woken next, if that is before the alarm that is set; the caller then sets it.
  mutating func takeAlarm(isOurs: Bool) -> Duration? { judge.leases.takeAlarm(isOurs: isOurs) }

  /// The alarm has gone off.
  mutating func alarmIsOver() { judge.leases.alarmIsOver() }

  // MARK: Signals

  /// Sends a message that is kept on request.
  ///
  /// One that is neither kept nor displaces one that is makes no record, so a disk that is full does not matter to it.
  mutating func send(
    _ path: PropertyPath, _ message: JSONText, isKept: Bool, at now: Timestamp, _ messages: Signal<SignalMessage>
  ) throws(StoreError) -> (sent: SignalMessage, displaced: SignalMessage?) {
    let displaced = kept(at: path)
    let isRecorded = isKept || displaced != nil
    if isRecorded { try checkStorage() } else { try checkAnnouncements() }
    let sent = next(path, message, at: now)
    if isKept {
      let limits = judge.limits
      let bytes = replica.signals.bytes - (displaced.map(KeptSignals.cost) ?? 0) + KeptSignals.cost(of: sent)
      guard displaced != nil || replica.signals.messages.count < limits.rememberedSignals,
        bytes <= limits.rememberedBytes
      else { throw .tooManyRemembered(limit: limits.rememberedSignals) }
    }
    if isRecorded {
      hand(.signal(sent, isKept: isKept))
      replica.apply(sent, isKept: isKept)
    }
    announce(sent, isRecorded: isRecorded, messages)
    return (sent, displaced)
  }

  /// Refuses messages while too many wait to be told.
  private func checkAnnouncements() throws(StoreError) {
    if announcements?.isFull == true { throw .notKept(sink?.refusal ?? .slow) }
  }

  /// Under the lock, so that messages are delivered in the order of their numbers.
  private mutating func announce(_ message: SignalMessage, isRecorded: Bool, _ messages: Signal<SignalMessage>) {
    lastMessage = (message.number, message.time)
    // What has no record is told with those before it: a watcher of both learns in the order in which it happened.
    if announcements?.keep(message, isRecorded: isRecorded) != true { messages.enqueue(message) }
  }

  /// The next message of all.
  private func next(_ path: PropertyPath, _ message: JSONText, at now: Timestamp) -> SignalMessage {
    SignalMessage(path: path, message: message, time: max(lastMessage.time, now), number: lastMessage.number + 1)
  }

  private func kept(at path: PropertyPath) -> SignalMessage? {
    replica.signals.messages.isEmpty ? nil : replica.signals.messages[path]
  }

  // MARK: Timers

  /// Begins a timer in the place of the one that is there.
  ///
  /// - Returns: That one, to be stopped without the lock.
  mutating func start(_ timer: RunningTimer, message: JSONText) throws(StoreError) -> RunningTimer? {
    try checkStorage()
    guard running[timer.path] != nil || running.count < judge.limits.timers else {
      throw .tooManyTimers(limit: judge.limits.timers)
    }
    apply(
      .timer(StoredTimer(path: timer.path, schedule: timer.schedule, message: message, start: timer.start.time)))
    return running.updateValue(timer, forKey: timer.path)
  }

  /// Sends the message of a timer whose time has come, if it is still the one at its path.
  ///
  /// One that goes on makes no record, unless its message displaces one that is kept: where it is follows from its start.
  ///
  /// - Parameter ticks: The time by the clock of the timers.
  /// - Returns: What is to be released without the lock; nil when nothing was sent.
  mutating func fire(
    _ timer: RunningTimer, at now: Timestamp, ticks: Duration, _ messages: Signal<SignalMessage>
  ) -> (displaced: SignalMessage?, timer: StoredTimer)? {
    guard running[timer.path] === timer, let stored = replica.timers[timer.path] else { return nil }
    let displaced = kept(at: timer.path)
    let isLast = if case .every = timer.schedule { false } else { true }
    let isRecorded = isLast || displaced != nil
    // Nobody can be refused: what there is no room for is left out, like what a timer misses while there is no server.
    if !isRecorded, announcements?.isFull == true { return (nil, stored) }
    let sent = next(timer.path, stored.message, at: now)
    if isRecorded { apply(.timerFired(sent, count: timer.count(at: ticks))) }
    announce(sent, isRecorded: isRecorded, messages)
    if isLast { running[timer.path] = nil }
    return (displaced, stored)
  }

  /// Removes a timer.
  ///
  /// - Returns: What ran, to be stopped without the lock.
  mutating func removeTimer(_ path: PropertyPath) -> RunningTimer? {
    guard let timer = running.removeValue(forKey: path) else { return nil }
    apply(.timerRemoved(path))
    return timer
  }
}
