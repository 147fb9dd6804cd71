// SPDX-License-Identifier: MIT

import Foundation
import JSON
import Synchronization
import Testing

@testable import SignalJournal
@testable import SignalStore
@testable import journal_writer

/// A history whose disk fails, whose file is damaged, or that is only read.
@Suite("A history and its disk") struct HistoryFaultTests {
  /// What the observer of a history was told.
  private final class Observed: Sendable {
    private let state = Mutex((failures: 0, unreadable: 0))

    var observer: HistoryObserver {
      HistoryObserver(
        failed: { [self] _ in state.withLock { $0.failures += 1 } },
        unreadable: { [self] _ in state.withLock { $0.unreadable += 1 } })
    }

    var failures: Int { state.withLock { $0.failures } }
  }

  private static func configuration(
    _ folder: TemporaryFolder, _ faults: DiskFaults? = nil, isReadOnly: Bool = false
  ) throws -> StorageConfiguration {
    var configuration = SignalJournalTests.configuration(
      folder, history: 20, system: faults?.name, isReadOnly: isReadOnly)
    configuration.history = try historyConfiguration { $0.patience = .milliseconds(20) }
    return configuration
  }

  private static func append(_ count: Int, of records: inout SensorRecords, to storage: Storage) {
    for _ in 0..<count {
      while storage.journal.isFull { usleep(100) }
      storage.journal.append(records.next())
    }
  }

  /// What a history that has just been opened has of a path, once it has read what is in its file.
  private static func page(_ source: any SeriesSource, _ path: PropertyPath) async throws -> SeriesPage {
    while true {
      switch await source.page(SeriesQuery(path, from: .behind(0), now: .now, limit: 10_000)) {
      case .failure(.busy): try await Task.sleep(for: .milliseconds(5))
      case let answer: return try answer.get()
      }
    }
  }

  private static func changes(_ source: any SeriesSource, _ path: PropertyPath) async throws -> [UInt64] {
    var (changes, start): ([UInt64], SeriesQuery.Place?) = ([], .behind(0))
    while let place = start {
      let page = try await source.page(SeriesQuery(path, from: place, now: .now, limit: 10_000)).get()
      changes += page.changes.map(\.revision.number)
      start = page.next
    }
    return changes
  }

  /// Whether a history has every change that there was, once it had time to follow.
  private static func expectWhole(_ source: any SeriesSource, _ records: SensorRecords) async throws {
    for path in SensorRecords.paths {
      let expected = (records.model.changes[path] ?? []).map(\.revision)
      var found: [UInt64] = []
      for _ in 0..<2000 {
        found = (try? await changes(source, path)) ?? []
        if found == expected { break }
        try await Task.sleep(for: .milliseconds(5))
      }
      #expect((found == expected) as Bool, "\(path): \(found.count) of \(expected.count)")
    }
  }

  @Test func `when there is no room for it, writing goes on, and it follows when there is room`() async throws {
    let folder = try TemporaryFolder()
    let faults = DiskFaults()
    let observed = Observed()
    let storage = try Recovery(Self.configuration(folder, faults)).start(history: observed.observer)
    var records = SensorRecords(seed: 21)
    Self.append(100, of: &records, to: storage)
    // It has begun.
    let source = try #require(storage.history)
    try await Self.expectWhole(source, records)
    let before = try await Self.changes(source, SensorRecords.paths[0])
    faults.fail(.write, .full, file: "history.sqlite-wal")
    Self.append(400, of: &records, to: storage)
    try await wait("everything durable") { storage.journal.durable == 500 }
    try await wait("some attempts") { faults.calls > 3 }
    #expect(storage.journal.health == .ok && observed.failures == 0)
    // What is in the file is answered, and nothing is made up.
    #expect(try await Self.changes(source, SensorRecords.paths[0]) == before)
    faults.clear()
    try await Self.expectWhole(source, records)
    #expect(storage.close() == nil)
  }

