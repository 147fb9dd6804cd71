// SPDX-License-Identifier: MIT

import JSON
import Testing

@testable import SignalStore

@Suite struct FormulaBudgetTests {
  /// Reads what it depends on and spends units; its value is a text of that length.
  private func formula(_ name: String, _ inputs: PropertyPath..., units: Int = 0, bytes: Int = 1) -> Formula {
    Formula(source: "\(name) \(inputs)", inputs: inputs) { read, budget in
      budget.units -= units
      let value = inputs.compactMap { read($0)?.value.description }.joined(separator: "+")
      return .value(JSONText(value + String(repeating: "x", count: bytes)))
    }
  }

  private func error(_ path: PropertyPath, _ store: PropertyStore) -> String? { store.get(path)?.computation?.error }

  @Test func `formulas of one commit share a budget, and what no longer fits is null and says so`() throws {
    let store = PropertyStore(limits: StoreLimits(formulaUnits: 1000))
    for name in ["p", "q", "r"] as [PropertyPath] { try store.define(name, formula("\(name)", "a", units: 400)) }
    #expect(store.formulaFailures == 0)
    try store.set("a", number(1))
    let failed = (["p", "q", "r"] as [PropertyPath]).filter { error($0, store) != nil }
    #expect(failed.count == 1)
    #expect(failed.allSatisfy { error($0, store) == "the commit's budget for formulas is used up" })
    #expect(failed.allSatisfy { store.get($0)?.value == .null })
    #expect(store.formulaFailures == 1)
    // The next commit has a budget of its own.
    try store.define(try #require(failed.first), formula("alone", "a", units: 400))
    #expect(error(try #require(failed.first), store) == nil)
  }

  @Test func `what depends on a formula that did not fit does not keep an old value`() throws {
    let store = PropertyStore(limits: StoreLimits(formulaUnits: 1000))
    try store.define("p", formula("p", "a", units: 600))
    try store.define("q", formula("q", "p", units: 300))
    try store.set("a", number(1))
    #expect(error("p", store) == nil && error("q", store) == nil)
    try store.define("p", formula("other", "a", units: 2000))
    #expect(store.get("p")?.value == .null && store.get("q")?.value == .null)
    #expect(store.get("q")?.revision == store.revision)
  }

  @Test func `the values of one commit are bounded in bytes`() throws {
    let store = PropertyStore(limits: StoreLimits(formulaBytes: 1000))
    let definitions = (0..<10).map { index in
      PropertyStore.Operation.define(PropertyPath(stringLiteral: "p\(index)"), formula("\(index)", bytes: 300))
    }
    try store.transact(definitions)
    let kept = store.snapshot().list(limit: 20).properties.filter { $0.value != .null }
    #expect(kept.count == 3)
    #expect(store.formulaFailures == 7)
  }

  @Test func `a row of formulas has a greatest length, and what has gone does not count`() throws {
    let store = PropertyStore(limits: StoreLimits(formulaDepth: 3))
    try store.define("p1", formula("1", "a"))
    try store.define("p2", formula("2", "p1"))
    try store.define("p3", formula("3", "p2"))
    let revision = store.revision
    #expect(throws: StoreError.tooDeep(operation: 0, limit: 3)) { try store.define("p4", formula("4", "p3")) }
    // From below as well: what is there would be lifted.
    #expect(throws: StoreError.tooDeep(operation: 1, limit: 3)) {
      try store.transact([.set("b", number(1)), .define("a", formula("0", "b"))])
    }
    #expect(store.revision == revision && store.get("b") == nil)
    try store.delete("p1")
    try store.define("p4", formula("4", "p3"))
    try store.set("p1", number(1))
    #expect(store.get("p4")?.revision == store.revision)
  }

