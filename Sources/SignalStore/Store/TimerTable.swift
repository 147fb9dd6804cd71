// SPDX-License-Identifier: MIT

public import JSON
import Synchronization

/// When a timer of a store fires.
public enum TimerSchedule: Sendable, Equatable {
  /// Once, so long after it was set.
  case after(Duration)
  /// Once, at this time of the system clock as it is when the timer is set.
  case at(Timestamp)
  /// Again and again, the first time one interval after it was set.
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

/// The timers of a store: each sends a message through the signal at its path, once or again and again.
///
///     try store.timers.set("tea", .after(.seconds(180)), message: JSONText("ready"))
///
/// Setting a timer again changes it while it runs: its time begins anew, now. One that has fired for the last time is
/// gone. Timers and properties may have the same path. It may be used from any thread.
public final class TimerTable: Sendable {
  private final class Entry: Sendable {
    let schedule: TimerSchedule
    let message: JSONText
    /// When its time began, by the clock of the timers and by the one that people read.
    let start: (ticks: Duration, time: Timestamp)
    let once: OnceTimer?
    let periodic: PeriodicTimer?
    let subscription = Mutex<Subscription?>(nil)

    init(
      _ schedule: TimerSchedule, _ message: JSONText, start: (ticks: Duration, time: Timestamp), once: OnceTimer?,
      periodic: PeriodicTimer?
    ) {
      self.schedule = schedule
      self.message = message
      self.start = start
      self.once = once
      self.periodic = periodic
    }

    func next(at now: Duration) -> Timestamp {
      switch schedule {
      case .at(let time): return time
      case .after(let delay): return Timestamp(milliseconds: start.time.milliseconds + delay.milliseconds)
      case .every(let interval):
        let passed = max(0, (now - start.ticks) / interval)
        let next = interval * (Int(min(passed, 1e15)) + 1)
        return Timestamp(milliseconds: start.time.milliseconds + next.milliseconds)
      }
    }

    func end() {
      let subscription = subscription.withLock { held in
        let taken = held
        held = nil
        return taken
      }
      subscription?.cancel()
      once?.cancel()
    }
  }

  private let signals: SignalExchange
  private let limits: StoreLimits
  private let timers: any TimerClock
  private let clock: @Sendable () -> Timestamp
  private let entries = Mutex<[PropertyPath: Entry]>([:])

  init(
    _ signals: SignalExchange, limits: StoreLimits, timers: any TimerClock, clock: @escaping @Sendable () -> Timestamp
  ) {
    self.signals = signals
    self.limits = limits
    self.timers = timers
    self.clock = clock
  }

  deinit {
    for entry in entries.withLock({ $0 }).values { entry.end() }
  }

  /// The number of timers.
  public var count: Int { entries.withLock { $0.count } }

  /// Sets a timer, or changes the one that is there.
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
    let shortest: Duration = if case .every = schedule { limits.timerInterval } else { .zero }
    guard delay >= shortest, delay <= min(limits.ttlLimit, .seconds(1000 * 366 * 86_400)) else {
      throw .badTimer(shortest: shortest, longest: limits.ttlLimit)
    }
    let entry: Entry
    if case .every(let interval) = schedule {
      let timer = PeriodicTimer(every: interval, clock: timers)
      entry = Entry(schedule, message, start: now, once: nil, periodic: timer)
    } else {
      entry = Entry(schedule, message, start: now, once: OnceTimer(clock: timers), periodic: nil)
    }
    let old = try entries.withLock { entries throws(StoreError) in
      guard entries[path] != nil || entries.count < limits.timers else { throw .tooManyTimers(limit: limits.timers) }
      return entries.updateValue(entry, forKey: path)
    }
    old?.end()
    start(entry, path, delay)
    return (StoreTimer(path: path, schedule: schedule, message: message, next: entry.next(at: now.ticks)), old == nil)
  }

  private func start(_ entry: Entry, _ path: PropertyPath, _ delay: Duration) {
    let subscription: Subscription?
    if let periodic = entry.periodic {
      subscription = periodic.subscribe { [weak self, weak entry] in
        if let self, let entry { fire(entry, path) }
      }
    } else {
      subscription = entry.once?.fired.subscribe { [weak self, weak entry] in
        guard let self, let entry, remove(entry, path) else { return }
        fire(entry, path)
      }
    }
    entry.subscription.withLock { $0 = subscription }
    entry.once?.start(after: delay)
    // Somebody has set it anew, or removed it, in the meantime.
    if entries.withLock({ $0[path] !== entry }) { entry.end() }
  }

  private func fire(_ entry: Entry, _ path: PropertyPath) {
    // Not kept, so there is always room.
    _ = try? signals.send(path, entry.message)
  }

  /// Takes an entry out, if it is still the one at its path.
  private func remove(_ entry: Entry, _ path: PropertyPath) -> Bool {
    let removed = entries.withLock { entries in
      entries[path] === entry ? entries.removeValue(forKey: path) : nil
    }
    return removed != nil
  }

  /// Removes a timer; false when there is none.
  @discardableResult
  public func remove(_ path: PropertyPath) -> Bool {
    let removed = entries.withLock { $0.removeValue(forKey: path) }
    removed?.end()
    return removed != nil
  }

  /// The timer at a path, nil when there is none.
  public func get(_ path: PropertyPath) -> StoreTimer? {
    let now = timers.now
    return entries.withLock { $0[path] }.map { Self.timer(path, $0, at: now) }
  }

  /// Up to `limit` timers whose paths match, in path order, from behind `after` on.
  public func list(
    match patterns: [PathPattern] = [.all], after: PropertyPath? = nil, limit: Int = .max
  ) -> [StoreTimer] {
    let now = timers.now
    let all = entries.withLock { $0 }
    let paths = all.keys.filter { path in
      (after.map { $0 < path } ?? true) && patterns.contains { $0.matches(path) }
    }
    return paths.sorted().prefix(limit).compactMap { path in all[path].map { Self.timer(path, $0, at: now) } }
  }

  private static func timer(_ path: PropertyPath, _ entry: Entry, at now: Duration) -> StoreTimer {
    StoreTimer(path: path, schedule: entry.schedule, message: entry.message, next: entry.next(at: now))
  }
}
