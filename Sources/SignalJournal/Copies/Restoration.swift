// SPDX-License-Identifier: MIT

internal import Glibc
package import SignalStore

/// A folder restored from a backup.
///
/// Its next start begins a new epoch where the backup ends, so a client that has seen more is notified that it was
/// lost.
package struct BackupRestoration: Sendable {
  /// The point up to which a backup is restored.
  package enum Goal: Equatable, Sendable {
    case end
    /// The last commit that is not after this time.
    case time(Timestamp)
    /// The commit that the cursor names.
    case cursor(Cursor)
  }

  /// The backup that was restored.
  package let backup: Backup
  /// The number of properties.
  package let properties: Int

  /// Makes a folder from a backup, and reads it as a start would.
  ///
  /// - Parameters:
  ///   - folder: It is created, or must be empty.
  ///   - goal: Commits after it are left out, with everything recorded after the first of them.
  package init(of file: String, to folder: String, until goal: Goal = .end) throws(StorageError) {
    guard SystemCall.exists(file) else { throw .system(operation: "open", file: file, code: ENOENT) }
    let (source, isNew) = try DataFile.backup.open(path: file, .immutable, system: nil)
    if isNew { throw .damaged(.init(file, "the file", "it is empty")) }
    let copy = TableCopy(journal: try JournalFile(source), state: try StateFile(source))
    let limit = try Limit(goal, copy)
    try SystemCall.makeFolder(folder)
    // Ignores what a file system or a container puts into its mount point.
    let names = try SystemCall.names(in: folder).filter { $0 != "lock" && $0 != "lost+found" }
    guard names.isEmpty else { throw .occupied(path: folder, reason: "it is not empty (\(names.sorted()[0]))") }
    let lock = try FolderLock(folder)
    do throws(StorageError) {
      let end = try BackupRestoration.fill(folder, copy, limit)
      // Read as by a start, so that inconsistent records are found now and not when the server is needed.
      let (replica, place) = try DataFolder(StorageConfiguration(folder: folder)).load(
        epoch: .random(), limits: StoreLimits())
      guard place == end else { throw .damaged(.init(file, "the table journal", "it is not what was copied")) }
      backup = Backup(copy.state.head, through: end)
      properties = replica.tree.count
    } catch {
      for file in [DataFile.state, .journal] {
        for suffix in ["", "-wal", "-shm"] { SystemCall.remove(folder + "/" + file.name + suffix) }
      }
      throw error
    }
    withExtendedLifetime(lock) {}
  }

  /// Writes the files.
  ///
  /// In this order, so that a start refuses the remains of an interrupted restoration.
  private static func fill(
    _ folder: String, _ copy: TableCopy, _ limit: Limit
  ) throws(StorageError) -> JournalPlace {
    let (state, _) = try DataFile.state.open(in: folder, .write, system: nil, cache: JournalLimits.stateCache)
    try state.prepareForWriting(logLimit: JournalLimits.logBytes)
    try DataFile.state.create(state) { () throws(StorageError) in try copy.copyState(to: state) }
    try state.checkpoint()
    let (journal, _) = try DataFile.journal.open(in: folder, .write, system: nil)
    try journal.prepareForWriting(logLimit: JournalLimits.logBytes)
    var end = JournalPlace()
    try DataFile.journal.create(journal) { () throws(StorageError) in
      end = try copy.copyJournal(to: journal) { row, end throws(StorageError) in limit.cut(row, after: end) }
    }
    try journal.checkpoint()
    try SystemCall.syncFolder(folder)
    return end
  }

  /// The goal as a position in a backup.
  private struct Limit {
    let revision: Revision
    let time: Timestamp?

    init(_ goal: Goal, _ copy: TableCopy) throws(StorageError) {
      let (file, begin) = (copy.state.database.file, copy.state.head.journal)
      let newest = try copy.journal.newestRevision() ?? begin.revision
      switch goal {
      case .end: (revision, time) = (Revision(.max), nil)
      case .time(let goal):
        (revision, time) = (Revision(.max), goal)
        guard begin.time <= goal || begin.revision == 0 else {
          throw .outOfReach(
            file: file, reason: "its history begins at revision \(begin.revision) of \(begin.time), after \(goal)")
        }
        if begin.revision == 0, let first = try Limit.firstCommit(copy.journal, after: begin), first.time > goal {
          throw .outOfReach(
            file: file, reason: "its history begins with revision \(first.revision) of \(first.time), after \(goal)")
        }
      case .cursor(let cursor):
        let generations = try copy.journal.generations()
        guard !generations.isEmpty, case .revision(let goal) = Ancestry(generations).resolve(cursor, newest: newest)
        else {
          throw .outOfReach(file: file, reason: "\(cursor) is not part of its history")
        }
        guard goal >= begin.revision else {
          throw .outOfReach(
            file: file,
            reason: "its history goes from revision \(begin.revision) to \(newest), and \(cursor) is before it")
        }
        (revision, time) = (goal, nil)
      }
    }

    /// The first commit of a journal; nil when there is none.
    private static func firstCommit(
      _ journal: JournalFile, after place: JournalPlace
    ) throws(StorageError) -> (revision: Revision, time: Timestamp)? {
      var first: (revision: Revision, time: Timestamp)?
      _ = try journal.read(after: place) { row throws(StorageError) in
        try row.forEachRecord(in: journal.database.file) { record in
          if first == nil, case .commit(let commit) = record { first = (commit.revision, commit.time) }
        }
        return first == nil
      }
      return first
    }

    /// The part of a row up to the limit; nil when it is empty.
    func cut(_ row: JournalRow, after end: JournalPlace) -> JournalRow? {
      if row.through <= revision, time.map({ row.time <= $0 }) ?? true { return row }
      var reader = RecordReader(row.records, after: row.after)
      var (last, through, commitTime, changes, bytes) = (row.first - 1, row.after, end.time, 0, 0)
      while !reader.isAtEnd {
        guard let record = try? reader.record() else { break }
        if case .commit(let commit) = record {
          if commit.revision > revision || time.map({ commit.time > $0 }) ?? false { break }
          (through, commitTime) = (commit.revision, commit.time)
          changes += commit.changes.count
        }
        last += 1
        bytes = reader.offset
      }
      guard last >= row.first else { return nil }
      return JournalRow(
        first: row.first, last: last, after: row.after, through: through, time: commitTime, changes: changes,
        records: Array(row.records[..<bytes]))
    }
  }
}
