// SPDX-License-Identifier: MIT

import Synchronization

/// A store of which several machines have a copy: one decides, and the others apply its records.
///
///     following ──lead──▶ leading ──follow──▶ following
///
/// While it follows, nothing is decided: writes are refused by the sink (``StorageRefusal/elsewhere``), no time to live
/// ends, no timer fires. What is told is held back in both states (``PropertyStore/announce(through:)``). Messages of
/// signals make records even when they are not kept, so that all machines send them.
extension PropertyStore {
  /// Makes a store that follows, from a replica.
  ///
  /// - Parameters:
  ///   - lastHolder: Holders that it makes have numbers above this; other machines have others.
  ///   - sink: Takes the records that are made while it leads, and refuses writes while it does not.
  ///   - quotas: What may be beneath some paths; see ``setQuotas(_:)``.
  package convenience init(
    following replica: Replica, limits: StoreLimits = StoreLimits(), lastHolder: UInt64, sink: any RecordSink,
    quotas: [Quota] = [], timers: any TimerClock = DispatchClock(),
    clock: @escaping @Sendable () -> Timestamp = { .now }
  ) {
    let state = StoreState(replica, Judge(limits: limits, quotas: quotas))
    self.init(state, lastHolder: lastHolder, timers: timers, clock: clock)
    shared.state.withLock { state in
      state.sink = sink
      state.announcements = Announcements(after: 0)
      _ = state.follow(nil)
    }
  }

  /// Whether nothing is decided here.
  package var isFollowing: Bool { shared.state.withLock { $0.isFollowing } }

  /// Applies records that were made elsewhere and are committed, and sends what they say.
  ///
  /// - Parameter record: Makes each of them from the replica at that time; nil for one that does not fit it.
  /// - Returns: Whether all of them did.
  package func adopt<Entries: Collection>(
    _ entries: Entries, _ record: (Entries.Element, borrowing Replica) -> Record?
  ) -> Bool {
    var dropped: [History.Dropped] = []
    let (isWhole, last) = shared.state.withLock { state in
      precondition(state.isFollowing, "Records are adopted by a store that does not make its own.")
      for entry in entries {
        guard let record = record(entry, state.replica) else { return (false, state.announcements?.records) }
        if let excess = state.adopt(record, commits, signals.messages) { dropped.append(excess) }
      }
      return (true, state.announcements?.records)
    }
    withExtendedLifetime(dropped) {}
    announce(through: last ?? 0)
    return isWhole
  }

  /// From now on decides changes: times to live end, timers run and formulas are computed here.
  ///
  /// As after a restart (``init(restoring:)``): no time to live ends early, one-shot timers that are overdue fire, and what
  /// repeating ones have missed is skipped.
  ///
  /// - Parameters:
  ///   - grace: Added to each time to live: how long nobody has decided.
  ///   - compile: Compiles a formula, as the store knows no language.
  package func lead(grace: Duration, compile: (String) throws(FormulaError) -> Formula) {
    let (replica, quotas) = shared.state.withLock { ($0.replica, $0.judge.quotas.quotas) }
    let now = Moment(time: max(clock(), replica.time, replica.signals.time), ticks: timerClock.now)
    // Without the lock, as it takes a while; nothing changes meanwhile but by whom this is called.
    var restoration = Restoration(replica, limits: limits)
    restoration.resume(at: now, grace: grace, rules: [], isClean: true, quotas: quotas, compile)
    let running = restoration.timers(at: now, on: timerClock)
    let released = shared.state.withLock { state in
      precondition(state.isFollowing, "A store that leads already cannot begin to.")
      let old = state.lead(as: restoration.state)
      for timer in running { state.running[timer.path] = timer }
      let recomputed = state.computeAll(removing: [], at: now.time, commits)
      let ended = restoration.overdue.map { path in
        var units = 0
        return state.end(CollectionOfOne(path), by: .expire, at: now.time, &units, commits)
      }
      return (old, recomputed, ended)
    }
    withExtendedLifetime(released) {}
    commits.deliver()
    for timer in running { self.timers.start(timer) }
    setAlarm()
  }

  /// From now on decides nothing.
  ///
  /// - Parameter committed: What all machines have; nil when the store has nothing else. What it had besides is taken back,
  ///   and is reported through ``announced``.
  /// - Returns: Whether something was taken back. Who has read it has to be kept from telling it: until ``settle()``
  ///   everything that is read counts as that.
  package func follow(_ committed: Replica?) -> Bool {
    let (released, lost) = shared.state.withLock { state in
      let released = state.follow(committed)
      return (released, committed == nil ? nil : state.announcements?.dropWaiting())
    }
    for timer in released.running { timer.alarm.cancel() }
    withExtendedLifetime(released) {}
    guard let lost, lost.through > lost.after else { return false }
    announced.send(.lost(after: lost.after, through: lost.through))
    return true
  }

  /// Those who observe ``announced`` know what was lost: from now on what is read here is told again.
  package func settle() {
    let last = shared.state.withLock { state in
      state.announcements?.count(nil)
      return state.announcements?.records
    }
    announce(through: last ?? 0)
  }

  /// Calls `body` while no operation is under way, so that all records of each have been handed over, or none.
  package func betweenOperations<Result>(_ body: () -> Result) -> Result { shared.state.withLock { _ in body() } }
}
