// SPDX-License-Identifier: MIT

import JSON
import Synchronization

/// A store restored from the records of another, or of an earlier one.
extension PropertyStore {
  /// All that the store holds, as it is now; O(1).
  package var replica: Replica { shared.state.withLock { $0.replica } }

  /// Hands every record from now on to a sink, which the store keeps, replacing the previous one.
  ///
  /// - Returns: The state of the store before these records: applying them to it gives the state of the store.
  @discardableResult
  package func record(to sink: (any RecordSink)?) -> Replica {
    // The old one is released without the lock.
    let (replica, old) = shared.state.withLock { state in
      let old = state.sink
      state.sink = sink
      return (state.replica, old)
    }
    withExtendedLifetime(old) {}
    return replica
  }

  /// How often a formula was skipped or stopped because the budget of its commit was used up.
  package var formulaFailures: Int { shared.state.withLock { $0.judge.formulaFailures } }

  // MARK: Restoring

  /// Makes a store that continues from a replica, at its revision and epoch and with its history.
  ///
  /// 1. A property whose time to live is over ends before this returns, with a commit of its own, in the order of
  ///    expiry; the others keep their remaining time, and never get more than their full time to live, whatever the
  ///    clock says. To that `grace` is added, for renewals that may not have been recorded.
  /// 2. A one-shot timer that is overdue fires as soon as it can be observed; a repeating timer keeps its rhythm, and
  ///    the intervals it has missed are skipped.
  /// 3. All computed properties are recomputed, each with the full budget of a commit, as nobody waits; where that
  ///    gives another value, they change in one commit, the first of this store. Then they follow their inputs again. A
  ///    property whose formula no longer compiles keeps its value while it is set, and its error says why.
  /// 4. Properties that the previous or the present rules call volatile are removed in the same commit, unless they are
  ///    computed. Properties whose value may be stale, as their records were omitted, are set again to the value they
  ///    have: all of them when the last records may be missing (`isClean`), and otherwise those that a client that
  ///    resumes may have seen.
  /// 5. Holders of before are known (``holders``), but have no owner: the caller executes the last operations of each
  ///    (``lastOperations(of:)``) and releases it.
  ///
  /// - Parameters:
  ///   - rules: The rules by which records are omitted from now on.
  ///   - isClean: Whether none of the last records is missing.
  ///   - grace: Added to each time to live, for a replica whose last records may be missing.
  ///   - quotas: What may be beneath some paths; see ``setQuotas(_:)``.
  ///   - compile: Compiles a formula, as the store knows no language.
  ///   - sink: Takes the records from the first of this store on, also those of rule 1.
  ///   - record: The number of the last record that was made before, when changes are sent by ``announce(through:)``;
  ///     nil when they are sent at once.
  ///   - ancestors: Of each earlier epoch the last revision that is part of this history.
  package convenience init(
    restoring replica: Replica, limits: StoreLimits = StoreLimits(), timers: any TimerClock = DispatchClock(),
    sink: (any RecordSink)? = nil, holdingBackAfter record: UInt64? = nil, ancestors: [Epoch: Revision] = [:],
    rules: [PersistenceRule] = [], isClean: Bool = true, grace: Duration = .zero, quotas: [Quota] = [],
    clock: @escaping @Sendable () -> Timestamp = { .now },
    compile: (String) throws(FormulaError) -> Formula
  ) {
    // Ignores a clock that starts in 1970, before the last recorded change.
    let now = Moment(time: max(clock(), replica.time, replica.signals.time), ticks: timers.now)
    var restoration = Restoration(replica, limits: limits)
    restoration.resume(at: now, grace: grace, rules: rules, isClean: isClean, quotas: quotas, compile)
    let lastHolder = restoration.holders.map(\.number).max() ?? 0
    self.init(restoration.state, lastHolder: lastHolder, ancestors: ancestors, timers: timers, clock: clock)
    let running = restoration.timers(at: now, on: timers)
    let dropped = shared.state.withLock { state in
      state.sink = sink
      state.announcements = record.map { Announcements(after: $0) }
      for timer in running { state.running[timer.path] = timer }
      let recomputed = state.computeAll(removing: restoration.volatile, at: now.time, commits)
      let corrected = restoration.toSetAnew.map { state.setAnew($0, at: now.time, commits) }
      let ended = restoration.overdue.map { path in
        var units = 0
        return state.end(CollectionOfOne(path), by: .expire, at: now.time, &units, commits)
      }
      // Recorded after the changes that they require, so that an interrupted start is repeated.
      if state.replica.rules != rules { state.apply(.rules(rules)) }
      return [recomputed] + corrected + ended
    }
    withExtendedLifetime(dropped) {}
    commits.deliver()
    for timer in running { self.timers.start(timer) }
    setAlarm()
    startKeeping(rules)
  }
}

