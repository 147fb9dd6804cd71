// SPDX-License-Identifier: MIT
import SignalCluster

/// A stream that keeps what it is given in one order, and refuses what does not follow what its writer expects.
struct SimulatedStream {
  /// What a node has written of what it has.
  struct Snapshot {
    let sequence: UInt64
    let session: String
    let position: LogPosition
    let applied: [String]
  }

  /// The records that are kept.
  private(set) var records: [[UInt8]] = []
  /// The sequence before that of the first of them.
  private(set) var base: UInt64 = 0
  /// Those that are complete, the oldest first.
  private(set) var snapshots: [Snapshot] = []

  /// Where the replica ends that answers at the moment, where that one is behind the others.
  var endOfReplica: UInt64?

  var last: UInt64 { base + UInt64(records.count) }

  /// Stores a record; nil when the last one is not the expected one.
  mutating func append(_ record: [UInt8], after sequence: UInt64) -> UInt64? {
    guard sequence == last else { return nil }
    records.append(record)
    return last
  }

  /// Stores a record whatever there is, as an engine whose conditions fail.
  mutating func append(unconditionally record: [UInt8]) { records.append(record) }

  /// What is behind a sequence, up to some records.
  func answer(after sequence: UInt64, atMost count: Int) -> ReadAnswer {
    let last = endOfReplica ?? last
    guard sequence < last else { return .records([], last: last) }
    guard sequence >= base else { return .purged(first: base + 1) }
    let (begin, end) = (Int(sequence - base), Int(last - base))
    return .records((begin..<min(end, begin + count)).map { (base + UInt64($0) + 1, records[$0]) }, last: last)
  }

  // MARK: Snapshots

  mutating func add(_ snapshot: Snapshot) {
    snapshots.append(snapshot)
    snapshots.sort { ($0.sequence, $0.session) < ($1.sequence, $1.session) }
  }

  mutating func removeSnapshot(of session: String, at sequence: UInt64) {
    snapshots.removeAll { $0.session == session && $0.sequence == sequence }
  }

  /// Keeps the newest two, and the records behind the older one, as long as that is not behind the reader's end.
  mutating func shorten(for reader: LogPosition) {
    if snapshots.count > 2 { snapshots.removeFirst(snapshots.count - 2) }
    if snapshots.count == 2, snapshots[0].sequence <= reader.sequence { begin(behind: snapshots[0].sequence) }
  }

  /// Removes everything up to a sequence, also when it is behind the end; never adds anything.
  mutating func begin(behind sequence: UInt64) {
    guard sequence > base else { return }
    records.removeFirst(Int(min(UInt64(records.count), sequence - base)))
    base = sequence
  }

  // MARK: Losses

  /// Loses the last records.
  mutating func lose(_ count: Int) { records.removeLast(min(count, records.count)) }

  /// It is made anew.
  mutating func makeAnew() { (records, base) = ([], 0) }
}
