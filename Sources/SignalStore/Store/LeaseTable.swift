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
/// Made of the leases that the properties have (``Lease``), and so not part of what is recorded. A few words as long as no
/// property has a lease; then some 40 bytes for each that has a time to live, and as many for
/// each that is held.
struct LeaseTable: Sendable {
  /// The resolution of the wheel: a property ends at most this much later than it should, and never before.
  private static let tick = Duration.milliseconds(10)

  private var wheel = TimerWheel<PropertyPath>()
  /// Where those are that another judge has made; of the others the lease says it (``Lease/place``).
  private var resumed: [PropertyPath: TimerWheel<PropertyPath>.Place] = [:]
  private var held: [Holder: Set<PropertyPath>] = [:]
  /// The tick that the alarm is set to.
  private var armed: UInt64?
  /// Somebody is about to set the alarm, without the lock, and looks again when that is done.
  private var isArming = false

  /// The number of properties that have a time to live.
  var count: Int { wheel.count }

  /// Makes a lease with a time to live, a holder or both, in the place of the one that the property has; nil without either.
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
      // Most often a heartbeat, which comes again and again.
      wheel.move(known, to: Self.tick(atOrAfter: Self.ticks(of: now) + ttl))
      if !resumed.isEmpty { resumed[path] = nil }
      place = known
    } else {
      if let old { end(old, of: path) }
      place = watch(path, for: ttl, holder, from: now)
    }
    return Lease(term: term, holder: holder, place: place ?? -1)
  }

  /// Watches over a lease that another judge has made, as far as its time is not over.
  ///
  /// - Parameter grace: How much longer its time is than it says.
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

  /// Where the end of a lease is noted.
  private func place(of lease: Lease, _ path: PropertyPath) -> TimerWheel<PropertyPath>.Place? {
    guard lease.term != nil else { return nil }
    // A path is in the wheel once, so what is found by a hint is right, whoever gave it.
    return wheel.item(at: lease.place) == path ? lease.place : resumed[path]
  }

  /// Ends the lease of a property that has got another one, or none, or is gone.
  mutating func end(_ lease: Lease, of path: PropertyPath) {
    if let place = place(of: lease, path) { wheel.remove(place) }
    if !resumed.isEmpty { resumed[path] = nil }
    guard let holder = lease.holder, let index = held.index(forKey: holder) else { return }
    held.values[index].remove(path)
    if held.values[index].isEmpty { held.remove(at: index) }
  }

  // MARK: Holders

  /// How many properties a holder holds.
  func count(heldBy holder: Holder) -> Int { held[holder]?.count ?? 0 }

  /// What a holder holds, in path order.
  func paths(heldBy holder: Holder) -> [PropertyPath] { held[holder]?.sorted() ?? [] }

  /// All that hold something.
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
  /// Whole milliseconds, towards zero, as far as they fit.
  var milliseconds: Int64 {
    let (seconds, attoseconds) = components
    let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1000)
    if overflow { return seconds < 0 ? .min : .max }
    return whole.addingReportingOverflow(attoseconds / 1_000_000_000_000_000).partialValue
  }
}
