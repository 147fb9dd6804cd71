// SPDX-License-Identifier: MIT

import Foundation
import Testing

@testable import SignalJournal
@testable import SignalStore
@testable import journal_writer

@Suite("Damage") struct DamageTests {
  /// `JOURNAL_FLIPS` says how many bits of each file are turned over.
  private static let flips = ProcessInfo.processInfo.environment["JOURNAL_FLIPS"].flatMap { Int($0) } ?? 30

  /// The files of a folder with records in state, journal and their logs, as the kernel has them when the process is killed.
  private static func files(_ seed: UInt64) throws -> (files: [String: [UInt8]], replicas: [Replica]) {
    let folder = try TemporaryFolder()
    let faults = DiskFaults()
    faults.beginSteps()
    var records = RandomRecords(seed: seed)
    var replicas = [records.replica]
    let storage = try Recovery(configuration(folder, system: faults.name)).start()
    for _ in 0..<1200 {
      while storage.journal.isFull { usleep(100) }
      storage.journal.append(records.next())
      replicas.append(records.replica)
    }
    while storage.journal.durable < 1200 { usleep(100) }
    var random = RandomRecords.Generator(seed: seed)
    let steps = (0..<faults.stepCount).map(faults.step)
    var files = DiskImage(steps, through: steps.count, end: .crash, random: &random).files
    files[DurableMark.name] = try folder.bytes(DurableMark.name)
    storage.close()
    return (files, replicas)
  }

