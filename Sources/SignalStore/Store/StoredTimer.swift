// SPDX-License-Identifier: MIT

package import JSON

/// A timer as it is recorded: all that a store needs to continue it after a restart.
package final class StoredTimer: Sendable {
  /// Its path, and that of the signal it sends.
  package let path: PropertyPath
  /// When it fires.
  package let schedule: TimerSchedule
  /// What it sends.
  package let message: JSONText
  /// When it was started.
  package let start: Timestamp
  /// How many intervals had passed when it fired last; 0 before.
  package let count: Int

  package init(path: PropertyPath, schedule: TimerSchedule, message: JSONText, start: Timestamp, count: Int = 0) {
    self.path = path
    self.schedule = schedule
    self.message = message
    self.start = start
    self.count = count
  }

  /// The timer after it has fired; nil when that was the last time.
  package func fired(count: Int) -> StoredTimer? {
    guard case .every = schedule else { return nil }
    return StoredTimer(path: path, schedule: schedule, message: message, start: start, count: count)
  }
}

/// A timer that runs in this process.
///
/// Setting the timer again makes another one, so that a late alarm is not mistaken for that of the present timer.
final class RunningTimer: Sendable {
  let path: PropertyPath
  let schedule: TimerSchedule
  /// When it was started, by the clock of the timers and by the wall clock.
  let start: (ticks: Duration, time: Timestamp)
  let alarm: Alarm

  init(
    _ path: PropertyPath, _ schedule: TimerSchedule, start: (ticks: Duration, time: Timestamp), on clock: any TimerClock
  ) {
    self.path = path
    self.schedule = schedule
    self.start = start
    alarm = Alarm(clock)
  }

  /// How many intervals have passed since it was set; 1 for one that fires once.
  func count(at now: Duration) -> Int {
    guard case .every(let interval) = schedule else { return 1 }
    return Int(min(max(0, (now - start.ticks) / interval), 1e15))
  }

  /// When it is to fire next, by the clock of the timers; a time that has passed counts as now.
  func deadline(at now: Duration) -> Duration {
    switch schedule {
    case .at(let time): start.ticks + .milliseconds(time.milliseconds - start.time.milliseconds)
    case .after(let delay): start.ticks + delay
    case .every(let interval): start.ticks + interval * (count(at: now) + 1)
    }
  }

  /// The same, by the wall clock.
  func next(at now: Duration) -> Timestamp {
    switch schedule {
    case .at(let time): time
    case .after(let delay): Timestamp(milliseconds: start.time.milliseconds + delay.milliseconds)
    case .every(let interval):
      Timestamp(milliseconds: start.time.milliseconds + (interval * (count(at: now) + 1)).milliseconds)
    }
  }
}
