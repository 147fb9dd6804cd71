// SPDX-License-Identifier: MIT
import Synchronization

/// A number of units in a time, and how many of them may come at once.
struct Rate: Sendable, Equatable {
  /// Units in the window; 0 for no limit.
  let units: Int
  /// The window, in nanoseconds.
  let window: UInt64
  /// What may come at once, in units: at least one.
  let burst: Int

  /// - Parameter burst: As many as in the window, unless given.
  init(_ units: Int, per window: UInt64 = 1_000_000_000, burst: Int? = nil) {
    self.units = units
    self.window = window
    self.burst = max(burst ?? units, 1)
  }

  /// The time in which so many units are earned, in nanoseconds.
  func time(of count: Int) -> UInt64 {
    let (product, overflows) = UInt64(max(count, 0)).multipliedReportingOverflow(by: window)
    return overflows ? UInt64.max / 4 : min(product / UInt64(max(units, 1)), .max / 4)
  }
}

/// A bucket of tokens as one number: the time at which it is full again.
///
/// Usable from any thread, without a lock.
///
/// What is taken moves that time; there is room while it is less than a burst ahead. What is larger than the room that is
/// left may still be taken, so that a body of any size is possible: the rest is a debt that later ones wait for.
struct RateBucket: ~Copyable, Sendable {
  private let full = Atomic<UInt64>(0)

  /// How long there is no room for another unit, in nanoseconds; 0 when there is.
  func wait(_ rate: Rate, at now: UInt64) -> UInt64 { Self.wait(full.load(ordering: .relaxed), rate, now) }

  private static func wait(_ full: UInt64, _ rate: Rate, _ now: UInt64) -> UInt64 {
    guard rate.units > 0, full > now else { return 0 }
    let (used, room) = (full - now, rate.time(of: rate.burst - 1))
    return used > room ? used - room : 0
  }

  /// Takes some units if there is room for one.
  ///
  /// - Returns: 0; or how long there is no room, in nanoseconds, and nothing has been taken.
  func take(_ count: Int, _ rate: Rate, at now: UInt64) -> UInt64 {
    guard rate.units > 0 else { return 0 }
    var present = full.load(ordering: .relaxed)
    while true {
      let wait = Self.wait(present, rate, now)
      guard wait == 0 else { return wait }
      let (isDone, found) = full.weakCompareExchange(
        expected: present, desired: max(present, now) + rate.time(of: count), ordering: .relaxed)
      if isDone { return 0 }
      present = found
    }
  }

  /// Takes some units whether there is room or not.
  func debit(_ count: Int, _ rate: Rate, at now: UInt64) {
    guard rate.units > 0 else { return }
    var present = full.load(ordering: .relaxed)
    while true {
      let (isDone, found) = full.weakCompareExchange(
        expected: present, desired: min(max(present, now) + rate.time(of: count), .max / 2), ordering: .relaxed)
      if isDone { return }
      present = found
    }
  }
}
