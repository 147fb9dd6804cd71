// SPDX-License-Identifier: MIT

internal import SignalStore

/// The head of `state.sqlite`: its position in the journal, and the count and checksum of its rows.
struct StateHead: Equatable {
  /// The identifier that all files of a folder share.
  let identity: [UInt8]
  /// The end of the part of the journal that it includes.
  var journal = JournalPlace()
  /// The number of the last message that was sent.
  var signal: UInt64 = 0
  /// Its time.
  var signaled = Timestamp(milliseconds: .min)
  /// The number of rows in the tables.
  var rows: Int64 = 0
  /// The sum of their checksums, which detects a row that was lost with its page, or that occurs twice.
  var sum: UInt64 = 0

  init(identity: [UInt8]) { self.identity = identity }

  var checksum: UInt32 {
    var checksum = Checksum()
    checksum.append(identity)
    for number in [journal.position, journal.revision.number, signal, UInt64(bitPattern: rows), sum] {
      checksum.append(number)
    }
    for time in [journal.time, signaled] { checksum.append(time.milliseconds) }
    checksum.append(UInt64(journal.checksum))
    return checksum.value
  }

  // MARK: Columns

  /// The columns, in the order of the table.
  var values: [Statement.Value] {
    [
      .text(identity), .integer(Int64(journal.position)), .integer(Int64(journal.revision.number)),
      .integer(journal.time.milliseconds), .integer(Int64(signal)), .integer(signaled.milliseconds),
      .integer(Int64(journal.checksum)), .integer(rows), .integer(Int64(bitPattern: sum)), .integer(Int64(checksum)),
    ]
  }

  /// Reads the only row of the table.
  ///
  /// - Throws: A damage, when the row is missing or corrupt.
  init(_ database: Database) throws(StorageError) {
    let statement = try database.prepare("SELECT * FROM state")
    guard try statement.step() else {
      throw .damaged(.init(database.file, "the table state", "it is empty"))
    }
    identity = statement.bytes(0)
    let numbers = (1...8).map { UInt64(bitPattern: statement.integer(Int32($0))) }
    journal = JournalPlace(
      position: numbers[0], revision: Revision(numbers[1]), time: Timestamp(milliseconds: statement.integer(3)),
      checksum: UInt32(truncatingIfNeeded: numbers[5]))
    signal = numbers[3]
    signaled = Timestamp(milliseconds: statement.integer(5))
    rows = statement.integer(7)
    sum = numbers[7]
    guard statement.integer(9) == Int64(checksum), numbers[0] <= RecordFormat.numberLimit,
      numbers[1] <= RecordFormat.numberLimit, signal <= RecordFormat.numberLimit
    else { throw .damaged(.init(database.file, "the table state", "the checksum does not match")) }
    if try statement.step() { throw .damaged(.init(database.file, "the table state", "it has two rows")) }
  }

  /// Refuses tables that do not match its count and sum.
  func check(rows: Int64, sum: UInt64, in file: String) throws(StorageError) {
    guard rows == self.rows, sum == self.sum else {
      throw .damaged(
        .init(
          file, "the tables property and item",
          rows == self.rows ? "the checksums do not match" : "there are \(rows) rows instead of \(self.rows)"))
    }
  }

  /// Replaces the row.
  func write(_ database: Database) throws(StorageError) {
    try database.execute("DELETE FROM state")
    let statement = try database.prepare("INSERT INTO state VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
    try statement.run(values)
  }
}
