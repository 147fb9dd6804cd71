// SPDX-License-Identifier: MIT

import Foundation
import JSON
import Testing

@testable import SignalJournal
@testable import SignalStore
@testable import journal_writer

@Suite("Backups, restoring and repair", .serialized) struct CopyTests {
  /// Fills a folder with records, so that a part is in the state and a part in the journal.
  private func fill(_ folder: TemporaryFolder, _ count: Int, history: Int = 100) throws -> RandomRecords {
    var records = RandomRecords(seed: 9)
    let storage = try Recovery(configuration(folder, history: history)).start()
    for _ in 0..<count {
      while storage.journal.isFull { usleep(100) }
      storage.journal.append(records.next())
    }
    #expect(storage.close() == nil)
    return records
  }

  private func load(_ folder: TemporaryFolder) throws -> Replica {
    let recovery = try Recovery(configuration(folder, isReadOnly: true))
    return recovery.takeReplica()
  }

  private func empty() throws -> TemporaryFolder { try TemporaryFolder() }

  @Test func `a backup is restored to what there was, and only its owner can read it`() throws {
    let (folder, other, files) = (try empty(), try empty(), try empty())
    let records = try fill(folder, 3000)
    let backup = try Backup(of: folder.path, to: files.file("b"))
    #expect(backup.revision == records.replica.revision && backup.history < backup.revision)
    let mode = try FileManager.default.attributesOfItem(atPath: files.file("b"))[.posixPermissions] as? Int
    #expect(try mode == 0o600 && files.names == ["b"])
    // Once more over it, and then from it.
    _ = try Backup(of: folder.path, to: files.file("b"))
    let restored = try BackupRestoration(of: files.file("b"), to: other.path)
    #expect(restored.backup.revision == backup.revision)
    let recovery = try Recovery(configuration(other))
    #expect(recovery.isClean && difference(recovery.takeReplica(), records.replica) == nil)
    #expect(recovery.ancestry.generations.count == 2)
    #expect(try FolderCheck(other.path).damages.isEmpty)
  }

  @Test func `backups while others write are each a prefix of what was written`() async throws {
    let (folder, files) = (try empty(), try empty())
    let storage = try Recovery(configuration(folder)).start()
    let writer = Task {
      var records = RandomRecords(seed: 11)
      for _ in 0..<30_000 {
        while storage.journal.isFull { usleep(100) }
        storage.journal.append(records.next())
        if Task.isCancelled { return }
      }
    }
    for round in 0..<12 {
      let told = storage.journal.durable
      _ = try Backup(of: folder.path, to: files.file("b"))
      let other = try empty()
      _ = try BackupRestoration(of: files.file("b"), to: other.path)
      let recovery = try Recovery(configuration(other))
      #expect(recovery.position >= told && !recovery.isClean, "round \(round)")
      let difference = difference(recovery.takeReplica(), expected(11, through: recovery.position).replica)
      if let difference { Issue.record("round \(round): \(difference)") }
      #expect(try FolderCheck(folder.path).damages.isEmpty, "round \(round)")
    }
    writer.cancel()
    await writer.value
    #expect(storage.close() == nil)
  }

