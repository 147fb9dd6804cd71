// SPDX-License-Identifier: MIT
import CEL
import JSON
import SignalStore
import TestSupport
import Testing

@testable import SignalHTTP

/// `docs/protocol.md` §4 rule 5, with a clock and clients that do as they are told.
@Suite("Hub, delivery")
struct DeliveryTests {
  private static func event(_ path: String, _ value: String, was old: String? = nil, _ revision: Int) -> String {
    #"{"type":"didSet","subscription":1,"path":"\#(path)","value":\#(value)"#
      + (old.map { #","oldValue":\#($0)"# } ?? "") + #","revision":\#(revision)"#
  }

  private static func gap(_ from: Int, _ to: Int, _ count: Int, _ reason: String) -> String {
    #"{"type":"gap","subscription":1,"from":\#(from),"to":\#(to),"count":\#(count),"reason":"\#(reason)""#
  }

  private static let more = #","more":true}"#

  private static func options(_ delivery: DeliveryOptions, where filter: String? = nil, exit: Bool = true) throws
    -> SubscriptionOptions
  {
    SubscriptionOptions(
      patterns: [.all], filter: try filter.map { try Filter($0, limits: CELLimits()) }, exit: exit, delivery: delivery)
  }

  // MARK: auto

  @Test func `a client that is behind gets the newest of each path and a gap, and then every change again`()
    async throws
  {
    try await onHub { loop in
      let test = HubUnderTest(on: loop)
      let client = test.connect(highWaterMark: 100)
      client.subscribe(try Self.options(DeliveryOptions()), on: loop)
      test.turn(on: loop)
      _ = client.texts()
      client.isBlocked = true
      // The one that goes above the high-water mark is still given.
      try test.store.set("a", "1")
      test.turn(on: loop)
      for number in 2...9 {
        try test.store.set("a", "\(number)")
        test.turn(on: loop)
      }
      try test.store.set("b", "1")
      test.turn(on: loop)
      client.isBlocked = false
      test.turn(on: loop)
      #expect(
        client.texts() == [
          Self.event("a", "1", 1) + "}", Self.gap(2, 10, 7, "slow") + Self.more,
          Self.event("a", "9", was: "1", 9) + Self.more, Self.event("b", "1", 10) + "}",
        ])
      for number in 11...13 { try test.store.set("a", "\(number)") }
      test.turn(on: loop)
      #expect(client.texts().count == 3)
    }
  }

  @Test func `nothing is a gap that was only late`() async throws {
    try await onHub { loop in
      let test = HubUnderTest(on: loop)
      let client = test.connect(highWaterMark: 10)
      client.subscribe(try Self.options(DeliveryOptions()), on: loop)
      test.turn(on: loop)
      client.isBlocked = true
      for path in ["a", "b", "c"] {
        try test.store.set(path, "1")
        test.turn(on: loop)
      }
      client.isBlocked = false
      test.turn(on: loop)
      #expect(
        client.texts().dropFirst() == [
          Self.event("a", "1", 1) + "}", Self.event("b", "1", 2) + "}", Self.event("c", "1", 3) + "}",
        ])
    }
  }

