// SPDX-License-Identifier: MIT

/// A histogram of durations, to within 1.6 %, in a fixed amount of memory.
///
/// Up to 127 ns each duration has a bucket; above that each power of two is divided into 64.
package struct LatencyHistogram: Sendable {
  private static let steps = 64
  private static let exact = 2 * steps

  private var buckets: [UInt32] = []
  /// The number of recorded durations.
  package private(set) var count = 0
  /// The longest, in nanoseconds; exact.
  package private(set) var longest: UInt64 = 0

  /// An empty histogram; it allocates its memory with the first record.
  package init() {}

  /// Records a duration in nanoseconds.
  package mutating func record(_ nanoseconds: UInt64) {
    let index = Self.index(of: nanoseconds)
    if index >= buckets.count { buckets += [UInt32](repeating: 0, count: index + Self.steps - buckets.count) }
    buckets[index] &+= 1
    count += 1
    longest = max(longest, nanoseconds)
  }

  /// Adds the records of another histogram.
  package mutating func add(_ other: LatencyHistogram) {
    if other.buckets.count > buckets.count {
      buckets += [UInt32](repeating: 0, count: other.buckets.count - buckets.count)
    }
    for (index, number) in other.buckets.enumerated() { buckets[index] &+= number }
    count += other.count
    longest = max(longest, other.longest)
  }

  /// The duration, in nanoseconds, that this percentage of records does not exceed; 0 when nothing has been recorded.
  package func percentile(_ percent: Double) -> UInt64 {
    guard count > 0 else { return 0 }
    let wanted = max(1, Int((Double(count) * percent / 100).rounded(.up)))
    var seen = 0
    for (index, number) in buckets.enumerated() {
      seen += Int(number)
      if seen >= wanted { return min(Self.upperBound(of: index), longest) }
    }
    return longest
  }

  private static func index(of value: UInt64) -> Int {
    guard value >= exact else { return Int(value) }
    // The seven highest bits determine the bucket: one is always set, six are the step.
    let shift = 57 - value.leadingZeroBitCount
    return exact + (shift - 1) * steps + Int(value >> UInt64(shift)) - steps
  }

  private static func upperBound(of index: Int) -> UInt64 {
    guard index >= exact else { return UInt64(index) }
    let shift = UInt64((index - exact) / steps + 1)
    let step = UInt64((index - exact) % steps + steps)
    // The bound of the last bucket would overflow by one.
    return (step + 1) << shift &- 1
  }
}