  @Test func `a backup is restored to any revision or time of its history, and who saw more is told so`() throws {
    let (folder, files) = (try empty(), try empty())
    let records = try fill(folder, 1000)
    let backup = try Backup(of: folder.path, to: files.file("b"))
    let epoch = try #require(try Recovery(configuration(folder)).ancestry.generations.first).epoch
    let commits = Array(records.replica.commits)
    for commit in commits where commit.revision >= backup.history {
      for goal in [
        BackupRestoration.Goal.cursor(Cursor(epoch: epoch, revision: commit.revision)), .time(commit.time),
      ] {
        let other = try empty()
        let restored = try BackupRestoration(of: files.file("b"), to: other.path, until: goal)
        let last = goal == .time(commit.time) ? commits.last { $0.time == commit.time }?.revision : commit.revision
        #expect(restored.backup.revision == last, "\(goal)")
        let recovery = try Recovery(configuration(other))
        let replica = recovery.takeReplica()
        #expect(replica.revision == last)
        // With what is no commit and came before the next one.
        let copy = expected(9, through: recovery.position)
        if let difference = difference(replica, copy.replica) { Issue.record("\(goal): \(difference)") }
        #expect(
          recovery.ancestry.resolve(Cursor(epoch: epoch, revision: replica.revision), newest: .init(.max)) != .lost)
        #expect(
          recovery.ancestry.resolve(Cursor(epoch: epoch, revision: replica.revision.next), newest: .init(.max)) == .lost
        )
      }
    }
    func refusal(_ goal: BackupRestoration.Goal) throws -> String {
      let other = try empty()
      let error = #expect(throws: StorageError.self) {
        try BackupRestoration(of: files.file("b"), to: other.path, until: goal)
      }
      #expect(try other.names.allSatisfy { $0 == "lock" })
      return error.map { "\($0)" } ?? ""
    }
    #expect(try refusal(.cursor(Cursor(epoch: epoch, revision: 1))).contains("is before it"))
    #expect(try refusal(.cursor(Cursor(epoch: .random(), revision: 1))).contains("is not part of its history"))
    #expect(try refusal(.cursor(Cursor(epoch: epoch, revision: 99_999))).contains("is not part of its history"))
    #expect(try refusal(.time(Timestamp(milliseconds: -1_000_000_000_000))).contains("its history begins"))
  }

  @Test func `a time before the first change is refused, and an empty store is of no time`() throws {
    let (folder, files) = (try empty(), try empty())
    let records = try fill(folder, 30)
    let backup = try Backup(of: folder.path, to: files.file("b"))
    let first = try #require(Array(records.replica.commits).first)
    #expect(backup.history == 0 && first.revision == 1)
    let other = try empty()
    let error = #expect(throws: StorageError.self) {
      let before = Timestamp(milliseconds: first.time.milliseconds - 1)
      return try BackupRestoration(of: files.file("b"), to: other.path, until: .time(before))
    }
    #expect(
      error.map { "\($0)" }?.contains("its history begins with revision 1 of \(first.time), after ") == true,
      "\(String(describing: error))")
    #expect(try other.names.isEmpty)
    let restored = try BackupRestoration(of: files.file("b"), to: other.path, until: .time(first.time))
    #expect(restored.backup.revision >= 1 && restored.backup.time == first.time)

    let (nothing, copy) = (try empty(), try empty())
    try Recovery(configuration(nothing)).start().close()
    #expect(try Backup(of: nothing.path, to: files.file("c")).time == nil)
    let unset = try BackupRestoration(of: files.file("c"), to: copy.path, until: .time(first.time))
    #expect(unset.backup.revision == 0 && unset.backup.time == nil)
  }

  @Test func `nothing is overwritten, and nothing that is none is taken for a backup`() throws {
    let (folder, files) = (try empty(), try empty())
    _ = try fill(folder, 10)
    try files.write(Array("precious".utf8), to: "notes")
    #expect(throws: StorageError.self) { try Backup(of: folder.path, to: files.file("notes")) }
    #expect(throws: StorageError.self) { try Backup(of: folder.path, to: folder.file("state.sqlite")) }
    #expect(throws: StorageError.self) { try Backup(of: files.path, to: files.file("b")) }
    #expect(throws: StorageError.self) { try Backup(of: folder.path, to: files.file("none/b")) }
    #expect(try files.names == ["notes"] && files.bytes("notes") == Array("precious".utf8))
    _ = try Backup(of: folder.path, to: files.file("b"))
    #expect(throws: StorageError.self) { try BackupRestoration(of: files.file("b"), to: folder.path) }
    #expect(throws: StorageError.self) { try BackupRestoration(of: files.file("notes"), to: files.file("new")) }
    #expect(throws: StorageError.self) { try BackupRestoration(of: files.file("none"), to: files.file("new")) }
    #expect(throws: StorageError.foreign(file: folder.file("state.sqlite"))) {
      try BackupRestoration(of: folder.file("state.sqlite"), to: files.file("new"))
    }
    #expect(try FolderCheck(folder.path).damages.isEmpty)
  }

  @Test func `a bit that was turned is found by the check, and never restored`() throws {
    let (folder, files) = (try empty(), try empty())
    let records = try fill(folder, 800)
    _ = try Backup(of: folder.path, to: files.file("b"))
    let sound = try files.bytes("b")
    var random = RandomRecords.Generator(seed: 5)
    for _ in 0..<60 {
      var bytes = sound
      bytes[Int(random.next() % UInt64(bytes.count))] ^= 1 << UInt8(random.next() % 8)
      try files.write(bytes, to: "b")
      let other = try empty()
      do {
        _ = try BackupRestoration(of: files.file("b"), to: other.path)
        #expect(difference(try load(other), records.replica) == nil)
      } catch {
        #expect(try other.names.allSatisfy { $0 == "lock" }, "\(error)")
      }
    }
  }

  @Test func `what is sound of a journal that is damaged is kept, and what was after it is lost`() throws {
    let folder = try empty()
    let records = try fill(folder, 400, history: 1000)
    let epoch = try Recovery(configuration(folder)).ancestry.generations[0].epoch
    let database = try Database(folder.file("journal.sqlite"), .write)
    let first = try #require(try database.integer("SELECT first FROM journal ORDER BY first LIMIT 1 OFFSET 2"))
    try database.execute("UPDATE journal SET records = zeroblob(length(records)) WHERE first = \(first)")
    let check = try FolderCheck(folder.path)
    #expect(check.damages.count == 1 && check.lostPaths.isEmpty)
    #expect(check.newest == records.replica.revision && check.lostRevisions?.upperBound == check.newest.number)
    #expect(throws: StorageError.self) { try Recovery(configuration(folder)) }
    let repaired = try FolderRepair(folder.path)
    #expect(try folder.names.contains { $0.hasPrefix("damaged-") } && repaired.remains != nil)
    let recovery = try Recovery(configuration(folder))
    #expect(recovery.position == UInt64(first) - 1 && recovery.lost != nil)
    let replica = recovery.takeReplica()
    let expected = expected(9, through: recovery.position).replica
    #expect(Array(replica.snapshot.scan()) == Array(expected.snapshot.scan()) && replica.revision == expected.revision)
    #expect(replica.signals == expected.signals && replica.timers.count == expected.timers.count)
    let newest = Cursor(epoch: epoch, revision: records.replica.revision)
    #expect(recovery.ancestry.resolve(newest, newest: replica.revision) == .lost)
    #expect(
      recovery.ancestry.resolve(Cursor(epoch: epoch, revision: replica.revision), newest: replica.revision)
        == .revision(replica.revision))
    // Who has not seen all of it gets it anew, as the history begins here.
    #expect(replica.commits(after: Revision(replica.revision.number - 1)) == nil)
  }

  @Test func `what is sound of a state that is damaged is kept, and everybody is told`() throws {
    let folder = try empty()
    let records = try fill(folder, 2000)
    let epoch = try Recovery(configuration(folder)).ancestry.generations[0].epoch
    let database = try Database(folder.file("state.sqlite"), .write)
    try database.execute("UPDATE property SET value = '666' WHERE path = (SELECT min(path) FROM property)")
    let check = try FolderCheck(folder.path)
    #expect(check.lostPaths.count == 1 && check.damages.count == 1 && check.lostRevisions == nil)
    _ = try FolderRepair(folder.path)
    let recovery = try Recovery(configuration(folder))
    let replica = recovery.takeReplica()
    let kept = Array(replica.snapshot.scan()).map(\.path)
    let all = Array(records.replica.snapshot.scan()).map(\.path)
    #expect(kept.count >= all.count - 1 && Set(kept).isSubset(of: all))
    #expect(replica.get(kept[0])?.value != JSONText(666))
    // Also who has seen the last revision: it has seen what is not there any more.
    let seen = Cursor(epoch: epoch, revision: replica.revision)
    #expect(recovery.ancestry.resolve(seen, newest: replica.revision) == .lost)
  }

  @Test(arguments: ["journal.sqlite", "state.sqlite"])
  func `a file that is gone costs what was in it alone`(name: String) throws {
    let folder = try empty()
    let records = try fill(folder, 2000)
    try FileManager.default.removeItem(atPath: folder.file(name))
    let check = try FolderCheck(folder.path)
    #expect(check.damages.contains { $0.file == folder.file(name) })
    guard name == "journal.sqlite" else {
      // The journal does not go back to the beginning.
      #expect(!check.isUsable)
      #expect(throws: StorageError.self) { try FolderRepair(folder.path) }
      return
    }
    #expect(check.lostRevisions?.upperBound == records.replica.revision.number)
    _ = try FolderRepair(folder.path)
    let recovery = try Recovery(configuration(folder))
    #expect(recovery.takeReplica().revision == check.revision)
  }

  @Test func `a folder in use is checked, and not repaired`() throws {
    let folder = try empty()
    let storage = try Recovery(configuration(folder)).start()
    #expect(try FolderCheck(folder.path).damages.isEmpty)
    let error = #expect(throws: StorageError.self) { try FolderRepair(folder.path) }
    if case .locked = error {} else { Issue.record("\(String(describing: error))") }
    #expect(storage.close() == nil)
    let repaired = try FolderRepair(folder.path)
    #expect(repaired.remains == nil)
  }
}

extension Replica {
  fileprivate func get(_ path: PropertyPath) -> StoredValue? { tree.value(at: path) }
}
