// SPDX-License-Identifier: MIT

import Foundation
import JSON
import Testing

@testable import SignalJournal
@testable import SignalStore
@testable import journal_writer

/// `HISTORY_RUNS` says how many seeds; they count from `HISTORY_SEED`.
@Suite("The history of properties") struct HistoryTests {
  private static let runs = ProcessInfo.processInfo.environment["HISTORY_RUNS"].flatMap { Int($0) } ?? 3
  private static let seed = ProcessInfo.processInfo.environment["HISTORY_SEED"].flatMap { UInt64($0) } ?? 1

  /// Everything that can be asked, compared with the model.
  private static func compare(
    _ source: any SeriesSource, _ records: SensorRecords, _ where: String, random: inout RandomRecords.Generator
  ) async throws {
    let now = records.time + 30_000
    for path in SensorRecords.paths {
      for (step, tier) in [(1000, nil), (5000, 5000), (7000, nil), (60_000, 60_000), (3_600_000, 60_000)]
        as [(Int64, Int64?)]
      {
        let length = step * Int64(random.next() % 100 + 1)
        let from = max(records.time - 50_000_000, now - length)
        let first = SeriesBucket.start(of: from, step: step)
        let query = SeriesQuery(
          path, from: .time(Timestamp(milliseconds: from)), now: Timestamp(milliseconds: now), step: step, limit: 10_000
        )
        let page = try await source.page(query).get()
        #expect(page.tier == tier && page.through == Revision(records.revision) && page.next == nil)
        let expected = records.model.rows(path, step: step, from: first, to: now + 1)
        if let difference = difference(expected, page.buckets) {
          Issue.record("\(`where`), \(path) by \(step) from \(from): \(difference.prefix(600))")
        }
        // The same in pages of another size.
        var (parts, start): ([SeriesBucket], SeriesQuery.Place?) = ([], query.from)
        while let place = start {
          let part = try await source.page(
            SeriesQuery(path, from: place, now: query.now, step: step, limit: Int(random.next() % 50 + 1))
          ).get()
          parts += part.buckets
          start = part.next
        }
        #expect((parts == page.buckets) as Bool, "\(`where`), \(path) by \(step) in pages")
      }
      var (changes, start): ([SeriesChange], SeriesQuery.Place?) = ([], .behind(0))
      while let place = start {
        let part = try await source.page(
          SeriesQuery(path, from: place, now: .now, limit: Int(random.next() % 500 + 1))
        ).get()
        changes += part.changes
        start = part.next
      }
      let known = changes.map { change in
        HistoryModel.Change(
          time: change.time.milliseconds, revision: change.revision.number, value: change.value?.description)
      }
      #expect((known == records.model.changes[path]) as Bool, "\(`where`), changes of \(path)")
    }
    #expect(
      await source.page(SeriesQuery(SensorRecords.other, from: .behind(0), now: .now, limit: 1)).failure == .notKept)
  }

  @Test func `whatever is asked is as if it were reckoned from all changes`() async throws {
    for seed in Self.seed..<Self.seed + UInt64(Self.runs) {
      let folder = try TemporaryFolder()
      var records = SensorRecords(seed: seed)
      var random = RandomRecords.Generator(seed: seed)
      var configuration = configuration(folder)
      configuration.history = try historyConfiguration()
      // Several starts, so that what is open is read back.
      for round in 0..<4 {
        let storage = try Recovery(configuration).start()
        let source = try #require(storage.history)
        for _ in 0..<700 {
          while storage.journal.isFull { usleep(100) }
          storage.journal.append(records.next())
        }
        while storage.journal.durable < storage.journal.position { usleep(100) }
        try await Self.compare(source, records, "seed \(seed), round \(round)", random: &random)
        #expect(storage.close() == nil)
      }
    }
  }

  @Test func `a part of the values is answered from the changes`() async throws {
    let folder = try TemporaryFolder()
    var configuration = configuration(folder)
    configuration.history = try historyConfiguration(["s/** raw 1d, 1m 1d", "t 1m 1d"])
    let storage = try Recovery(configuration).start()
    let store = PropertyStore(restoring: Self.replica(), sink: storage.journal, compile: Self.compile)
    // However long it takes.
    let began = Timestamp(milliseconds: Timestamp.now.milliseconds - 1)
    for value in [#"{"x":1,"y":"a"}"#, #"{"x":3}"#, #"{"y":2}"#] { try store.set("s", JSONText(validating: value)) }
    try store.set("t", JSONText(1))
    while storage.journal.durable < storage.journal.position { usleep(100) }
    let source = try #require(storage.history)
    func ask(_ path: PropertyPath, _ step: Int64?, _ pointer: String?) async throws -> Result<SeriesPage, SeriesRefusal>
    {
      await source.page(
        SeriesQuery(
          path, from: .time(began), now: .now, step: step, limit: 10_000,
          pointer: try pointer.map { try JSONPointer($0) }))
    }
    let changes = try await ask("s", nil, "/x").get().changes.map(\.operation)
    #expect(changes == [.set(SeriesValue([0x31])), .set(SeriesValue([0x33])), .delete])
    let buckets = try await ask("s", 60_000, "/x").get()
    #expect(buckets.tier == nil && buckets.buckets.reduce(0) { $0 + $1.count } == 3, "\(buckets)")
    #expect(try await ask("t", 60_000, "/x").failure == .notRaw)
    #expect(try await ask("t", nil, nil).failure == .notRaw)
    #expect(try await ask("t", 1000, nil).failure == .noTier(shortest: 60_000))
    #expect(try await ask("t", 120_000, nil).get().tier == 60_000)
    #expect(storage.close() == nil)
  }

  private static func replica() -> Replica { Replica(epoch: .random(), limits: StoreLimits()) }

  private static func compile(_ source: String) throws(FormulaError) -> Formula { Formula(uncompiled: source) }
}

extension SeriesChange {
  var value: SeriesValue? { if case .set(let value) = operation { value } else { nil } }
}

extension Result {
  fileprivate var failure: Failure? { if case .failure(let failure) = self { failure } else { nil } }
}
