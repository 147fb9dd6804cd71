// SPDX-License-Identifier: MIT

import Foundation
import JSON
import Testing

@testable import SignalJournal
@testable import SignalStore
@testable import journal_writer

/// What becomes of a history when the server, its disk or its rules change.
///
/// `JOURNAL_CUTS` makes it longer.
@Suite("The history after something has happened") struct HistoryCrashTests {
  private static let cuts = ProcessInfo.processInfo.environment["JOURNAL_CUTS"].flatMap { Int($0) } ?? 4

  /// All changes of a path that a history has.
  private static func changes(
    _ storage: Storage, _ path: PropertyPath
  ) async throws -> [SeriesChange] {
    let source = try #require(storage.history)
    var (changes, start): ([SeriesChange], SeriesQuery.Place?) = ([], .behind(0))
    while let place = start {
      let page = try await source.page(SeriesQuery(path, from: place, now: .now, limit: 10_000)).get()
      changes += page.changes
      start = page.next
    }
    return changes
  }

  private static func append(_ count: Int, of records: inout SensorRecords, to storage: Storage) {
    for _ in 0..<count {
      while storage.journal.isFull { usleep(100) }
      storage.journal.append(records.next())
      if count > 100, records.revision % 16 == 0 { usleep(200) }
    }
  }

  @Test(arguments: [DiskImage.End.crash, .powerLoss])
  func `a cut at any moment neither loses nor doubles`(end: DiskImage.End) async throws {
    let seed: UInt64 = 11
    let original = try TemporaryFolder()
    let faults = DiskFaults()
    faults.beginSteps()
    var traced = configuration(original, history: 20, system: faults.name)
    traced.history = try historyConfiguration()
    var records = SensorRecords(seed: seed)
    for _ in 0..<2 {
      let storage = try Recovery(traced).start()
      Self.append(700, of: &records, to: storage)
      #expect(storage.close() == nil)
    }
    var random = RandomRecords.Generator(seed: seed)
    for _ in 0..<Self.cuts {
      let count = Int(random.next() % UInt64(faults.stepCount + 1))
      let folder = try TemporaryFolder()
      let image = DiskImage((0..<count).map(faults.step), through: count, end: end, random: &random)
      for (name, bytes) in image.files { try folder.write(bytes, to: name) }
      var configuration = configuration(folder, history: 20)
      configuration.history = try historyConfiguration()
      let place: Comment = "seed \(seed), after step \(count) of \(faults.stepCount)"
      do {
        let recovery = try Recovery(configuration)
        var known = SensorRecords(seed: seed)
        for _ in 0..<recovery.position { _ = known.next() }
        let storage = try recovery.start()
        for path in SensorRecords.paths {
          let found = try await Self.changes(storage, path)
          #expect(found.map(\.revision.number) == (known.model.changes[path] ?? []).map(\.revision), place)
          #expect(!found.contains { $0.operation == .gap }, place)
        }
        #expect(storage.close() == nil, place)
      } catch {
        Issue.record("\(place): \(error)")
      }
    }
  }

  @Test func `a history that begins has what is there, since it was set`() async throws {
    let folder = try TemporaryFolder()
    var configuration = configuration(folder, history: 20)
    var records = SensorRecords(seed: 3)
    // The journal has forgotten most of it.
    let first = try Recovery(configuration).start()
    Self.append(1500, of: &records, to: first)
    #expect(first.close() == nil)
    for rules in [["s/a raw 100y"], ["s/** raw 100y, 1m 100y"]] {
      configuration.history = try historyConfiguration(rules)
      let storage = try Recovery(configuration).start()
      Self.append(20, of: &records, to: storage)
      while storage.journal.durable < storage.journal.position { usleep(100) }
      for path in SensorRecords.paths where rules[0].hasPrefix("s/**") || path == "s/a" {
        let found = try await Self.changes(storage, path).map(\.revision.number)
        let all = (records.model.changes[path] ?? []).map(\.revision)
        #expect(found.count >= 1 && found == Array(all.suffix(found.count)), "\(path) \(rules)")
      }
      #expect(storage.close() == nil)
    }
  }

