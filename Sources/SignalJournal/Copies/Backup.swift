// SPDX-License-Identifier: MIT

internal import Glibc
package import SignalStore

/// A folder as one file, made while a server uses it or while none does.
///
/// It is an SQLite database with the tables of both files, as they were at one moment; every row has been read and checked.
package struct Backup: Sendable {
  /// The revision of the last commit that is in it.
  package let revision: Revision
  /// The time of that commit; nil when there is none.
  package let time: Timestamp?
  /// How many properties, timers and other things the state has, as of which revision.
  package let rows: Int64
  /// From which revision on it can be restored to a point in time.
  package let history: Revision

  init(_ head: StateHead, through end: JournalPlace) {
    revision = end.revision
    time = end.time.milliseconds == .min ? nil : end.time
    rows = head.rows
    history = head.journal.revision
  }

  /// Writes a backup of a folder.
  ///
  /// It is written under another name in the same folder, synced and then renamed, so that there is a whole backup under
  /// that name at any moment. Only its owner can read it.
  ///
  /// - Parameter file: A backup that is there is replaced, and nothing else.
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
      // Nobody reads the file before it is whole, so nothing has to guard it.
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

  /// Refuses to replace what is no backup.
  private static func checkPlace(_ file: String) throws(StorageError) {
    guard SystemCall.exists(file), SystemCall.size(file) > 0 else { return }
    do throws(StorageError) {
      _ = try DataFile.backup.open(path: file, .immutable, system: nil)
    } catch {
      throw .occupied(path: file, reason: "it is no backup of this program")
    }
  }
}
