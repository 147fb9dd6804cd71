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
/// property has a lease; then some 100 bytes for each that has a time to live, and 40 for each that is held.
struct LeaseTable: Sendable {
  /// The resolution of the wheel: a property ends at most this much later than it should, and never before.
  private static let tick = Duration.milliseconds(10)

  private var wheel = TimerWheel<PropertyPath>()
  private var places: [PropertyPath: TimerWheel<PropertyPath>.Place] = [:]
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
    let lease = Lease(term: term, holder: holder)
    guard let old else {
      watch(lease, of: path, for: ttl, from: now)
      return lease
    }
    if old.holder == holder, let ttl, let ticks = now.ticks, old.term != nil, let place = places[path] {
      // Most often a heartbeat, which comes again and again.
      wheel.move(place, to: Self.tick(atOrAfter: ticks + ttl))
    } else {
      end(old, of: path)
      watch(lease, of: path, for: ttl, from: now)
    }
    return lease
  }

  /// Watches over a lease that a property has already, as far as its time is not over.
  ///
  /// - Returns: Whether its time is over.
  mutating func resume(_ lease: Lease, of path: PropertyPath, at now: Moment) -> Bool {
    let remaining = lease.term?.remaining(at: now.time)
    watch(lease, of: path, for: remaining == .zero ? nil : remaining, from: now)
    return remaining == .zero
  }

  private mutating func watch(_ lease: Lease, of path: PropertyPath, for time: Duration?, from now: Moment) {
    if let holder = lease.holder { held[holder, default: []].insert(path) }
    guard let time else { return }
    guard let ticks = now.ticks else { preconditionFailure("The time of the timers is asked for a time to live.") }
    places[path] = wheel.insert(path, at: Self.tick(atOrAfter: ticks + time), now: Self.tick(before: ticks))
  }

  /// Ends the lease of a property that has got another one, or none, or is gone.
  mutating func end(_ lease: Lease, of path: PropertyPath) {
    if lease.term != nil, let place = places.removeValue(forKey: path) { wheel.remove(place) }
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
    places[path] = nil
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
