// SPDX-License-Identifier: MIT

internal import Glibc
package import SignalStore

/// A folder that is damaged, written anew from what can be trusted in it.
///
/// What was there before goes into a folder of its own beside the files. The history begins anew, so clients that come back
/// get the whole state (`reset`), and those that have seen something that was lost are told so. When a part of the state
/// was lost, that is everyone: nobody knows what each has seen of it.
package struct FolderRepair {
  /// What was found, and kept.
  package let check: FolderCheck
  /// Where the files of before are; nil when nothing had to be repaired.
  package let remains: String?

  /// Repairs a folder that nobody uses.
  ///
  /// - Throws: ``StorageError/outOfReach(file:reason:)`` when nothing in it can be trusted.
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
      // It begins anew with what the state has; everything else is sound and stays.
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
    // What properties were belongs to the journal of before, and begins anew.
    try FolderRepair.move(.history, from: folder, to: remains)
    // The state first: one that is missing, or further than the journal, stops a start that comes between these steps.
    for file in [DataFile.state, .journal] {
      try FolderRepair.move(file, from: folder, to: remains)
      try SystemCall.rename(folder + "/" + file.name + suffix, to: folder + "/" + file.name)
    }
    try SystemCall.syncFolder(remains)
    try SystemCall.syncFolder(folder)
    self.remains = remains
    withExtendedLifetime(lock) {}
  }

  /// Moves a database with what lies beside it, as far as it is there.
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
      // No revision of the epochs before is part of what is left.
      try rows.begin(Ancestry.Generation(epoch: .random(), after: 0, position: 0, time: now))
    }
    try journal.checkpoint()
  }
}
