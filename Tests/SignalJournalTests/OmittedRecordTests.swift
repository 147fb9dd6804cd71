// SPDX-License-Identifier: MIT

import Foundation
import JSON
import Testing

@testable import SignalJournal
@testable import SignalStore
@testable import journal_writer

/// Records that leave nothing in the files but that their revisions were taken.
@Suite("Omitted records") struct OmittedRecordTests {
  private static func commit(_ revision: Revision, _ path: PropertyPath = "a") -> Commit {
    let value = StoredValue(
      path: path, value: JSONText(Int(revision.number)), revision: revision, time: Timestamp(milliseconds: 1))
    return Commit(Change(set: value, replacing: nil))
  }

  @Test func `they are durable without a sync, and their revisions are known after a crash`() async throws {
    let folder = try TemporaryFolder()
    let faults = DiskFaults()
    let told = Told()
    let recovery = try Recovery(configuration(folder, JournalLimits(), system: faults.name))
    let epoch = recovery.ancestry.current.epoch
    let storage = try recovery.start(told.observer)
    storage.journal.append(.commit(Self.commit(1)))
    try await wait("a sync") { storage.journal.durable == 1 }
    // It counts, and fails none of those that there could be.
    faults.fail(.sync, .io, at: 1 << 30)
    for revision in 2...100 { storage.journal.append(.omittedCommit(Self.commit(Revision(UInt64(revision))))) }
    let amended = StoredValue(path: "a", value: .null, revision: 100, time: Timestamp(milliseconds: 1))
    storage.journal.append(.omittedAmendment(amended))
    try await wait("the rest") { storage.journal.durable == 101 }
    #expect(faults.calls == 0)
    #expect(told.places.last == Journal.Place(position: 101, revision: 100))
    #expect(storage.journal.status?.revision == 100 && storage.journal.queuedBytes == 0)

    let killed = try folder.copyAlive()
    let crashed = try Recovery(configuration(killed))
    #expect(!crashed.isClean && crashed.lost == nil && crashed.position == 1)
    let replica = crashed.takeReplica()
    #expect(replica.revision == 100 && replica.commits.map(\.revision) == [1])
    let seen = Cursor(epoch: epoch, revision: 100)
    #expect(crashed.ancestry.resolve(seen, newest: 100) == .revision(100))
    #expect(crashed.ancestry.resolve(Cursor(epoch: epoch, revision: 101), newest: 200) == .lost)

    // Without the mark, as a loss of power may leave it, whoever has seen more than is written has lost something.
    let powerless = try folder.copyAlive()
    try FileManager.default.removeItem(atPath: powerless.file("durable"))
    let second = try Recovery(configuration(powerless))
    #expect(second.takeReplica().revision == 1 && second.ancestry.resolve(seen, newest: 1) == .lost)

    // The next that is kept says how many there were.
    storage.journal.append(.omittedCommit(Self.commit(101)))
    storage.journal.append(.commit(Self.commit(102, "b")))
    storage.journal.append(.omittedCommit(Self.commit(103)))
    #expect(storage.close() == nil)
    let third = try Recovery(configuration(folder))
    #expect(third.isClean && third.position == 2)
    let last = third.takeReplica()
    #expect(last.revision == 103 && last.commits.map(\.revision) == [1, 102])
    #expect(last.commits(after: 50)?.map(\.revision) == [102] && last.commits(after: 102)?.map(\.revision) == [])
    // And the start after one in which nothing happened knows it from that one.
    try third.start().close()
    try FileManager.default.removeItem(atPath: folder.file("durable"))
    #expect(try Recovery(configuration(folder)).takeReplica().revision == 103)
  }

  @Test func `their revisions are known behind a record whose mark is not written yet`() async throws {
    let folder = try TemporaryFolder()
    let recovery = try Recovery(configuration(folder))
    let epoch = recovery.ancestry.current.epoch
    let storage = try recovery.start()
    storage.journal.append(.commit(Self.commit(1)))
    for revision in 2...9 { storage.journal.append(.omittedCommit(Self.commit(Revision(UInt64(revision))))) }
    try await wait("all of them") { storage.journal.durable == 9 }
    let mark = try folder.bytes(DurableMark.name)
    storage.journal.append(.timerRemoved("t"))
    try await wait("a record without a revision") { storage.journal.durable == 10 }
    // The process is killed between the sync and the mark.
    let killed = try folder.copyAlive()
    try killed.write(mark, to: DurableMark.name)
    let crashed = try Recovery(configuration(killed))
    #expect(crashed.lost == nil && crashed.position == 2 && crashed.takeReplica().revision == 9)
    let seen = Cursor(epoch: epoch, revision: 9)
    #expect(crashed.ancestry.resolve(seen, newest: 9) == .revision(9))

    // The same in the next run, which knows them by its start alone.
    let second = try crashed.start()
    second.journal.append(.timerRemoved("t"))
    try await wait("another") { second.journal.durable == 3 }
    let again = try killed.copyAlive()
    try FileManager.default.removeItem(atPath: again.file(DurableMark.name))
    let third = try Recovery(configuration(again))
    #expect(third.takeReplica().revision == 9 && third.ancestry.resolve(seen, newest: 9) == .revision(9))
    second.close()
    storage.close()
  }

