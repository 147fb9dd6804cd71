// SPDX-License-Identifier: MIT
import Foundation
import JSON
import SignalStore
import Synchronization
import TestSupport
import Testing

@testable import SignalHTTP

/// The rules of delivery against a model that knows no groups, blocks, windows or replays.
///
/// Random clients with every option, random sets, deletions, expiries and transactions, clients that read nothing for a
/// while, broken connections and resumption. `DELIVERY_RUNS=10000` in the environment makes it long, and
/// `DELIVERY_FIRST=10001` begins with another seed.
@Suite("Hub, delivery against the rules")
struct DeliveryModelTests {
  private static let runs = ProcessInfo.processInfo.environment["DELIVERY_RUNS"].flatMap { UInt64($0) } ?? 200
  private static let first = ProcessInfo.processInfo.environment["DELIVERY_FIRST"].flatMap { UInt64($0) } ?? 1

  @Test func `no client finds fault with what it is told`() async throws {
    var sum = DeliveryRun.Outcome()
    // One seed alone, to look at it.
    let only = ProcessInfo.processInfo.environment["DELIVERY_SEED"].flatMap { UInt64($0) }
    for seed in only.map({ $0...$0 }) ?? Self.first...Self.first + Self.runs - 1 {
      let outcome = try await onHub { loop in DeliveryRun(seed: seed, on: loop).run(on: loop) }
      if let fault = outcome.fault {
        Issue.record("seed \(seed) (DELIVERY_SEED=\(seed)): \(fault)")
        break
      }
      sum.add(outcome)
    }
    print("delivery model: \(Self.runs) runs, \(sum)")
    // What was to be tried has happened.
    #expect(sum.events > 0 && sum.gaps > 0 && sum.resumed > 0 && sum.tooSlow > 0 && sum.ended > 0 && sum.resets > 0)
    #expect(sum.expired > 0)
  }
}

/// One run: a store, its hub, and some clients.
private final class DeliveryRun {
  struct Outcome: Sendable {
    var fault: String?
    var events = 0
    var gaps = 0
    var resumed = 0
    var tooSlow = 0
    var ended = 0
    var resets = 0
    var expired = 0

    mutating func add(_ other: Outcome) {
      events += other.events
      gaps += other.gaps
      resumed += other.resumed
      tooSlow += other.tooSlow
      ended += other.ended
      resets += other.resets
      expired += other.expired
    }
  }

  private var random: SplitMix
  private let test: HubUnderTest
  private let timers = ManualTimers()
  /// What the store has ended by itself since the last time it was asked.
  private let expiries = ExpiryLog()
  /// When properties with a time to live are to end, in the time of `timers`.
  private var deadlines: [String: Duration] = [:]
  private var clients: [ModelClient] = []
  /// The clients that are connected, by what they have asked for.
  private var groups: [SubscriptionGroup.Key: ModelGroup] = [:]
  /// Whether the hub keeps in mind all paths, so that the model can tell what each deadband lets through.
  private let isSliced: Bool
  private let isExact: Bool
  /// From when on a client has taken everything.
  private var readsSince: [ObjectIdentifier: UInt64] = [:]
  private var state: [String: ModelValue] = [:]
  private var revisions: [String: UInt64] = [:]
  private var history: [ModelChange] = []
  private var outcome = Outcome()

  init(seed: UInt64, on loop: isolated EventLoop) {
    random = SplitMix(state: seed)
    // Some of them have to stop in the midst of commits.
    isSliced = seed % 2 == 0
    loop.work = TurnWork(limit: isSliced ? Int(seed % 7) + 1 : 100_000)
    isExact = seed % 4 != 0
    // A history of a few changes is often shorter than an absence.
    let history = seed % 3 == 0 ? 6 : 64
    test = HubUnderTest(
      store: .forTests(limits: StoreLimits(historyChanges: history), timers: timers), bookmark: .milliseconds(700),
      pace: Replay.Pace(snapshotBytes: 200, turnProperties: 5),
      limits: .forTests(deadbandPaths: isExact ? 100 : 4, conflatedBytes: 1200), on: loop)
    expiries.follow(test.store)
  }

