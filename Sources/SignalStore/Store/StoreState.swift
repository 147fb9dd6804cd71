// SPDX-License-Identifier: MIT

import JSON

/// The state guarded by the lock of a store: a ``Replica``, and the ``Judge`` that decides its changes.
///
/// Each operation is judged first and applied afterwards, as a ``Record``, so that a refusal has nothing to undo.
/// Everything here runs under the lock: no observer is called, and the values that a change replaces are returned to be
/// released later.
struct StoreState: Sendable {
  private(set) var replica: Replica
  var judge: Judge
  /// Whether records come from elsewhere, and nothing is decided here.
  private(set) var isFollowing = false
  /// Whether messages that are not kept, and the firing of repeating timers, make records as well.
  private(set) var recordsEvents = false
  /// The timers of the replica that run in this process.
  var running: [PropertyPath: RunningTimer] = [:]
  /// Receives the records, if set.
  var sink: (any RecordSink)?
  /// The notifications sent later; nil when everything is sent at once.
  var announcements: Announcements?
  /// What readers are given instead of the replica, while it is not known when the rest of that becomes durable.
  var announcedState: AnnouncedState?
  /// Which records are kept over a restart; nil when all are.
  var omissions: Omissions?
  /// The number and the time of the last message, recorded or not.
  private(set) var lastMessage: (number: UInt64, time: Timestamp)
  /// The revision and the number of the last message at the beginning.
  let firstRevision: Revision
  let firstMessage: UInt64
  /// Properties whose time to live has ended since then.
  private(set) var expiries = 0

  init(epoch: Epoch, limits: StoreLimits) {
    self.init(Replica(epoch: epoch, limits: limits), Judge(limits: limits))
  }

  /// Continues from a replica.
  ///
  /// - Parameter judge: A judge that was made from this replica.
  init(_ replica: Replica, _ judge: Judge) {
    self.replica = replica
    self.judge = judge
    lastMessage = (replica.signals.number, replica.signals.time)
    firstRevision = replica.revision
    firstMessage = replica.signals.number
  }

  // MARK: Records

  /// Applies a record other than a commit.
  mutating func apply(_ record: Record) {
    hand(record)
    replica.apply(record)
  }

  private mutating func hand(_ record: Record) {
    sink?.append(record)
    announcements?.count(record)
  }

  /// Applies a commit and enqueues it in `changes`.
  private mutating func apply(_ commit: Commit, _ changes: Signal<Commit>) -> History.Dropped? {
    hand(omissions?.omits(commit) == true ? .omittedCommit(commit) : .commit(commit))
    // Under the lock, so that commits are delivered in the order of their revisions.
    if announcements == nil { changes.enqueue(commit) } else { announcements?.keep(commit) }
    if judge.countsQuotas { judge.count(commit) }
    return replica.apply(commit)
  }

  /// - Parameter following: How many records that follow belong to the same operation.
  private mutating func apply(
    _ draft: borrowing Draft, following: Int = 0, _ changes: Signal<Commit>
  ) -> History.Dropped? {
    if recordsEvents { sink?.join(draft.amendments.count + (draft.changes.isEmpty ? 0 : 1) + following) }
    for property in draft.amendments { amend(property) }
    return draft.commit.flatMap { apply($0, changes) }
  }

  /// Replaces the lease or the error of a property.
  private mutating func amend(_ property: StoredValue) {
    let isOmitted =
      omissions != nil
      && omissions?.omits(amendment: property, of: replica.tree.value(at: property.path)) == true
    apply(isOmitted ? .omittedAmendment(property) : .amendment(property))
  }

  /// Refuses changes that could not be recorded.
  func checkStorage() throws(StoreError) {
    if let refusal { throw .notKept(refusal) }
  }

  /// Why changes are refused; nil when they are accepted.
  ///
  /// As long as readers do not see them they are, so that none is judged by what is not there any more.
  var refusal: StorageRefusal? { announcedState == nil ? sink?.refusal : .full }

  /// Refuses a commit that is too large for the log.
  private func checkSize(_ bytes: Int) throws(StoreError) {
    if bytes > judge.limits.commitBytes { throw .commitTooLarge(limit: judge.limits.commitBytes) }
  }

  // MARK: Following

  /// From now on only records made elsewhere change the store, and nothing is decided here.
  ///
  /// - Parameter committed: What the store goes back to; nil when it has nothing else.
  /// - Returns: What is to be released or stopped without the lock.
  mutating func follow(_ committed: Replica?) -> (judge: Judge, replica: Replica?, running: [RunningTimer]) {
    isFollowing = true
    recordsEvents = true
    let stopped = Array(running.values)
    running = [:]
    var old = Judge(limits: judge.limits, quotas: judge.quotas.quotas)
    swap(&old, &judge)
    guard let committed else { return (old, nil, stopped) }
    let replaced = replica
    replica = committed
    lastMessage = (replica.signals.number, replica.signals.time)
    return (old, replaced, stopped)
  }

  /// From now on changes are decided here, by a judge that was made from this replica.
  ///
  /// - Returns: What is to be released without the lock.
  mutating func lead(as other: StoreState) -> (Judge, Replica) {
    let old = (judge, replica)
    (judge, replica) = (other.judge, other.replica)
    isFollowing = false
    return old
  }

