// SPDX-License-Identifier: MIT

internal import Glibc
package import SignalStore

/// A repair of a damaged folder, which rewrites it from what is sound in it.
///
/// The previous files are moved to a folder of their own beside the new ones. The history starts again, so returning
/// clients receive the whole state (`reset`), and those that have seen something that was lost are notified of it. When
/// a part of the state was lost, that is every client: what each has seen of it is unknown.
package struct FolderRepair {
  /// What was found, and kept.
  package let check: FolderCheck
  /// The folder with the previous files; nil when nothing had to be repaired.
  package let remains: String?

  /// Repairs a folder that is not in use.
  ///
  /// - Throws: ``StorageError/outOfReach(file:reason:)`` when nothing in it is sound.
  package init(_ folder: String, now: Timestamp = .now) throws(StorageError) {
    guard SystemCall.exists(folder) else { throw .system(operation: "open", file: folder, code: ENOENT) }
    let lock = try FolderLock(folder)
    check = try FolderCheck(folder)
    let remains = folder + "/damaged-" + String("\(now)".map { $0 == ":" ? "-" : $0 })
    guard !check.damages.isEmpty else {
      if check.historyDamages.isEmpty {
        self.remains = nil
        return
      }
      // The history starts again from the state; everything else is sound and stays.
      try SystemCall.makeFolder(remains)
      try FolderRepair.move(.history, from: folder, to: remains)
      try SystemCall.syncFolder(remains)
      try SystemCall.syncFolder(folder)
      self.remains = remains
      return
    }
    guard check.isUsable, let identity = check.identity else {
      throw .outOfReach(file: folder, reason: "nothing in it can be trusted; restore a backup")
    }
    let suffix = ".new"
    try FolderRepair.write(check, identity, in: folder, suffix, now)
    try SystemCall.makeFolder(remains)
    // The history belongs to the previous journal, and starts again.
    try FolderRepair.move(.history, from: folder, to: remains)
    // The state first: if it is missing, or ahead of the journal, a start between these steps fails.
    for file in [DataFile.state, .journal] {
      try FolderRepair.move(file, from: folder, to: remains)
      try SystemCall.rename(folder + "/" + file.name + suffix, to: folder + "/" + file.name)
    }
    try SystemCall.syncFolder(remains)
    try SystemCall.syncFolder(folder)
    self.remains = remains
    withExtendedLifetime(lock) {}
  }

  /// Moves a database with its log and index files, if they exist.
  private static func move(_ file: DataFile, from folder: String, to other: String) throws(StorageError) {
    for end in ["-wal", "-shm", ""] {
      let name = file.name + end
      if SystemCall.exists(folder + "/" + name) { try SystemCall.rename(folder + "/" + name, to: other + "/" + name) }
    }
  }

  private static func write(
    _ check: FolderCheck, _ identity: [UInt8], in folder: String, _ suffix: String, _ now: Timestamp
  ) throws(StorageError) {
    for file in [DataFile.state, .journal] {
      for end in ["", "-wal", "-shm"] { SystemCall.remove(folder + "/" + file.name + suffix + end) }
    }
    let (state, _) = try DataFile.state.open(path: folder + "/" + DataFile.state.name + suffix, .write, system: nil)
    try state.prepareForWriting(logLimit: JournalLimits.logBytes)
    try DataFile.state.create(state) { () throws(StorageError) in
      var head = StateHead(identity: identity)
      head.journal = check.place
      try head.write(state)
    }
    try StateFile(state).apply(StateChanges(check.replica), through: check.place)
    try state.checkpoint()
    let (journal, _) = try DataFile.journal.open(
      path: folder + "/" + DataFile.journal.name + suffix, .write, system: nil)
    try journal.prepareForWriting(logLimit: JournalLimits.logBytes)
    try DataFile.journal.create(journal) { () throws(StorageError) in
      try journal.prepare("INSERT INTO storage VALUES (?, NULL)").run(.text(identity))
    }
    let rows = try JournalFile(journal)
    for generation in check.generations { try rows.begin(generation) }
    if check.stateIsDamaged {
      // No revision of the previous epochs is part of the new history.
      try rows.begin(Ancestry.Generation(epoch: .random(), after: 0, position: 0, time: now))
    }
    try journal.checkpoint()
  }
}