  @Test(arguments: [DiskFaults.Call.sync, .write])
  func `when its disk fails, nothing more is kept and the store goes on, until the next start`(
    call: DiskFaults.Call
  ) async throws {
    let folder = try TemporaryFolder()
    let faults = DiskFaults()
    let observed = Observed()
    let told = Told()
    let storage = try Recovery(Self.configuration(folder, faults)).start(told.observer, history: observed.observer)
    var records = SensorRecords(seed: 22)
    Self.append(200, of: &records, to: storage)
    faults.fail(call, .io, file: "history.sqlite-wal")
    Self.append(300, of: &records, to: storage)
    try await wait("the end of the history") {
      // Whoever asks makes it write, too.
      observed.failures > 0
    }
    let source = try #require(storage.history)
    guard case .failure(.failed) = await source.page(SeriesQuery("s/a", from: .behind(0), now: .now, limit: 1)) else {
      Issue.record("it was answered")
      return
    }
    Self.append(300, of: &records, to: storage)
    try await wait("everything durable") { storage.journal.durable == 800 }
    #expect(storage.close() == nil && told.healths.isEmpty && observed.failures == 1)
    let again = try Recovery(Self.configuration(folder)).start()
    let begun = try #require(again.history)
    // The journal need not have kept for it what it had no more of: what is missing is a gap, and nothing is wrong.
    for path in SensorRecords.paths {
      let expected = Set((records.model.changes[path] ?? []).map(\.revision))
      let page = try await Self.page(begun, path)
      let found = page.changes.filter { $0.operation != .gap }.map(\.revision.number)
      #expect(found == found.sorted() && Set(found).isSubset(of: expected), "\(path)")
    }
    #expect(again.close() == nil)
  }

  @Test(arguments: [0, 1, 2, 3, 5, 8, 13, 21, 34])
  func `what cannot be read is refused, and never answered wrongly`(at: Int) async throws {
    let folder = try TemporaryFolder()
    let faults = DiskFaults()
    var records = SensorRecords(seed: 23)
    let first = try Recovery(Self.configuration(folder)).start()
    Self.append(900, of: &records, to: first)
    #expect(first.close() == nil)
    let storage = try Recovery(Self.configuration(folder, faults)).start()
    let source = try #require(storage.history)
    faults.fail(.read, .io, at: at + 1, isLasting: false, file: "history.sqlite")
    for path in SensorRecords.paths {
      let expected = (records.model.changes[path] ?? []).map(\.revision)
      switch await source.page(SeriesQuery(path, from: .behind(0), now: .now, limit: 10_000)) {
      case .success(let page):
        #expect(page.changes.map(\.revision.number) == Array(expected.prefix(page.changes.count)))
      case .failure(let refusal): #expect(refusal == .failed)
      }
    }
    faults.clear()
    Self.append(10, of: &records, to: storage)
    try await wait("everything durable") { storage.journal.durable == storage.journal.position }
    #expect(storage.journal.health == .ok && storage.close() == nil)
  }

