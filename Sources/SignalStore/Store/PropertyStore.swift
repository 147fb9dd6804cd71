// SPDX-License-Identifier: MIT

public import JSON
import Synchronization

/// JSON values addressed by path, with every change numbered, recorded and sent to subscribers.
///
///     let store = PropertyStore()
///     let subscription = store.subscribe(match: ["kitchen/**"]) { event in
///       if case .change(let change, _) = event { print(change.path, change.op) }
///     }
///     try store.set("kitchen/temperature", JSONText(validating: "21.5"))   // kitchen/temperature set
///
/// It may be used from any thread. What it promises:
///
/// 1. Each change has a revision, one more than the change before; the changes of a transaction have
///    one together. Nothing else takes a revision.
/// 2. An operation or a transaction is executed completely or not at all, and nobody sees a part
///    of it: no reader, no snapshot, no observer of ``changes``.
/// 3. Setting a property to the value it has, byte for byte, changes nothing, unless asked to.
/// 4. ``changes`` sends each commit once, in the order of the revisions. A caller that subscribes to it and
///    then takes a ``snapshot()`` at n gets every commit after n, and ignores those up to n that may
///    come as well.
/// 5. The time of a change is not before that of the change before it, also when the clock is set
///    back.
/// 6. No code of yours is called, and no object of yours is released, while the lock of the store is held, except for a
///    ``Formula``, which is evaluated in the same commit as the change of its inputs.
/// 7. A computed property has, at every revision, the value that follows from its inputs at that
///    revision: nobody sees an input without its dependents. Each is computed once per commit. When a commit requires
///    more than ``StoreLimits/formulaUnits`` allows, the remaining ones are `null`, with an error.
/// 8. A property that was given a time to live expires once, not before that time is over and at most a few hundredths
///    of a second after it: a change like any other, with the operation `expire` and a revision of its own. Setting an
///    equal value with a time to live renews it and is no change; without one, the property stays.
/// 9. A property that was set for a ``Holder`` ends when the holder is released, if that was the last set of it, and
///    not otherwise: everything that a holder holds ends in one revision, with the operation `release`.
public final class PropertyStore: Sendable {
  /// The history that the revisions of this store belong to.
  public let epoch: Epoch
  /// The limits it enforces.
  public let limits: StoreLimits
  /// Sends every commit, once it is visible to readers.
  ///
  /// It can be observed, and only the store sends. An observer without a delivery of its own is called by the thread
  /// that commits, which in a server is a loop with all its connections: a slow observer, or one that waits for a
  /// contended lock, belongs on a queue.
  public var changes: DerivedSignal<Commit, Never> { commits.readOnly }
  /// Messages, which are not part of the properties.
  public let signals: SignalExchange
  /// Timers that send messages at a given time.
  public let timers: TimerTable

  /// The signal that ``changes`` observes.
  package let commits: Signal<Commit>
  /// Sends notifications about the durability of records, on behalf of their writer.
  package let announced = Signal<Announcement>()
  /// For each earlier epoch, the last revision that is part of this history.
  let ancestors: [Epoch: Revision]
  let router: ChangeRouter

  let holderCounter: HolderCounter
  let clock: @Sendable () -> Timestamp
  let timerClock: any TimerClock
  /// The one timer of the store, set to the next tick at which something expires.
  let alarm: Alarm
  /// For each persistence rule, the timer of its interval.
  let keepers: [Alarm]
  let shared: SharedState

  /// Makes a store without properties, at revision 0.
  ///
  /// - Parameters:
  ///   - epoch: A name that no earlier history of these properties had.
  ///   - timers: The clock of times to live and of timers.
  ///   - clock: Provides the time of each change; the system clock by default.
  public convenience init(
    epoch: Epoch = .random(), limits: StoreLimits = StoreLimits(), timers: any TimerClock = DispatchClock(),
    clock: @escaping @Sendable () -> Timestamp = { .now }
  ) {
    let state = StoreState(epoch: epoch, limits: limits)
    self.init(state, lastHolder: 0, timers: timers, clock: clock)
  }