  @Test func `no bit that is turned over is accepted in silence`() throws {
    let (files, replicas) = try Self.files(1)
    #expect(
      files.keys.sorted() == [
        "durable", "journal.sqlite", "journal.sqlite-wal", "state.sqlite", "state.sqlite-wal",
      ])
    var random = RandomRecords.Generator(seed: 1)
    var noticed = 0
    for (name, bytes) in files.sorted(by: { $0.key < $1.key }) {
      for _ in 0..<Self.flips {
        let (index, bit) = (Int(random.next() % UInt64(bytes.count)), UInt8(random.next() % 8))
        let folder = try TemporaryFolder()
        for (other, bytes) in files { try folder.write(bytes, to: other) }
        var damaged = bytes
        damaged[index] ^= 1 << bit
        try folder.write(damaged, to: name)
        let place: Comment = "bit \(bit) of byte \(index) of \(name)"
        do {
          let recovery = try Recovery(configuration(folder))
          if recovery.position != 1200 {
            #expect(recovery.lost != nil, place)
            noticed += 1
          }
          guard recovery.position < replicas.count else {
            Issue.record("\(place): position \(recovery.position)")
            continue
          }
          if let difference = difference(replicas[Int(recovery.position)], recovery.takeReplica()) {
            Issue.record("\(place): \(difference)")
          }
        } catch {
          noticed += 1
          switch error {
          case .damaged, .foreign, .newerFormat: break
          case .locked, .lockedForReading, .database, .system, .occupied, .outOfReach:
            Issue.record("\(place): \(error)")
          }
        }
      }
    }
    #expect(noticed > 0)
  }

  @Test func `a bit that is turned over in the last write costs this write, and is told`() async throws {
    let folder = try TemporaryFolder()
    var records = RandomRecords(seed: 3)
    let storage = try Recovery(configuration(folder, JournalLimits())).start()
    for position in 1...2 as ClosedRange<UInt64> {
      storage.journal.append(records.next())
      try await wait("a sync") { storage.journal.durable == position }
    }
    let told = records.replica.revision
    let killed = try folder.copyAlive()
    storage.close()
    let log = "journal.sqlite-wal"
    var bytes = try killed.bytes(log)
    bytes[bytes.count - 1] ^= 1
    try killed.write(bytes, to: log)
    let recovery = try Recovery(configuration(killed))
    #expect(recovery.position == 1 && recovery.lost?.records == 1 && recovery.lost?.told == told)
  }

  /// A folder that was closed, and what is done to its files.
  private func refusal(after change: (TemporaryFolder) throws -> Void) throws -> StorageError {
    let folder = try TemporaryFolder()
    var records = RandomRecords(seed: 2)
    var limits = smallLimits()
    limits.rowBytes = 256
    let storage = try Recovery(configuration(folder, limits, history: 20)).start()
    for _ in 0..<200 { storage.journal.append(records.next()) }
    storage.close()
    try change(folder)
    do {
      let recovery = try Recovery(configuration(folder))
      Issue.record("position \(recovery.position) was recovered")
      throw StorageError.foreign(file: "none")
    } catch let error as StorageError {
      return error
    }
  }

  private func execute(_ sql: String, _ file: DataFile, _ folder: TemporaryFolder) throws {
    try file.open(in: folder.path, .write, system: nil).database.execute(sql)
  }

  @Test func `a file that is missing, empty or of another folder is named`() throws {
    for file in [DataFile.journal, .state] {
      let missing = try refusal { try FileManager.default.removeItem(atPath: $0.file(file.name)) }
      guard case .damaged(let damage) = missing else {
        Issue.record("\(missing)")
        continue
      }
      #expect(damage.file.hasSuffix(file.name) && damage.reason.contains("missing"))
      let empty = try refusal { try $0.write([], to: file.name) }
      guard case .damaged(let damage) = empty else {
        Issue.record("\(empty)")
        continue
      }
      #expect(damage.file.hasSuffix(file.name) && damage.reason.contains("empty"))
    }
    let mixed = try refusal { folder in
      let other = try TemporaryFolder()
      try Recovery(configuration(other)).start().close()
      try folder.write(other.bytes(DataFile.state.name), to: DataFile.state.name)
    }
    #expect(mixed.description.contains("it belongs to the journal of another folder"))
  }

  @Test func `a later format is refused by name`() throws {
    for file in [DataFile.journal, .state] {
      let error = try refusal { try execute("PRAGMA user_version = 2", file, $0) }
      guard case .newerFormat(let name, 2, 1) = error else {
        Issue.record("\(error)")
        continue
      }
      #expect(name.hasSuffix(file.name) && error.description.contains("format 2"))
    }
    let row = try refusal { try execute("UPDATE journal SET format = 2", .journal, $0) }
    guard case .newerFormat(_, 2, 1) = row else {
      Issue.record("\(row)")
      return
    }
  }

  @Test func `the tables that Litestream adds to each file are no damage, and other tables are`() throws {
    let folder = try TemporaryFolder()
    try Recovery(configuration(folder)).start().close()
    for file in [DataFile.journal, .state] {
      try execute("CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER)", file, folder)
      try execute("CREATE TABLE _litestream_lock (id INTEGER)", file, folder)
    }
    try Recovery(configuration(folder)).start().close()
    let error = try refusal { try execute("CREATE TABLE litestream (id INTEGER)", .journal, $0) }
    #expect(error.description.contains("the list of tables"))
  }

  @Test func `a database of somebody else is left alone`() throws {
    let error = try refusal { try execute("PRAGMA application_id = 7", .journal, $0) }
    guard case .foreign(let file) = error else {
      Issue.record("\(error)")
      return
    }
    #expect(file.hasSuffix("journal.sqlite"))
  }

  @Test(arguments: [
    ("DELETE FROM journal WHERE first = (SELECT first FROM journal ORDER BY first LIMIT 1)", "should follow"),
    ("UPDATE journal SET after = after + 1", "should follow"),
    ("UPDATE journal SET changes = changes + 1", "the checksum does not match"),
    ("UPDATE journal SET records = zeroblob(length(records))", "the checksum does not match"),
    ("UPDATE epoch SET position = position + 1", "the checksum does not match"),
    ("DELETE FROM storage", "it is empty"), ("DROP TABLE epoch", "it is not that of format 1"),
  ])
  func `a journal that was changed is refused`(sql: String, reason: String) throws {
    let error = try refusal { try execute(sql, .journal, $0) }
    #expect(error.description.contains(reason), "\(error)")
    guard case .damaged(let damage) = error else { return }
    #expect(damage.file.hasSuffix("journal.sqlite"))
  }

  @Test(arguments: [
    ("UPDATE property SET value = '1'", "the checksum does not match"),
    ("DELETE FROM property WHERE path = (SELECT max(path) FROM property)", "rows instead of"),
    ("DELETE FROM item", "rows instead of"), ("UPDATE item SET body = zeroblob(9)", "the checksum does not match"),
    ("UPDATE state SET position = position + 1", "the checksum does not match"), ("DELETE FROM state", "it is empty"),
    ("INSERT INTO state SELECT * FROM state", "it has two rows"),
  ])
  func `a state that was changed is refused`(sql: String, reason: String) throws {
    let error = try refusal { try execute(sql, .state, $0) }
    #expect(error.description.contains(reason), "\(error)")
    guard case .damaged(let damage) = error else { return }
    #expect(damage.file.hasSuffix("state.sqlite"))
  }

  @Test func `a state that is newer than the journal is refused`() throws {
    let error = try refusal { folder in
      let state = try folder.bytes(DataFile.state.name)
      try execute("DELETE FROM journal WHERE last > 60", .journal, folder)
      try execute("INSERT INTO journal VALUES (1, 2, 0, 0, 0, 0, 1, 0, x'')", .journal, folder)
      #expect(try folder.bytes(DataFile.state.name) == state)
    }
    #expect(error.description.contains("and the journal only to"), "\(error)")
  }
}
