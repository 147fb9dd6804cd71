// SPDX-License-Identifier: MIT

import Synchronization

extension PropertyStore {
  /// Maximum number of expiries and moves in the wheel per acquisition of the lock.
  private static let expiriesAtATime = 128

  /// The number of properties that have a time to live.
  package var expiringCount: Int { shared.state.withLock { $0.judge.leases.count } }

  /// Ensures that the alarm fires in time for the next property to end.
  func setAlarm() {
    var isOurs = false
    while let deadline = shared.state.withLock({ $0.takeAlarm(isOurs: isOurs) }) {
      isOurs = true
      alarm.set(deadline) { [weak self] in self?.expire() }
    }
  }

  /// Ends every property whose time is over, and sets the alarm for the next.
  func expire() {
    shared.state.withLock { $0.alarmIsOver() }
    var isDone = false
    while !isDone {
      let now = Moment(time: clock(), ticks: timerClock.now)
      let dropped: [History.Dropped]
      (isDone, dropped) = shared.state.withLock { $0.expire(at: now, budget: Self.expiriesAtATime, commits) }
      commits.deliver()
      // Released without the lock.
      withExtendedLifetime(dropped) {}
    }
    setAlarm()
  }
}
