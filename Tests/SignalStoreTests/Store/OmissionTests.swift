// SPDX-License-Identifier: MIT

import Foundation
import JSON
import Testing

@testable import SignalStore

/// What a store omits of its records by rules, and what a restart makes of the rest.
///
/// `REPLAY_RUNS` says how many random runs there are.
@Suite("Records that are omitted") struct OmissionTests {
  private static let runs = ProcessInfo.processInfo.environment["REPLAY_RUNS"].flatMap { UInt64($0) } ?? 300

  private let clock = ManualClock()
  private let log = RecordLog()

  private func store(_ rules: String..., from replica: Replica? = nil, isClean: Bool = true) throws -> PropertyStore {
    let clock = clock
    return PropertyStore(
      restoring: replica ?? Replica(epoch: .random()), timers: clock, sink: log,
      rules: try rules.map { try PersistenceRule($0) }, isClean: isClean,
      clock: { Timestamp(milliseconds: 1_000_000 + clock.now.milliseconds) }, compile: RandomRun.formula)
  }

  /// What is left of the records on a disk, and up to which revision anybody has been told.
  private func kept(_ records: [Record], from start: Replica, through revision: Revision) -> Replica {
    var replica = start
    for record in records {
      switch record {
      case .omittedCommit, .omittedAmendment: break
      default: replica.apply(record)
      }
    }
    replica.skip(to: revision)
    return replica
  }

  private func kinds(_ records: some Sequence<Record>) -> [String] {
    records.map { record in
      switch record {
      case .commit(let commit): commit.map { "\($0.op) \($0.path)" }.joined(separator: " ")
      case .omittedCommit(let commit): "no " + commit.map { "\($0.op) \($0.path)" }.joined(separator: " ")
      case .amendment(let property): "amend \(property.path)"
      case .omittedAmendment(let property): "no amend \(property.path)"
      case .rules(let rules): "rules \(rules.count)"
      default: "other"
      }
    }
  }