  /// Makes a store from a state; the caller starts its timers and the alarm of its leases.
  init(
    _ state: StoreState, lastHolder: UInt64, ancestors: [Epoch: Revision] = [:], timers: any TimerClock,
    clock: @escaping @Sendable () -> Timestamp
  ) {
    self.ancestors = ancestors
    epoch = state.replica.epoch
    limits = state.judge.limits
    self.clock = clock
    timerClock = timers
    alarm = Alarm(timers)
    keepers = (state.omissions?.rules ?? []).map { _ in Alarm(timers) }
    holderCounter = HolderCounter(after: lastHolder)
    shared = SharedState(state)
    signals = SignalExchange(shared, clock: clock)
    self.timers = TimerTable(shared, signals, timers: timers, clock: clock)
    commits = Signal<Commit>()
    router = ChangeRouter(commits)
  }

  // MARK: Reading

  /// The revision of the last change, 0 before the first.
  public var revision: Revision { shared.state.withLock { $0.announcedState?.revision ?? $0.replica.revision } }

  /// The position of the last change in the history.
  public var cursor: Cursor { Cursor(epoch: epoch, revision: revision) }

  /// The number of properties.
  public var count: Int { shared.state.withLock { ($0.announcedState?.tree ?? $0.replica.tree).count } }

  /// The property at the path, nil when there is none.
  public func get(_ path: PropertyPath) -> StoredValue? {
    read(bytes: path.bytes.span).value
  }

  /// The property at the path with these UTF-8 bytes, nil when there is none or they are no path.
  ///
  /// Nothing is allocated.
  public func get(bytes: Span<UInt8>) -> StoredValue? {
    read(bytes: bytes).value
  }

  /// As ``get(bytes:)``, together with the revision of the store at which that was the answer.
  public func read(bytes: Span<UInt8>) -> (value: StoredValue?, revision: Revision) {
    shared.state.withLock { state in
      if let told = state.announcedState { return (told.tree.value(at: bytes), told.revision) }
      return (state.replica.tree.value(at: bytes), state.replica.revision)
    }
  }

  /// All properties as they are now; O(1).
  public func snapshot() -> StoreSnapshot {
    let (tree, revision) = shared.state.withLock { state in
      if let told = state.announcedState { return (told.tree, told.revision) }
      return (state.replica.tree, state.replica.revision)
    }
    return StoreSnapshot(epoch: epoch, revision: revision, tree: tree)
  }

  /// The commits after a cursor; nil when the history does not reach back to it, or when the cursor
  /// is of another epoch or in the future.
  ///
  /// - Parameter patterns: The properties of interest: how much else has changed does not matter where the limits give
  ///   them a share of their own (``StoreLimits/history``). Commits with other changes are included as well.
  ///
  /// To continue from there without a gap, subscribe to ``changes`` first and ignore what comes up to
  /// ``HistorySlice/through``.
  public func changes(since cursor: Cursor, match patterns: [PathPattern] = [.all]) -> HistorySlice? {
    guard cursor.epoch == epoch else { return nil }
    return shared.state.withLock { state in
      state.replica.history.slice(after: cursor.revision, match: patterns, through: state.announcedState?.revision)
    }
  }

  // MARK: Changing

  /// Sets the value of the property, if the condition holds.
  ///
  /// - Parameters:
  ///   - always: Makes a change also when the property has that value already.
  ///   - ttl: The time after which the property expires, unless it is set again before; nil for no expiry.
  ///   - holder: The holder with which the property ends, unless it is set again before, by anyone; nil for none.
  /// - Throws: ``StoreError/conditionFailed(operation:current:revision:)``,
  ///   ``StoreError/tooManyProperties(limit:)``, ``StoreError/badTimeToLive(operation:limit:)`` or
  ///   ``StoreError/tooManyHeld(operation:limit:)``; nothing is changed then.
  @discardableResult
  public func set(
    _ path: consuming PropertyPath, _ value: consuming JSONText, if condition: consuming Condition = .any,
    always: Bool = false, ttl: Duration? = nil, holder: Holder? = nil
  ) throws(StoreError) -> OperationResult {
    try execute(.set(path, value, if: condition, always: always, ttl: ttl, holder: holder))
  }

