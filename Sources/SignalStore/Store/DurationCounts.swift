// SPDX-License-Identifier: MIT

/// The bounds of the buckets in which durations are counted: 4 µs, 8 µs and so on up to 16.8 s, and one bucket for
/// everything above.
package enum DurationBuckets {
  /// The number of buckets, the last of which has no bound.
  package static var count: Int { 24 }

  /// The bucket of a duration in nanoseconds: the first whose bound it does not exceed.
  package static func index(of nanoseconds: UInt64) -> Int {
    guard nanoseconds > 4000 else { return 0 }
    return min(count - 1, 64 - ((nanoseconds - 1) / 4000).leadingZeroBitCount)
  }

  /// The bound of a bucket in microseconds; nil for the last.
  package static func bound(of index: Int) -> UInt64? { index < count - 1 ? 4 << UInt64(index) : nil }
}

/// Durations, counted in buckets.
package struct DurationCounts: Sendable, Equatable {
  /// How many there were in each bucket.
  package var buckets = [Int](repeating: 0, count: DurationBuckets.count)
  /// Their sum.
  package var nanoseconds = 0

  package init() {}

  /// Adds others to these.
  package mutating func add(_ other: DurationCounts) {
    for index in buckets.indices { buckets[index] += other.buckets[index] }
    nanoseconds += other.nanoseconds
  }

  /// Counts a duration in nanoseconds.
  package mutating func record(_ duration: UInt64) {
    buckets[DurationBuckets.index(of: duration)] += 1
    nanoseconds += Int(clamping: duration)
  }
}
