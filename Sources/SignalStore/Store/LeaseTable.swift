// SPDX-License-Identifier: MIT

/// When something is done: the time that changes are noted with, and that of the timers where it is needed.
struct Moment {
  let time: Timestamp
  /// nil when no time to live is asked for.
  let ticks: Duration?
}

/// The properties of a store that end by themselves: by the time at which they do, with the alarm that is set for them,
/// and by who holds them.
///
/// A few words as long as no property has a lease; then some 40 bytes for each that has a time to live, and as many for
/// each that is held.
struct LeaseTable: Sendable {
  /// The resolution of the wheel: a property ends at most this much later than it should, and never before.
  private static let tick = Duration.milliseconds(10)

  private var wheel = TimerWheel<PropertyPath>()
  private var held: [Holder: Set<PropertyPath>] = [:]
  /// The tick that the alarm is set to.
  private var armed: UInt64?
  /// Somebody is about to set the alarm, without the lock, and looks again when that is done.
  private var isArming = false

  /// The number of properties that have a time to live.
  var count: Int { wheel.count }

  /// Makes a lease with a time to live, a holder or both; nil without either.
  mutating func begin(_ path: PropertyPath, for ttl: Duration?, _ holder: Holder?, from now: Moment) -> Lease? {
    guard ttl != nil || holder != nil else { return nil }
    if let holder { held[holder, default: []].insert(path) }
    guard let ttl else { return Lease(end: nil, holder: holder) }
    guard let ticks = now.ticks else { preconditionFailure("The time of the timers is asked for a time to live.") }
    let place = wheel.insert(path, at: Self.tick(atOrAfter: ticks + ttl), now: Self.tick(before: ticks))
    let expires = Timestamp(milliseconds: now.time.milliseconds + ttl.milliseconds)
    return Lease(end: (expires, place), holder: holder)
  }

  /// Ends the lease of a property that has got another one, or none, or is gone.
  mutating func end(_ lease: Lease, of path: PropertyPath) {
    if let end = lease.end { wheel.remove(end.place) }
    forgetHolder(of: path, lease)
  }

  /// Ends what is left of a lease whose time is over, and was taken.
  mutating func forgetHolder(of path: PropertyPath, _ lease: Lease) {
    guard let holder = lease.holder, let index = held.index(forKey: holder) else { return }
    held.values[index].remove(path)
    if held.values[index].isEmpty { held.remove(at: index) }
  }

  // MARK: Holders

  /// How many properties a holder holds.
  func count(heldBy holder: Holder) -> Int { held[holder]?.count ?? 0 }

  /// What a holder holds, in path order.
  func paths(heldBy holder: Holder) -> [PropertyPath] { held[holder]?.sorted() ?? [] }

  // MARK: Expiry

  /// The next path whose time is over; nil when there is none, or when the budget is spent.
  mutating func takeExpired(at now: Moment, budget: inout Int) -> PropertyPath? {
    guard let ticks = now.ticks else { return nil }
    return wheel.takeNext(through: Self.tick(before: ticks), budget: &budget)
  }

  // MARK: Alarm

  /// When the alarm has to go off, if it is not set to that or to an earlier time.
  ///
  /// The caller sets it, without the lock, and then asks again, with `isOurs`, until the answer is nil: so one thread at
  /// a time sets it, and the last one sees what the others have brought.
  mutating func takeAlarm(isOurs: Bool) -> Duration? {
    if isArming, !isOurs { return nil }
    guard let next = wheel.next, armed.map({ next < $0 }) ?? true else {
      isArming = false
      return nil
    }
    isArming = true
    armed = next
    return Self.tick * Int(next)
  }

  mutating func alarmIsOver() { armed = nil }

  // MARK: Ticks

  private static func tick(before time: Duration) -> UInt64 { UInt64(max(0, time.milliseconds / 10)) }

  private static func tick(atOrAfter time: Duration) -> UInt64 {
    let whole = tick(before: time)
    return tick * Int(whole) < time ? whole + 1 : whole
  }
}

extension Duration {
  /// Whole milliseconds, towards zero, as far as they fit.
  var milliseconds: Int64 {
    let (seconds, attoseconds) = components
    let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1000)
    if overflow { return seconds < 0 ? .min : .max }
    return whole.addingReportingOverflow(attoseconds / 1_000_000_000_000_000).partialValue
  }
}