  /// Removes the property, if the condition holds.
  ///
  /// When there is none, and the condition holds, nothing happens: the outcome is
  /// ``OperationResult/Outcome/unchanged``.
  ///
  /// - Throws: ``StoreError/conditionFailed(operation:current:revision:)``; nothing is changed then.
  @discardableResult
  public func delete(_ path: PropertyPath, if condition: Condition = .any) throws(StoreError) -> OperationResult {
    try execute(.delete(path, if: condition))
  }

  /// Makes the property a computed one, if the condition holds: its value is that of the formula, now and after every
  /// change of an input, in the same commit as that change.
  ///
  /// It cannot be set from then on; ``delete(_:if:)`` frees its path. When the formula fails, the value is `null`, and
  /// ``StoredValue/computation`` says why.
  ///
  /// - Throws: ``StoreError``; nothing is changed then.
  @discardableResult
  public func define(
    _ path: PropertyPath, _ formula: Formula, if condition: Condition = .any
  ) throws(StoreError) -> OperationResult {
    try execute(.define(path, formula, if: condition))
  }

  /// Executes all operations as one change of the store, or none of them.
  ///
  /// The conditions are evaluated against the properties as they are before the transaction. No path
  /// may occur twice.
  ///
  /// - Throws: ``StoreError`` of the first operation that cannot be executed.
  @discardableResult
  public func transact(_ operations: [Operation]) throws(StoreError) -> TransactionResult {
    if operations.count > limits.transactionOperations { throw .tooManyOperations(limit: limits.transactionOperations) }
    var paths = Set<PropertyPath>(minimumCapacity: operations.count)
    for index in operations.indices where !paths.insert(operations[index].path).inserted {
      throw .repeatedPath(operation: index)
    }
    var hasTimeToLive = false
    for index in operations.indices {
      guard let ttl = operations[index].ttl else { continue }
      try check(ttl, ofOperation: index)
      hasTimeToLive = true
    }
    let now = moment(hasTimeToLive: hasTimeToLive)
    let (result, dropped) = try shared.state.withLock { state throws(StoreError) in
      try state.execute(operations, at: now, commits)
    }
    finish(releasing: dropped, hasTimer: now.ticks != nil)
    return result
  }

  /// Executes one operation; see ``set(_:_:if:always:ttl:holder:)`` and ``delete(_:if:)``.
  ///
  /// - Throws: ``StoreError`` with 0 for the operation; nothing is changed then.
  @discardableResult
  public func execute(_ operation: Operation) throws(StoreError) -> OperationResult {
    let ttl = operation.ttl
    if let ttl { try check(ttl, ofOperation: 0) }
    let now = moment(hasTimeToLive: ttl != nil)
    let (result, dropped) = try shared.state.withLock { state throws(StoreError) in
      try state.execute(operation, at: now, commits)
    }
    finish(releasing: dropped, hasTimer: now.ticks != nil)
    return result
  }

  /// The time at which operations are executed.
  ///
  /// The clocks are foreign code, so they are read before the lock is taken; that of the timers only for a time to
  /// live.
  private func moment(hasTimeToLive: Bool) -> Moment {
    Moment(time: clock(), ticks: hasTimeToLive ? timerClock.now : nil)
  }

  private func check(_ ttl: Duration, ofOperation index: Int) throws(StoreError) {
    // A longer time could overflow the arithmetic, whatever the limit says.
    let limit = min(limits.ttlLimit, .seconds(1000 * 366 * 86_400))
    guard ttl > .zero, ttl <= limit else { throw .badTimeToLive(operation: index, limit: limit) }
  }

  /// The part of a commit that needs no lock.
  func finish(releasing dropped: consuming History.Dropped?, hasTimer: Bool) {
    commits.deliver()
    if hasTimer { setAlarm() }
  }
}
