// SPDX-License-Identifier: MIT

import JSON
import Synchronization
import Testing

@testable import SignalStore

@Suite struct SignalExchangeTests {
  private let store = PropertyStore(limits: StoreLimits(rememberedSignals: 2, rememberedBytes: 1000)) {
    Timestamp(milliseconds: 1)
  }

  @Test func `messages are numbered and told in order, and nothing of them stays`() throws {
    let log = Log<String>()
    let subscription = store.signals.messages.subscribe { log.add("\($0.number) \($0.path) \($0.message)") }
    try store.signals.send("a", number(1))
    try store.signals.send("b", .null)
    #expect(log.entries == ["1 a 1", "2 b null"])
    #expect(store.signals.last("a") == nil)
    #expect(store.revision == 0)
    subscription.cancel()
  }

  @Test func `the last message is kept on request, until another one is sent`() throws {
    try store.signals.send("b/1", number(1), remember: true)
    try store.signals.send("a", number(2), remember: true)
    let (all, through) = store.signals.remembered(match: [.all])
    #expect(all.map(\.path) == ["a", "b/1"] && through == 2)
    #expect(store.signals.remembered(match: ["b/*"]).messages.map(\.message) == [number(1)])
    try store.signals.send("a", number(3), remember: true)
    #expect(store.signals.last("a")?.number == 3)
    try store.signals.send("a", number(4))
    #expect(store.signals.last("a") == nil)
    #expect(store.signals.remembered(match: [.all]).through == 4)
  }

  @Test func `only what is kept, or displaces what is, makes a record`() throws {
    let clock = ManualClock()
    let store = PropertyStore(timers: clock)
    let log = RecordLog()
    store.record(to: log)
    let messages = Log<String>()
    let subscription = store.signals.messages.subscribe { messages.add("\($0.number) \($0.path)") }
    try store.signals.send("a", number(1))
    try store.timers.set("t", .every(.seconds(1)))
    clock.advance(to: .milliseconds(2500))
    #expect(messages.entries == ["1 a", "2 t", "3 t"] && log.records.count == 1)
    try store.signals.send("t", number(1), remember: true)
    clock.advance(to: .milliseconds(4500))
    #expect(messages.entries.suffix(3) == ["4 t", "5 t", "6 t"])
    // The message that was kept, and the one that has displaced it.
    #expect(log.records.count == 3 && store.signals.last("t") == nil)
    try store.signals.send("a", number(1), remember: true)
    try store.signals.send("a", number(2))
    try store.signals.send("a", number(3))
    #expect(log.records.count == 5 && store.replica.signals.number == 8)
    subscription.cancel()
  }

  @Test func `a message without a record is told with the records before it, and at once when there are none`() throws {
    store.holdBack(after: 0)
    let log = Log<UInt64>()
    let subscription = store.signals.messages.subscribe { log.add($0.number) }
    try store.signals.send("a", number(1))
    #expect(log.entries == [1] && store.dependence() == 0)
    try store.set("p", number(1))
    try store.signals.send("a", number(2))
    try store.signals.send("a", number(3), remember: true)
    try store.signals.send("b", number(4))
    #expect(log.entries == [1] && store.dependence() == 2)
    store.announce(through: 1)
    #expect(log.entries == [1, 2])
    store.announce(through: 2)
    #expect(log.entries == [1, 2, 3, 4])
    subscription.cancel()
  }

  @Test func `messages that wait for records are bounded, and one without is not refused by a full disk`() throws {
    let store = PropertyStore()
    store.holdBack(after: 0)
    let sink = FullSink()
    store.record(to: sink)
    let large = JSONText(String(repeating: "x", count: 9 << 20))
    try store.signals.send("a", large)
    #expect(throws: StoreError.notKept(.full)) { try store.signals.send("a", large, remember: true) }
    sink.isFull.withLock { $0 = false }
    try store.set("p", number(1))
    sink.isFull.withLock { $0 = true }
    for _ in 0..<8 { try store.signals.send("a", large) }
    #expect(throws: StoreError.notKept(.full)) { try store.signals.send("a", .null) }
    sink.isFull.withLock { $0 = false }
    #expect(throws: StoreError.notKept(.slow)) { try store.signals.send("a", .null) }
    store.announce(through: 1)
    try store.signals.send("a", .null)
  }

