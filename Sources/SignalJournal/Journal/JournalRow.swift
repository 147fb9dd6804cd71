// SPDX-License-Identifier: MIT

internal import SignalStore

/// The records of one group commit.
struct JournalRow: Equatable {
  /// The position of the first record.
  let first: UInt64
  /// The position of the last record.
  let last: UInt64
  /// The revision before the first record.
  let after: Revision
  /// The revision after the last record.
  let through: Revision
  /// The time of the last commit.
  let time: Timestamp
  /// The number of changes in its commits.
  let changes: Int
  /// The records, as ``RecordWriter`` writes them.
  let records: [UInt8]

  /// The work of reading it: the number of changes, or of records if there are more.
  var work: Int { max(changes, Int(last - first + 1)) }

  /// The checksum of the row, chained to that of the previous row, so that rows of another history do not match.
  func checksum(after previous: UInt32) -> UInt32 {
    var checksum = Checksum(after: previous)
    for number in [first, last, after.number, through.number, UInt64(changes), UInt64(records.count)] {
      checksum.append(number)
    }
    checksum.append(time.milliseconds)
    checksum.append(RecordFormat.version)
    checksum.append(records)
    return checksum.value
  }
}

/// The end of a journal, which the next row has to follow.
struct JournalPlace: Equatable, Sendable {
  /// The position of the last record; 0 before the first.
  var position: UInt64 = 0
  /// The revision of the last commit.
  var revision: Revision = 0
  /// The time of the last commit.
  var time = Timestamp(milliseconds: .min)
  /// The checksum of the last row.
  var checksum: UInt32 = 0
}
