// SPDX-License-Identifier: MIT

internal import SignalStore

/// Copies the tables of a folder or a backup row by row, and verifies each row.
struct TableCopy {
  let journal: JournalFile
  let state: StateFile

  /// Copies the tables of the state.
  func copyState(to target: Database) throws(StorageError) {
    var (rows, sum) = (Int64(0), UInt64(0))
    func count(_ isSound: Bool, _ checksum: UInt32, _ place: @autoclosure () -> String) throws(StorageError) {
      guard isSound else { throw .damaged(.init(state.database.file, place(), "the checksum does not match")) }
      rows += 1
      sum &+= UInt64(checksum)
    }
    try copy("SELECT * FROM property ORDER BY path", from: state.database, to: target, "property", columns: 6) {
      row throws(StorageError) in
      let checksum = PropertyRow.checksum(row)
      try count(
        row.integer(5) == Int64(checksum), checksum, "the property \(String(decoding: row.bytes(0), as: UTF8.self))")
    }
    try copy("SELECT * FROM item ORDER BY kind, key", from: state.database, to: target, "item", columns: 4) {
      row throws(StorageError) in
      let checksum = StateItem(rawValue: row.integer(0))?.checksum(row.bytes(1), row.bytes(2)) ?? 0
      try count(row.integer(3) == Int64(checksum), checksum, "row \(rows) of the table item")
    }
    try state.head.check(rows: rows, sum: sum, in: state.database.file)
    try state.head.write(target)
  }

  /// Copies the tables of the journal, with the rows that the state does not include.
  ///
  /// - Parameter cut: Returns the part of a row to be copied, given the end of what was copied before it; when that is
  ///   not the whole row, the copy ends there.
  /// - Returns: The end of what was copied.
  func copyJournal(
    to target: Database, _ cut: (JournalRow, JournalPlace) throws(StorageError) -> JournalRow? = { row, _ in row }
  ) throws(StorageError) -> JournalPlace {
    guard try journal.identity() == state.head.identity else {
      throw .damaged(.init(state.database.file, "the table state", "it belongs to the journal of another folder"))
    }
    _ = try journal.generations()
    try copy("SELECT * FROM epoch ORDER BY number", from: journal.database, to: target, "epoch", columns: 6) { _ in }
    let copies = try JournalFile(target)
    var (end, isCut) = (state.head.journal, false)
    let last = try journal.read(after: end) { row throws(StorageError) in
      // Read completely, to make sure that the backup can be restored.
      try row.forEachRecord(in: journal.database.file) { _ in }
      let kept = try cut(row, end)
      if let kept { end = try copies.insert(kept, after: end) }
      isCut = kept != row
      return !isCut
    }
    let closed = try journal.closedPosition()
    guard isCut || closed == nil || closed == last.position else {
      throw .damaged(
        .init(
          journal.database.file, "the table storage",
          "the journal ends at position \(last.position), and was closed at "
            + "\(closed ?? 0)", after: last.revision))
    }
    try target.prepare("INSERT INTO storage VALUES (?, ?)").run(
      .text(state.head.identity), isCut ? .null : closed.map { .integer(Int64($0)) } ?? .null)
    return end
  }

  private func copy(
    _ selection: String, from source: Database, to target: Database, _ table: String, columns: Int,
    _ check: (Statement) throws(StorageError) -> Void
  ) throws(StorageError) {
    let rows = try source.prepare(selection)
    let places = [String](repeating: "?", count: columns).joined(separator: ", ")
    let insertion = try target.prepare("INSERT INTO \(table) VALUES (\(places))")
    while try rows.step() {
      try check(rows)
      try insertion.run(rows.values())
    }
  }
}
