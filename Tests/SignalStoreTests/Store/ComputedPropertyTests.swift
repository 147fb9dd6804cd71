// SPDX-License-Identifier: MIT

import Dispatch
import JSON
import Synchronization
import Testing

@testable import SignalStore

/// A formula that adds integers, and fails where one is missing.
private func sum(_ inputs: PropertyPath..., plus constant: Int = 0) -> Formula {
  Formula(source: "\(inputs) + \(constant)", inputs: inputs) { read in
    var sum = constant
    for input in inputs {
      guard let value = read(input), let number = Int(value.value.description) else { return .failure("no \(input)") }
      sum += number
    }
    return .value(JSONText(sum))
  }
}

@Suite struct ComputedPropertyTests {
  private let store = PropertyStore(epoch: Epoch("x7")!, clock: { Timestamp(milliseconds: 5) })

  @Test func `a computed property has its value at once and after every change of an input, in the same commit`() throws
  {
    try store.set("a", number(1))
    let recorder = Recorder<Commit>()
    let subscription = store.changes.subscribe { recorder.record($0) }
    let result = try store.define("twice", sum("a", "a", plus: 0))
    #expect(result.outcome == .created)
    #expect(result.value?.value == number(2))
    #expect(store.get("twice")?.computation?.formula.source == sum("a", "a").source)
    try store.set("a", number(5))
    #expect(store.get("twice")?.value == number(10))
    #expect(store.get("twice")?.revision == 3)
    #expect(recorder.elements.map { $0.map(\.path) } == [["twice"], ["a", "twice"]])
    #expect(recorder.elements.last?.map(\.old?.value) == [number(1), number(2)])
    subscription.cancel()
  }

  @Test func `an input that changes without changing the result makes no change of the computed property`() throws {
    try store.transact([.set("a", number(1)), .set("b", number(2))])
    try store.define("sum", sum("a", "b"))
    try store.transact([.set("a", number(2)), .set("b", number(1))])
    #expect(store.get("sum")?.revision == 2)
    #expect(store.revision == 3)
  }

  @Test func `what depends on something computed is computed after it, and once`() throws {
    let evaluations = Mutex<[String]>([])
    func counted(_ name: String, _ formula: Formula) -> Formula {
      Formula(source: formula.source, inputs: formula.inputs) { read in
        evaluations.withLock { $0.append(name) }
        return formula.evaluate(read)
      }
    }
    // Defined from the end to the beginning, so that the order of definition is of no help.
    try store.define("top", counted("top", sum("left", "right", "a")))
    try store.define("left", counted("left", sum("a", plus: 10)))
    try store.define("right", counted("right", sum("left", plus: 100)))
    evaluations.withLock { $0 = [] }
    try store.set("a", number(1))
    #expect(evaluations.withLock { $0 } == ["left", "right", "top"])
    #expect(store.get("top")?.value == number(11 + 111 + 1))
    #expect(store.get("top")?.revision == store.revision)
  }

  @Test func `a formula that fails makes the property null and says why, until it succeeds`() throws {
    let result = try store.define("sum", sum("a", "b"))
    #expect(result.value?.value == .null)
    #expect(result.value?.computation?.error == "no a")
    try store.set("a", number(1))
    // Null as before, so no change; but the reason is another one.
    #expect(store.get("sum")?.revision == 1)
    #expect(store.get("sum")?.computation?.error == "no b")
    try store.set("b", number(2))
    #expect(store.get("sum")?.value == number(3))
    #expect(store.get("sum")?.computation?.error == nil)
    try store.delete("a")
    #expect(store.get("sum")?.value == .null)
    #expect(store.get("sum")?.revision == store.revision)
  }

