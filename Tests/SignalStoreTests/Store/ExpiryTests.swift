// SPDX-License-Identifier: MIT

import Foundation
import JSON
import Synchronization
import Testing

@testable import SignalStore

@Suite("Store rule 7, time to live")
struct ExpiryTests {
  private let clock = ManualClock()
  private let store: PropertyStore

  init() throws {
    let clock = clock
    store = PropertyStore(epoch: try #require(Epoch("e")), timers: clock) {
      Timestamp(milliseconds: clock.now.milliseconds)
    }
  }

  private func commits() -> (Log<String>, Subscription) {
    let log = Log<String>()
    let subscription = store.changes.subscribe { commit in
      for change in commit { log.add("\(change.op) \(change.path) @\(change.revision)") }
    }
    return (log, subscription)
  }

  @Test func `a property ends when its time is over, not before, and at most a tick later`() throws {
    let (log, subscription) = commits()
    let result = try store.set("a", number(1), ttl: .milliseconds(1234))
    #expect(result.value?.expires == Timestamp(milliseconds: 1234))
    #expect(store.expiringCount == 1)
    clock.advance(to: .milliseconds(1233))
    #expect(store.get("a")?.value == number(1))
    clock.advance(to: .milliseconds(1244))
    #expect(store.get("a") == nil)
    #expect(log.entries == ["set a @1", "expire a @2"])
    #expect(store.expiringCount == 0)
    #expect(clock.scheduled == 0)
    withExtendedLifetime(subscription) {}
  }

  @Test func `an expiry is a change like any other`() throws {
    try store.set("a", number(1), ttl: .seconds(1))
    clock.advance(to: .seconds(2))
    let commit = try #require(store.changes(since: Cursor(epoch: store.epoch, revision: 1))?.first { _ in true })
    #expect(commit.first.op == .expire)
    #expect(commit.first.old?.value == number(1))
    #expect(commit.first.new == nil)
    #expect(commit.revision == 2 && store.revision == 2)
    #expect(commit.time == Timestamp(milliseconds: 1000))
  }

  @Test func `each of many ends once, with a revision of its own`() throws {
    let (log, subscription) = commits()
    for index in 0..<1000 {
      try store.set(PropertyPath("p/\(index)"), number(1), ttl: .milliseconds(100 + index % 7 * 1000))
    }
    for second in 1...8 { clock.advance(to: .seconds(second)) }
    let expired = log.entries.filter { $0.hasPrefix("expire") }
    #expect(expired.count == 1000)
    #expect(Set(expired.map { $0.prefix { $0 != "@" } }).count == 1000)
    #expect(store.count == 0)
    #expect(store.revision == 2000)
    withExtendedLifetime(subscription) {}
  }

  @Test func `an equal set with a time to live extends it and is no change`() throws {
    try store.set("a", number(1), ttl: .seconds(1))
    for tenth in stride(from: 5, through: 50, by: 5) {
      clock.advance(to: .milliseconds(tenth * 100))
      let result = try store.set("a", number(1), ttl: .seconds(1))
      #expect(result.outcome == .unchanged)
      #expect(result.value?.expires == Timestamp(milliseconds: Int64(tenth * 100 + 1000)))
      #expect(result.value?.revision == 1)
    }
    #expect(store.revision == 1)
    clock.advance(to: .milliseconds(5990))
    #expect(store.get("a")?.revision == 1)
    clock.advance(to: .milliseconds(6010))
    #expect(store.get("a") == nil)
    #expect(store.revision == 2)
  }

  @Test func `an equal set may shorten the time`() throws {
    try store.set("a", number(1), ttl: .seconds(100))
    try store.set("a", number(1), ttl: .seconds(1))
    clock.advance(to: .milliseconds(1010))
    #expect(store.get("a") == nil)
  }

  @Test func `a set without a time to live lets the property stay, equal or not`() throws {
    try store.set("a", number(1), ttl: .seconds(1))
    try store.set("b", number(1), ttl: .seconds(1))
    #expect(try store.set("a", number(1)).outcome == .unchanged)
    #expect(try store.set("b", number(2)).value?.expires == nil)
    #expect(store.get("a")?.expires == nil)
    #expect(store.expiringCount == 0)
    clock.advance(to: .seconds(10))
    #expect(store.count == 2)
    #expect(store.revision == 3)
  }