  @Test func `what has no room to be kept is not sent`() throws {
    let log = Log<UInt64>()
    let subscription = store.signals.messages.subscribe { log.add($0.number) }
    let large = JSONText(String(repeating: "x", count: 600))
    try store.signals.send("a", large, remember: true)
    #expect(throws: StoreError.tooManyRemembered(limit: 2)) { try store.signals.send("b", large, remember: true) }
    try store.signals.send("b", .null, remember: true)
    #expect(throws: StoreError.tooManyRemembered(limit: 2)) { try store.signals.send("c", .null, remember: true) }
    // In the place of the one that is kept there is room, and forgetting makes some.
    try store.signals.send("a", large, remember: true)
    try store.signals.send("a", .null)
    try store.signals.send("c", large, remember: true)
    #expect(log.entries == [1, 2, 3, 4, 5])
    subscription.cancel()
  }

  @Test func `threads that send see one order`() throws {
    let logs = [Log<UInt64>(), Log<UInt64>()]
    let subscriptions = logs.map { log in store.signals.messages.subscribe { log.add($0.number) } }
    onThreads(4) { thread in
      for value in 0..<500 { _ = try? store.signals.send("a", number(value), remember: value % 3 == thread % 3) }
    }
    #expect(logs[0].entries == Array(1...2000))
    #expect(logs[1].entries == Array(1...2000))
    for subscription in subscriptions { subscription.cancel() }
  }
}

@Suite struct TimestampParsingTests {
  @Test(
    arguments: [
      ("1970-01-01T00:00:00Z", 0), ("2026-01-02T03:04:05.678Z", 1_767_323_045_678), ("1969-12-31T23:59:59.999Z", -1),
      ("2026-01-02t03:04:05z", 1_767_323_045_000), ("2026-01-02T03:04:05.6Z", 1_767_323_045_600),
      ("2026-01-02T03:04:05.678999999Z", 1_767_323_045_678), ("2026-01-02T05:04:05.678+02:00", 1_767_323_045_678),
      ("2026-01-01T22:34:05.678-04:30", 1_767_323_045_678), ("2024-02-29T00:00:00Z", 1_709_164_800_000),
      ("2000-02-29T00:00:00Z", 951_782_400_000), ("0000-03-01T00:00:00Z", -62_162_035_200_000),
      ("2016-12-31T23:59:60Z", 1_483_228_800_000), ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
    ] as [(String, Int64)])
  func `a time of RFC 3339 is read`(_ text: String, _ milliseconds: Int64) {
    #expect(Timestamp(text) == Timestamp(milliseconds: milliseconds))
  }

  @Test(arguments: [
    "", "2026", "2026-01-02", "2026-01-02 03:04:05Z", "2026-01-02T03:04Z", "2026-01-02T03:04:05",
    "2026-1-2T03:04:05Z", "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-02-29T00:00:00Z",
    "1900-02-29T00:00:00Z", "2026-04-31T00:00:00Z", "2026-01-00T00:00:00Z", "2026-01-02T24:00:00Z",
    "2026-01-02T03:60:00Z", "2026-01-02T03:04:61Z", "2026-01-02T03:04:05.Z", "2026-01-02T03:04:05+24:00",
    "2026-01-02T03:04:05+01", "2026-01-02T03:04:05Zx", "+2026-01-02T03:04:05Z", "2026-01-02T03:04:05+0100",
  ])
  func `what is none is refused`(_ text: String) { #expect(Timestamp(text) == nil) }

  @Test func `what is written is read`() {
    var generator = StoreGenerator(seed: 5)
    for _ in 0..<2000 {
      let time = Timestamp(milliseconds: Int64(generator.next() % 315_569_520_000_000) - 62_167_219_200_000)
      #expect(Timestamp(time.description) == time)
    }
  }
}

/// A disk that can be full.
private final class FullSink: RecordSink {
  let isFull = Mutex(true)

  func append(_ record: Record) {}

  var refusal: StorageRefusal? { isFull.withLock { $0 } ? .full : nil }
}
