// SPDX-License-Identifier: MIT

/// The time of an operation: by the clock that timestamps changes, and by that of the timers where it is needed.
struct Moment {
  let time: Timestamp
  /// The time of the timers; nil when no time to live is involved.
  let ticks: Duration?
}

/// The leases of a store: by the time at which they expire, with the alarm that is set for them, and by holder.
///
/// Derived from the leases of the properties (``Lease``), and so not part of what is recorded. A few words while no
/// property has a lease; then some 40 bytes for each that has a time to live, and as many for each that is held.
struct LeaseTable: Sendable {
  /// The resolution of the wheel: a property ends at most this much later than it should, and never before.
  private static let tick = Duration.milliseconds(10)

  private var wheel = TimerWheel<PropertyPath>()
  /// The places of leases that another judge made; the others are in the lease (``Lease/place``).
  private var resumed: [PropertyPath: TimerWheel<PropertyPath>.Place] = [:]
  private var held: [Holder: Set<PropertyPath>] = [:]
  /// The tick that the alarm is set to.
  private var armed: UInt64?
  /// Whether a thread is setting the alarm, without the lock; it checks again when that is done.
  private var isArming = false

  /// The number of properties that have a time to live.
  var count: Int { wheel.count }

  /// Makes a lease with a time to live, a holder or both, replacing that of the property; nil without either.
  mutating func begin(
    _ path: PropertyPath, for ttl: Duration?, _ holder: Holder?, from now: Moment, replacing old: Lease?
  ) -> Lease? {
    if ttl == nil, holder == nil {
      if let old { end(old, of: path) }
      return nil
    }
    let term = ttl.map { ttl in
      Lease.Term(end: Timestamp(milliseconds: now.time.milliseconds + ttl.milliseconds), length: ttl)
    }
    var place: TimerWheel<PropertyPath>.Place?
    if let old, old.holder == holder, let ttl, let known = self.place(of: old, path) {
      // Usually a heartbeat, which renews the lease repeatedly.
      wheel.move(known, to: Self.tick(atOrAfter: Self.ticks(of: now) + ttl))
      if !resumed.isEmpty { resumed[path] = nil }
      place = known
    } else {
      if let old { end(old, of: path) }
      place = watch(path, for: ttl, holder, from: now)
    }
    return Lease(term: term, holder: holder, place: place ?? -1)
  }

  /// Takes over a lease that another judge has made, unless its time is over.
  ///
  /// - Parameter grace: Added to its remaining time.
  /// - Returns: Whether its time is over.
  mutating func resume(_ lease: Lease, of path: PropertyPath, at now: Moment, grace: Duration) -> Bool {
    let remaining = lease.term?.remaining(at: now.time, grace: grace)
    resumed[path] = watch(path, for: remaining == .zero ? nil : remaining, lease.holder, from: now)
    return remaining == .zero
  }

  private mutating func watch(
    _ path: PropertyPath, for time: Duration?, _ holder: Holder?, from now: Moment
  ) -> TimerWheel<PropertyPath>.Place? {
    if let holder { held[holder, default: []].insert(path) }
    guard let time else { return nil }
    let ticks = Self.ticks(of: now)
    return wheel.insert(path, at: Self.tick(atOrAfter: ticks + time), now: Self.tick(before: ticks))
  }

  /// The place of a lease in the wheel.
  private func place(of lease: Lease, _ path: PropertyPath) -> TimerWheel<PropertyPath>.Place? {
    guard lease.term != nil else { return nil }
    // A path is in the wheel once, so a hint that finds it is right, whichever judge it came from.
    return wheel.item(at: lease.place) == path ? lease.place : resumed[path]
  }

  /// Removes the lease of a property that has another lease, or none, or is gone.
  mutating func end(_ lease: Lease, of path: PropertyPath) {
    if let place = place(of: lease, path) { wheel.remove(place) }
    if !resumed.isEmpty { resumed[path] = nil }
    guard let holder = lease.holder, let index = held.index(forKey: holder) else { return }
    held.values[index].remove(path)
    if held.values[index].isEmpty { held.remove(at: index) }
  }

  // MARK: Holders

  /// The number of properties that a holder holds.
  func count(heldBy holder: Holder) -> Int { held[holder]?.count ?? 0 }

  /// The properties that a holder holds, in path order.
  func paths(heldBy holder: Holder) -> [PropertyPath] { held[holder]?.sorted() ?? [] }

  /// All holders that hold something.
  var holders: some Sequence<Holder> { held.keys }

  // MARK: Expiry

  /// The next path whose time is over; nil when there is none, or when the budget is spent.
  mutating func takeExpired(at now: Moment, budget: inout Int) -> PropertyPath? {
    guard let ticks = now.ticks else { return nil }
    guard let path = wheel.takeNext(through: Self.tick(before: ticks), budget: &budget) else { return nil }
    if !resumed.isEmpty { resumed[path] = nil }
    return path
  }

  // MARK: Alarm

  /// The time for which the alarm has to be set; nil when it is set to that or to an earlier time.
  ///
  /// The caller sets it, without the lock, and then asks again, with `isOurs`, until the answer is nil: so only one
  /// thread at a time sets it, and it also serves the leases that others have added meanwhile.
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

  private static func ticks(of now: Moment) -> Duration {
    guard let ticks = now.ticks else { preconditionFailure("The time of the timers is asked for a time to live.") }
    return ticks
  }

  private static func tick(before time: Duration) -> UInt64 { UInt64(max(0, time.milliseconds / 10)) }

  private static func tick(atOrAfter time: Duration) -> UInt64 {
    let whole = tick(before: time)
    return tick * Int(whole) < time ? whole + 1 : whole
  }
}

extension Duration {
  /// Whole milliseconds, rounded towards zero and clamped.
  var milliseconds: Int64 {
    let (seconds, attoseconds) = components
    let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1000)
    if overflow { return seconds < 0 ? .min : .max }
    return whole.addingReportingOverflow(attoseconds / 1_000_000_000_000_000).partialValue
  }
}