  @Test func `an equal set with a time to live gives one to a property that had none`() throws {
    try store.set("a", number(1))
    #expect(try store.set("a", number(1), ttl: .seconds(1)).outcome == .unchanged)
    clock.advance(to: .milliseconds(1010))
    #expect(store.get("a") == nil)
  }

  @Test func `what is deleted does not end a second time, nor does what is set anew`() throws {
    let (log, subscription) = commits()
    try store.set("a", number(1), ttl: .seconds(1))
    try store.delete("a")
    try store.set("a", number(2))
    clock.advance(to: .seconds(5))
    #expect(log.entries == ["set a @1", "delete a @2", "set a @3"])
    withExtendedLifetime(subscription) {}
  }

  @Test func `a transaction gives each operation its own time, and what is unchanged too`() throws {
    try store.set("a", number(1))
    try store.transact([
      .set("a", number(1), ttl: .seconds(1)), .set("b", number(1), ttl: .seconds(2)), .set("c", number(1)),
    ])
    #expect(store.revision == 2)
    clock.advance(to: .milliseconds(1010))
    #expect(store.snapshot().list(limit: 9).properties.map(\.path.description) == ["b", "c"])
    clock.advance(to: .milliseconds(2010))
    #expect(store.snapshot().list(limit: 9).properties.map(\.path.description) == ["c"])
  }

