// SPDX-License-Identifier: MIT

internal import SignalStore

/// The rows of `journal.sqlite`, accessed by one connection.
final class JournalFile {
  let database: Database
  private let insertion: Statement
  private let deletion: Statement
  private let selection: Statement

  init(_ database: Database) throws(StorageError) {
    self.database = database
    insertion = try database.prepare("INSERT INTO journal VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")
    deletion = try database.prepare(
      """
      DELETE FROM journal WHERE first IN (SELECT first FROM journal WHERE last <= ? ORDER BY first LIMIT ?)
      """)
    selection = try database.prepare("SELECT * FROM journal WHERE first > ? ORDER BY first")
  }

  // MARK: Writing

  /// Appends a row and deletes some that are no longer needed, in one commit that is durable when this returns.
  ///
  /// - Parameters:
  ///   - place: The end of the journal; the row follows it.
  ///   - unneeded: Rows up to this position can be deleted.
  ///   - limit: Most rows that are deleted.
  /// - Returns: The new end, and the number of deleted rows.
  func append(
    _ row: JournalRow, after place: JournalPlace, deletingThrough unneeded: UInt64? = nil, limit: Int64 = 0
  ) throws(StorageError) -> (end: JournalPlace, deleted: Int64) {
    guard let unneeded else { return (try insert(row, after: place), 0) }
    var (end, deleted) = (place, Int64(0))
    try database.transaction { () throws(StorageError) in
      end = try insert(row, after: place)
      deleted = try delete(through: unneeded, limit: limit)
    }
    return (end, deleted)
  }

  /// Inserts a row; in a transaction of the caller, or as one of its own.
  ///
  /// - Returns: The new end.
  func insert(_ row: JournalRow, after place: JournalPlace) throws(StorageError) -> JournalPlace {
    let checksum = row.checksum(after: place.checksum)
    try insertion.run(
      .integer(Int64(row.first)), .integer(Int64(row.last)), .integer(Int64(row.after.number)),
      .integer(Int64(row.through.number)), .integer(row.time.milliseconds), .integer(Int64(row.changes)),
      .integer(RecordFormat.version), .integer(Int64(checksum)), .blob(row.records))
    return JournalPlace(position: row.last, revision: row.through, time: row.time, checksum: checksum)
  }

  /// Deletes the oldest rows that are no longer needed, a limited number at a time.
  ///
  /// - Returns: The number of deleted rows.
  func delete(through unneeded: UInt64, limit: Int64) throws(StorageError) -> Int64 {
    try deletion.run(.integer(Int64(unneeded)), .integer(limit))
    return database.changes
  }

  // MARK: Reading

  /// The amount after a position: the bytes of the records, and the sum of ``JournalRow/work``.
  func size(after position: UInt64) throws(StorageError) -> (bytes: Int, work: Int) {
    let statement = try database.prepare(
      """
      SELECT ifnull(sum(length(records)), 0), ifnull(sum(max(changes, last - first + 1)), 0)
      FROM journal WHERE first > ?
      """)
    try statement.begin(.integer(Int64(position)))
    guard try statement.step() else { return (0, 0) }
    return (Int(statement.integer(0)), Int(statement.integer(1)))
  }

  /// The position before the newest rows with this number of changes, bytes or records.
  func position(beforeNewest changes: Int, bytes: Int, records: Int) throws(StorageError) -> UInt64 {
    let statement = try database.prepare(
      "SELECT last, changes, length(records), last - first + 1 FROM journal ORDER BY first DESC")
    var (changes, bytes, records) = (changes, bytes, records)
    while try statement.step() {
      if changes <= 0 || bytes <= 0 || records <= 0 { return UInt64(bitPattern: statement.integer(0)) }
      changes -= Int(statement.integer(1))
      bytes -= Int(statement.integer(2))
      records -= Int(statement.integer(3))
    }
    return 0
  }

