// SPDX-License-Identifier: MIT

internal import Glibc
package import SignalStore

/// A backup of a folder in one file, made with or without a server using the folder.
///
/// It is an SQLite database with the tables of both files in a consistent snapshot; every row has been read and
/// checked.
package struct Backup: Sendable {
  /// The revision of the last commit that it includes.
  package let revision: Revision
  /// The time of that commit; nil when there is none.
  package let time: Timestamp?
  /// The number of rows of the state (properties, timers and others), as of the revision ``history``.
  package let rows: Int64
  /// The first revision from which it can be restored to a point in time.
  package let history: Revision

  init(_ head: StateHead, through end: JournalPlace) {
    revision = end.revision
    // What was recorded before the first commit has no time.
    time = end.revision == 0 ? nil : end.time
    rows = head.rows
    history = head.journal.revision
  }

  /// Writes a backup of a folder.
  ///
  /// It is written under another name in the same folder, synced and then renamed, so that a complete backup exists
  /// under that name at any moment. Only its owner can read it.
  ///
  /// - Parameter file: An existing backup is replaced; any other file is not.
  package init(of folder: String, to file: String, system: String? = nil) throws(StorageError) {
    let view = try FolderView(folder, system: system)
    try Backup.checkPlace(file)
    let temporary = "\(file).\(getpid()).part"
    SystemCall.remove(temporary)
    try SystemCall.makePrivateFile(temporary)
    do throws(StorageError) {
      let target = try Database(temporary, .write)
      let copy = TableCopy(journal: view.journal, state: view.state)
      var end = JournalPlace()
      // Nobody reads the file before it is complete, so it needs no protection.
      try target.execute("PRAGMA synchronous = OFF")
      try DataFile.backup.create(target, log: "OFF") { () throws(StorageError) in
        try copy.copyState(to: target)
        end = try copy.copyJournal(to: target)
      }
      try SystemCall.syncFile(temporary)
      try SystemCall.rename(temporary, to: file)
      try SystemCall.syncFolder(SystemCall.folder(of: file))
      self.init(view.state.head, through: end)
    } catch {
      SystemCall.remove(temporary)
      throw error
    }
  }

  /// Refuses to replace a file that is not a backup.
  private static func checkPlace(_ file: String) throws(StorageError) {
    guard SystemCall.exists(file), SystemCall.size(file) > 0 else { return }
    do throws(StorageError) {
      _ = try DataFile.backup.open(path: file, .immutable, system: nil)
    } catch {
      throw .occupied(path: file, reason: "it is no backup of this program")
    }
  }
}
