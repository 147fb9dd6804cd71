// SPDX-License-Identifier: MIT

public import JSON
import Synchronization

/// When a timer of a store fires.
public enum TimerSchedule: Sendable, Equatable {
  /// Once, this long after it was set.
  case after(Duration)
  /// Once, at this time of the system clock as it is when the timer is set.
  case at(Timestamp)
  /// Repeatedly, the first time one interval after it was set.
  case every(Duration)
}

/// A timer of a store, as it is at one moment.
public struct StoreTimer: Sendable, Equatable {
  /// Its path, and that of the signal it sends.
  public let path: PropertyPath
  /// When it fires.
  public let schedule: TimerSchedule
  /// What it sends.
  public let message: JSONText
  /// When it fires next.
  public let next: Timestamp
}

/// The timers of a store: each sends a message through the signal at its path, once or repeatedly.
///
///     try store.timers.set("tea", .after(.seconds(180)), message: JSONText("ready"))
///
/// Setting a timer again changes it while it runs: it starts over. A timer that has fired for the last time is gone.
/// Timers and properties may have the same path. It may be used from any thread.
public final class TimerTable: Sendable {
  private let shared: SharedState
  private let signals: SignalExchange
  private let timers: any TimerClock
  private let clock: @Sendable () -> Timestamp

  init(
    _ shared: SharedState, _ signals: SignalExchange, timers: any TimerClock, clock: @escaping @Sendable () -> Timestamp
  ) {
    self.shared = shared
    self.signals = signals
    self.timers = timers
    self.clock = clock
  }

  deinit {
    let running = shared.state.withLock { state in
      let running = state.running
      state.running = [:]
      return running
    }
    for timer in running.values { timer.alarm.cancel() }
  }

  /// The number of timers.
  public var count: Int { shared.state.withLock { $0.replica.timers.count } }

  /// Sets a timer, or changes the existing one.
  ///
  /// - Returns: The timer, and whether it is new.
  /// - Throws: ``StoreError/badTimer(shortest:longest:)`` or ``StoreError/tooManyTimers(limit:)``; nothing is changed
  ///   then.
  @discardableResult
  public func set(
    _ path: PropertyPath, _ schedule: TimerSchedule, message: JSONText = .null
  ) throws(StoreError) -> (timer: StoreTimer, isNew: Bool) {
    let now = (ticks: timers.now, time: clock())
    let delay: Duration =
      switch schedule {
      case .after(let delay): delay
      case .at(let time): .milliseconds(time.milliseconds - now.time.milliseconds)
      case .every(let interval): interval
      }
    let limits = shared.limits
    let shortest: Duration = if case .every = schedule { limits.timerInterval } else { .zero }
    guard delay >= shortest, delay <= min(limits.ttlLimit, .seconds(1000 * 366 * 86_400)) else {
      throw .badTimer(shortest: shortest, longest: limits.ttlLimit)
    }
    let timer = RunningTimer(path, schedule, start: now, on: timers)
    let old = try shared.state.withLock { state throws(StoreError) in try state.start(timer, message: message) }
    old?.alarm.cancel()
    start(timer)
    return (StoreTimer(path: path, schedule: schedule, message: message, next: timer.next(at: now.ticks)), old == nil)
  }

  /// Sets the alarm of a timer for the next time it fires.
  func start(_ timer: RunningTimer) {
    timer.alarm.set(timer.deadline(at: timers.now)) { [weak self, weak timer] in
      if let self, let timer { fire(timer) }
    }
    // The timer was replaced or removed in the meantime.
    if !shared.state.withLock({ $0.running[timer.path] === timer }) { timer.alarm.cancel() }
  }

  private func fire(_ timer: RunningTimer) {
    let now = (ticks: timers.now, time: clock())
    let fired = shared.state.withLock { $0.fire(timer, at: now.time, ticks: now.ticks, signals.messages) }
    guard let fired else { return }
    signals.messages.deliver()
    // Released without the lock.
    withExtendedLifetime(fired) {}
    if case .every = timer.schedule { start(timer) }
  }

  /// Removes a timer; false when there is none.
  @discardableResult
  public func remove(_ path: PropertyPath) -> Bool {
    let removed = shared.state.withLock { $0.removeTimer(path) }
    removed?.alarm.cancel()
    return removed != nil
  }

  /// The timer at a path, nil when there is none.
  public func get(_ path: PropertyPath) -> StoreTimer? {
    let (stored, running) = shared.state.withLock { ($0.replica.timers[path], $0.running[path]) }
    return stored.map { StoreTimer($0, next: next(of: $0, running)) }
  }

  /// Up to `limit` timers whose paths match, in path order, after `after`.
  public func list(
    match patterns: [PathPattern] = [.all], after: PropertyPath? = nil, limit: Int = .max
  ) -> [StoreTimer] {
    let (stored, running) = shared.state.withLock { ($0.replica.timers, $0.running) }
    let paths = stored.keys.filter { path in
      (after.map { $0 < path } ?? true) && patterns.contains { $0.matches(path) }
    }
    return paths.sorted().prefix(limit).compactMap { path in
      stored[path].map { StoreTimer($0, next: next(of: $0, running[path])) }
    }
  }
}

extension TimerTable {
  /// When a timer fires next: by its own clock, or where it runs elsewhere by the time at which it was set.
  private func next(of stored: StoredTimer, _ running: RunningTimer?) -> Timestamp {
    if let running { return running.next(at: timers.now) }
    let passed = max(0, clock().milliseconds - stored.start.milliseconds)
    let start = (ticks: timers.now - .milliseconds(passed), time: stored.start)
    return RunningTimer(stored.path, stored.schedule, start: start, on: timers).next(at: timers.now)
  }
}

extension StoreTimer {
  fileprivate init(_ stored: StoredTimer, next: Timestamp) {
    self.init(path: stored.path, schedule: stored.schedule, message: stored.message, next: next)
  }
}
