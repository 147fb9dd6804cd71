// SPDX-License-Identifier: MIT

internal import SignalStore

/// A check of `history.sqlite`: everything in it is read completely, and all damage is listed.
///
/// It begins before the journal is read, so that the position in its head is in the journal, whatever is written
/// meanwhile.
struct HistoryCheck {
  private(set) var damages: [StorageError.Damage] = []
  /// The head of the file; nil when it is unreadable, or nothing was kept yet.
  private(set) var head: HistoryHead?

  /// Reads the history of a folder; nil when there is none.
  init?(_ folder: String, system: String?) throws(StorageError) {
    let path = folder + "/" + DataFile.history.name
    guard SystemCall.exists(path) else { return nil }
    let access: Database.Access = SystemCall.isWritable(folder) ? .read : .immutable
    do throws(StorageError) {
      let (database, isNew) = try DataFile.history.open(in: folder, access, system: system)
      if isNew { return }
      try database.execute("BEGIN")
      head = try HistoryHead(database)
      for text in try database.integrityFaults(limit: FolderCheck.listed) {
        note(.init(path, "integrity_check", text))
      }
      try readSeries(database)
      try readRows(database)
    } catch {
      switch error {
      case .damaged(let damage): note(damage)
      // A newer format, or a file of another program, is not to be repaired.
      case .newerFormat, .foreign: throw error
      default: note(.init(path, "the file", "\(error)"))
      }
    }
  }

  private mutating func note(_ damage: StorageError.Damage) {
    if damages.count < FolderCheck.listed { damages.append(damage) }
  }

  private mutating func readSeries(_ database: Database) throws(StorageError) {
    let series = try database.prepare("SELECT path, body, crc, number FROM series")
    while try series.step() {
      do throws(StorageError) {
        _ = try HistoryFile.open(series, series.integer(3), in: database.file)
      } catch {
        guard case .damaged(let damage) = error else { throw error }
        note(damage)
      }
    }
  }

  private mutating func readRows(_ database: Database) throws(StorageError) {
    let blocks = try database.prepare("SELECT * FROM raw")
    while try blocks.step() {
      if BlockRow(blocks) != nil { continue }
      note(.init(database.file, "the block \(blocks.integer(0))", "the checksum does not match"))
    }
    let buckets = try database.prepare("SELECT * FROM rollup")
    while try buckets.step() {
      if RollupRow(buckets) != nil { continue }
      note(
        .init(
          database.file, "the bucket of series \(buckets.integer(0)) at \(buckets.integer(2))",
          "the checksum does not match"))
    }
  }

  /// Compares it with the journal of the same folder.
  mutating func compare(with end: JournalPlace, _ identity: [UInt8]?, in folder: String) {
    guard let head else { return }
    let path = folder + "/" + DataFile.history.name
    if let identity, identity != head.identity {
      note(.init(path, "the table history", "it belongs to the journal of another folder"))
    } else if head.journal.position > end.position {
      note(
        .init(
          path, "the table history",
          "it goes to position \(head.journal.position), and the journal only to \(end.position)"))
    } else if head.journal.position == end.position, head.journal != end {
      note(.init(path, "the table history", "it belongs to another journal than the one that is there"))
    }
  }
}

extension Database {
  /// Runs the integrity check of SQLite.
  func integrityFaults(limit: Int) throws(StorageError) -> [String] {
    let statement = try prepare("PRAGMA integrity_check(\(limit))")
    var faults: [String] = []
    while try statement.step() {
      let text = String(decoding: statement.bytes(0), as: UTF8.self)
      if text != "ok" { faults.append(text) }
    }
    return faults
  }
}
