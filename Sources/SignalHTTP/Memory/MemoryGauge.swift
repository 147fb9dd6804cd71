// SPDX-License-Identifier: MIT
import Synchronization

/// How much memory the process has, as the system counts it, against what it may have.
///
/// A frame that a thousand connections wait to send is there once, and a snapshot that a slow client still reads keeps
/// alive what others have replaced: no sum of parts would be right, so the whole is measured.
final class MemoryGauge: Sendable {
  let limit: Int
  private let measure: @Sendable () -> Int
  /// When free memory may be given back again; the greatest number while that is done.
  private let nextTrim = Atomic<UInt64>(0)
  private let measured = Atomic<Int>(0)
  private let short = Atomic<Bool>(false)

  /// The time between two attempts to give free memory back is this many times what the last one took.
  private static let restFactor: UInt64 = 50
  private static let shortestRest: UInt64 = 100_000_000

  /// - Parameter measure: Tells how many bytes the process has.
  init(limit: Int, measure: @escaping @Sendable () -> Int = { residentBytes() }) {
    self.limit = limit
    self.measure = measure
    look()
  }

  /// Bytes that the process had when that was looked at last.
  var inUse: Int { measured.load(ordering: .relaxed) }

  /// Nine tenths of the limit are used, and what is not needed has been given back.
  var isShort: Bool { short.load(ordering: .relaxed) }

  private var threshold: Int { limit / 10 * 9 }

  /// Looks anew; takes some microseconds.
  func look() {
    var bytes = measure()
    if bytes >= threshold, trim() { bytes = measure() }
    measured.store(bytes, ordering: .relaxed)
    short.store(bytes >= threshold, ordering: .relaxed)
  }

  /// Gives free memory back to the system, unless that was done a moment ago: it may take milliseconds.
  private func trim() -> Bool {
    let begin = monotonicNanoseconds()
    let due = nextTrim.load(ordering: .relaxed)
    guard begin >= due, nextTrim.compareExchange(expected: due, desired: .max, ordering: .relaxed).exchanged else {
      return false
    }
    Allocator.trim()
    let end = monotonicNanoseconds()
    nextTrim.store(end + max(Self.shortestRest, (end - begin) * Self.restFactor), ordering: .relaxed)
    return true
  }
}
