// SPDX-License-Identifier: MIT

internal import Glibc
internal import SignalStore

/// A consistent snapshot of the files of a folder, even while a server writes them, by a read transaction on each.
///
/// The journal deletes rows as soon as the state has them. So two transactions are consistent when the state has not
/// advanced between them, which a third connection checks; if it has, they are restarted.
struct FolderView {
  let journal: JournalFile
  let state: StateFile

  /// How often the transactions are restarted before giving up, and the delay before each restart.
  private static let attempts = 200
  private static let pause: UInt32 = 5000

  init(_ folder: String, system: String? = nil) throws(StorageError) {
    let access: Database.Access = SystemCall.isWritable(folder) ? .read : .immutable
    for file in [DataFile.journal, .state] where !SystemCall.exists(folder + "/" + file.name) {
      throw .system(operation: "open", file: folder + "/" + file.name, code: ENOENT)
    }
    func open(_ file: DataFile) throws(StorageError) -> Database {
      if case .immutable = access, SystemCall.size(folder + "/" + file.name + "-wal") > 0 {
        // Without a writable index file SQLite cannot use the log, and would ignore its contents.
        throw .system(operation: "read the log beside it", file: folder + "/" + file.name, code: EROFS)
      }
      let (database, isNew) = try file.open(in: folder, access, system: system)
      if isNew { throw .damaged(.init(database.file, "the file", "it is empty")) }
      return database
    }
    let (state, journal, other) = (try open(.state), try open(.journal), try open(.state))
    for _ in 0..<FolderView.attempts {
      try state.execute("BEGIN")
      let head = try StateHead(state)
      try journal.execute("BEGIN")
      _ = try journal.integer("SELECT count(*) FROM storage")
      if try StateHead(other) == head {
        self.journal = try JournalFile(journal)
        self.state = try StateFile(state)
        return
      }
      state.rollBack()
      journal.rollBack()
      usleep(FolderView.pause)
    }
    throw .system(operation: "read while it is written", file: state.file, code: EBUSY)
  }
}
