// SPDX-License-Identifier: MIT

import Foundation
import JSON
import Testing

@testable import SignalJournal
@testable import SignalStore
@testable import journal_writer

@Suite("Storage") struct StorageTests {
  @Test func `a new folder is empty, and its epoch is remembered`() throws {
    let folder = try TemporaryFolder()
    let first = try Recovery(configuration(folder))
    #expect(first.isClean && first.lost == nil && first.position == 0)
    let replica = first.takeReplica()
    #expect(replica.revision == 0 && replica.epoch == first.ancestry.current.epoch)
    #expect(try first.start().close() == nil)
    let second = try Recovery(configuration(folder))
    #expect(second.isClean && second.ancestry.generations.map(\.epoch).first == replica.epoch)
    #expect(second.ancestry.generations.count == 2)
  }

  @Test(arguments: [0, 1, 100, 1000])
  func `what was recorded is there after a clean start, with the history`(history: Int) throws {
    let folder = try TemporaryFolder()
    var records = RandomRecords(seed: 1)
    var limits = smallLimits()
    limits.journalBytes = 1 << 20
    limits.journalChanges = 200
    for round in 0..<4 {
      let recovery = try Recovery(configuration(folder, limits, history: history))
      #expect(recovery.isClean && recovery.lost == nil)
      let replica = recovery.takeReplica()
      if let difference = difference(records.replica, replica) { Issue.record("round \(round): \(difference)") }
      // The oldest chunk of a history goes as a whole, so about 15/16 of the limit are kept.
      let reach = replica.commits.reduce(0) { $0 + $1.count }
      if round > 1 { #expect(reach >= history * 9 / 10) }
      let told = Told()
      let storage = try recovery.start(told.observer)
      for _ in 0..<1500 { storage.journal.append(records.next()) }
      #expect(storage.close() == nil)
      #expect(told.places.last == Journal.Place(position: recovery.position + 1500, revision: records.replica.revision))
      #expect(zip(told.places, told.places.dropFirst()).allSatisfy { $0.position < $1.position })
      #expect(told.healths.isEmpty && storage.journal.health == .ok)
    }
  }

  @Test func `the state takes over what the history does not need, and the journal gives its room back`() throws {
    let folder = try TemporaryFolder()
    var records = RandomRecords(seed: 2)
    let storage = try Recovery(configuration(folder)).start()
    for _ in 0..<20_000 {
      while storage.journal.isFull { usleep(100) }
      storage.journal.append(records.next())
    }
    #expect(storage.close() == nil)
    let files = try DataFolder(configuration(folder))
    let left = try files.journal.size(after: 0)
    #expect(left.work >= 100 && left.work < 500, "\(left)")
    #expect(try files.journal.database.integer("PRAGMA page_count") ?? 0 < 400)
    #expect(files.state.head.journal.position > 19_000)
    #expect(try files.state.database.integer("PRAGMA integrity_check") == 0)
  }

  @Test func `a journal that is full has room again, also when nothing more is written`() async throws {
    let folder = try TemporaryFolder()
    var records = RandomRecords(seed: 5)
    var limits = smallLimits()
    // As small as can be, so that it is nearly always full while the state is brought further.
    limits.journalBytes = 1 << 14
    let storage = try Recovery(configuration(folder, limits)).start()
    for _ in 0..<100 {
      while !storage.journal.isFull { storage.journal.append(records.next()) }
      try await wait("room") { !storage.journal.isFull }
      if storage.journal.isFull { break }
    }
    #expect(storage.close() == nil)
  }

  private static func compile(_ source: String) throws(FormulaError) -> Formula { Formula(uncompiled: source) }

  @Test func `a store goes on from a folder`() async throws {
    let folder = try TemporaryFolder()
    var cursor: Cursor?
    for round in 0..<3 {
      let recovery = try Recovery(configuration(folder))
      let storage = try recovery.start()
      let store = PropertyStore(restoring: recovery.takeReplica(), sink: storage.journal, compile: Self.compile)
      #expect(store.count == round)
      if let cursor {
        guard case .revision(let revision) = recovery.ancestry.resolve(cursor, newest: store.revision) else {
          Issue.record("the cursor \(cursor) is not known")
          return
        }
        let missed = try #require(store.changes(since: Cursor(epoch: store.epoch, revision: revision)))
        #expect(missed.map(\.first.path.description) == ["p/\(round - 1)"])
      }
      cursor = store.cursor
      try store.set(PropertyPath("p/\(round)"), JSONText(round))
      #expect(storage.journal.position == recovery.position + 1)
      #expect(storage.close() == nil)
    }
  }

  @Test func `a folder that is in use is refused, with the process that uses it`() throws {
    let folder = try TemporaryFolder()
    let recovery = try Recovery(configuration(folder))
    let expected = StorageError.locked(folder: folder.path, process: getpid())
    #expect(throws: expected) { try Recovery(configuration(folder)) }
    #expect(throws: expected) { try Recovery(configuration(folder, isReadOnly: true)) }
    #expect(expected.description == "\(folder.path) is in use by process \(getpid())")
    try recovery.start().close()
    _ = try Recovery(configuration(folder))
  }

  @Test func `who only reads is not named by the number of who wrote before`() throws {
    let folder = try TemporaryFolder()
    try Recovery(configuration(folder)).start().close()
    // The number is gone with the lock.
    #expect(try folder.bytes("lock").isEmpty)
    // A process that was killed leaves it; this is one that there cannot be.
    try folder.write(Array("2147483646\n".utf8), to: "lock")
    let reading = try Recovery(configuration(folder, isReadOnly: true))
    let expected = StorageError.lockedForReading(folder: folder.path)
    #expect(throws: expected) { try Recovery(configuration(folder)) }
    #expect(expected.description == "\(folder.path) is in use by a process that only reads")
    // Others can still read.
    _ = try Recovery(configuration(folder, isReadOnly: true))
    withExtendedLifetime(reading) {}
  }

  @Test func `a number that no process has is not named`() throws {
    let folder = try TemporaryFolder()
    let lock = try FolderLock(folder.path)
    let other = try SmallFile(folder.file("lock"), canWrite: true)
    #expect(other.write(Array("2147483646\n".utf8)))
    let expected = StorageError.locked(folder: folder.path, process: nil)
    #expect(throws: expected) { try FolderLock(folder.path) }
    #expect(throws: expected) { try FolderLock(reading: folder.path) }
    withExtendedLifetime(lock) {}
  }

  @Test func `a folder is free when its lock is released, also while a forked child still shares the descriptor`()
    throws
  {
    let folder = try TemporaryFolder()
    var lock: FolderLock? = try FolderLock(folder.path)
    let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { Int32($0) }
    let own = descriptors.first { number in
      (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(number)")) == folder.file("lock")
    }
    // It is the same open file, as the child's would be.
    let shared = dup(try #require(own))
    defer { close(shared) }
    withExtendedLifetime(lock) {
      _ = #expect(throws: StorageError.locked(folder: folder.path, process: getpid())) { try FolderLock(folder.path) }
    }
    lock = nil
    _ = try FolderLock(folder.path)
  }

  @Test func `a folder can be read without being written to`() throws {
    let folder = try TemporaryFolder()
    var records = RandomRecords(seed: 3)
    let storage = try Recovery(configuration(folder)).start()
    for _ in 0..<500 { storage.journal.append(records.next()) }
    storage.close()
    let before = try folder.names.map { ($0, try folder.bytes($0)) }
    let recovery = try Recovery(configuration(folder, isReadOnly: true))
    #expect(difference(recovery.takeReplica(), records.replica) == nil)
    #expect(recovery.isClean && recovery.ancestry.generations.count == 2)
    let after = try folder.names.filter { !$0.hasSuffix("-shm") && !$0.hasSuffix("-wal") }
    #expect(after == before.map(\.0))
    for (name, bytes) in before { #expect(try folder.bytes(name) == bytes, "\(name)") }
  }

  @Test func `an interval is kept, and who hurries does not wait for it`() async throws {
    let folder = try TemporaryFolder()
    let told = Told()
    var records = RandomRecords(seed: 4)
    let storage = try Recovery(configuration(folder, smallLimits(.interval(.seconds(3600))))).start(told.observer)
    for _ in 0..<10 { storage.journal.append(records.next()) }
    #expect(storage.journal.durable == 0 && storage.journal.queuedBytes > 0)
    storage.journal.hurry()
    try await wait("a sync") { storage.journal.durable == 10 }
    #expect(told.places.count == 1 && storage.journal.queuedBytes == 0)
    storage.journal.append(records.next())
    // Nobody waits at the end.
    #expect(storage.close() == nil)
    #expect(told.position == 11)
    let short = try Recovery(configuration(folder, smallLimits(.interval(.milliseconds(20))))).start(told.observer)
    for _ in 0..<10 { short.journal.append(records.next()) }
    try await wait("the end of the interval") { short.journal.durable == 21 }
    short.close()
  }

  @Test func `a time to live that was given does not wait for the end of a long interval`() async throws {
    let folder = try TemporaryFolder()
    let storage = try Recovery(configuration(folder, smallLimits(.interval(.seconds(3600))))).start()
    func commit(_ revision: Revision, _ lease: Lease?) -> Record {
      let time = Timestamp(milliseconds: 1)
      let value = StoredValue(path: "a", value: JSONText(1), revision: revision, time: time, lease: lease)
      return .commit(Commit(Change(set: value, replacing: nil)))
    }
    storage.journal.append(commit(1, nil))
    storage.journal.append(commit(2, Lease(term: nil, holder: Holder(number: 1))))
    #expect(storage.journal.durable == 0)
    let term = Lease.Term(end: Timestamp(milliseconds: 9), length: .seconds(9))
    storage.journal.append(commit(3, Lease(term: term, holder: nil)))
    try await wait("a sync") { storage.journal.durable == 3 }
    storage.journal.append(
      .amendment(
        StoredValue(
          path: "a", value: JSONText(1), revision: 3, time: Timestamp(milliseconds: 1),
          lease: Lease(term: term, holder: nil))))
    try await wait("a sync") { storage.journal.durable == 4 }
    #expect(
      storage.journal.status
        == StorageStatus(taken: 4, durable: 4, revision: 3, sync: .interval(.seconds(3600))))
    #expect(storage.close() == nil)
  }
}