/// The reason a recorded formula no longer compiles.
package struct FormulaError: Error {
  /// A sentence for the author of the formula.
  package let message: String

  package init(_ message: String) { self.message = message }
}

/// The work of continuing from a replica.
struct Restoration {
  private(set) var state: StoreState
  private(set) var holders: Set<Holder>
  /// The properties that expired while there was no store, in the order of expiry.
  private(set) var overdue: [PropertyPath] = []
  /// The properties that do not survive a restart.
  private(set) var volatile: [StoredValue] = []
  /// The properties whose value may be stale, in batches.
  private(set) var toSetAnew: [ArraySlice<PropertyPath>] = []
  /// Maximum number of properties that are set again in one commit.
  private static let setAtATime = 10_000
  private var replica: Replica
  private let limits: StoreLimits

  init(_ replica: Replica, limits: StoreLimits) {
    self.replica = replica
    self.limits = limits
    state = StoreState(replica, Judge(limits: limits))
    holders = Set(replica.lastOperations.keys)
  }

  /// Makes a judge from the leases and formulas of the properties.
  mutating func resume(
    at now: Moment, grace: Duration, rules: [PersistenceRule], isClean: Bool, quotas: [Quota],
    _ compile: (String) throws(FormulaError) -> Formula
  ) {
    var judge = Judge(limits: limits, quotas: quotas)
    var ended: [(end: Timestamp, path: PropertyPath)] = []
    var uncertain: [PropertyPath] = []
    // A client that can resume has seen everything up to there.
    let floor = isClean ? replica.floor : nil
    for property in StoreSnapshot(epoch: replica.epoch, revision: replica.revision, tree: replica.tree).scan() {
      judge.quotas.add(QuotaUse(property), at: property.path)
      let isVolatile = property.computation == nil && isVolatile(property.path, rules)
      if isVolatile {
        volatile.append(property)
      } else if let extent = replica.rules.rule(for: property.path)?.extent,
        extent == .volatile || floor.map({ property.revision > $0 }) ?? true
      {
        uncertain.append(property.path)
      }
      if let lease = property.lease {
        if let holder = lease.holder { holders.insert(holder) }
        let isOver = judge.leases.resume(lease, of: property.path, at: now, grace: grace)
        if isOver, !isVolatile, let end = lease.term?.end {
          ended.append((end, property.path))
        }
      }
      if let computation = property.computation { resume(property, computation, &judge, compile) }
    }
    judge.formulas.finishRestoring()
    overdue = ended.sorted { ($0.end, $0.path) < ($1.end, $1.path) }.map(\.path)
    toSetAnew = stride(from: 0, to: uncertain.count, by: Restoration.setAtATime).map {
      uncertain[$0..<min($0 + Restoration.setAtATime, uncertain.count)]
    }
    state = StoreState(replica, judge)
    if !rules.isEmpty { state.omissions = Omissions(rules) }
  }

  /// Whether a restart removes the property: its values were not kept, or are not to be kept over a restart.
  private func isVolatile(_ path: PropertyPath, _ rules: [PersistenceRule]) -> Bool {
    [replica.rules, rules].contains { !$0.isEmpty && $0.rule(for: path)?.extent == .volatile }
  }

  private mutating func resume(
    _ property: StoredValue, _ computation: Computation, _ judge: inout Judge,
    _ compile: (String) throws(FormulaError) -> Formula
  ) {
    var formula = computation.formula
    var error = computation.error
    do throws(FormulaError) {
      formula = try compile(formula.source)
      judge.formulas.restore(formula, at: property.path)
    } catch let failure {
      error = "the formula no longer compiles: \(failure.message)"
    }
    replica.apply(
      .amendment(
        StoredValue(
          path: property.path, value: property.value, revision: property.revision, time: property.time,
          computation: Computation(formula, error: error))))
  }

  /// The timers continued from their original start, converted to the local clock.
  func timers(at now: Moment, on clock: any TimerClock) -> [RunningTimer] {
    replica.timers.values.map { timer in
      let passed = max(0, now.time.milliseconds - timer.start.milliseconds)
      let start = (ticks: (now.ticks ?? clock.now) - .milliseconds(passed), time: timer.start)
      return RunningTimer(timer.path, timer.schedule, start: start, on: clock)
    }
  }
}