  /// Reads the rows after a place as long as `body` wants more, and checks that each follows the one before.
  ///
  /// - Parameter isComplete: Also reads the rows before the place, as stored in the file, so that one out of order is
  ///   detected wherever it is.
  /// - Returns: The end of what was read.
  func read(
    after place: JournalPlace, isComplete: Bool = false, _ body: (JournalRow) throws(StorageError) -> Bool
  ) throws(StorageError) -> JournalPlace {
    var end = place
    try selection.begin(.integer(isComplete ? -1 : Int64(place.position)))
    defer { selection.reset() }
    while try selection.step() {
      if end == place, isComplete, 0...Int64(place.position) ~= selection.integer(1) { continue }
      let row = try row(after: &end)
      if try !body(row) { break }
    }
    return end
  }

  /// The revision after the last row; nil when there are no rows.
  func newestRevision() throws(StorageError) -> Revision? {
    try database.integer("SELECT through FROM journal ORDER BY first DESC LIMIT 1").map {
      Revision(UInt64(bitPattern: $0))
    }
  }

  /// The last position; nil when there are no rows.
  func lastPosition() throws(StorageError) -> UInt64? {
    try database.integer("SELECT last FROM journal ORDER BY first DESC LIMIT 1").map { UInt64(bitPattern: $0) }
  }

  /// Whether a row begins at a position.
  func begins(at position: UInt64) throws(StorageError) -> Bool {
    try database.integer("SELECT 1 FROM journal WHERE first = \(position)") != nil
  }

  private func row(after place: inout JournalPlace) throws(StorageError) -> JournalRow {
    let numbers = (0...3).map { UInt64(bitPattern: selection.integer($0)) }
    let version = selection.integer(6)
    if version > RecordFormat.version {
      throw .newerFormat(file: database.file, format: version, newest: RecordFormat.version)
    }
    let row = JournalRow(
      first: numbers[0], last: numbers[1], after: Revision(numbers[2]), through: Revision(numbers[3]),
      time: Timestamp(milliseconds: selection.integer(4)), changes: Int(selection.integer(5)),
      records: selection.bytes(8))
    func damage(_ reason: String) -> StorageError {
      .damaged(.init(database.file, "the row at position \(row.first)", reason, after: place.revision))
    }
    guard row.first == place.position + 1, row.after == place.revision else {
      throw damage(
        "it begins at position \(row.first) and revision \(row.after), "
          + "where position \(place.position + 1) and revision \(place.revision) should follow")
    }
    let checksum = row.changes < 0 ? nil : row.checksum(after: place.checksum)
    guard let checksum, Int64(checksum) == selection.integer(7), row.last >= row.first,
      row.last <= RecordFormat.numberLimit,
      row.through >= row.after, row.through.number <= RecordFormat.numberLimit
    else { throw damage("the checksum does not match") }
    place = JournalPlace(position: row.last, revision: row.through, time: row.time, checksum: checksum)
    return row
  }
}

extension JournalRow {
  /// Calls `body` with the records, one by one.
  ///
  /// - Throws: A damage, when they are malformed or do not match the row.
  func forEachRecord(
    in file: String, _ body: (WrittenRecord) throws(StorageError) -> Void
  ) throws(StorageError) {
    var reader = RecordReader(records, after: after)
    var position = first
    func damage(_ error: RecordError) -> StorageError {
      .damaged(
        .init(
          file, "byte \(error.offset) of the row at position \(first)", "\(error.what) should be there", after: after))
    }
    while !reader.isAtEnd {
      let record: WrittenRecord
      do throws(RecordError) { record = try reader.record() } catch { throw damage(error) }
      if position > last { throw damage(RecordError(offset: records.count, what: "the end of the records")) }
      position += 1
      try body(record)
    }
    if position != last + 1 { throw damage(RecordError(offset: records.count, what: "another record")) }
    if reader.revision != through { throw damage(RecordError(offset: records.count, what: "revision \(through)")) }
  }
}