  @Test func `a server without a history leaves a gap, and only where something has changed`() async throws {
    let folder = try TemporaryFolder()
    var with = configuration(folder, history: 5)
    with.history = try historyConfiguration(["** raw 10d"])
    func run(_ configuration: StorageConfiguration, _ changes: [(String, Int?)]) async throws -> [[SeriesChange]] {
      let recovery = try Recovery(configuration)
      let storage = try recovery.start()
      let store = PropertyStore(restoring: recovery.takeReplica(), sink: storage.journal) {
        source throws(FormulaError) in
        Formula(uncompiled: source)
      }
      for (path, value) in changes {
        while storage.journal.isFull { usleep(100) }
        if let value {
          try store.set(PropertyPath(path), JSONText(value))
        } else {
          try store.delete(PropertyPath(path))
        }
      }
      while storage.journal.durable < storage.journal.position { usleep(100) }
      var found: [[SeriesChange]] = []
      if storage.history != nil {
        for path in ["same", "other", "gone"] { found.append(try await Self.changes(storage, PropertyPath(path))) }
      }
      #expect(storage.close() == nil)
      return found
    }
    _ = try await run(with, [("same", 1), ("other", 1), ("gone", 1)])
    var without = with
    without.history = HistoryConfiguration()
    // So much that the journal has forgotten it.
    _ = try await run(without, [("other", 2), ("gone", nil)] + (0..<3000).map { ("filler", $0) })
    let found = try await run(with, [("other", 3)])
    #expect(found[0].map(\.operation) == [.set(SeriesValue([0x31]))])
    #expect(
      found[1].map(\.operation) == [
        .set(SeriesValue([0x31])), .gap, .set(SeriesValue([0x32])), .set(SeriesValue([0x33])),
      ])
    #expect(found[2].map(\.operation) == [.set(SeriesValue([0x31])), .gap])
  }

  @Test func `a history whose file fails lets the store go on, and says so`() async throws {
    let folder = try TemporaryFolder()
    var configuration = configuration(folder, history: 20)
    configuration.history = try historyConfiguration()
    let storage = try Recovery(configuration).start()
    var records = SensorRecords(seed: 4)
    Self.append(300, of: &records, to: storage)
    #expect(storage.close() == nil)
    var bytes = try folder.bytes("history.sqlite")
    // The rows of the series, not the head: each page but the first few.
    for start in stride(from: 4096 * 8, to: bytes.count - 4096, by: 4096) {
      bytes.replaceSubrange(start + 100..<start + 4000, with: repeatElement(0xEE, count: 3900))
    }
    try folder.write(bytes, to: "history.sqlite")
    let told = Told()
    do {
      let again = try Recovery(configuration).start(told.observer)
      Self.append(3000, of: &records, to: again)
      while again.journal.durable < again.journal.position { usleep(100) }
      #expect(again.journal.health == .ok)
      #expect(again.close() == nil)
    } catch {
      guard case .damaged(let damage) = error else { throw error }
      #expect(damage.file.hasSuffix("history.sqlite"))
    }
  }

  @Test func `a history of another folder, or of a later time, is refused`() throws {
    let (folder, other) = (try TemporaryFolder(), try TemporaryFolder())
    var kept: [UInt8] = []
    for folder in [folder, other] {
      var configuration = configuration(folder)
      configuration.history = try historyConfiguration()
      let storage = try Recovery(configuration).start()
      var records = SensorRecords(seed: 5)
      Self.append(50, of: &records, to: storage)
      #expect(storage.close() == nil)
      if folder === other { kept = try other.bytes("history.sqlite") }
    }
    var configuration = configuration(folder)
    configuration.history = try historyConfiguration()
    let before = try ["journal.sqlite", "state.sqlite"].map { ($0, try folder.bytes($0)) }
    let storage = try Recovery(configuration).start()
    var records = SensorRecords(seed: 5)
    for _ in 0..<50 { _ = records.next() }
    Self.append(50, of: &records, to: storage)
    #expect(storage.close() == nil)
    for (name, bytes) in before { try folder.write(bytes, to: name) }
    #expect("\(Self.refusal(configuration) as Any)".contains("it goes to position 100, and the journal only to 50"))
    try folder.write(kept, to: "history.sqlite")
    #expect("\(Self.refusal(configuration) as Any)".contains("it belongs to the journal of another folder"))
    try FileManager.default.removeItem(atPath: folder.file("history.sqlite"))
    #expect(Self.refusal(configuration) == nil)
  }

  private static func refusal(_ configuration: StorageConfiguration) -> StorageError? {
    do throws(StorageError) {
      try Recovery(configuration).start().close()
      return nil
    } catch {
      return error
    }
  }

  @Test func `what is too old goes, and what still holds stays`() async throws {
    let folder = try TemporaryFolder()
    var configuration = configuration(folder)
    configuration.history = try historyConfiguration(["s/** raw 1h, 1m 2h"]) { limits in
      limits.sweepInterval = .milliseconds(5)
      limits.slice = 3
    }
    // Three hours ago, and so that the last change is long over as well.
    let hour: Int64 = 3_600_000
    let start = Timestamp.now.milliseconds - 5 * hour
    let storage = try Recovery(configuration).start()
    func change(_ revision: UInt64, _ path: PropertyPath, _ value: Int, at time: Int64) -> Record {
      .commit(
        Commit(
          Change(
            set: StoredValue(
              path: path, value: JSONText(value), revision: Revision(revision), time: Timestamp(milliseconds: time)),
            replacing: nil)))
    }
    let count = 5000
    for index in 1...count {
      while storage.journal.isFull { usleep(100) }
      let time = start + Int64(index) * (4 * hour + hour / 2) / Int64(count)
      storage.journal.append(change(UInt64(index), "s/a", index, at: time))
    }
    while storage.journal.durable < storage.journal.position { usleep(100) }
    let source = try #require(storage.history)
    let all = SeriesQuery.Place.time(Timestamp(milliseconds: start))
    // The first change of the answer comes nearer, but what held an hour ago is known.
    try await wait("what is too old to go") { [first = Timestamp.now.milliseconds - hour - 120_000] in
      let rows = (try? DataFileRows.first(in: folder)) ?? 0
      return rows > first - hour && rows > 0
    }
    let page = try await source.page(
      SeriesQuery("s/a", from: all, now: .now, step: 60_000, limit: 10_000)
    ).get()
    let first = try #require(page.buckets.first)
    #expect(first.start > start + hour && first.start <= Timestamp.now.milliseconds - 2 * hour)
    #expect(page.buckets.last?.last == SeriesValue(Array("\(count)".utf8)[...]))
    #expect(storage.close() == nil)
  }

  /// Looks into the file of a history.
  private enum DataFileRows {
    /// When the oldest block begins.
    static func first(in folder: TemporaryFolder) throws -> Int64 {
      let (database, _) = try DataFile.history.open(in: folder.path, .read, system: nil)
      return try database.integer("SELECT min(start) FROM raw") ?? 0
    }
  }

  @Test func `there are no more series than there may be, and one that is gone makes room`() async throws {
    let folder = try TemporaryFolder()
    var configuration = configuration(folder)
    configuration.history = try historyConfiguration(["s/** raw 1s"]) { limits in
      limits.series = 2
      limits.sweepInterval = .milliseconds(5)
    }
    let recovery = try Recovery(configuration)
    let storage = try recovery.start()
    let store = PropertyStore(restoring: recovery.takeReplica(), sink: storage.journal) { source throws(FormulaError) in
      Formula(uncompiled: source)
    }
    let source = try #require(storage.history)
    func ask(_ path: PropertyPath) async -> Result<SeriesPage, SeriesRefusal> {
      while storage.journal.durable < storage.journal.position { usleep(100) }
      return await source.page(SeriesQuery(path, from: .behind(0), now: .now, limit: 10))
    }
    for path in ["s/a", "s/b"] as [PropertyPath] {
      try store.set(path, JSONText(1))
      #expect(try await ask(path).get().changes.count == 1)
    }
    try store.set("s/c", JSONText(1))
    guard case .failure(.tooManySeries(2)) = await ask("s/c") else {
      Issue.record("there is a third series")
      return
    }
    try store.delete("s/a")
    var found = 0
    for value in 0..<2000 where found == 0 {
      try await Task.sleep(for: .milliseconds(5))
      try store.set("s/c", JSONText(value))
      found = (try? await ask("s/c").get().changes.count) ?? 0
    }
    #expect(found > 0)
    #expect(storage.close() == nil)
  }

  @Test func `more questions than may wait are refused, and those that wait at the end`() async throws {
    let folder = try TemporaryFolder()
    var configuration = configuration(folder)
    configuration.history = try historyConfiguration(["s/** raw 1d"]) { $0.queue = 0 }
    let storage = try Recovery(configuration).start()
    let source = try #require(storage.history)
    guard case .failure(.busy) = await source.page(SeriesQuery("s/a", from: .behind(0), now: .now, limit: 1)) else {
      Issue.record("it was answered")
      return
    }
    #expect(storage.close() == nil)
  }

  @Test func `what is looked at for one question is bounded, and the page ends there`() async throws {
    let folder = try TemporaryFolder()
    var configuration = configuration(folder)
    configuration.history = try historyConfiguration(["s/** raw 100y"]) { $0.rows = 1500 }
    let storage = try Recovery(configuration).start()
    var records = SensorRecords(seed: 6)
    Self.append(6000, of: &records, to: storage)
    while storage.journal.durable < storage.journal.position { usleep(100) }
    let source = try #require(storage.history)
    let start = SeriesQuery.Place.time(Timestamp(milliseconds: 1_700_000_000_000))
    let now = Timestamp(milliseconds: records.time)
    let page = try await source.page(SeriesQuery("s/a", from: start, now: now, step: 60_000, limit: 10_000)).get()
    #expect(page.next != nil && !page.buckets.isEmpty)
    var (buckets, next) = (page.buckets, page.next)
    while let place = next {
      let page = try await source.page(SeriesQuery("s/a", from: place, now: now, step: 60_000, limit: 10_000)).get()
      buckets += page.buckets
      next = page.next
    }
    let from = SeriesBucket.start(of: 1_700_000_000_000, step: 60_000)
    let all = records.model.rows("s/a", step: 60_000, from: from, to: records.time + 1)
    #expect(all.reduce(0) { $0 + $1.count } == buckets.reduce(0) { $0 + $1.count } && all.count == buckets.count)
    guard
      case .failure(.tooManyChanges(1500)) = await source.page(
        SeriesQuery("s/a", from: start, now: now, step: 300 * 86_400_000, limit: 10))
    else {
      Issue.record("more than is looked at was looked at")
      return
    }
    #expect(storage.close() == nil)
  }
}