  @Test func `what follows them is checked, copied and restored like anything else`() throws {
    let folder = try TemporaryFolder()
    let storage = try Recovery(configuration(folder)).start()
    for revision in 1...40 {
      let commit = Self.commit(
        Revision(UInt64(revision)), PropertyPath(stringLiteral: revision % 8 == 1 ? "b/\(revision)" : "a"))
      storage.journal.append(revision % 8 == 1 ? .commit(commit) : .omittedCommit(commit))
    }
    #expect(storage.close() == nil)
    let check = try FolderCheck(folder.path)
    #expect(check.damages.isEmpty && check.lostRevisions == nil && check.revision == 33 && check.properties == 5)
    let file = folder.file("backup")
    let backup = try Backup(of: folder.path, to: file)
    #expect(backup.revision == 33)
    let target = try TemporaryFolder()
    let epoch = try #require(check.generations.first?.epoch)
    let goal = BackupRestoration.Goal.cursor(Cursor(epoch: epoch, revision: 20))
    #expect(try BackupRestoration(of: file, to: target.path, until: goal).properties == 3)
    let restored = try Recovery(configuration(target))
    #expect(restored.takeReplica().revision == 17)
    // What was told behind the backup is not part of it.
    #expect(restored.ancestry.resolve(Cursor(epoch: epoch, revision: 18), newest: 17) == .lost)
  }

  @Test func `rules and corrections are kept, in the journal and in the state`() async throws {
    let rules = try ["a b/** volatile", "c every 1s"].map { try PersistenceRule($0) }
    let folder = try TemporaryFolder()
    let storage = try Recovery(configuration(folder)).start()
    storage.journal.append(.rules(rules))
    storage.journal.append(.commit(Self.commit(1)))
    storage.journal.append(.commit(Self.commit(2)))
    let value = try #require(Self.commit(3).first.new)
    for change in [Change(set: value, replacing: value), Change(delete: value, revision: 4, time: value.time)] {
      storage.journal.append(.commit(Commit(change.asCorrection)))
    }
    storage.close()
    let replica = try Recovery(configuration(folder)).takeReplica()
    #expect(replica.rules == rules)
    #expect(replica.commits.map(\.first.isCorrection) == [false, false, true, true])
    // With a history of one change the state takes over everything else.
    var limits = smallLimits()
    limits.journalChanges = 1
    let recovery = try Recovery(configuration(folder, limits, history: 1))
    let second = try recovery.start()
    let first = recovery.takeReplica().revision.number + 1
    for revision in first..<first + 60 {
      second.journal.append(.commit(Self.commit(Revision(revision))))
      // Rows of a few records, as the journal keeps the last one whole.
      if revision % 10 == 0 { try await wait("a row") { second.journal.durable == second.journal.position } }
    }
    #expect(second.close() == nil)
    #expect(try DataFolder(configuration(folder)).state.head.journal.position > 5)
    let third = try Recovery(configuration(folder))
    #expect(third.takeReplica().rules == rules)
    let last = try third.start()
    last.journal.append(.rules([]))
    last.close()
    #expect(try Recovery(configuration(folder)).takeReplica().rules.isEmpty)
  }

  private static func compile(_ source: String) throws(FormulaError) -> Formula { Formula(uncompiled: source) }

  @Test(arguments: [JournalLimits.Sync.commit, .interval(.milliseconds(2))])
  func `whoever resumes ends with what there is, after a crash or an end`(sync: JournalLimits.Sync) async throws {
    let rules = try ["v/** volatile", "e/** every 20ms"].map { try PersistenceRule($0) }
    var folder = try TemporaryFolder()
    var random = RandomRecords.Generator(seed: 11)
    var views: [(cursor: Cursor, paths: [PropertyPath: JSONText])] = []
    var resumed = 0
    for round in 0..<12 {
      let recovery = try Recovery(configuration(folder, smallLimits(sync), history: 400))
      let storage = try recovery.start()
      let store = PropertyStore(
        restoring: recovery.takeReplica(), limits: StoreLimits(historyChanges: 400), sink: storage.journal,
        ancestors: recovery.ancestry.ends, rules: rules, isClean: recovery.isClean, compile: Self.compile)
      let now = view(store)
      for (cursor, paths) in views {
        guard let missed = store.changes(since: store.present(cursor)) else { continue }
        resumed += 1
        let fold = missed.reduce(into: paths) { fold, commit in
          for change in commit { fold[change.path] = change.new?.value }
        }
        #expect(fold == now, "round \(round), since \(cursor)")
      }
      views = []
      for _ in 0..<5 {
        for _ in 0..<random.next() % 60 {
          while storage.journal.isFull { usleep(100) }
          let path = PropertyPath(stringLiteral: ["v", "e", "x"][Int(random.next() % 3)] + "/\(random.next() % 4)")
          if random.next() % 8 == 0 {
            try store.delete(path)
          } else {
            try store.set(path, JSONText(Int(random.next() % 100)))
          }
        }
        if random.next() % 2 == 0 { usleep(30_000) }
        views.append((store.cursor, view(store)))
      }
      try await wait("everything durable") { storage.journal.durable == storage.journal.position }
      if random.next() % 2 == 0 {
        store.keepOmitted()
        #expect(storage.close() == nil)
      } else {
        let copy = try folder.copyAlive()
        storage.close()
        folder = copy
      }
    }
    #expect(resumed > 30)
  }

  private func view(_ store: PropertyStore) -> [PropertyPath: JSONText] {
    Dictionary(uniqueKeysWithValues: store.snapshot().scan().map { ($0.path, $0.value) })
  }
}
