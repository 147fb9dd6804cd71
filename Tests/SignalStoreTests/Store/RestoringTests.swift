// SPDX-License-Identifier: MIT

import JSON
import Testing

@testable import SignalStore

@Suite struct RestoringTests {
  private let clock = ManualClock()

  private func store() -> PropertyStore {
    let clock = clock
    return PropertyStore(epoch: .random(), timers: clock) {
      Timestamp(milliseconds: 1_000_000 + clock.now.milliseconds)
    }
  }

  /// A store on a clock that begins anew, when this much time has passed.
  private func restored(_ replica: Replica, after: Duration = .zero, on clock: ManualClock) -> PropertyStore {
    let start = 1_000_000 + self.clock.now.milliseconds + after.milliseconds
    return PropertyStore(
      restoring: replica, timers: clock, clock: { Timestamp(milliseconds: start + clock.now.milliseconds) },
      compile: RandomRun.formula)
  }

  @Test func `a store goes on at its revision, with its epoch and history`() throws {
    let old = store()
    for value in 1...5 { try old.set("a", number(value)) }
    let new = restored(old.replica, on: ManualClock())
    #expect(new.cursor == old.cursor && new.get("a") == old.get("a"))
    #expect(new.changes(since: Cursor(epoch: old.epoch, revision: 2))?.map(\.revision) == [3, 4, 5])
    #expect(try new.set("a", number(6), if: .matches(old.cursor)).revision == 6)
    // Of what was written down without its history, only what comes after is known.
    let properties = old.snapshot().list(limit: 9).properties
    let written = Replica(epoch: old.epoch, revision: 5, time: old.replica.time, properties: properties)
    let later = restored(written, on: ManualClock())
    try later.delete("a")
    #expect(later.changes(since: Cursor(epoch: old.epoch, revision: 4)) == nil)
    #expect(later.changes(since: Cursor(epoch: old.epoch, revision: 5))?.map(\.first.op) == [.delete])
  }

  @Test func `times to live go on, and what is over ends at once in the order of the ends`() throws {
    let old = store()
    try old.set("late", number(1), ttl: .seconds(20))
    try old.set("b", number(1), ttl: .seconds(9))
    try old.set("a", number(1), ttl: .seconds(10))
    let newClock = ManualClock()
    let new = restored(old.replica, after: .seconds(15), on: newClock)
    let ends = new.changes(since: old.cursor)?.map { "\($0.first.op) \($0.first.path)" }
    #expect(ends == ["expire b", "expire a"])
    newClock.advance(to: .milliseconds(4990))
    #expect(new.get("late") != nil)
    newClock.advance(to: .milliseconds(5020))
    #expect(new.count == 0)
    // With a clock that knows no time yet, what is left is what there was after the last commit.
    let lost = ManualClock()
    let early = PropertyStore(
      restoring: old.replica, timers: lost, clock: { Timestamp(milliseconds: 0) }, compile: RandomRun.formula)
    #expect(early.count == 3)
    lost.advance(to: .seconds(21))
    #expect(early.count == 0)
  }

  @Test func `what may not have been recorded last makes no time to live end early`() throws {
    let old = store()
    try old.set("over", number(1), ttl: .seconds(9))
    try old.set("near", number(1), ttl: .milliseconds(9800))
    try old.set("full", number(1), ttl: .seconds(30))
    for (grace, left) in [(Duration.zero, 1), (.seconds(1), 2)] {
      let (start, newClock) = (Int64(1_010_000), ManualClock())
      let new = PropertyStore(
        restoring: old.replica, timers: newClock, grace: grace,
        clock: { Timestamp(milliseconds: start + newClock.now.milliseconds) }, compile: RandomRun.formula)
      #expect(new.count == left)
      newClock.advance(to: .milliseconds(790))
      #expect(new.count == left)
      newClock.advance(to: .milliseconds(830))
      #expect(new.count == 1)
      newClock.advance(to: .seconds(20) + grace - .milliseconds(10))
      #expect(new.count == 1)
      newClock.advance(to: .seconds(20) + grace + .milliseconds(30))
      #expect(new.count == 0)
    }
  }

