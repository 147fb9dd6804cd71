// SPDX-License-Identifier: MIT

/// Records that came before those before them were read.
///
/// What does not fit is read again.
struct WaitingRecords {
  private var records: [UInt64: [UInt8]] = [:]
  private var bytes = 0

  mutating func add(_ record: [UInt8], at sequence: UInt64, _ times: ClusterTimes) {
    guard records.count < times.waiting, bytes + record.count <= times.waitingBytes, records[sequence] == nil
    else { return }
    records[sequence] = record
    bytes += record.count
  }

  mutating func take(_ sequence: UInt64) -> [UInt8]? {
    guard !records.isEmpty, let record = records.removeValue(forKey: sequence) else { return nil }
    bytes -= record.count
    return record
  }

  /// Makes room when there is little: what was read otherwise waits for nothing.
  mutating func dropAll(through sequence: UInt64, _ times: ClusterTimes) {
    guard records.count >= times.waiting || bytes >= times.waitingBytes / 2 else { return }
    for old in records.keys where old <= sequence { _ = take(old) }
  }

  mutating func removeAll() {
    records.removeAll(keepingCapacity: true)
    bytes = 0
  }
}
