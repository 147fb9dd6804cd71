// SPDX-License-Identifier: MIT
import JSON
import Testing

@testable import SignalStore

@Suite struct HolderTests {
  private let clock = ManualClock()
  private let store: PropertyStore

  init() { store = PropertyStore(timers: clock) }

  private func set(_ path: PropertyPath, _ value: Int, _ holder: Holder? = nil, ttl: Duration? = nil) throws {
    try store.set(path, JSONText(value), ttl: ttl, holder: holder)
  }

  private var paths: [String] { store.snapshot().list(limit: 99).properties.map(\.path.description) }

  @Test func `all that a holder holds goes in one revision, and nothing else`() throws {
    let (ann, bob) = (store.makeHolder(), store.makeHolder())
    try set("b", 1, ann)
    try set("a", 2, ann)
    try set("c", 3, bob)
    try set("d", 4)
    let log = Log<String>()
    let token = store.changes.subscribe { commit in
      log.add(
        commit.map { "\($0.op) \($0.path) \($0.old?.value.description ?? "") @\($0.revision)" }.joined(separator: ", "))
    }
    #expect(store.release(ann) == 2)
    #expect(log.entries == ["release a 2 @5, release b 1 @5"])
    #expect(store.release(ann) == 0)
    #expect(store.revision == 5)
    #expect(paths == ["c", "d"])
    token.cancel()
  }

  @Test func `the last set says who holds a property, also with the value that it has`() throws {
    let (old, new) = (store.makeHolder(), store.makeHolder())
    for path: PropertyPath in ["same", "other", "free", "freed"] { try set(path, 1, old) }
    try set("same", 1, new)
    try set("other", 2, new)
    try set("free", 1)
    try set("freed", 2)
    #expect(store.revision == 6)
    #expect(store.release(old) == 0)
    #expect(paths == ["free", "freed", "other", "same"])
    #expect(store.release(new) == 2)
    #expect(paths == ["free", "freed"])
  }

  @Test func `a property that is gone, or computed by now, is not ended twice`() throws {
    let holder = store.makeHolder()
    try set("deleted", 1, holder)
    try set("again", 1, holder)
    try store.delete("deleted")
    try store.delete("again")
    try set("again", 2)
    try set("formula", 1, holder)
    try store.delete("formula")
    try store.define("formula", Formula(source: "1", inputs: []) { _ in .value(JSONText(1)) })
    #expect(store.release(holder) == 0)
    #expect(paths == ["again", "formula"])
  }

  @Test func `with a time to live, what comes first ends the property`() throws {
    let holder = store.makeHolder()
    try set("a", 1, holder, ttl: .seconds(1))
    try set("b", 1, holder, ttl: .seconds(9))
    clock.advance(to: .seconds(2))
    #expect(paths == ["b"])
    #expect(store.get("b")?.expires != nil)
    #expect(store.release(holder) == 1)
    #expect(store.expiringCount == 0)
    let revision = store.revision
    clock.advance(to: .seconds(20))
    #expect(store.revision == revision)
  }

  @Test func `what follows from a held property is computed when it goes`() throws {
    let holder = store.makeHolder()
    try set("a", 1, holder)
    try store.define(
      "there", Formula(source: "a", inputs: ["a"]) { read in .value(JSONText(read("a") == nil ? "no" : "yes")) })
    #expect(store.get("there")?.value == JSONText("yes"))
    #expect(store.release(holder) == 1)
    #expect(store.get("there")?.value == JSONText("no"))
    #expect(store.get("there")?.revision == store.revision)
  }

  @Test func `a holder holds so many, and one more changes nothing`() throws {
    let store = PropertyStore(limits: StoreLimits(heldProperties: 2))
    let holder = store.makeHolder()
    try store.transact([.set("a", JSONText(1), holder: holder), .set("b", JSONText(1), holder: holder)])
    // What it holds already takes no more room.
    try store.set("a", JSONText(2), holder: holder)
    #expect(throws: StoreError.tooManyHeld(operation: 0, limit: 2)) {
      try store.set("c", JSONText(1), holder: holder)
    }
    try store.set("d", JSONText(1))
    let revision = store.revision
    #expect(throws: StoreError.tooManyHeld(operation: 0, limit: 2)) {
      // An equal value is no change, but would be held.
      try store.set("d", JSONText(1), holder: holder)
    }
    #expect(throws: StoreError.tooManyHeld(operation: 1, limit: 2)) {
      try store.transact([.set("x", JSONText(1)), .set("y", JSONText(1), holder: holder)])
    }
    #expect(store.revision == revision)
    try store.set("c", JSONText(1), holder: store.makeHolder())
    #expect(store.release(holder) == 2)
  }

  @Test func `random sets and releases end what a naive list says`() throws {
    var random = StoreGenerator(seed: 20)
    for _ in 0..<20 {
      let store = PropertyStore(timers: clock)
      let holders = (0..<4).map { _ in store.makeHolder() }
      var model: [PropertyPath: Int?] = [:]
      for _ in 0..<400 {
        let path = try PropertyPath("p/\(Int.random(in: 0..<8, using: &random))")
        switch Int.random(in: 0..<8, using: &random) {
        case 0:
          let index = Int.random(in: 0..<4, using: &random)
          let gone = model.filter { $0.value == index }.keys
          #expect(store.release(holders[index]) == gone.count)
          for path in gone { model[path] = nil }
        case 1:
          try store.delete(path)
          model[path] = nil
        default:
          let index = Bool.random(using: &random) ? Int.random(in: 0..<4, using: &random) : nil
          let value = JSONText(Int.random(in: 0..<2, using: &random))
          try store.set(
            path, value, ttl: Bool.random(using: &random) ? .seconds(60) : nil, holder: index.map { holders[$0] })
          model[path] = .some(index)
        }
        #expect(Set(store.snapshot().list(limit: 99).properties.map(\.path)) == Set(model.keys))
      }
    }
  }
}
