// SPDX-License-Identifier: MIT

import Foundation

/// A way of doing what a row measures.
struct Candidate {
  /// What the table calls it.
  let name: String
  /// Does the operation so many times, and returns a number that depends on every result.
  ///
  /// The loop is the candidate's own, so that the harness costs one call per round and not one per operation.
  let run: (_ times: Int) throws -> Int

  init(_ name: String, _ run: @escaping (_ times: Int) throws -> Int) {
    self.name = name
    self.run = run
  }
}

/// A measurement that is made once a round and has its own unit.
struct Sample {
  /// What the table calls it.
  let name: String
  let take: () -> Double

  init(_ name: String, _ take: @escaping () -> Double) {
    self.name = name
    self.take = take
  }
}

/// Measures candidates beside each other and prints a row for each baseline.
///
/// The time is that of the thread's own work on a processor, so waiting for a busy machine is not counted; what other
/// processes do to caches and clock rates is.
struct Harness {
  static let tableHead = """
    | Operation | ns | Beside | ns | Ratio |
    |---|--:|---|--:|--:|
    """

  /// Rounds of each candidate; odd, so that one of them is the median.
  private static let rounds = 9
  /// How much thread time one round takes at least, unless a single operation takes longer.
  private static let roundNanoseconds = 10_000_000.0

  private let filters: [String]
  private(set) var operationCount = 0
  private(set) var checksum = 0

  /// A harness for the rows with one of the filters in their names; for all rows when there are none.
  init(filters: [String]) {
    self.filters = filters.map { $0.lowercased() }
  }

  /// Whether a row is asked for; ask before preparing what is expensive.
  func wants(_ what: String) -> Bool {
    let name = what.lowercased()
    return filters.isEmpty || filters.contains { name.contains($0) }
  }

  /// Measures an operation and its baselines, and prints the rows.
  mutating func compare(
    _ what: String, _ operation: @escaping (Int) throws -> Int, beside baselines: Candidate...
  ) throws {
    guard wants(what) else { return }
    let medians = try measure([Candidate(what, operation)] + baselines)
    operationCount += 1
    if baselines.isEmpty { print("| \(what) | \(Self.text(medians[0])) | – | – | – |") }
    for (baseline, median) in zip(baselines, medians.dropFirst()) {
      let ratio = medians[0] / median
      let ratioText = Self.text(ratio, digits: ratio < 0.1 ? 3 : 2)
      print("| \(what) | \(Self.text(medians[0])) | \(baseline.name) | \(Self.text(median)) | \(ratioText) |")
    }
  }

  /// Measures what has a unit of its own, and prints the rows.
  ///
  /// Each sample is a measurement; as with ``compare(_:_:beside:)`` the candidates take turns, and the median counts.
  mutating func compare(_ what: String, unit: String, _ own: Sample, beside baselines: Sample...) {
    guard wants(what) else { return }
    let all = [own] + baselines
    var samples = [[Double]](repeating: [], count: all.count)
    for _ in 0..<Self.rounds {
      for index in all.indices { samples[index].append(all[index].take()) }
    }
    let medians = samples.map { $0.sorted()[Self.rounds / 2] }
    operationCount += 1
    for (baseline, median) in zip(baselines, medians.dropFirst()) {
      let ratio = Self.text(medians[0] / median, digits: 2)
      print("| \(what) (\(unit)) | \(Self.text(medians[0])) | \(baseline.name) | \(Self.text(median)) | \(ratio) |")
    }
  }

  /// Nanoseconds of one operation for each candidate: the median of the rounds.
  ///
  /// The candidates take turns, so that what disturbs the machine for a while disturbs all of them.
  private mutating func measure(_ candidates: [Candidate]) throws -> [Double] {
    let times = try candidates.map { try calibrate($0) }
    var samples = [[Double]](repeating: [], count: candidates.count)
    for _ in 0..<Self.rounds {
      for index in candidates.indices {
        samples[index].append(try time(candidates[index], times[index]) / Double(times[index]))
      }
    }
    return samples.map { $0.sorted()[Self.rounds / 2] }
  }

  /// Warms up, and finds how many operations fill a round.
  private mutating func calibrate(_ candidate: Candidate) throws -> Int {
    var times = 1
    while try time(candidate, times) < Self.roundNanoseconds { times *= 2 }
    return times
  }

  private mutating func time(_ candidate: Candidate, _ times: Int) throws -> Double {
    let start = Self.threadNanoseconds()
    let result = try candidate.run(times)
    let end = Self.threadNanoseconds()
    checksum &+= result
    return end - start
  }

  private static func threadNanoseconds() -> Double {
    var time = timespec()
    // The pointer is used for the length of the call.
    let result = unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    precondition(result == 0, "the system has no clock of threads")
    return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
  }

  private static func text(_ value: Double, digits: Int? = nil) -> String {
    String(format: "%.\(digits ?? (value < 100 ? 1 : 0))f", value)
  }
}
