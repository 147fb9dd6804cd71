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
    try await comparePart(source, records, `where`, random: &random)
    #expect(
      await source.page(SeriesQuery(SensorRecords.other, from: .behind(0), now: .now, limit: 1)).failure == .notKept)
  }

  /// The same of a part of the values, from any moment on.
  private static func comparePart(
    _ source: any SeriesSource, _ records: SensorRecords, _ where: String, random: inout RandomRecords.Generator
  ) async throws {
    let pointer = try JSONPointer("/x")
    let model = records.model.part(pointer)
    let now = records.time + 30_000
    for path in SensorRecords.paths {
      let whole = records.model.changes[path] ?? []
      for _ in 0..<4 {
        let first = whole[Int(random.next() % UInt64(whole.count))]
        for (begin, isIn) in [
          (.behind(Revision(first.revision)), { $0.revision > first.revision }),
          (.time(Timestamp(milliseconds: first.time)), { $0.time >= first.time }),
        ] as [(SeriesQuery.Place, (HistoryModel.Change) -> Bool)] {
          var (changes, start): ([SeriesChange], SeriesQuery.Place?) = ([], begin)
          while let place = start {
            let part = try await source.page(
              SeriesQuery(path, from: place, now: .now, limit: Int(random.next() % 20 + 1), pointer: pointer)
            ).get()
            #expect(!part.changes.isEmpty || part.next == nil, "an empty page")
            changes += part.changes
            start = part.next
          }
          let known = changes.map { change in
            HistoryModel.Change(
              time: change.time.milliseconds, revision: change.revision.number, value: change.value?.description)
          }
          let expected = (model.changes[path] ?? []).filter(isIn)
          #expect((known == expected) as Bool, "\(`where`), changes of /x of \(path) from \(begin)")
        }
        for step in [1000, 60_000] as [Int64] {
          let from = max(first.time, now - 2000 * step)
          let until = from + Int64(random.next() % 300) * step
          let query = SeriesQuery(
            path, from: .time(Timestamp(milliseconds: from)), to: .time(Timestamp(milliseconds: until)),
            now: Timestamp(milliseconds: now), step: step, limit: 10_000, pointer: pointer)
          let page = try await source.page(query).get()
          let begin = SeriesBucket.start(of: from, step: step)
          let last = SeriesBucket.start(of: until, step: step)
          let expected = model.rows(
            path, step: step, from: begin, to: min(now + 1, last == until ? last : last + step))
          if let difference = difference(expected, page.buckets) {
            Issue.record("\(`where`), /x of \(path) by \(step) from \(from): \(difference.prefix(600))")
          }
        }
      }
    }
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
    for value in [#"{"x":1,"y":"a"}"#, #"{"x":3}"#, #"{"x":3,"y":1}"#, #"{"y":2}"#, #"{"y":3}"#] {
      try store.set("s", JSONText(validating: value))
    }
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

  @Test func `a part changes only when it does, and a gap is followed by what there is`() throws {
    func sample(_ revision: UInt64, _ text: String?, _ kind: Sample.Kind = .value) -> Sample {
      Sample(
        time: Int64(revision) * 10, revision: revision, kind: text == nil && kind == .value ? .absent : kind,
        text: Array((text ?? "").utf8)[...])
    }
    let pointer = try JSONPointer("/a")
    var view = SeriesView(pointer)
    let samples = [
      sample(1, #"{"b":1}"#), sample(2, #"{"b":2}"#), sample(3, #"{"a":1}"#), sample(4, #"{"a":1,"c":1}"#),
      sample(5, nil, .unknown), sample(6, #"{"a":1,"c":2}"#), sample(7, #"{"b":3}"#), sample(8, nil),
      sample(9, nil, .unknown), sample(10, #"{"b":4}"#), sample(11, nil),
    ]
    let one = SeriesValue([0x31])
    #expect(
      samples.map { view.see($0) } == [nil, nil, .set(one), nil, .gap, .set(one), .delete, nil, .gap, .delete, nil])
    // The whole value changes with each.
    var whole = SeriesView(nil)
    #expect(samples.allSatisfy { whole.see($0) != nil })
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
