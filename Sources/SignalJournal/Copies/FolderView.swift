// SPDX-License-Identifier: MIT

internal import Glibc
internal import SignalStore

/// The files of a folder as they are at one moment, also while a server writes them: both are read in transactions that
/// belong together.
///
/// The journal loses rows as soon as the state has them. So two transactions belong together when the state has not gone on
/// between them, which is looked up by a third connection; where it has, they are begun anew.
struct FolderView {
  let journal: JournalFile
  let state: StateFile

  /// How often the transactions are begun anew before that counts as a failure, and how long is waited before it.
  private static let attempts = 200
  private static let pause: UInt32 = 5000

  init(_ folder: String, system: String? = nil) throws(StorageError) {
    let access: Database.Access = SystemCall.isWritable(folder) ? .read : .immutable
    for file in [DataFile.journal, .state] where !SystemCall.exists(folder + "/" + file.name) {
      throw .system(operation: "open", file: folder + "/" + file.name, code: ENOENT)
    }
    func open(_ file: DataFile) throws(StorageError) -> Database {
      if case .immutable = access, SystemCall.size(folder + "/" + file.name + "-wal") > 0 {
        // Without a file beside it SQLite cannot use the log, and would leave out what is in it.
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