  private func chance(_ number: Int) -> Bool { Int.random(in: 0..<number, using: &random) == 0 }

  func run(on loop: isolated EventLoop) -> Outcome {
    do {
      for _ in 0..<150 { try step(on: loop) }
      for client in clients { client.connection?.isBlocked = false }
      for _ in 0..<4 { try turn(400, on: loop) }
      for client in clients where client.connection != nil {
        try client.checkPrompt(loop.now, since: 0)
        try client.checkTruth(state)
      }
    } catch {
      outcome.fault = "\(error)"
    }
    outcome.events = clients.reduce(0) { $0 + $1.received }
    outcome.gaps = clients.reduce(0) { $0 + $1.gaps }
    return outcome
  }

  private func step(on loop: isolated EventLoop) throws {
    switch Int.random(in: 0..<20, using: &random) {
    case 0:
      if clients.count < 10 {
        // Often like another one, so that they share a group.
        let options = chance(2) ? clients.randomElement(using: &random)?.options : nil
        clients.append(ModelClient(options ?? .random(isExact: isExact, using: &random), isExact: isExact))
      }
      connect(on: loop)
    case 1: connect(on: loop)
    case 2: if chance(2), let client = clients.randomElement(using: &random) { disconnect(client) }
    case 3, 4:
      guard let client = clients.randomElement(using: &random), let connection = client.connection else { return }
      connection.isBlocked.toggle()
      readsSince[ObjectIdentifier(client)] = loop.now
    case 5..<9: try turn([0, 0, 5, 30, 100, 250].randomElement(using: &random) ?? 0, on: loop)
    default: try write(at: loop.now)
    }
  }

  // MARK: Writing

  private func write(at time: UInt64) throws {
    var operations: [PropertyStore.Operation] = []
    var changes: [(path: String, new: ModelValue?)] = []
    for _ in 0..<(chance(3) ? Int.random(in: 2...3, using: &random) : 1) {
      let path = ["a", "a/x", "a/y", "b", "b/x/y", "c"].randomElement(using: &random) ?? "a"
      guard !changes.contains(where: { $0.path == path }) else { continue }
      var new = chance(4) ? nil : ModelValue.random(using: &random)
      // An equal value is no change, but its time to live counts.
      if new != nil, chance(4), let old = state[path] { new = old }
      changes.append((path, new))
      let ttl = chance(3) ? Duration.milliseconds([20, 55, 150, 400, 900].randomElement(using: &random) ?? 20) : nil
      deadlines[path] = new == nil ? nil : ttl.map { timers.now + $0 }
      operations.append(
        try new.map { .set(PropertyPath(stringLiteral: path), try .init(validating: $0.text), ttl: ttl) }
          ?? .delete(PropertyPath(stringLiteral: path)))
    }
    let revision = try test.store.transact(operations).revision.number
    happens(
      changes.compactMap { path, new in
        if state[path] == new { return nil }
        return ModelChange(revision: revision, op: new == nil ? .delete : .set, path: path, old: state[path], new: new)
      }, at: time)
  }

  private func happens(_ made: [ModelChange], at time: UInt64) {
    for change in made {
      state[change.path] = change.new
      revisions[change.path] = change.revision
    }
    history += made
    for group in groups.values { group.happens(made, at: time) }
  }

  /// Time passes, and ends properties: every one that is 100 ms over its time, and none before it.
  private func expire(after milliseconds: UInt64, on loop: isolated EventLoop) throws {
    timers.advance(by: .milliseconds(milliseconds))
    for (revision, path) in expiries.take() {
      guard let deadline = deadlines.removeValue(forKey: path), deadline <= timers.now else {
        throw ModelClient.Fault(description: "\(path) has ended before its time, at \(revision)")
      }
      outcome.expired += 1
      let change = ModelChange(revision: revision, op: .expire, path: path, old: state[path], new: nil)
      happens([change], at: loop.now + milliseconds * 1_000_000)
    }
    if let late = deadlines.first(where: { $0.value + .milliseconds(100) < timers.now }) {
      throw ModelClient.Fault(description: "\(late.key) should have ended at \(late.value), and it is \(timers.now)")
    }
  }

