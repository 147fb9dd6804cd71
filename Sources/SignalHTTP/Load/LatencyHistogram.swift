// SPDX-License-Identifier: MIT

/// How often each length of time occurred, to within 1.6 %, in a fixed amount of memory.
///
/// Up to 127 ns each length has a bucket; from there on each power of two is cut into 64.
package struct LatencyHistogram: Sendable {
  private static let steps = 64
  private static let exact = 2 * steps

  private var buckets: [UInt32] = []
  /// How many lengths have been recorded.
  package private(set) var count = 0
  /// The longest, in nanoseconds; exact.
  package private(set) var longest: UInt64 = 0

  /// An empty histogram; it takes its memory when it is first recorded to.
  package init() {}

  /// Records a length of time in nanoseconds.
  package mutating func record(_ nanoseconds: UInt64) {
    let index = Self.index(of: nanoseconds)
    if index >= buckets.count { buckets += [UInt32](repeating: 0, count: index + Self.steps - buckets.count) }
    buckets[index] &+= 1
    count += 1
    longest = max(longest, nanoseconds)
  }

  /// Adds what another has recorded.
  package mutating func add(_ other: LatencyHistogram) {
    if other.buckets.count > buckets.count {
      buckets += [UInt32](repeating: 0, count: other.buckets.count - buckets.count)
    }
    for (index, number) in other.buckets.enumerated() { buckets[index] &+= number }
    count += other.count
    longest = max(longest, other.longest)
  }

  /// The length, in nanoseconds, that so many of a hundred do not exceed; 0 when nothing has been recorded.
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
    // The seven highest bits tell the bucket: one is always set, six are the step.
    let shift = 57 - value.leadingZeroBitCount
    return exact + (shift - 1) * steps + Int(value >> UInt64(shift)) - steps
  }

  private static func upperBound(of index: Int) -> UInt64 {
    guard index >= exact else { return UInt64(index) }
    let shift = UInt64((index - exact) / steps + 1)
    let step = UInt64((index - exact) % steps + steps)
    // Of the last bucket the bound is one more than there is room for.
    return (step + 1) << shift &- 1
  }
}
