// SPDX-License-Identifier: MIT

import Foundation
import JSON
import Testing

@testable import SignalStore

/// The records of random runs, applied to a second replica.
///
/// `REPLAY_RUNS` says how many; seeds count from `REPLAY_SEED`.
@Suite("Records") struct ReplayTests {
  private static let runs = ProcessInfo.processInfo.environment["REPLAY_RUNS"].flatMap { UInt64($0) } ?? 300
  private static let firstSeed = ProcessInfo.processInfo.environment["REPLAY_SEED"].flatMap { UInt64($0) } ?? 1

  private static var seeds: Range<UInt64> { firstSeed..<firstSeed + runs }

  @Test func `replayed records give what the store has, from its beginning and from any moment`() throws {
    for seed in Self.seeds {
      let run = try RandomRun(seed: seed)
      let first = RecordLog()
      var copy = run.store.record(to: first)
      try run.steps(Int(seed % 7) * 20)
      let second = RecordLog()
      var late = run.store.record(to: second)
      try run.steps(100)
      for record in first.records + second.records { copy.apply(record) }
      for record in second.records { late.apply(record) }
      let result = run.store.replica
      if let difference = difference(result, copy) { Issue.record("seed \(seed), from the beginning: \(difference)") }
      if let difference = difference(result, late) { Issue.record("seed \(seed), from a snapshot: \(difference)") }
    }
  }

  @Test func `a store made of a snapshot and records goes on as records say`() throws {
    for seed in Self.seeds where seed % 4 == 0 {
      let run = try RandomRun(seed: seed)
      var log = RecordLog()
      var copy = run.store.record(to: log)
      for _ in 0..<3 {
        try run.steps(60)
        for record in log.records { copy.apply(record) }
        if let difference = difference(run.store.replica, copy) { Issue.record("seed \(seed): \(difference)") }
        log = RecordLog()
        run.restart(from: copy, sink: log)
        // What has to be taken up by the new process is no record; what it ends at once is some.
        #expect(run.store.epoch == copy.epoch && run.store.revision >= copy.revision, "seed \(seed)")
      }
    }
  }

  @Test func `every kind of record occurs`() throws {
    var kinds: Set<String> = []
    for seed in Self.seeds.prefix(20) {
      let run = try RandomRun(seed: seed)
      let log = RecordLog()
      run.store.record(to: log)
      try run.steps(200)
      for record in log.records {
        switch record {
        case .commit(let commit):
          for change in commit { kinds.insert("\(change.op)") }
          if commit.contains(where: { $0.new?.computation?.error == FormulaBudget.failure }) { kinds.insert("budget") }
        case .omittedCommit, .omittedAmendment, .rules: kinds.insert("omitted")
        case .amendment(let property): kinds.insert(property.computation == nil ? "renewal" : "reason")
        case .signal(_, let isKept): kinds.insert(isKept ? "kept" : "sent")
        case .timer: kinds.insert("timer")
        case .timerFired: kinds.insert("fired")
        case .timerRemoved: kinds.insert("removed")
        case .lastOperations(_, let operations): kinds.insert(operations == nil ? "cleared" : "registered")
        }
      }
    }
    #expect(
      kinds == [
        "set", "delete", "expire", "release", "budget", "renewal", "reason", "kept", "sent", "timer", "fired",
        "removed",
        "cleared", "registered",
      ])
  }
}
