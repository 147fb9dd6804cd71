// SPDX-License-Identifier: MIT

internal import SignalStore

/// The records of one group commit.
struct JournalRow: Equatable {
  /// The position of the first record.
  let first: UInt64
  /// That of the last one.
  let last: UInt64
  /// The revision before the first record.
  let after: Revision
  /// The revision after the last one.
  let through: Revision
  /// The time of the last commit.
  let time: Timestamp
  /// How many changes its commits have.
  let changes: Int
  /// The records, as ``RecordWriter`` writes them.
  let records: [UInt8]

  /// How much there is to be done when it is read: changes, or records if there are more.
  var work: Int { max(changes, Int(last - first + 1)) }

  /// The checksum of the row as it follows that with the checksum before: rows of another history do not fit.
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

/// The end of a journal, which the next row has to fit to.
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