  /// Applies a record that was made elsewhere, in a store that holds its notifications back.
  mutating func adopt(
    _ record: Record, _ changes: Signal<Commit>, _ messages: Signal<SignalMessage>
  ) -> History.Dropped? {
    announcements?.count(record)
    switch record {
    case .commit(let commit), .omittedCommit(let commit): announcements?.keep(commit)
    case .signal(let message, _), .timerFired(let message, _):
      lastMessage = (message.number, message.time)
      _ = announcements?.keep(message, isRecorded: true)
    case .amendment, .omittedAmendment, .timer, .timerRemoved, .lastOperations, .rules: break
    }
    return replica.apply(record)
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
    if !operation.premises.isEmpty { try judge.checkPremises(of: operation, 0, in: replica) }
    let outcome = try judge.outcome(of: operation, 0, current, at: replica.revision, in: replica.epoch)
    if operation.holder != nil { try judge.checkHolders(of: CollectionOfOne(operation), in: replica) }
    if outcome == .unchanged {
      let renewed = judge.renewal(of: current, by: operation, now)
      if let renewed { amend(renewed) }
      return (OperationResult(outcome: outcome, value: renewed ?? current, revision: replica.revision), nil)
    }
    var growth = Judge.Growth()
    growth.add(operation, outcome, current)
    try judge.checkRoom(for: growth, in: replica)
    if !judge.quotas.isEmpty { try judge.checkQuotas(for: operation, current) }
    let revision = replica.revision.next
    let time = max(replica.time, now.time)
    let commit: Commit
    if let new = judge.property(after: operation, current, revision: revision, time: time, now) {
      commit = Commit(Change(set: new, replacing: current))
    } else if let current {
      commit = Commit(Change(delete: current, revision: revision, time: time))
    } else {
      preconditionFailure("The property to be deleted was there when the operation was judged.")
    }
    if judge.limits.commitBytes < .max { try checkSize(Draft.recordBytes(of: commit.first)) }
    let result = OperationResult(outcome: outcome, value: commit.first.new ?? current, revision: revision)
    return (result, apply(commit, changes))
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
      if !operations[index].premises.isEmpty { try judge.checkPremises(of: operations[index], index, in: replica) }
      let outcome = try judge.outcome(
        of: operations[index], index, current, at: replica.revision, in: replica.epoch)
      growth.add(operations[index], outcome, current)
      isChange = isChange || outcome != .unchanged
      judged.append((outcome, current))
    }
    try judge.checkRoom(for: growth, in: replica)
    if !judge.quotas.isEmpty { try judge.checkQuotas(for: operations, judged) }
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
    if judge.limits.commitBytes < .max {
      do throws(StoreError) {
        try checkSize(draft.recordBytes)
      } catch {
        judge.formulas.rollBack()
        throw error
      }
    }
    judge.formulas.keepChanges()
    let dropped = apply(draft, changes)
    let results = zip(operations, judged).map { operation, judged in
      let value = judged.outcome == .deleted ? judged.current : replica.tree.value(at: operation.path)
      return OperationResult(outcome: judged.outcome, value: value, revision: replica.revision)
    }
    return (TransactionResult(revision: replica.revision, results: results), dropped)
  }

  /// Removes properties that do not survive a restart and recomputes every computed property, all in one revision, if
  /// anything changes.
  ///
  /// Each formula may use the budget that those of a commit share: for a store that nobody waits for yet.
  ///
  /// - Parameter volatile: The properties to be removed.
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

  /// Sets properties again to their values, in one revision, as observers may have received other ones.
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

  /// Ends properties whose time is over, each with a revision of its own, until the budget is used up.
  ///
  /// - Returns: Whether nothing is left to expire at that time, and what is to be released without the lock.
  mutating func expire(
    at now: Moment, budget: Int, _ changes: Signal<Commit>
  ) -> (isDone: Bool, dropped: [History.Dropped]) {
    var budget = budget
    let most = judge.limits.formulaUnits
    var units = most
    var dropped: [History.Dropped] = []
    while let path = judge.leases.takeExpired(at: now, budget: &budget) {
      expiries += 1
      if let excess = end(CollectionOfOne(path), by: .expire, at: now.time, &units, changes) { dropped.append(excess) }
      // Their dependents are computed while others wait, too.
      if units < most * 3 / 4 { return (false, dropped) }
    }
    return (budget > 0, dropped)
  }

  /// Ends the properties of a holder, in one revision, and removes its last operations.
  ///
  /// - Returns: How many properties ended, and what is to be released without the lock.
  mutating func release(
    _ holder: Holder, at now: Timestamp, _ changes: Signal<Commit>
  ) -> (count: Int, dropped: History.Dropped?) {
    if isFollowing { return (0, nil) }
    let paths = judge.leases.paths(heldBy: holder)
    var units = 0
    let hasLastOperations = replica.lastOperations[holder] != nil
    let dropped = end(paths, by: .release, at: now, &units, following: hasLastOperations ? 1 : 0, changes)
    if hasLastOperations { apply(.lastOperations(holder, nil)) }
    return (paths.count, dropped)
  }

  /// Ends properties in one revision.
  ///
  /// - Parameters:
  ///   - units: Decreased by the cost of the formulas.
  ///   - following: How many records that follow belong to the same operation.
  mutating func end(
    _ paths: some Collection<PropertyPath>, by op: Change.Operation, at now: Timestamp, _ units: inout Int,
    following: Int = 0, _ changes: Signal<Commit>
  ) -> History.Dropped? {
    var draft = Draft(after: replica, at: now)
    for path in paths {
      guard let property = replica.tree.value(at: path) else { preconditionFailure("A lease ends with its property.") }
      judge.end(property, by: op, in: &draft)
    }
    var budget = judge.formulaBudget
    judge.compute([], in: &draft, of: replica, &budget)
    units -= judge.limits.formulaUnits - budget.units
    return apply(draft, following: following, changes)
  }

  /// The time for which the alarm has to be set, if that is before the present one; the caller then sets it.
  mutating func takeAlarm(isOurs: Bool) -> Duration? { judge.leases.takeAlarm(isOurs: isOurs) }

  /// Notes that the alarm has fired.
  mutating func alarmIsOver() { judge.leases.alarmIsOver() }

  // MARK: Signals

  /// Sends a message, which is kept on request.
  ///
  /// One that is neither kept nor replaces a kept one makes no record, so it can be sent while the disk is full.
  mutating func send(
    _ path: PropertyPath, _ message: JSONText, isKept: Bool, at now: Timestamp, _ messages: Signal<SignalMessage>
  ) throws(StoreError) -> (sent: SignalMessage, displaced: SignalMessage?) {
    let displaced = kept(at: path)
    let isRecorded = isKept || displaced != nil || recordsEvents
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

  /// Refuses messages while too many wait to be sent.
  private func checkAnnouncements() throws(StoreError) {
    if announcements?.isFull == true { throw .notKept(sink?.refusal ?? .slow) }
  }

  /// Sends a message, under the lock, so that messages are delivered in the order of their numbers.
  private mutating func announce(_ message: SignalMessage, isRecorded: Bool, _ messages: Signal<SignalMessage>) {
    lastMessage = (message.number, message.time)
    // Without a record, it is sent after those before it, so that an observer of both sees them in order.
    let isStalled = announcedState != nil
    if announcements?.keep(message, isRecorded: isRecorded, isStalled: isStalled) != true { messages.enqueue(message) }
  }

  /// The next message, numbered and timestamped.
  private func next(_ path: PropertyPath, _ message: JSONText, at now: Timestamp) -> SignalMessage {
    SignalMessage(path: path, message: message, time: max(lastMessage.time, now), number: lastMessage.number + 1)
  }

  private func kept(at path: PropertyPath) -> SignalMessage? {
    replica.signals.messages.isEmpty ? nil : replica.signals.messages[path]
  }

  // MARK: Timers

  /// Starts a timer, replacing the one at its path.
  ///
  /// - Returns: The replaced timer, to be stopped without the lock.
  mutating func start(_ timer: RunningTimer, message: JSONText) throws(StoreError) -> RunningTimer? {
    try checkStorage()
    guard running[timer.path] != nil || running.count < judge.limits.timers else {
      throw .tooManyTimers(limit: judge.limits.timers)
    }
    apply(
      .timer(StoredTimer(path: timer.path, schedule: timer.schedule, message: message, start: timer.start.time)))
    return running.updateValue(timer, forKey: timer.path)
  }

  /// Sends the message of a timer that is due, if it is still the one at its path.
  ///
  /// A repeating timer makes no record, unless its message replaces a kept one: its phase follows from its start.
  ///
  /// - Parameter ticks: The time by the clock of the timers.
  /// - Returns: What is to be released without the lock; nil when nothing was sent.
  mutating func fire(
    _ timer: RunningTimer, at now: Timestamp, ticks: Duration, _ messages: Signal<SignalMessage>
  ) -> (displaced: SignalMessage?, timer: StoredTimer)? {
    guard running[timer.path] === timer, let stored = replica.timers[timer.path] else { return nil }
    let displaced = kept(at: timer.path)
    let isLast = if case .every = timer.schedule { false } else { true }
    let isRecorded = isLast || displaced != nil || recordsEvents
    // There is no caller to refuse: without room, the message is skipped, like those due while no server runs.
    if !isRecorded, announcements?.isFull == true { return (nil, stored) }
    let sent = next(timer.path, stored.message, at: now)
    if isRecorded { apply(.timerFired(sent, count: timer.count(at: ticks))) }
    announce(sent, isRecorded: isRecorded, messages)
    if isLast { running[timer.path] = nil }
    return (displaced, stored)
  }

  /// Removes a timer.
  ///
  /// - Returns: The running timer, to be stopped without the lock.
  mutating func removeTimer(_ path: PropertyPath) -> RunningTimer? {
    guard let timer = running.removeValue(forKey: path) else { return nil }
    apply(.timerRemoved(path))
    return timer
  }
}