  @Test func `a refused transaction leaves every time to live as it was`() throws {
    try store.set("a", number(1), ttl: .seconds(1))
    #expect(throws: StoreError.self) {
      try store.transact([.set("a", number(1)), .set("b", number(1), if: .exists, ttl: .seconds(9))])
    }
    clock.advance(to: .milliseconds(1010))
    #expect(store.get("a") == nil)
    #expect(store.expiringCount == 0)
  }

  @Test(arguments: [Duration.zero, .seconds(-1), .seconds(61)])
  func `a time to live that is none is refused and changes nothing`(ttl: Duration) throws {
    let store = PropertyStore(limits: StoreLimits(ttlLimit: .seconds(60)), timers: clock)
    #expect(throws: StoreError.badTimeToLive(operation: 0, limit: .seconds(60))) {
      try store.set("a", number(1), ttl: ttl)
    }
    #expect(throws: StoreError.badTimeToLive(operation: 1, limit: .seconds(60))) {
      try store.transact([.set("a", number(1)), .set("b", number(1), ttl: ttl)])
    }
    #expect(store.revision == 0 && store.expiringCount == 0)
  }

  @Test func `the longest time there can be is one like any other`() throws {
    let store = PropertyStore(limits: StoreLimits(ttlLimit: .seconds(Int64.max)), timers: clock)
    try store.set("a", number(1), ttl: .seconds(1000 * 365 * 86_400))
    #expect(throws: StoreError.self) { try store.set("a", number(1), ttl: .seconds(Int64.max)) }
    clock.advance(to: .seconds(999 * 365 * 86_400))
    #expect(store.count == 1)
    clock.advance(to: .seconds(1001 * 365 * 86_400))
    #expect(store.count == 0)
  }

  /// The double of a property, null when there is none.
  private func double(of path: PropertyPath) -> Formula {
    Formula(source: "double", inputs: [path]) { read in
      guard let value = read(path)?.value, let number = Int(value.description) else { return .value(.null) }
      return .value(JSONText(number * 2))
    }
  }

  @Test func `what is computed from a property follows its expiry, at the same revision`() throws {
    try store.define("b", double(of: "a"))
    try store.set("a", number(2), ttl: .seconds(1))
    #expect(store.get("b")?.value == number(4))
    clock.advance(to: .seconds(2))
    #expect(store.get("b")?.value == .null)
    let commit = try #require(store.changes(since: Cursor(epoch: store.epoch, revision: 2))?.first { _ in true })
    #expect(commit.map(\.op) == [.expire, .set] && commit.revision == 3)
  }

  @Test func `a property that becomes a computed one does not end`() throws {
    try store.set("a", number(2))
    try store.set("b", number(1), ttl: .seconds(1))
    try store.define("b", double(of: "a"))
    #expect(store.expiringCount == 0)
    clock.advance(to: .seconds(2))
    #expect(store.get("b")?.value == number(4))
  }

  @Test func `a snapshot keeps what has expired since`() throws {
    try store.set("a", number(1), ttl: .seconds(1))
    let snapshot = store.snapshot()
    clock.advance(to: .seconds(2))
    #expect(snapshot.get("a")?.expires == Timestamp(milliseconds: 1000))
    #expect(store.get("a") == nil)
  }

  @Test func `without a time to live no timer is set`() throws {
    for index in 0..<100 { try store.set(PropertyPath("p/\(index)"), number(1)) }
    #expect(clock.scheduled == 0)
  }

  @Test func `many times to live take one timer`() throws {
    for index in 0..<100 { try store.set(PropertyPath("p/\(index)"), number(1), ttl: .seconds(100 - index)) }
    #expect(clock.scheduled == 1)
  }

  @Test func `a store that is gone leaves no timer behind`() throws {
    var other: PropertyStore? = PropertyStore(timers: clock)
    try other?.set("a", number(1), ttl: .seconds(1))
    #expect(clock.scheduled == 1)
    other = nil
    #expect(clock.scheduled == 0)
  }

  /// A store and a list of times, through random sets, touches, deletions and waits.
  @Test(arguments: 1...6 as ClosedRange<UInt64>)
  func `a store ends exactly what a model ends`(seed: UInt64) throws {
    var generator = StoreGenerator(seed: seed)
    var model: [PropertyPath: (value: Int, end: Int?)] = [:]
    var now = 0
    for _ in 0..<4000 {
      let path = generator.path(depth: 2)
      switch generator.number(below: 8) {
      case 0..<5:
        let value = generator.number(below: 2)
        // Whole ticks, so that the model need not round.
        let ttl = generator.chance(70) ? (1 + generator.number(below: 500)) * 10 : nil
        try store.set(path, number(value), ttl: ttl.map { .milliseconds($0) })
        model[path] = (value, ttl.map { now + $0 })
      case 5:
        try store.delete(path)
        model[path] = nil
      default:
        now += generator.number(below: 100) * 10
        clock.advance(to: .milliseconds(now))
        model = model.filter { $0.value.end.map { $0 > now } ?? true }
      }
      #expect(store.count == model.count)
      #expect(store.expiringCount == model.values.count { $0.end != nil })
      let stored = store.get(path)
      #expect(stored?.value == model[path].map { number($0.value) })
      #expect(stored?.expires == model[path]?.end.map { Timestamp(milliseconds: Int64($0)) })
    }
  }
}

@Suite struct ExpiryConcurrencyTests {
  @Test func `threads that set, touch and delete leave nothing behind, and each change is told once`() throws {
    let store = PropertyStore()
    let counts = Mutex<(sets: Int, ends: Int)>((0, 0))
    let subscription = store.changes.subscribe { commit in
      counts.withLock { counts in
        for change in commit {
          if change.op == .set, change.old == nil { counts.sets += 1 }
          if change.op != .set { counts.ends += 1 }
        }
      }
    }
    onThreads(4) { thread in
      var generator = StoreGenerator(seed: UInt64(thread))
      for _ in 0..<3000 {
        let path = PropertyPath(stringLiteral: "p/\(generator.number(below: 100))")
        if generator.chance(10) {
          _ = try? store.delete(path)
        } else {
          let ttl = Duration.milliseconds(1 + generator.number(below: 40))
          _ = try? store.set(path, number(generator.number(below: 2)), ttl: ttl)
        }
      }
    }
    let deadline = ContinuousClock.now + .seconds(20)
    while store.count > 0, ContinuousClock.now < deadline { sched_yield() }
    #expect(store.count == 0)
    #expect(store.expiringCount == 0)
    // The last deliveries may still be under way on the timer's thread.
    while counts.withLock({ $0.sets != $0.ends }), ContinuousClock.now < deadline { sched_yield() }
    #expect(counts.withLock { $0.sets == $0.ends && $0.sets > 100 })
    subscription.cancel()
  }
}
