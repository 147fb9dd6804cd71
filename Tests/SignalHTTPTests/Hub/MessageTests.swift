// SPDX-License-Identifier: MIT
import CEL
import JSON
import SignalStore
import TestSupport
import Testing

@testable import SignalHTTP

/// Messages of signals on their way through the hub, beside changes.
@Suite("Hub, messages")
struct MessageTests {
  private static func options(_ pattern: String, where filter: String? = nil) throws -> SubscriptionOptions {
    SubscriptionOptions(
      patterns: [try PathPattern(pattern)],
      filter: try filter.map { try Filter($0, of: .signals, limits: CELLimits()) }, topic: .signals,
      delivery: DeliveryOptions(mode: .all))
  }

  private static func message(_ path: String, _ text: String, id: Int = 1) -> String {
    #"{"type":"signal","subscription":\#(id),"path":"\#(path)","message":\#(text)}"#
  }

  @Test func `messages and changes of one path are told to those who asked for them`() async throws {
    try await onHub { loop in
      let test = HubUnderTest(on: loop)
      let client = test.connect()
      client.subscribe(SubscriptionOptions(patterns: ["a"]), id: 1, on: loop)
      client.subscribe(try Self.options("a"), id: 2, on: loop)
      test.turn(on: loop)
      _ = client.take()
      try test.store.set("a", JSONText(1))
      try test.store.signals.send("a", JSONText(2))
      test.turn(on: loop)
      #expect(
        client.texts() == [
          #"{"type":"didSet","subscription":1,"path":"a","value":1,"revision":1}"#, Self.message("a", "2", id: 2),
        ])
    }
  }

  /// What an index decides, what it finds only, and what it does not know.
  @Test(arguments: [
    ("message == 2", ["2"]), ("message.x > 3", [#"{"x":4}"#]), ("path == 'a' && message != 1", ["2", #"{"x":4}"#]),
    ("path.startsWith('a')", ["1", "2", #"{"x":4}"#]), ("message == null", []),
  ])
  func `a filter is over path and message, with an index and without`(filter: String, expected: [String]) async throws {
    try await onHub { loop in
      let test = HubUnderTest(on: loop)
      let client = test.connect()
      client.subscribe(try Self.options("*", where: filter), on: loop)
      test.turn(on: loop)
      _ = client.take()
      for text in ["1", "2", #"{"x":4}"#] { try test.store.signals.send("a", JSONText(validating: text)) }
      test.turn(on: loop)
      #expect(client.texts() == expected.map { Self.message("a", $0) })
    }
  }

  @Test func `a beginning that the socket takes slowly comes before what is sent meanwhile, once`() async throws {
    try await onHub { loop in
      let test = HubUnderTest(pace: Replay.Pace(snapshotBytes: 1, turnProperties: 1), on: loop)
      for path in ["a", "b", "c"] { try test.store.signals.send(PropertyPath(path), JSONText(1), remember: true) }
      let early = test.connect()
      early.subscribe(try Self.options("**"), on: loop)
      test.turn(on: loop)
      _ = early.take()
      try test.store.signals.send("a", JSONText(2))
      let late = test.connect()
      late.isBlocked = true
      late.subscribe(try Self.options("**"), on: loop)
      try test.store.signals.send("b", JSONText(3))
      test.turn(on: loop)
      #expect(early.texts() == [Self.message("a", "2"), Self.message("b", "3")])
      late.isBlocked = false
      test.turn(on: loop)
      #expect(
        late.texts() == [
          #"{"type":"signal","subscription":1,"path":"b","message":1,"remembered":true}"#,
          #"{"type":"signal","subscription":1,"path":"c","message":1,"remembered":true}"#,
          #"{"type":"live","subscription":1,"revision":0}"#, Self.message("b", "3"),
        ])
    }
  }

  @Test func `messages whose filters take more than a turn do not hold up changes`() async throws {
    try await onHub { loop in
      let test = HubUnderTest(on: loop)
      loop.work = TurnWork(limit: 3)
      let clients = try (0..<20).map { number in
        let client = test.connect()
        client.subscribe(try Self.options("**", where: "message + \(number) > 0"), on: loop)
        return client
      }
      let watcher = test.connect()
      watcher.subscribe(SubscriptionOptions(patterns: ["a"]), on: loop)
      test.turn(on: loop)
      for client in clients + [watcher] { _ = client.take() }
      try test.store.signals.send("a", JSONText(1))
      try test.store.signals.send("b", JSONText(2))
      try test.store.set("a", JSONText(1))
      test.slice(on: loop)
      #expect(watcher.take().count == 1 && test.hub.hasWorkLeft)
      #expect(clients.contains { $0.take().isEmpty })
      // One leaves, another comes, in the midst of a message.
      test.disconnect(clients[0])
      let late = test.connect()
      late.subscribe(try Self.options("**"), on: loop)
      test.turn(on: loop)
      #expect(late.texts() == [#"{"type":"live","subscription":1,"revision":1}"#])
      try test.store.signals.send("c", JSONText(3))
      test.turn(on: loop)
      for client in clients[1...] + [late] { #expect(client.texts().last == Self.message("c", "3")) }
      #expect(clients[0].take().isEmpty)
    }
  }

  @Test func `a client that is too slow for messages resumes from the revision that its changes have reached`()
    async throws
  {
    try await onHub { loop in
      let test = HubUnderTest(on: loop)
      let client = test.connect(highWaterMark: 100)
      client.subscribe(SubscriptionOptions(patterns: ["a"]), id: 1, on: loop)
      client.subscribe(try Self.options("a"), id: 2, on: loop)
      let other = test.connect(highWaterMark: 100)
      other.subscribe(try Self.options("a"), on: loop)
      try test.store.set("a", JSONText(1))
      test.turn(on: loop)
      client.isBlocked = true
      other.isBlocked = true
      for _ in 0..<10 {
        try test.store.signals.send("a", JSONText("a message of some length"))
        test.turn(on: loop)
      }
      #expect(client.closed == (true, 1))
      // Messages leave nothing to resume from.
      #expect(other.closed.isClosed && other.closed.resumeFrom == nil)
    }
  }

  @Test func `signals are nobody's demand, have no bookmarks, and are observed only while somebody listens`()
    async throws
  {
    try await onHub { loop in
      let test = HubUnderTest(bookmark: .seconds(1), on: loop)
      let client = test.connect()
      client.subscribe(try Self.options("a"), wire: .eventStream(chunked: false), on: loop)
      test.turn(on: loop)
      #expect(client.take().map(\.id) == [nil])
      #expect(test.hub.watchers.count("a") == 0 && test.store.signals.messages.observerCount == 1)
      test.turn(after: 10_000, on: loop)
      #expect(client.take().isEmpty)
      test.disconnect(client)
      test.turn(on: loop)
      #expect(test.store.signals.messages.observerCount == 0)
    }
  }
}