  @Test func `a history is checked, and one that is damaged begins anew while all else stays`() async throws {
    let folder = try TemporaryFolder()
    var records = SensorRecords(seed: 24)
    let storage = try Recovery(Self.configuration(folder)).start()
    Self.append(900, of: &records, to: storage)
    #expect(storage.close() == nil)
    #expect(try FolderCheck(folder.path).historyDamages.isEmpty)
    #expect(try FolderRepair(folder.path).remains == nil)
    let before = try ["journal.sqlite", "state.sqlite"].map { try folder.bytes($0) }
    let whole = try folder.bytes("history.sqlite")
    let damages = [
      ("UPDATE raw SET body = zeroblob(length(body)) WHERE key = (SELECT min(key) FROM raw)", "the block "),
      ("UPDATE rollup SET count = count + 1 WHERE series = 0", "the bucket of series "),
      ("UPDATE series SET body = zeroblob(length(body)) WHERE number = 0", "the series 0"),
      ("UPDATE history SET position = position - 1", "the table history"), ("", "integrity_check"),
    ]
    for (statement, place) in damages {
      try folder.write(whole, to: "history.sqlite")
      if statement.isEmpty {
        var bytes = whole
        // The pointers to the cells of a page.
        bytes.replaceSubrange(5 * 4096 + 8..<5 * 4096 + 40, with: repeatElement(0xFF, count: 32))
        try folder.write(bytes, to: "history.sqlite")
      } else {
        let database = try Database(folder.file("history.sqlite"), .write)
        try database.execute(statement)
        try database.checkpoint()
      }
      let check = try FolderCheck(folder.path)
      #expect(check.damages.isEmpty && check.lostRevisions == nil, "\(place)")
      let found = check.historyDamages.map { "\($0)" }
      #expect(
        found.contains { $0.contains(place) } || (place == "integrity_check" && !found.isEmpty), "\(place): \(found)")
      #expect(try FolderRepair(folder.path, now: Timestamp(milliseconds: Int64(place.utf8.count))).remains != nil)
      #expect(try !folder.names.contains("history.sqlite"), "\(place)")
      #expect(try ["journal.sqlite", "state.sqlite"].map { try folder.bytes($0) } == before, "\(place)")
    }
    // It begins with what there is.
    let again = try Recovery(Self.configuration(folder)).start()
    let source = try #require(again.history)
    for path in SensorRecords.paths {
      let expected = (records.model.changes[path] ?? []).map(\.revision)
      try await wait("a history") { (try? FolderCheck(folder.path).historyDamages.isEmpty) == true }
      var found: [UInt64] = []
      // Until it has followed to the end, an answer has the beginning of what there is.
      for _ in 0..<2000 where found.last != expected.last {
        found = (try? await Self.changes(source, path)) ?? []
        if found.last != expected.last { try await Task.sleep(for: .milliseconds(5)) }
      }
      #expect(!found.isEmpty && found == Array(expected.suffix(found.count)), "\(path): \(found) of \(expected)")
    }
    #expect(again.close() == nil)
  }

  @Test func `a folder that is only read answers what was`() async throws {
    let folder = try TemporaryFolder()
    var records = SensorRecords(seed: 25)
    let storage = try Recovery(Self.configuration(folder)).start()
    Self.append(600, of: &records, to: storage)
    #expect(storage.close() == nil)
    // While the storage is still referred to, as a server does until it ends: nothing is left in SQLite's logs.
    #expect(try folder.names == ["durable", "history.sqlite", "journal.sqlite", "lock", "state.sqlite"])
    withExtendedLifetime((storage, storage.history)) {}
    let before = try folder.bytes("history.sqlite")
    // By the rules that it was kept by, whatever the settings say.
    var configuration = try Self.configuration(folder, isReadOnly: true)
    configuration.history = HistoryConfiguration()
    let recovery = try Recovery(configuration)
    let reader = try #require(try recovery.readHistory { _ in })
    for path in SensorRecords.paths {
      #expect(try await Self.changes(reader, path) == (records.model.changes[path] ?? []).map(\.revision))
    }
    guard
      case .failure(.notKept) = await reader.page(
        SeriesQuery(SensorRecords.other, from: .behind(0), now: .now, limit: 1))
    else {
      Issue.record("it was answered")
      return
    }
    reader.close()
    #expect(try folder.bytes("history.sqlite") == before)
    try FileManager.default.removeItem(atPath: folder.file("history.sqlite"))
    #expect(try recovery.readHistory { _ in } == nil)
  }

  @Test func `of values that are kept only so often the history has those, and waits for none that is omitted`()
    async throws
  {
    let folder = try TemporaryFolder()
    var configuration = try Self.configuration(folder)
    // Longer than the tests: a question that waited for what does not come would not end.
    configuration.history.limits.patience = .seconds(3600)
    let recovery = try Recovery(configuration)
    let storage = try recovery.start()
    let store = PropertyStore(
      restoring: recovery.takeReplica(), sink: storage.journal, rules: [try PersistenceRule("s/** every 1h")]
    ) { source throws(FormulaError) in Formula(uncompiled: source) }
    for value in 1...5 { try store.set("s/a", JSONText(value)) }
    try await wait("everything durable") { storage.journal.durable == storage.journal.position }
    let source = try #require(storage.history)
    #expect(try await Self.changes(source, "s/a") == [1])
    store.keepOmitted()
    try await wait("everything durable") { storage.journal.durable == storage.journal.position }
    #expect(try await Self.changes(source, "s/a") == [1, 5])
    #expect(storage.close() == nil)
  }
}
