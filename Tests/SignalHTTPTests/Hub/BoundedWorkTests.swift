// SPDX-License-Identifier: MIT
import CEL
import JSON
import SignalStore
import Synchronization
import TestSupport
import Testing

@testable import SignalHTTP

/// What a hub does in one turn is bounded, and what does not fit is done in the next ones: counted in units of work.
@Suite("Hub, bounded work")
struct BoundedWorkTests {
  private static func options(_ pattern: String, where filter: String? = nil) throws -> SubscriptionOptions {
    SubscriptionOptions(
      patterns: [try PathPattern(pattern)], filter: try filter.map { try Filter($0, limits: CELLimits()) })
  }

  private static func transaction(_ paths: [String], _ value: Int) throws -> [PropertyStore.Operation] {
    try paths.map { .set(try PropertyPath($0), try JSONText(validating: "\(value)")) }
  }

  /// A filter that no index knows, and that costs some thousand units each time.
  private static func expensive(_ number: Int) -> String {
    "size(lists.range(1000).filter(x, x + \(number) == -1)) == 0 && value + \(number) > 0"
  }

  @Test func `a transaction takes as many turns as it needs, and is given undivided`() async throws {
    try await onHub { loop in
      let test = HubUnderTest(on: loop)
      loop.work = TurnWork(limit: 3)
      let clients = try (0..<20).map { number in
        let client = test.connect()
        client.subscribe(try Self.options("**", where: "value + \(number) > 0"), on: loop)
        return client
      }
      test.turn(on: loop)
      for client in clients { _ = client.texts() }
      _ = try test.store.transact(Self.transaction(["a", "b", "c"], 1))
      var slices = 0
      repeat {
        test.slice(on: loop)
        slices += 1
        // All or nothing, however far the hub has come.
        for client in clients { #expect([0, 3].contains(client.take().count)) }
      } while test.hub.hasWorkLeft
      #expect(slices > 20)
      _ = try test.store.transact(Self.transaction(["a", "b", "c"], 2))
      test.turn(on: loop)
      for client in clients {
        let texts = client.texts()
        #expect(texts.map { $0.contains(#""more":true"#) } == [true, true, false])
      }
    }
  }

  @Test func `who joins and who leaves in the midst of a commit finds it whole`() async throws {
    try await onHub { loop in
      let test = HubUnderTest(on: loop)
      loop.work = TurnWork(limit: 1)
      let clients = try (0..<4).map { number in
        let client = test.connect()
        client.subscribe(try Self.options("**", where: "value + \(number) > 0"), on: loop)
        return client
      }
      test.turn(on: loop)
      for client in clients { _ = client.texts() }
      _ = try test.store.transact(Self.transaction(["a", "b"], 1))
      test.slice(on: loop)
      #expect(test.hub.hasWorkLeft)
      // The same group as the first, which has a part of the commit; a new one; and one in the place of the last.
      test.disconnect(clients[3])
      let like = test.connect()
      like.subscribe(try Self.options("**", where: "value + 0 > 0"), on: loop)
      let other = test.connect()
      other.subscribe(try Self.options("a", where: "value + 9 > 0"), on: loop)
      test.turn(on: loop)
      for client in clients[..<3] { #expect(client.texts().count == 2) }
      #expect(like.texts().map { $0.contains("live") } == [false, false, true])
      #expect(other.texts().map { $0.contains("live") } == [false, true])
      #expect(clients[3].take().isEmpty)
      try test.store.set("a", "2")
      test.turn(on: loop)
      for client in [clients[0], clients[1], clients[2], like, other] {
        #expect(client.texts().map { $0.contains(#""value":2"#) } == [true])
      }
    }
  }

  @Test func `a client that has drained in the midst of a commit catches up behind it`() async throws {
    try await onHub { loop in
      let test = HubUnderTest(on: loop)
      let client = test.connect(highWaterMark: 100)
      let other = test.connect()
      for client in [client, other] { client.subscribe(try Self.options("**", where: "value + 1 > 0"), on: loop) }
      test.turn(on: loop)
      client.isBlocked = true
      for value in 1...8 {
        try test.store.set("a", "\(value)")
        test.turn(on: loop)
      }
      loop.work = TurnWork(limit: 1)
      _ = try test.store.transact(Self.transaction(["a", "b", "c"], 9))
      test.slice(on: loop)
      client.isBlocked = false
      test.turn(on: loop)
      let texts = client.texts()
      #expect(texts.last?.contains(#""more":true"#) == false)
      let behind = texts.suffix(4)
      #expect(behind.first?.contains(#""type":"gap""#) == true)
      #expect(behind.dropFirst().map { $0.contains(#""value":9"#) } == [true, true, true])
    }
  }

  @Test func `the expensive filters of a connection may cost so much in a second, and fail beyond it`() async throws {
    try await onHub { loop in
      let failed = Counter()
      let test = HubUnderTest(limits: .forTests(filterWork: 40_000), filterFailed: { failed.add($1) }, on: loop)
      let store = test.store
      let hostile = test.connect()
      let modest = test.connect()
      for number in 0..<10 {
        hostile.subscribe(try Self.options("**", where: Self.expensive(number)), id: number + 1, on: loop)
      }
      modest.subscribe(try Self.options("**", where: "value + 5 > 0"), on: loop)
      test.turn(on: loop)
      _ = hostile.take()
      _ = modest.take()
      // The first time nobody knows what they cost.
      try store.set("a", "1")
      test.turn(on: loop)
      #expect(hostile.take().count == 10 && failed.value == 0)
      try store.set("a", "2")
      test.turn(on: loop)
      let told = hostile.take().count
      #expect((1..<10).contains(told) && failed.value == 10 - told)
      try store.set("a", "3")
      test.turn(on: loop)
      #expect(hostile.take().isEmpty && failed.value == 20 - told)
      #expect(modest.take().count == 3)
      try store.set("a", "4")
      test.turn(after: 1000, on: loop)
      #expect(!hostile.take().isEmpty && modest.take().count == 1)
    }
  }

  @Test func `a turn evaluates no more expensive filters than fit into it`() async throws {
    try await onHub { loop in
      let test = HubUnderTest(on: loop)
      loop.work = TurnWork(limit: 10_000)
      let client = test.connect()
      for number in 0..<30 {
        client.subscribe(try Self.options("**", where: Self.expensive(number)), id: number, on: loop)
      }
      test.turn(on: loop)
      _ = client.take()
      try test.store.set("a", "1")
      var slices = 0
      repeat {
        test.slice(on: loop)
        slices += 1
        #expect(loop.work.routing > -10_000, "at most one evaluation too many")
      } while test.hub.hasWorkLeft
      #expect(slices > 5)
      #expect(client.take().count == 30)
    }
  }

  @Test func `the beginning of a subscription with an expensive filter is made over several turns`() async throws {
    try await onHub { loop in
      let test = HubUnderTest(on: loop)
      loop.work = TurnWork(limit: 10_000)
      for number in 0..<50 { try test.store.set("p/\(number)", "\(number)") }
      let client = test.connect()
      let membership = client.subscribe(try Self.options("**", where: Self.expensive(1)), on: loop)
      var pieces = 0
      while membership.isReplaying {
        loop.work.begin()
        membership.proceed(on: loop)
        pieces += 1
        #expect(loop.work.replays > -10_000)
      }
      #expect(pieces > 10)
      test.turn(on: loop)
      #expect(client.take().count == 51)
    }
  }

  @Test func `thousands of subscriptions that end at once are taken out over several turns`() async throws {
    try await onHub { loop in
      let test = HubUnderTest(on: loop)
      let clients = try (0..<100).map { number in
        let client = test.connect()
        for subscription in 0..<20 {
          client.subscribe(try Self.options("p/\(number)/\(subscription)"), id: subscription, on: loop)
        }
        return client
      }
      let path: PropertyPath = "p/7/7"
      test.turn(on: loop)
      #expect(test.hub.watchers.count(path) == 1 && test.store.commits.observerCount == 1)
      for client in clients { test.disconnect(client) }
      var slices = 0
      repeat {
        test.slice(on: loop)
        slices += 1
      } while test.hub.hasWorkLeft
      #expect(slices > 3)
      #expect(test.hub.watchers.count(path) == 0 && test.store.commits.observerCount == 0)
    }
  }

  @Test func `a subscription that has ended is no longer counted among the watchers`() async throws {
    try await onHub { loop in
      let test = HubUnderTest(on: loop)
      let client = test.connect()
      client.subscribe(try Self.options("a"), on: loop)
      test.turn(on: loop)
      let path: PropertyPath = "a"
      #expect(test.hub.watchers.count(path) == 1)
      test.disconnect(client)
      // Also for a request that comes in the same turn.
      #expect(test.hub.watchers.count(path) == 0)
      test.turn(on: loop)
      #expect(test.hub.watchers.count(path) == 0 && test.store.commits.observerCount == 0)
    }
  }

  @Test func `a subscription in the place of one that has just ended begins anew`() async throws {
    try await onHub { loop in
      let test = HubUnderTest(on: loop)
      var delivery = DeliveryOptions()
      delivery.maxRate = 1
      var options = try Self.options("**")
      options.delivery = delivery
      let first = test.connect()
      first.subscribe(options, on: loop)
      test.turn(on: loop)
      try test.store.set("a", "1")
      test.turn(on: loop)
      try test.store.set("a", "2")
      test.turn(on: loop)
      test.disconnect(first)
      let second = test.connect()
      second.subscribe(options, on: loop)
      test.turn(after: 5000, on: loop)
      #expect(second.texts().map { $0.contains("live") } == [false, true])
    }
  }
}

/// Counts on one thread, from a closure that may be called on any.
private final class Counter: Sendable {
  private let count = Atomic(0)
  var value: Int { count.load(ordering: .relaxed) }
  func add(_ number: Int) { count.add(number, ordering: .relaxed) }
}
