// SPDX-License-Identifier: MIT
import Synchronization

/// The memory use of the process, as the system counts it, compared with its limit.
///
/// A frame that is queued for a thousand connections exists once, and a snapshot that a slow client still reads keeps
/// replaced values alive: no sum of parts would be right, so the whole is measured.
final class MemoryGauge: Sendable {
  let limit: Int
  private let measure: @Sendable () -> Int
  /// When free memory may next be returned to the system; the greatest number while that is in progress.
  private let nextTrim = Atomic<UInt64>(0)
  private let measured = Atomic<Int>(0)
  private let short = Atomic<Bool>(false)

  /// The time between two attempts to return free memory is this many times what the last one took.
  private static let restFactor: UInt64 = 50
  private static let shortestRest: UInt64 = 100_000_000

  /// - Parameter measure: Returns how many bytes the process uses.
  init(limit: Int, measure: @escaping @Sendable () -> Int = { residentBytes() }) {
    self.limit = limit
    self.measure = measure
    look()
  }

  /// Bytes that the process used at the last measurement.
  var inUse: Int { measured.load(ordering: .relaxed) }

  /// Nine tenths of the limit are used, and free memory has been returned to the system.
  var isShort: Bool { short.load(ordering: .relaxed) }

  private var threshold: Int { limit / 10 * 9 }

  /// Measures again; takes some microseconds.
  func look() {
    var bytes = measure()
    if bytes >= threshold, trim() { bytes = measure() }
    measured.store(bytes, ordering: .relaxed)
    short.store(bytes >= threshold, ordering: .relaxed)
  }

  /// Returns free memory to the system, unless that was done a moment ago: it may take milliseconds.
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
