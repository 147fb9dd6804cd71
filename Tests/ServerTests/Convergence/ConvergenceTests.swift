// SPDX-License-Identifier: MIT
import Foundation
import JSON
import SignalHTTP
import SignalStore
import Synchronization
import TestSupport
import Testing

/// Many write while many watch, and every watcher knows the truth in the end: each change once, in order, none missing.
///
/// `CONVERGENCE=full` in the environment makes the first of them large.
@Suite("Convergence", .serialized)
struct ConvergenceTests {
  /// How much is done.
  struct Plan: Sendable {
    var writers = 8
    var writes = 250
    var paths = 20
    var watchers = 8
    /// So many of the watchers break their connection again and again, and resume.
    var reconnecting = 4
    /// Whether those that do not reconnect by themselves read nothing until all has been written.
    var othersSleep = false
    /// So many more watch server-sent events.
    var streams = 1
    /// Bytes of each value, about.
    var valueBytes = 10
    var seed: UInt64 = 1
    /// The mode of delivery of those who read WebSockets.
    var delivery = "auto"

    static var standard: Plan {
      guard ProcessInfo.processInfo.environment["CONVERGENCE"] == "full" else { return Plan() }
      // So much is written that watchers fall behind; every change reaches those who rather resume than leave some out.
      return Plan(
        writers: 50, writes: 2000, paths: 100, watchers: 20, reconnecting: 10, streams: 2, delivery: "all")
    }
  }

  @Test func `every watcher sees each change once and in order, also one whose connection breaks`() throws {
    let plan = Plan.standard
    // Longer than all that is written, so that nobody is so far behind that only a snapshot helps.
    let history = StoreLimits(historyChanges: 1 << 20, historyBytes: 1 << 30)
    let outcome = try run(plan, TestServer(store: .forTests(limits: history)))
    #expect(outcome.folds.count == plan.watchers + plan.streams)
    for fold in outcome.folds {
      #expect(fold.resets == 0)
      // From wherever its snapshot was: the rest of what was written, no more and no less.
      #expect(fold.log == outcome.log.suffix(fold.log.count))
    }
    // What was to be tried has happened.
    #expect(outcome.folds.map(\.cutTransactions).reduce(0, +) > 0)
    #expect(outcome.folds.map(\.cutSnapshots).reduce(0, +) > 0)
  }

  @Test func `a history that is too short costs snapshots but no truth`() throws {
    let store = PropertyStore.forTests(limits: StoreLimits(historyChanges: 16))
    let plan = Plan(writes: 120, reconnecting: 8, seed: 2)
    let outcome = try run(plan, TestServer(store: store))
    #expect(outcome.folds.map(\.resets).reduce(0, +) > 0)
  }

  @Test func `watchers that are too slow resume and lose nothing`() throws {
    var limits = Limits()
    limits.highWaterMark = 64 << 10
    let plan = Plan(
      writes: 50, watchers: 4, reconnecting: 2, othersSleep: true, valueBytes: 8000, seed: 3, delivery: "all")
    let outcome = try run(plan, TestServer(limits: limits))
    for fold in outcome.folds {
      #expect(fold.resets == 0)
      #expect(fold.log == outcome.log.suffix(fold.log.count))
    }
    #expect(outcome.closedAsTooSlow >= plan.watchers - plan.reconnecting)
  }

  // MARK: Running

  private struct Outcome {
    /// Every change that was committed, in order.
    let log: [String]
    let folds: [Fold]
    let closedAsTooSlow: Int
  }

  /// Carries the plan out, and demands that every watcher ends with the store's contents.
  private func run(_ plan: Plan, _ server: TestServer) throws -> Outcome {
    let stage = Stage(writers: plan.writers)
    let record = server.store.changes.subscribe { commit in
      stage.record(commit.map { "\($0.revision) \($0.path)" })
    }
    // Something is there already, so that the first snapshots can be cut.
    for number in 0..<plan.paths { try server.store.set("p/\(number)", "0") }
    try concurrently(plan.writers + plan.watchers + plan.streams) { index in
      if index < plan.writers {
        defer { stage.writerIsDone(at: server.store) }
        try write(plan, index, server)
      } else if index < plan.writers + plan.watchers {
        stage.add(try watch(plan, index, server, stage))
      } else {
        stage.add(try watchStream(plan, index, server, stage))
      }
    }
    _ = record
    let truth = server.store.snapshot().scan().reduce(into: [String: Fold.Entry]()) { truth, stored in
      truth[stored.path.description] = .init(value: stored.value.description, revision: Int(stored.revision.number))
    }
    for fold in stage.folds {
      #expect(fold.state == truth)
      #expect(fold.cursor == Int(server.store.revision.number))
    }
    return Outcome(log: stage.log, folds: stage.folds, closedAsTooSlow: stage.closedAsTooSlow)
  }

  private func write(_ plan: Plan, _ index: Int, _ server: TestServer) throws {
    var random = SplitMix(state: plan.seed << 32 | UInt64(index))
    let client = try server.connect()
    let filler = String(repeating: "x", count: max(0, plan.valueBytes - 8))
    func path() -> String { "p/\(Int.random(in: 0..<plan.paths, using: &random))" }
    for number in 0..<plan.writes {
      let value = "\"\(index) \(number) \(filler)\""
      switch Int.random(in: 0..<10, using: &random) {
      case 0:
        #expect([204, 404].contains(try client.request("DELETE", "/properties/\(path())").status))
      case 1...3:
        let paths = Set((0..<Int.random(in: 2...5, using: &random)).map { _ in path() })
        let operations = paths.sorted().map { path in
          Bool.random(using: &random)
            ? #"{"op":"set","path":"\#(path)","value":\#(value)}"# : #"{"op":"delete","path":"\#(path)"}"#
        }
        let body = #"{"operations":[\#(operations.joined(separator: ","))]}"#
        #expect(try client.request("POST", "/transactions", body: body).status == 200)
      default:
        #expect([201, 204].contains(try client.request("PUT", "/properties/\(path())", body: value).status))
      }
    }
  }