  @Test func `a computed property cannot be set, and nothing of the transaction is done`() throws {
    try store.define("sum", sum("a"))
    let before = store.snapshot().list(limit: .max)
    #expect(throws: StoreError.isComputed(operation: 0)) { try store.set("sum", number(1)) }
    #expect(throws: StoreError.isComputed(operation: 1)) {
      try store.transact([.set("a", number(1)), .set("sum", number(1))])
    }
    #expect(store.snapshot().list(limit: .max) == before)
    #expect(store.revision == 1)
  }

  @Test func `deleting a computed property frees its path, and what read it is told`() throws {
    try store.set("a", number(1))
    try store.define("b", sum("a"))
    try store.define("c", sum("b"))
    #expect(try store.delete("b").outcome == .deleted)
    #expect(store.get("c")?.value == .null)
    try store.set("b", number(7))
    #expect(store.get("c")?.value == number(7))
    try store.set("a", number(2))
    #expect(store.get("b")?.value == number(7))
  }

  @Test func `the same formula again changes nothing, another one takes its place`() throws {
    try store.transact([.set("a", number(1)), .set("b", number(5))])
    try store.define("x", sum("a"))
    #expect(try store.define("x", sum("a")).outcome == .unchanged)
    #expect(store.revision == 2)
    #expect(try store.define("x", sum("b")).outcome == .replaced)
    try store.set("a", number(2))
    #expect(store.get("x")?.value == number(5))
    try store.set("b", number(6))
    #expect(store.get("x")?.value == number(6))
  }

  @Test func `a plain property becomes a computed one`() throws {
    try store.transact([.set("a", number(1)), .set("x", number(1))])
    let result = try store.define("x", sum("a"))
    // A change, although the value is the same: it is another property now.
    #expect(result.outcome == .replaced)
    #expect(result.revision == 2)
    #expect(store.get("x")?.computation != nil)
  }

  @Test func `a cycle is refused with its way, and nothing is changed`() throws {
    try store.define("b", sum("a"))
    try store.define("c", sum("b"))
    #expect(throws: StoreError.cycle(operation: 0, ["a", "c", "b", "a"])) { try store.define("a", sum("x", "c")) }
    #expect(throws: StoreError.cycle(operation: 0, ["a", "a"])) { try store.define("a", sum("a")) }
    // Also one that only several definitions together make.
    #expect(throws: StoreError.cycle(operation: 2, ["q", "p", "q"])) {
      try store.transact([.set("n", number(1)), .define("p", sum("q")), .define("q", sum("p"))])
    }
    #expect(store.get("a") == nil)
    #expect(store.get("n") == nil)
    #expect(store.get("p") == nil)
    try store.set("a", number(3))
    #expect(store.get("c")?.value == number(3))
    // One that a deletion in the same transaction opens is none.
    try store.transact([.define("a", sum("c")), .delete("c")])
    #expect(store.get("b")?.value == .null)
    try store.set("c", number(4))
    #expect(store.get("b")?.value == number(4))
  }

  @Test func `an error that differs in bytes alone is another`() throws {
    // What the formula says quotes its input, whose é is written in two ways.
    let quote = Formula(source: "quote", inputs: ["a"]) { read in
      .failure(read("a").map { "no \($0.value)" } ?? "nothing")
    }
    try store.set("a", JSONText("\u{E9}"))
    try store.define("q", quote)
    try store.set("a", JSONText("e\u{301}"))
    let error = try #require(store.get("q")?.computation?.error)
    #expect(Array(error.utf8) == Array("no \"e\u{301}\"".utf8))
    #expect(Formula.Result.failure("\u{E9}") != .failure("e\u{301}"))
  }

  @Test func `the limits of computed properties and of inputs hold`() throws {
    let store = PropertyStore(limits: StoreLimits(properties: 4, computedProperties: 2, formulaInputs: 2))
    try store.define("a", sum("x"))
    try store.define("b", sum("x"))
    #expect(throws: StoreError.tooManyComputed(operation: 0, limit: 2)) { try store.define("c", sum("x")) }
    #expect(throws: StoreError.tooManyInputs(operation: 0, limit: 2)) { try store.define("b", sum("x", "y", "z")) }
    try store.define("b", sum("x", "y"))
    try store.delete("a")
    try store.define("c", sum("x"))
    try store.set("x", number(1))
    try store.set("y", number(1))
    #expect(store.get("b")?.value == number(2))
    #expect(throws: StoreError.tooManyProperties(limit: 4)) { try store.set("z", number(1)) }
  }

  @Test func `conditions are judged for definitions too`() throws {
    try store.set("a", number(1))
    #expect(throws: StoreError.self) { try store.define("a", sum("b"), if: .absent) }
    #expect(store.get("a")?.computation == nil)
  }

  @Test(arguments: 0..<20 as Range<UInt64>)
  func `random formulas, changes and deletions agree with computing everything anew`(seed: UInt64) throws {
    var random = StoreGenerator(seed: seed)
    let names: [PropertyPath] = ["a", "b", "c", "d", "e", "f", "g", "h"]
    var formulas: [PropertyPath: Formula] = [:]
    func path() -> PropertyPath { names[random.number(below: names.count)] }
    for _ in 0..<400 {
      let target = path()
      switch random.number(below: 10) {
      case 0...2:
        let formula = random.chance(50) ? sum(path(), plus: 1) : sum(path(), path())
        if (try? store.define(target, formula)) != nil { formulas[target] = formula }
      case 3:
        try store.delete(target)
        formulas[target] = nil
      default:
        let number = random.number(below: 5)
        if formulas[target] == nil { try store.set(target, JSONText(number)) }
      }
      for (path, formula) in formulas {
        let expected: JSONText =
          if case .value(let value) = formula.evaluate({ store.get($0) }) { value } else { .null }
        #expect(store.get(path)?.value == expected, "\(path) of \(formula.source)")
      }
    }
    #expect(!formulas.isEmpty)
  }

  /// A diamond: both sides follow from the same input, and the top from both.
  @Test func `nobody ever sees inputs without what follows from them`() throws {
    try store.transact([.set("x", number(0)), .set("y", number(0))])
    try store.define("left", sum("x", "y"))
    try store.define("right", sum("y", "x"))
    try store.define("top", sum("left", "right"))
    let torn = Mutex(0)
    @Sendable func check(_ read: (PropertyPath) -> JSONText?) {
      func integer(_ path: PropertyPath) -> Int { read(path).flatMap { Int($0.description) } ?? -1 }
      let sum = integer("x") + integer("y")
      if integer("left") != sum || integer("right") != sum || integer("top") != 2 * sum { torn.withLock { $0 += 1 } }
    }
    let watcher = Mutex<[PropertyPath: JSONText]>([:])
    let subscription = store.subscribe { event in
      watcher.withLock { known in
        switch event {
        case .snapshot(let value): known[value.path] = value.value
        case .live: check { known[$0] }
        case .change(let change, let more):
          known[change.path] = change.new?.value
          if !more { check { known[$0] } }
        }
      }
    }
    DispatchQueue.concurrentPerform(iterations: 4) { thread in
      for count in 0..<500 {
        if thread == 3 {
          let snapshot = store.snapshot()
          check { path in snapshot.get(path)?.value }
        } else if thread == 2 {
          _ = try? store.transact([.set("x", number(count)), .set("y", number(-count))])
        } else {
          _ = try? store.set(thread == 0 ? "x" : "y", number(count))
        }
      }
    }
    #expect(torn.withLock { $0 } == 0)
    #expect(store.revision > 500)
    withExtendedLifetime(subscription) {}
  }
}
