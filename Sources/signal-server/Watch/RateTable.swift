// SPDX-License-Identifier: MIT
import JSON

/// How often each path changes: counts of the last few intervals, and of all.
///
///     var table = RateTable()
///     table.count("kitchen/temperature", value: JSONText(21))
///     table.close(after: .seconds(1))
///     table.busiest(10)      // kitchen/temperature, 1.0 changes/s
struct RateTable: Sendable {
  /// The paths that are counted one by one; beyond that, the least busy half is forgotten.
  static let mostPaths = 10_000
  /// The intervals that a mean is over.
  static let intervals = 10
  /// Those, and the one that is being counted.
  private static let slots = intervals + 1

  /// A path, as it is shown.
  struct Row: Equatable, Sendable {
    let path: String
    /// Changes per second in the last interval.
    var rate: Double
    /// Changes per second in the last intervals together.
    var mean: Double
    /// Changes since it was first seen.
    var total: UInt64
    /// The newest value; nil when it is gone.
    var value: JSONText?
  }

  private struct Counts {
    let path: String
    /// One for each interval, in the ring that `times` is.
    var ring = [UInt32](repeating: 0, count: slots)
    var total: UInt64 = 0
    var value: JSONText?
  }

  /// Paths compare by their bytes: two that differ only in composition are two properties.
  private var counts: [[UInt8]: Counts] = [:]
  /// How long each interval of the ring took; zero for one that has not been yet.
  private var times = [Duration](repeating: .zero, count: slots)
  private var totals = [UInt64](repeating: 0, count: slots)
  private var sizes = [UInt64](repeating: 0, count: slots)
  /// The interval that is being counted.
  private var current = 0
  private var last = 0
  /// Whether paths were forgotten, so that there are more than ``paths``.
  private(set) var hasForgotten = false

  /// The paths that are counted.
  var paths: Int { counts.count }

  /// Counts a change.
  ///
  /// - Parameter value: The new value; nil when the path is gone.
  mutating func count(_ path: String, value: JSONText?) {
    totals[current].addSaturating(1)
    let key = Array(path.utf8)
    if counts.count >= Self.mostPaths, counts[key] == nil { forget() }
    let slot = current
    // In place: a copy would copy the ring with each change.
    let update = { (row: inout Counts) in
      row.ring[slot] = row.ring[slot] &+ 1
      row.total += 1
      row.value = value
    }
    update(&counts[key, default: Counts(path: path)])
  }

  /// Counts changes whose paths are not known.
  mutating func count(unknown number: UInt64) { totals[current].addSaturating(number) }

  /// Counts bytes that have come.
  mutating func count(bytes: Int) { sizes[current] += UInt64(bytes) }

  /// Ends the interval, which has taken so long, and begins the next.
  mutating func close(after time: Duration) {
    times[current] = time
    last = current
    current = (current + 1) % Self.slots
    times[current] = .zero
    totals[current] = 0
    sizes[current] = 0
    for key in counts.keys { counts[key]?.ring[current] = 0 }
  }

  /// Changes per second, of all paths: in the last interval, and in the last ones together.
  var changes: (rate: Double, mean: Double) { (rate(of: totals, last), mean(of: totals)) }

  /// Bytes per second in the last interval.
  var bytes: Double { rate(of: sizes, last) }

  /// The paths that have changed most in the last intervals, and among equals those that have changed most in all.
  func busiest(_ limit: Int) -> [Row] {
    let rows = counts.values.map { counts in
      Row(
        path: counts.path, rate: rate(of: counts.ring, last), mean: mean(of: counts.ring), total: counts.total,
        value: counts.value)
    }
    return Array(rows.sorted(by: Self.isBusier).prefix(limit))
  }

  private static func isBusier(_ a: Row, _ b: Row) -> Bool {
    if a.mean != b.mean { return a.mean > b.mean }
    if a.total != b.total { return a.total > b.total }
    return a.path.utf8.lexicographicallyPrecedes(b.path.utf8)
  }

  private mutating func forget() {
    hasForgotten = true
    func recent(_ row: Counts) -> UInt64 { row.ring.reduce(0) { $0 + UInt64($1) } }
    let kept = counts.sorted { recent($0.value) > recent($1.value) }.prefix(Self.mostPaths / 2)
    counts = Dictionary(uniqueKeysWithValues: kept.map { ($0.key, $0.value) })
  }

  private func rate(of ring: [some BinaryInteger], _ index: Int) -> Double {
    times[index] > .zero ? Double(ring[index]) / (times[index] / .seconds(1)) : 0
  }

  private func mean(of ring: [some BinaryInteger]) -> Double {
    var (sum, time) = (0.0, Duration.zero)
    for index in ring.indices where times[index] > .zero {
      sum += Double(ring[index])
      time += times[index]
    }
    return time > .zero ? sum / (time / .seconds(1)) : 0
  }
}

extension UInt64 {
  /// Adds, up to the largest number there is.
  mutating func addSaturating(_ other: UInt64) {
    let (sum, overflow) = addingReportingOverflow(other)
    self = overflow ? .max : sum
  }
}