  @Test func `of what is volatile only coming and going is kept, and a start removes it in one commit`() throws {
    let start = Replica(epoch: .random())
    let store = try store("here/** volatile", from: start)
    try store.set("here/a", number(1))
    try store.set("here/a", number(2))
    try store.set("here/b", number(1))
    try store.delete("here/b")
    try store.set("here/b", number(1), ttl: .seconds(9))
    try store.set("here/b", number(1), ttl: .seconds(19))
    try store.set("x", number(1))
    try store.transact([.set("here/a", number(3)), .set("x", number(2))])
    try store.set("here/a", number(4))
    #expect(
      kinds(log.records) == [
        "rules 1", "set here/a", "no set here/a", "set here/b", "delete here/b", "set here/b", "no amend here/b",
        "set x",
        "set here/a set x", "no set here/a",
      ])
    let seen = Cursor(epoch: store.epoch, revision: store.revision)
    let next = try self.store("here/** volatile", from: kept(log.records, from: start, through: store.revision))
    #expect(next.count == 1 && next.get("x")?.value == number(2))
    let missed = try #require(next.changes(since: seen))
    #expect(
      missed.map { $0.map { "\($0.op) \($0.path) \($0.isCorrection)" } } == [
        ["delete here/a true", "delete here/b true"]
      ])
    #expect(missed.map(\.revision) == [Revision(seen.revision.number + 1)])
    #expect(next.expiringCount == 0)
    // From further back, too.
    #expect(next.changes(since: Cursor(epoch: store.epoch, revision: 1))?.map(\.revision.number) == [3, 4, 5, 6, 7, 9])
  }

  @Test func `a value that changes often is kept at the end of each interval, the newest`() throws {
    let start = Replica(epoch: .random())
    let store = try store("s/** every 1s", from: start)
    try store.set("s/a", number(0))
    for value in 1...5 { try store.set("s/a", number(value)) }
    clock.advance(to: .milliseconds(999))
    #expect(kinds(log.records.suffix(2)) == ["no set s/a", "no set s/a"])
    clock.advance(to: .milliseconds(1001))
    guard case .amendment(let property)? = log.records.last else {
      Issue.record("\(kinds(log.records))")
      return
    }
    #expect(property.value == number(5) && property.revision == 6 && log.records.count == 8)
    // Nothing is left to be kept.
    clock.advance(to: .seconds(5))
    #expect(log.records.count == 8)
    try store.set("s/a", number(7))
    try store.delete("s/a")
    clock.advance(to: .seconds(9))
    #expect(kinds(log.records.suffix(2)) == ["no set s/a", "delete s/a"])
    // At the end everything is kept, and a start has nothing to correct but what somebody may have missed.
    try store.set("s/b", number(1))
    try store.set("s/b", number(2))
    store.keepOmitted()
    #expect(kinds(log.records.suffix(1)) == ["amend s/b"])
    let next = try self.store("s/** every 1s", from: kept(log.records, from: start, through: store.revision))
    #expect(next.get("s/b")?.value == number(2))
    #expect(
      next.changes(since: store.cursor)?.map { $0.map { "\($0.op) \($0.path) \($0.isCorrection)" } }
        == [["set s/b true"]])
  }

  @Test func `after a crash each is set anew, also where the rules are others`() throws {
    let start = Replica(epoch: .random())
    let store = try store("s/** every 1s", from: start)
    for value in 1...3 { try store.set("s/a", number(value)) }
    try store.set("x", number(1))
    let replica = kept(log.records, from: start, through: store.revision)
    for rules in [[], ["s/** volatile"], ["x every 1s"]] {
      let next =
        try rules.isEmpty
        ? self.store(from: replica, isClean: false)
        : self.store(
          rules[0], from: replica, isClean: false)
      let missed = try #require(next.changes(since: store.cursor)).map { $0.map { "\($0.op) \($0.path)" } }
      #expect(missed == [[rules == ["s/** volatile"] ? "delete s/a" : "set s/a"]], "\(rules)")
      #expect(next.replica.rules.map(\.description) == rules)
    }
  }

  @Test func `another formula, holder or kind of time to live is kept at once`() throws {
    let store = try store("s/** every 1s")
    let holder = store.makeHolder()
    try store.set("s/a", number(1))
    try store.set("s/a", number(2), ttl: .seconds(9))
    try store.set("s/a", number(3), ttl: .seconds(9))
    try store.set("s/a", number(3), ttl: .seconds(9))
    try store.set("s/a", number(3), ttl: .seconds(8))
    try store.set("s/a", number(4), holder: holder)
    try store.set("s/a", number(5), holder: holder)
    try store.set("s/a", number(6))
    try store.define("s/f", RandomRun.formula("sum s/a"))
    try store.set("s/a", number(7))
    try store.define("s/f", RandomRun.formula("sum s/a s/a"))
    #expect(
      kinds(log.records.dropFirst()) == [
        "set s/a", "set s/a", "no set s/a", "no amend s/a", "amend s/a", "set s/a", "no set s/a", "set s/a", "set s/f",
        "no set s/a set s/f", "set s/f",
      ])
  }

  @Test func `a disk that takes nothing is asked again at the end of the next interval`() throws {
    let sink = RefusingSink()
    let store = PropertyStore(
      restoring: Replica(epoch: .random()), timers: clock, sink: sink, rules: [try PersistenceRule("** every 1s")],
      compile: RandomRun.formula)
    for value in 1...3 { try store.set("a", number(value)) }
    sink.refuses.value = true
    let before = sink.log.records.count
    clock.advance(to: .milliseconds(1500))
    #expect(sink.log.records.count == before)
    sink.refuses.value = false
    clock.advance(to: .milliseconds(2500))
    #expect(kinds(sink.log.records.suffix(1)) == ["amend a"] && sink.log.records.count == before + 1)
  }

  @Test func `whoever resumes ends with what there is, after whatever start`() throws {
    let rules = try ["a volatile", "b/** volatile", "c every 100ms", "x/** every 700ms", "é every 10ms"].map {
      try PersistenceRule($0)
    }
    var resumed = 0
    for seed in 1...Self.runs {
      var random = StoreGenerator(seed: seed)
      var log = RecordLog()
      let run = try RandomRun(seed: seed, rules: rules, sink: log)
      var replica = Replica(epoch: run.store.epoch)
      for round in 0..<3 {
        // What each of some clients has seen, and up to where.
        var views: [(cursor: Cursor, paths: [PropertyPath: JSONText])] = []
        for _ in 0..<5 {
          try run.steps(random.number(below: 25))
          views.append((run.store.cursor, view(run.store)))
        }
        let isClean = random.chance(40)
        if isClean { run.store.keepOmitted() }
        // A copy that has every record is the same, omitted or not.
        var copy = replica
        for record in log.records { copy.apply(record) }
        if let difference = difference(run.store.replica, copy) { Issue.record("seed \(seed): \(difference)") }
        replica = kept(log.records, from: replica, through: run.store.revision)
        log = RecordLog()
        run.restart(from: replica, sink: log, rules: random.chance(70) ? rules : [], isClean: isClean)
        for (cursor, paths) in views {
          guard let missed = run.store.changes(since: cursor) else { continue }
          var fold = paths
          for commit in missed {
            for change in commit { fold[change.path] = change.new?.value }
          }
          resumed += 1
          if fold != view(run.store) {
            Issue.record("seed \(seed), round \(round), since \(cursor.revision): \(fold) is not \(view(run.store))")
          }
        }
      }
    }
    #expect(resumed > Int(Self.runs))
  }

  private func view(_ store: PropertyStore) -> [PropertyPath: JSONText] {
    Dictionary(uniqueKeysWithValues: store.snapshot().scan().map { ($0.path, $0.value) })
  }
}

/// A log that can refuse.
private final class RefusingSink: RecordSink {
  let log = RecordLog()
  let refuses = Box(false)

  func append(_ record: Record) { log.append(record) }

  var refusal: StorageRefusal? { refuses.value ? .full : nil }
}
