// SPDX-License-Identifier: MIT
import SignalCluster

/// A stream that keeps what it is given in one order, and refuses what does not follow what its writer expects.
struct SimulatedStream {
  /// The records; the first has the sequence 1.
  private(set) var records: [[UInt8]] = []

  var last: UInt64 { UInt64(records.count) }

  /// Stores a record; nil when the last one is not the expected one.
  mutating func append(_ record: [UInt8], after sequence: UInt64) -> UInt64? {
    guard sequence == last else { return nil }
    records.append(record)
    return last
  }

  /// Stores a record whatever there is, as an engine whose conditions fail.
  mutating func append(unconditionally record: [UInt8]) { records.append(record) }

  /// Up to some records behind a sequence.
  func read(after sequence: UInt64, atMost count: Int) -> [(sequence: UInt64, bytes: [UInt8])] {
    guard sequence < last else { return [] }
    return (Int(sequence)..<min(records.count, Int(sequence) + count)).map { (UInt64($0) + 1, records[$0]) }
  }
}