  @Test func `others of the group get every change`() async throws {
    try await onHub { loop in
      let test = HubUnderTest(on: loop)
      let slow = test.connect(highWaterMark: 10)
      let fast = test.connect(highWaterMark: 10)
      let membership = slow.subscribe(try Self.options(DeliveryOptions()), on: loop)
      #expect(fast.subscribe(try Self.options(DeliveryOptions()), on: loop).group === membership.group)
      test.turn(on: loop)
      slow.isBlocked = true
      for number in 1...20 {
        try test.store.set("a", "\(number)")
        test.turn(on: loop)
      }
      #expect(fast.texts().count == 21)
      #expect(membership.isBehind)
      slow.isBlocked = false
      test.turn(on: loop)
      #expect(!membership.isBehind)
      #expect(
        slow.texts().suffix(2) == [Self.gap(2, 20, 18, "slow") + Self.more, Self.event("a", "20", was: "1", 20) + "}"])
    }
  }

  @Test func `an exit is not lost, and what has come and gone is told as a gap alone`() async throws {
    try await onHub { loop in
      let test = HubUnderTest(on: loop)
      try test.store.set("known", "9")
      let client = test.connect(highWaterMark: 10)
      client.subscribe(try Self.options(DeliveryOptions(), where: "value > 5"), on: loop)
      test.turn(on: loop)
      client.isBlocked = true
      try test.store.set("full", "9")
      test.turn(on: loop)
      _ = client.texts()
      for value in ["6", "1", "7", "2"] { try test.store.set("known", value) }
      for value in ["6", "7", "1"] { try test.store.set("new", value) }
      test.turn(on: loop)
      client.isBlocked = false
      test.turn(on: loop)
      #expect(
        client.texts().dropFirst() == [
          Self.gap(3, 9, 6, "slow") + Self.more,
          #"{"type":"didExit","subscription":1,"path":"known","value":2,"oldValue":9,"op":"set","revision":6}"#,
        ])
      client.isBlocked = true
      try test.store.set("full", "8")
      test.turn(on: loop)
      for value in ["6", "7", "1"] { try test.store.set("new", value) }
      test.turn(on: loop)
      client.isBlocked = false
      test.turn(on: loop)
      #expect(client.texts().dropFirst() == [Self.gap(11, 13, 3, "slow") + "}"])
    }
  }

  @Test func `what is kept for a slow client is bounded, and then it is told from where to resume`() async throws {
    try await onHub { loop in
      let test = HubUnderTest(limits: .forTests(conflatedBytes: 2000), on: loop)
      let client = test.connect(highWaterMark: 10)
      client.subscribe(try Self.options(DeliveryOptions()), on: loop)
      test.turn(on: loop)
      client.isBlocked = true
      for number in 1...5000 {
        try test.store.set("a", "\(number)")
        test.turn(on: loop)
      }
      #expect(client.isOpen)
      for number in 1...20 where client.isOpen {
        try test.store.set("b/\(number)", "1")
        test.turn(on: loop)
      }
      #expect(client.closed.isClosed)
      #expect(client.closed.resumeFrom == 1)
    }
  }

  @Test func `nothing is told behind the end of a client, whichever of its subscriptions ends it`() async throws {
    try await onHub { loop in
      let test = HubUnderTest(limits: .forTests(conflatedBytes: 2000), on: loop)
      let client = test.connect(highWaterMark: 10)
      let other = test.connect()
      let paced = try Self.options(DeliveryOptions(maxRate: 1))
      client.subscribe(paced, id: 1, on: loop)
      client.subscribe(SubscriptionOptions(patterns: ["a"]), id: 2, on: loop)
      other.subscribe(paced, id: 1, on: loop)
      test.turn(on: loop)
      client.isBlocked = true
      for number in 1...5 {
        try test.store.set("a", "\(number)")
        test.turn(after: 1000, on: loop)
      }
      // Too much for the first subscription, which is to be found out when its next time has come.
      for number in 1...20 { try test.store.set("b/\(number)", "1") }
      test.turn(on: loop)
      #expect(client.isOpen)
      loop.now += 1_000_000_000
      client.isBlocked = false
      client.flush(on: loop)
      // `FakeConnection.send` records what the second would say.
      #expect(client.closed.isClosed)
    }
  }

  @Test func `what changes behind a snapshot that is not taken is conflated beyond the high-water mark`() async throws {
    try await onHub { loop in
      let test = HubUnderTest(pace: Replay.Pace(snapshotBytes: 50, turnProperties: 10), on: loop)
      for number in 0..<5 { try test.store.set("s/\(number)", "0") }
      let client = test.connect(highWaterMark: 150)
      client.subscribe(try Self.options(DeliveryOptions()), on: loop)
      client.isBlocked = true
      for number in 1...10 {
        try test.store.set("a", "\(number)")
        test.turn(on: loop)
      }
      client.isBlocked = false
      test.turn(on: loop)
      let texts = client.texts()
      #expect(texts[5].contains("live"))
      #expect(texts.dropFirst(6).first == Self.event("a", "1", 6) + "}")
      #expect(texts.last == Self.event("a", "10", was: "2", 15) + "}")
      #expect(texts[texts.count - 2] == Self.gap(8, 15, 7, "slow") + Self.more)
    }
  }

  // MARK: all

  @Test func `a client that wants all is ended when it is behind`() async throws {
    try await onHub { loop in
      let test = HubUnderTest(on: loop)
      let client = test.connect(highWaterMark: 100)
      client.subscribe(try Self.options(DeliveryOptions(mode: .all)), on: loop)
      test.turn(on: loop)
      client.isBlocked = true
      for number in 1...5 where client.isOpen {
        try test.store.set("a", "\(number)")
        test.turn(on: loop)
      }
      #expect(client.closed == (true, 1))
    }
  }

  // MARK: latest

  @Test func `latest tells of what came at once the newest only`() async throws {
    try await onHub { loop in
      let test = HubUnderTest(on: loop)
      let client = test.connect()
      client.subscribe(try Self.options(DeliveryOptions(mode: .latest)), on: loop)
      test.turn(on: loop)
      _ = client.texts()
      for number in 1...10 { try test.store.set("a", "\(number)") }
      test.turn(on: loop)
      #expect(client.texts() == [Self.gap(1, 10, 9, "paced") + Self.more, Self.event("a", "10", 10) + "}"])
      try test.store.set("a", "11")
      test.turn(on: loop)
      #expect(client.texts() == [Self.event("a", "11", was: "10", 11) + "}"])
    }
  }

  @Test func `latest keeps the newest as soon as the client takes nothing`() async throws {
    try await onHub { loop in
      let test = HubUnderTest(on: loop)
      let client = test.connect()
      client.subscribe(try Self.options(DeliveryOptions(mode: .latest)), on: loop)
      test.turn(on: loop)
      try test.store.set("a", "0")
      test.turn(on: loop)
      client.isBlocked = true
      _ = client.texts()
      for number in 1...10 {
        try test.store.set("a", "\(number)")
        test.turn(on: loop)
      }
      #expect(client.backlog == 0)
      client.isBlocked = false
      test.turn(on: loop)
      #expect(client.texts() == [Self.gap(2, 11, 9, "slow") + Self.more, Self.event("a", "10", was: "0", 11) + "}"])
    }
  }

  // MARK: maxRate

  @Test func `the first change comes at once and the last at the end of the interval`() async throws {
    try await onHub { loop in
      let test = HubUnderTest(on: loop)
      let client = test.connect()
      client.subscribe(try Self.options(DeliveryOptions(maxRate: 10)), on: loop)
      test.turn(on: loop)
      _ = client.texts()
      try test.store.set("a", "1")
      test.turn(on: loop)
      #expect(client.texts() == [Self.event("a", "1", 1) + "}"])
      for number in 2...4 {
        try test.store.set("a", "\(number)")
        test.turn(after: 30, on: loop)
        #expect(client.texts() == [])
      }
      test.turn(after: 10, on: loop)
      #expect(client.texts() == [Self.gap(2, 4, 2, "paced") + Self.more, Self.event("a", "4", was: "1", 4) + "}"])
      test.turn(after: 1000, on: loop)
      #expect(client.texts() == [])
    }
  }

  @Test func `whoever joins in between is told what is new to it and nothing twice`() async throws {
    try await onHub { loop in
      let test = HubUnderTest(on: loop)
      let first = test.connect()
      let options = try Self.options(DeliveryOptions(maxRate: 10))
      first.subscribe(options, on: loop)
      test.turn(on: loop)
      for (path, value) in [("a", "1"), ("a", "2"), ("b", "1")] {
        try test.store.set(path, value)
        test.turn(after: 10, on: loop)
      }
      let second = test.connect()
      second.subscribe(options, on: loop)
      test.turn(on: loop)
      #expect(second.texts().count == 3)
      try test.store.delete("b")
      test.turn(after: 200, on: loop)
      // To the first, b has never been there.
      #expect(
        first.texts().suffix(2) == [Self.gap(2, 4, 2, "paced") + Self.more, Self.event("a", "2", was: "1", 2) + "}"])
      #expect(second.texts() == [#"{"type":"didDelete","subscription":1,"path":"b","oldValue":1,"revision":4}"#])
    }
  }

  @Test func `no cursor passes over what waits for its time`() async throws {
    try await onHub { loop in
      let test = HubUnderTest(bookmark: .milliseconds(500), on: loop)
      let client = test.connect(highWaterMark: 10)
      client.subscribe(try Self.options(DeliveryOptions(maxRate: 0.1)), on: loop)
      test.turn(on: loop)
      try test.store.set("a", "1")
      try test.store.set("a", "2")
      test.turn(on: loop)
      try test.store.set("a", "3")
      for _ in 0..<9 { test.turn(after: 1000, on: loop) }
      #expect(client.subscriptions.reached == 2)
      #expect(client.texts().filter { $0.contains("bookmark") } == [])
      test.turn(after: 1000, on: loop)
      test.turn(after: 1000, on: loop)
      #expect(client.subscriptions.reached == 3)
      #expect(client.texts().map { $0.contains("bookmark") } == [false, true])
    }
  }

  @Test func `a bookmark lets nobody in on what is older than its beginning`() async throws {
    try await onHub { loop in
      let test = HubUnderTest(on: loop)
      var options = try Self.options(DeliveryOptions(maxRate: 1))
      options.bookmark = 100_000_000
      test.connect().subscribe(options, on: loop)
      test.turn(on: loop)
      for value in ["1", "2"] {
        try test.store.set("a", value)
        test.turn(after: 10, on: loop)
      }
      // Of what waits for the first, the second has everything from its snapshot.
      let second = test.connect()
      second.subscribe(options, on: loop)
      test.turn(after: 10, on: loop)
      #expect(second.texts().count == 2)
      test.turn(after: 200, on: loop)
      try test.store.set("a", "3")
      test.turn(after: 10, on: loop)
      test.turn(after: 1000, on: loop)
      #expect(second.texts() == [Self.event("a", "3", was: "2", 3) + "}"])
    }
  }

  // MARK: deadband

  @Test func `a gap counts what the deadband lets through, and nothing from before the beginning`() async throws {
    try await onHub { loop in
      let test = HubUnderTest(on: loop)
      try test.store.set("a", "10")
      // From here on changes are on their way to the hub.
      test.connect().subscribe(try Self.options(DeliveryOptions()), on: loop)
      test.turn(on: loop)
      for value in ["13", "12"] { try test.store.set("a", value) }
      let client = test.connect()
      client.subscribe(try Self.options(DeliveryOptions(maxRate: 10, deadband: .absolute(2))), on: loop)
      test.turn(on: loop)
      #expect(client.texts().count == 2)
      // It knows 12, so 10.5 is hidden, though it is far from the 13 that it has never seen.
      for value in ["10.5", "15"] { try test.store.set("a", value) }
      test.turn(after: 200, on: loop)
      #expect(client.texts() == [Self.event("a", "15", was: "10.5", 5) + "}"])
      for value in ["16", "18", "17", "20"] { try test.store.set("a", value) }
      test.turn(after: 200, on: loop)
      // 16 and 17 are hidden.
      #expect(
        client.texts() == [Self.gap(7, 9, 1, "paced") + Self.more, Self.event("a", "20", was: "16", 9) + "}"])
    }
  }

  @Test(arguments: [
    (Deadband.absolute(2), ["11", "9", "12"], ["12"]), (.percent(10), ["10.9", "11", "12.2"], ["11", "12.2"]),
  ])
  func `a deadband hides what is too near to what was told`(
    band: Deadband, values: [String], told: [String]
  ) async throws {
    try await onHub { loop in
      let test = HubUnderTest(on: loop)
      try test.store.set("a", "10")
      let client = test.connect()
      client.subscribe(try Self.options(DeliveryOptions(deadband: band)), on: loop)
      test.turn(on: loop)
      _ = client.texts()
      for value in values {
        try test.store.set("a", value)
        test.turn(on: loop)
      }
      let got = client.texts().map { String($0.firstMatch(of: /"value":([0-9.]+)/)?.1 ?? "") }
      #expect(got == told)
    }
  }

  @Test func `the copy of someone who joins later is not further off than the band`() async throws {
    try await onHub { loop in
      let test = HubUnderTest(on: loop)
      try test.store.set("a", "10")
      let options = try Self.options(DeliveryOptions(deadband: .absolute(2)))
      let first = test.connect()
      first.subscribe(options, on: loop)
      test.turn(on: loop)
      try test.store.set("a", "11.5")
      test.turn(on: loop)
      let second = test.connect()
      second.subscribe(options, on: loop)
      test.turn(on: loop)
      _ = first.texts() + second.texts()
      try test.store.set("a", "9")
      test.turn(on: loop)
      // The first knows 10, the second 11.5.
      #expect(first.texts().count == 1)
      #expect(second.texts().count == 1)
      try test.store.set("a", "10.5")
      test.turn(on: loop)
      #expect(first.texts() + second.texts() == [])
    }
  }

  @Test func `deletion, another kind of value and resuming begin the deadband anew`() async throws {
    try await onHub { loop in
      let test = HubUnderTest(on: loop)
      try test.store.set("a", "10")
      let options = try Self.options(DeliveryOptions(deadband: .absolute(5)))
      let client = test.connect()
      client.subscribe(options, on: loop)
      test.turn(on: loop)
      _ = client.texts()
      try test.store.delete("a")
      for value in ["10", "11", "\"off\"", "11", "12"] { try test.store.set("a", value) }
      test.turn(on: loop)
      #expect(client.texts().count == 4)
      let resumed = test.connect()
      resumed.subscribe(options, since: Cursor(epoch: test.store.epoch, revision: 6), on: loop)
      test.turn(on: loop)
      #expect(resumed.texts().count == 2)
      try test.store.set("a", "12.5")
      test.turn(on: loop)
      #expect(resumed.texts().count == 1)
    }
  }

  @Test func `a deadband that has too much to keep in mind begins anew`() async throws {
    try await onHub { loop in
      let test = HubUnderTest(limits: .forTests(deadbandPaths: 2), on: loop)
      for path in ["a", "b", "c"] { try test.store.set(path, "10") }
      let client = test.connect()
      client.subscribe(try Self.options(DeliveryOptions(deadband: .absolute(5))), on: loop)
      test.turn(on: loop)
      _ = client.texts()
      for path in ["a", "b", "c"] { try test.store.set(path, "11") }
      test.turn(on: loop)
      #expect(client.texts() == [])
      for path in ["a", "b", "c"] { try test.store.set(path, "12") }
      test.turn(on: loop)
      #expect(client.texts().count == 3)
    }
  }
}

@Suite("Hub, demand")
struct HubDemandTests {
  @Test func `a slow client is told how it stands, not what happened in between`() async throws {
    try await onHub { loop in
      let test = HubUnderTest(on: loop)
      let provider = test.connect()
      _ = provider.subscriptions.add(
        .demand([.all], nil), id: 1, wire: .webSocket(batched: false), subscriber: provider, on: loop)
      test.turn(on: loop)
      #expect(provider.texts().count == 1)
      provider.isBlocked = true
      let watcher = test.connect()
      for path in ["a", "b"] {
        watcher.subscribe(SubscriptionOptions(patterns: [PathPattern(PropertyPath(stringLiteral: path))]), on: loop)
        test.turn(on: loop)
      }
      #expect(watcher.subscriptions.remove(1))
      test.turn(on: loop)
      provider.isBlocked = false
      test.turn(on: loop)
      #expect(provider.texts() == [#"{"type":"demand","subscription":1,"match":"b","watched":true}"#])
      test.disconnect(watcher)
      test.turn(on: loop)
      #expect(provider.texts() == [#"{"type":"demand","subscription":1,"match":"b","watched":false}"#])
    }
  }
}