  @Test func `timers fire when they are due, overdue ones once, and keep their rhythm`() throws {
    let old = store()
    try old.timers.set("once", .after(.seconds(5)), message: number(1))
    try old.timers.set("soon", .after(.seconds(12)), message: number(2))
    try old.timers.set("again", .every(.seconds(4)), message: number(3))
    clock.advance(to: .seconds(4))
    let newClock = ManualClock()
    let new = restored(old.replica, after: .seconds(6), on: newClock)
    let log = Log<String>()
    let subscription = new.signals.messages.subscribe {
      log.add("\($0.path) \($0.message) at \(newClock.now.milliseconds)")
    }
    newClock.advance(to: .seconds(7))
    // Set 10 s before: ticks at 12 and 16, the other at 12, the overdue one at once.
    #expect(log.entries.sorted() == ["again 3 at 2000", "again 3 at 6000", "once 1 at 0", "soon 2 at 2000"])
    #expect(new.timers.count == 1)
    #expect(new.timers.remove("again"))
    subscription.cancel()
  }

  @Test func `formulas follow their inputs again, and one that no longer compiles keeps its value and says why`() throws
  {
    let old = store()
    try old.set("a", number(2))
    try old.define("twice", RandomRun.formula("sum a a"))
    try old.define("after", RandomRun.formula("sum twice a"))
    try old.define("odd", RandomRun.formula("long a"))
    let new = PropertyStore(restoring: old.replica, timers: ManualClock()) { source throws(FormulaError) in
      if source.hasPrefix("long") { throw FormulaError("there is no such function") }
      return try RandomRun.formula(source)
    }
    #expect(new.revision == old.revision && new.get("after")?.value == old.get("after")?.value)
    #expect(new.get("odd")?.value == old.get("odd")?.value)
    #expect(new.get("odd")?.computation?.error == "the formula no longer compiles: there is no such function")
    try new.set("a", number(5))
    #expect(new.get("after")?.value == number(15))
    #expect(new.get("odd")?.value == old.get("odd")?.value)
    #expect(throws: StoreError.isComputed(operation: 0)) { try new.set("odd", number(1)) }
    try new.delete("odd")
  }

  @Test func `all computed properties are computed anew, in one commit, each with a budget for itself`() throws {
    let old = store()
    try old.set("a", number(2))
    try old.define("twice", RandomRun.formula("sum a a"))
    try old.define("after", RandomRun.formula("sum twice a"))
    try old.define("same", RandomRun.formula("long a"))
    for number in 0..<4 {
      try old.define(PropertyPath(stringLiteral: "costly/\(number)"), RandomRun.formula("costly a"))
    }
    let limits = StoreLimits(formulaUnits: 2000)
    let new = PropertyStore(restoring: old.replica, limits: limits, timers: ManualClock()) {
      source throws(FormulaError) in
      // Another version of the program, in which this means something else.
      source == "sum a a"
        ? Formula(source: source, inputs: ["a"]) { _ in .value(JSONText(7)) } : try RandomRun.formula(source)
    }
    let commits = try #require(new.changes(since: old.cursor)).map { $0.map(\.path).sorted() }
    #expect(commits == [["after", "twice"]])
    #expect(new.get("after")?.value == number(9) && new.get("costly/3")?.value == number(2))
    let again = PropertyStore(restoring: new.replica, timers: ManualClock()) { source throws(FormulaError) in
      source == "sum a a"
        ? Formula(source: source, inputs: ["a"]) { _ in .value(JSONText(7)) } : try RandomRun.formula(source)
    }
    #expect(again.revision == new.revision)
  }

  @Test func `holders of before are known with what they hold and what is left to do for them`() throws {
    let old = store()
    let (ann, bob) = (old.makeHolder(), old.makeHolder())
    try old.set("presence/ann", number(1), holder: ann)
    old.keep(lastOperations: JSONText("bye"), of: bob)
    let new = restored(old.replica, on: ManualClock())
    #expect(new.holders == [ann, bob])
    #expect(new.lastOperations(of: bob) == JSONText("bye") && new.lastOperations(of: ann) == nil)
    #expect(![ann, bob].contains(new.makeHolder()))
    #expect(new.release(ann) == 1 && new.release(bob) == 0)
    #expect(new.holders.isEmpty && new.lastOperations(of: bob) == nil)
  }

  @Test func `kept messages and their numbers go on`() throws {
    let old = store()
    try old.signals.send("a", number(1), remember: true)
    try old.signals.send("b", number(2))
    let new = restored(old.replica, on: ManualClock())
    #expect(new.signals.last("a")?.number == 1)
    // A message that was not kept has left nothing behind, not even its number.
    #expect(try new.signals.send("a", number(3)).number == 2)
    #expect(new.signals.last("a") == nil)
  }
}