  // MARK: Clients

  /// Brings back one that is not connected, from where it was.
  private func connect(on loop: isolated EventLoop) {
    guard let client = clients.filter({ $0.connection == nil }).randomElement(using: &random),
      let options = try? client.options.subscription()
    else { return }
    let connection = test.connect(highWaterMark: 300)
    client.connection = connection
    connection.isBlocked = chance(4)
    readsSince[ObjectIdentifier(client)] = loop.now
    let since = client.cursor
    let membership = connection.subscribe(
      options, initial: client.options.initial,
      since: since.map { Cursor(epoch: test.store.epoch, revision: Revision($0)) }, take: client.options.take,
      wire: client.options.wire, on: loop)
    if membership.recovered == true { outcome.resumed += 1 }
    if membership.recovered == false { outcome.resets += 1 }
    let present = state.keys.sorted { PropertyPath(stringLiteral: $0) < PropertyPath(stringLiteral: $1) }
    client.begins(
      recovered: membership.recovered,
      snapshot: present.compactMap { path in state[path].map { (path, $0, revisions[path] ?? 0) } },
      missed: history.filter { $0.revision > since ?? 0 }, at: loop.now)
    let group = groups[membership.group.key] ?? ModelGroup(client.options)
    groups[membership.group.key] = group
    group.join(client, recovered: membership.recovered)
  }

  private func disconnect(_ client: ModelClient) {
    guard let connection = client.connection else { return }
    test.disconnect(connection)
    client.connection = nil
    if let (key, group) = groups.first(where: { $0.value.clients.contains { $0 === client } }), group.leave(client) {
      groups[key] = nil
    }
  }

  private func turn(_ milliseconds: UInt64, on loop: isolated EventLoop) throws {
    try expire(after: milliseconds, on: loop)
    test.turn(after: milliseconds, on: loop)
    for client in clients {
      do {
        try listen(client, on: loop)
      } catch {
        throw ModelClient.Fault(description: "\(error)\nat \(loop.now) to \(client)")
      }
    }
  }

  private func listen(_ client: ModelClient, on loop: isolated EventLoop) throws {
    guard let connection = client.connection else { return }
    // What was sent before the end arrives, whoever ends it.
    if !connection.isOpen {
      connection.isBlocked = false
      connection.flush(on: loop)
    }
    for message in connection.take() { try client.hears(message) }
    if connection.closed.isClosed {
      outcome.tooSlow += 1
      try client.wasClosed(resumeFrom: connection.closed.resumeFrom?.number)
      disconnect(client)
    } else if client.hasEnded {
      outcome.ended += 1
      disconnect(client)
    } else if !connection.isBlocked, !isSliced {
      // What is routed over several turns may come an interval later.
      try client.checkPrompt(loop.now, since: readsSince[ObjectIdentifier(client)] ?? 0)
      if client.options.delivery.maxRate == nil { try client.checkTruth(state) }
    }
  }
}

/// Which properties a store has ended by itself, in their order.
private final class ExpiryLog: Sendable {
  private let ended = Mutex<[(revision: UInt64, path: String)]>([])
  private let subscription = Mutex<Subscription?>(nil)

  func follow(_ store: PropertyStore) {
    let new = store.changes.subscribe { [weak self] commit in
      for change in commit where change.op == .expire {
        self?.ended.withLock { $0.append((change.revision.number, change.path.description)) }
      }
    }
    subscription.withLock { $0 = new }
  }

  func take() -> [(revision: UInt64, path: String)] {
    ended.withLock { ended in
      defer { ended = [] }
      return ended
    }
  }
}