  /// Watches over WebSocket until the last revision is known.
  private func watch(_ plan: Plan, _ index: Int, _ server: TestServer, _ stage: Stage) throws -> Fold {
    var random = SplitMix(state: plan.seed << 32 | UInt64(index))
    let breaks = index - plan.writers < plan.reconnecting
    var sleeps = plan.othersSleep && !breaks
    var fold = Fold()
    while true {
      let client = try LiveClient(server, receiveBuffer: sleeps ? 4096 : nil)
      let since = fold.cursor.map { #","since":"\#(client.hello.string("epoch") ?? "").\#($0)""# } ?? ""
      try client.send(#"{"id":1,"type":"subscribe","match":"**","delivery":{"mode":"\#(plan.delivery)"}\#(since)}"#)
      var left = breaks ? Int.random(in: 1...80, using: &random) : .max
      do {
        while left > 0 {
          if fold.isComplete(stage.lastRevision) { return fold }
          guard let message = try client.next(within: .milliseconds(50)) else {
            try stage.waited(for: fold)
            continue
          }
          try fold.receive(message)
          left -= 1
          if sleeps, message.type == "live" {
            sleeps = false
            stage.waitForWriters()
          }
        }
      } catch LiveClient.Failure.closed(let frame) where frame.code == .tooSlow {
        // The server may know less of what has come than the client, never more.
        if let revision = Int(frame.reason.split(separator: ".").last ?? "") {
          #expect(revision <= fold.cursor ?? -1, "\(frame.reason)")
        } else {
          #expect(frame.reason.hasSuffix("subscribe anew"))
        }
        stage.wasTooSlow()
      }
      if Bool.random(using: &random) { client.socket.socket.resetAtEnd() }
      fold.connectionEnded()
    }
  }

  /// Watches server-sent events until the last revision is known, like a browser: it resumes with the last id.
  private func watchStream(_ plan: Plan, _ index: Int, _ server: TestServer, _ stage: Stage) throws -> Fold {
    var random = SplitMix(state: plan.seed << 32 | UInt64(index))
    var fold = Fold()
    var lastID: String?
    while true {
      let stream = try EventStreamClient(
        server, query: "match=**&mode=\(plan.delivery)", fields: lastID.map { [("Last-Event-ID", $0)] } ?? [])
      var left = Int.random(in: 1...200, using: &random)
      do {
        while left > 0 {
          if fold.isComplete(stage.lastRevision) { return fold }
          guard let block = try stream.next(within: .milliseconds(50)) else {
            try stage.waited(for: fold)
            continue
          }
          if let message = block.message { try fold.receive(message) }
          if let id = block.id {
            lastID = id
            // The id is on what gives a cursor, so the fold knows everything up to it.
            #expect(id == "e.\(fold.cursor ?? -1)")
          }
          left -= 1
        }
      } catch EventStreamClient.Failure.ended {}
      fold.connectionEnded()
    }
  }
}

extension Fold {
  /// Whether everything is known up to a revision, once that is known.
  fileprivate func isComplete(_ revision: Int?) -> Bool { revision != nil && cursor == revision }
}

/// What the threads share.
private final class Stage: Sendable {
  private struct State {
    var folds: [Fold] = []
    var closedAsTooSlow = 0
    var writersLeft: Int
    var deadline: ContinuousClock.Instant?
  }
  private let state: Mutex<State>
  /// By itself, because it is written on a loop of the server, which must not wait for watchers.
  private let changes = Mutex<[String]>([])
  /// Zero until all writers are done; every watcher asks for it after every message.
  private let last = Atomic(0)
  private let writers = DispatchGroup()

  init(writers count: Int) {
    state = Mutex(State(writersLeft: count))
    for _ in 0..<count { writers.enter() }
  }

  var log: [String] { changes.withLock(\.self) }
  var folds: [Fold] { state.withLock { $0.folds } }
  var closedAsTooSlow: Int { state.withLock { $0.closedAsTooSlow } }
  /// The revision of the last change, once all writers are done.
  var lastRevision: Int? {
    let revision = last.load(ordering: .acquiring)
    return revision == 0 ? nil : revision
  }

  func record(_ new: [String]) { changes.withLock { $0 += new } }

  func add(_ fold: Fold) { state.withLock { $0.folds.append(fold) } }

  func wasTooSlow() { state.withLock { $0.closedAsTooSlow += 1 } }

  func waitForWriters() { writers.wait() }

  func writerIsDone(at store: PropertyStore) {
    state.withLock { state in
      state.writersLeft -= 1
      guard state.writersLeft == 0 else { return }
      state.deadline = .now + .seconds(60)
      last.store(Int(store.revision.number), ordering: .releasing)
    }
    writers.leave()
  }

  /// Nothing came for a moment; when the writers have long been done, something is missing.
  func waited(for fold: Fold) throws {
    guard let deadline = state.withLock({ $0.deadline }), deadline < .now else { return }
    throw Fold.Violation(description: "known up to \(fold.cursor ?? -1) of \(lastRevision ?? -1), and nothing comes")
  }
}