  @Test func `a transaction that defines too much at once is refused before anything is done`() throws {
    let store = PropertyStore(limits: StoreLimits(formulaUnits: 100))
    #expect(throws: StoreError.tooMuchFormulaWork(operation: 2)) {
      try store.transact([
        .define("p", formula("p", "a")), .define("q", formula("q", "a")), .define("r", formula("r", "a")),
      ])
    }
    #expect(store.count == 0)
    // And one under which too much would have to be put in order.
    let wide = PropertyStore(limits: StoreLimits(formulaUnits: 200))
    for index in 0..<40 { try wide.define(PropertyPath(stringLiteral: "p\(index)"), formula("\(index)", "a")) }
    #expect(throws: StoreError.tooMuchFormulaWork(operation: 0)) { try wide.define("a", formula("a", "b")) }
    try wide.set("a", number(1))
    #expect(wide.get("a")?.revision == wide.revision)
  }

  @Test func `properties that end at one time leave the lock when their formulas have spent enough`() throws {
    let clock = ManualClock()
    let store = PropertyStore(limits: StoreLimits(formulaUnits: 1000), timers: clock)
    try store.define("sum", formula("sum", "p1", "p2", "p3", units: 500))
    for path in ["p1", "p2", "p3"] as [PropertyPath] { try store.set(path, number(1), ttl: .seconds(1)) }
    clock.advance(to: .seconds(2))
    #expect(store.count == 1 && error("sum", store) == nil)
  }
}

@Suite struct FormulaGraphTests {
  private func formula(_ inputs: [PropertyPath]) -> Formula {
    Formula(source: "\(inputs)", inputs: inputs) { _ in .value(.null) }
  }

  private func path(_ number: Int) -> PropertyPath { PropertyPath(stringLiteral: "n\(number)") }

  /// The computed properties that follow from one, in the order in which they are gone through.
  private func followers(of path: PropertyPath, in graph: inout FormulaGraph) -> [PropertyPath] {
    var queue = FormulaQueue()
    var order: [PropertyPath] = []
    graph.beginPass()
    guard let node = graph.node(at: path) else { return [] }
    _ = graph.queueReaders(of: node, in: &queue)
    while let next = queue.popFirst() {
      order.append(graph.path(of: next))
      _ = graph.queueReaders(of: next, in: &queue)
    }
    return order
  }

  @Test(arguments: 0..<40 as Range<UInt64>)
  func `a graph agrees with a dictionary of inputs, also after what was refused`(seed: UInt64) throws {
    var random = StoreGenerator(seed: seed)
    var graph = FormulaGraph()
    var model: [PropertyPath: [PropertyPath]] = [:]
    for _ in 0..<300 {
      // A transaction of some steps, which is kept or undone as a whole.
      var next = model
      var isRefused = random.chance(20)
      for _ in 0...random.number(below: 4) where !isRefused {
        let target = path(random.number(below: 12))
        if random.chance(30) {
          graph.remove(target)
          next[target] = nil
          continue
        }
        let inputs = Array(Set((0..<random.number(below: 4)).map { _ in path(random.number(below: 12)) }))
        var work = Int.max
        do throws(FormulaGraph.Refusal) {
          _ = try graph.define(formula(inputs), at: target, depth: 5, work: &work)
          next[target] = inputs
        } catch {
          isRefused = true
          next[target] = inputs
          // Refused for a reason: it is in a circle, or too high.
          #expect(depth(of: next).map { $0 > 5 } ?? true, "seed \(seed): \(error)")
        }
      }
      if isRefused {
        graph.rollBack()
      } else {
        graph.keepChanges()
        model = next
      }
      #expect(graph.count == model.count)
      try #require(depth(of: model).map { $0 <= 5 } ?? false, "seed \(seed)")
      let start = path(random.number(below: 12))
      let order = followers(of: start, in: &graph)
      #expect(Set(order) == reachable(from: start, model), "seed \(seed)")
      for (place, follower) in order.enumerated() {
        #expect(!(model[follower] ?? []).contains { order[place...].contains($0) }, "seed \(seed)")
      }
    }
  }

  /// The length of the longest row; nil when there is a circle.
  private func depth(of model: [PropertyPath: [PropertyPath]]) -> Int? {
    var ranks: [PropertyPath: Int] = [:]
    for round in 0...model.count + 1 {
      var isChanged = false
      for (path, inputs) in model {
        let rank = 1 + (inputs.map { ranks[$0] ?? 0 }.max() ?? 0)
        if ranks[path] != rank { isChanged = true }
        ranks[path] = rank
      }
      if !isChanged { return ranks.values.max() ?? 0 }
      if round > model.count { return nil }
    }
    return nil
  }

  private func reachable(from path: PropertyPath, _ model: [PropertyPath: [PropertyPath]]) -> Set<PropertyPath> {
    var found: Set<PropertyPath> = []
    var left = [path]
    while let current = left.popLast() {
      for (reader, inputs) in model where inputs.contains(current) && found.insert(reader).inserted {
        left.append(reader)
      }
    }
    return found
  }
}
