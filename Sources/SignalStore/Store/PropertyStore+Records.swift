// SPDX-License-Identifier: MIT

import JSON
import Synchronization

/// A store as the records of another, or of an earlier one, make it.
extension PropertyStore {
  /// All that the store holds, as it is now; O(1).
  package var replica: Replica { shared.state.withLock { $0.replica } }

  /// Hands every record from now on to a sink, which the store keeps, instead of the one that had them before.
  ///
  /// - Returns: All that the store holds without these records: applying them to it gives what the store has then.
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

  /// How often a formula was not computed, or not to the end, because the budget of its commit was used up.
  package var formulaFailures: Int { shared.state.withLock { $0.judge.formulaFailures } }

  // MARK: Restoring

  /// Makes a store that goes on from a replica, at its revision and epoch and with its history.
  ///
  /// 1. A property whose time to live is over ends before this returns, with a commit of its own, the first to end first; to
  ///    the others as much is left as there was, and no more than they were given, whatever the clock says. To that `grace`
  ///    is added, for renewals that may not have been recorded.
  /// 2. A timer that was to fire once and is overdue fires as soon as somebody can observe it; one that fires again and again
  ///    keeps its rhythm, and what it has missed is left out.
  /// 3. Computed properties are all computed anew, each with the budget of a commit for itself, as nobody waits; where that
  ///    gives another value, they change in one commit, the first of this store. Then they follow their inputs again. One whose formula no longer
  ///    compiles keeps its value, as long as it stands, and its error says why.
  /// 4. What the rules of before, or those of now, call volatile is removed in the same commit, unless it is computed. What else
  ///    may be another than it was, as its records were omitted, is set anew to the value that it has: all of it when the
  ///    last records may be missing (`isClean`), and otherwise what somebody who resumes may have seen.
  /// 5. Holders of before are known (``holders``), but nobody speaks for them: the caller executes what is left to do for
  ///    each (``lastOperations(of:)``) and releases it.
  ///
  /// - Parameters:
  ///   - rules: What is omitted from now on.
  ///   - isClean: Whether the last records are all there.
  ///   - grace: How much longer each time to live is; for a replica whose last records may be missing.
  ///   - compile: Makes a formula of its text, as the store knows no language.
  ///   - sink: Takes the records from the first of this store on, also those of rule 1.
  ///   - record: The number of the last record that was made before, when changes are told by ``announce(through:)``; nil
  ///     when they are told at once.
  ///   - ancestors: Of each earlier epoch the last revision that is part of this history.
  package convenience init(
    restoring replica: Replica, limits: StoreLimits = StoreLimits(), timers: any TimerClock = DispatchClock(),
    sink: (any RecordSink)? = nil, holdingBackAfter record: UInt64? = nil, ancestors: [Epoch: Revision] = [:],
    rules: [PersistenceRule] = [], isClean: Bool = true, grace: Duration = .zero,
    clock: @escaping @Sendable () -> Timestamp = { .now },
    compile: (String) throws(FormulaError) -> Formula
  ) {
    // A clock that begins in 1970 is not believed to be before what has happened.
    let now = Moment(time: max(clock(), replica.time, replica.signals.time), ticks: timers.now)
    var restoration = Restoration(replica, limits: limits)
    restoration.resume(at: now, grace: grace, rules: rules, isClean: isClean, compile)
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
      // After what they make necessary: a start that is cut short is made again.
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

/// Why a formula that was recorded does not compile any more.
package struct FormulaError: Error {
  /// A sentence for the person whose formula it is.
  package let message: String

  package init(_ message: String) { self.message = message }
}

/// What is made of a replica to go on from it.
private struct Restoration {
  private(set) var state: StoreState
  private(set) var holders: Set<Holder>
  /// What ended while there was no store, in the order of the ends.
  private(set) var overdue: [PropertyPath] = []
  /// What does not outlive a restart.
  private(set) var volatile: [StoredValue] = []
  /// What may be another than it was, some at a time.
  private(set) var toSetAnew: [ArraySlice<PropertyPath>] = []
  /// Most properties that are set anew in one commit.
  private static let setAtATime = 10_000
  private var replica: Replica
  private let limits: StoreLimits

  init(_ replica: Replica, limits: StoreLimits) {
    self.replica = replica
    self.limits = limits
    state = StoreState(replica, Judge(limits: limits))
    holders = Set(replica.lastOperations.keys)
  }

  /// Makes a judge of what the properties have.
  mutating func resume(
    at now: Moment, grace: Duration, rules: [PersistenceRule], isClean: Bool,
    _ compile: (String) throws(FormulaError) -> Formula
  ) {
    var judge = Judge(limits: limits)
    var ended: [(end: Timestamp, path: PropertyPath)] = []
    var uncertain: [PropertyPath] = []
    // Whoever resumes has seen everything up to there.
    let floor = isClean ? replica.floor : nil
    for property in StoreSnapshot(epoch: replica.epoch, revision: replica.revision, tree: replica.tree).scan() {
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

  /// Whether a start removes the property: its values were not kept, or are not to be kept over a restart.
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

  /// The timers as they run on, as if they had been set when they were, by the clock of here.
  func timers(at now: Moment, on clock: any TimerClock) -> [RunningTimer] {
    replica.timers.values.map { timer in
      let passed = max(0, now.time.milliseconds - timer.start.milliseconds)
      let start = (ticks: (now.ticks ?? clock.now) - .milliseconds(passed), time: timer.start)
      return RunningTimer(timer.path, timer.schedule, start: start, on: clock)
    }
  }
}
