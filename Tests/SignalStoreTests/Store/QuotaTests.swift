// SPDX-License-Identifier: MIT

import JSON
import Testing

@testable import SignalStore

@Suite("Quotas: what may be beneath some paths")
struct QuotaTests {
  private let clock = ManualClock()
  private let store: PropertyStore

  init() {
    let clock = clock
    store = PropertyStore(epoch: Epoch("x7")!, timers: clock) { Timestamp(milliseconds: clock.now.milliseconds) }
  }

  /// What is used by one quota.
  private func use(_ captures: String, quota: Int = 0) -> [Int] {
    let use = store.quotaUse[quota][captures] ?? QuotaUse()
    return [use.properties, use.bytes]
  }

  private func refused(_ operations: PropertyStore.Operation...) -> (operation: Int, excess: QuotaExcess)? {
    let before = store.replica.revision
    do throws(StoreError) {
      if operations.count == 1 { try store.execute(operations[0]) } else { try store.transact(operations) }
      return nil
    } catch {
      #expect(store.revision == before)
      guard case .quotaExceeded(let operation, let excess) = error else {
        Issue.record("another refusal: \(error)")
        return nil
      }
      return (operation, excess)
    }
  }

  @Test func `each value of the captures is counted by itself`() throws {
    store.setQuotas([try Quota("rooms/{room}/**", properties: 2)])
    try store.set("rooms/a", number(1))
    try store.set("rooms/a/x", number(1))
    try store.set("rooms/b/x", number(1))
    try store.set("halls/a/x", number(1))
    let excess = try #require(refused(.set("rooms/a/y", number(1)))).excess
    #expect(excess.match == "rooms/{room}/**" && excess.captures.map(\.name) == ["room"])
    #expect(excess.captures.map(\.text) == ["a"] && excess.measure == .properties)
    #expect(excess.allowed == 2 && excess.used == 2 && excess.added == 1)
    #expect(
      excess.description
        == "The quota \"rooms/{room}/**\" admits 2 properties for room \"a\": there are 2, and 1 more would be too many."
    )
    #expect(
      excess.withheld == "The quota \"rooms/{room}/**\" admits 2 properties for room \"a\", and there would be more.")
    #expect(excess.counted == "rooms/a/**")
    #expect(store.get("rooms/a/y") == nil)
    #expect(use("a/") == [2, 2] && use("b/") == [1, 1])
    try store.set("rooms/b/y", number(1))
  }

  @Test func `the bytes of values are counted as they are kept`() throws {
    store.setQuotas([try Quota("a/**", bytes: 5)])
    try store.set("a/x", JSONText("xyz"))
    #expect(use("") == [1, 5])
    #expect(refused(.set("a/y", number(1)))?.excess.measure == .bytes)
    #expect(refused(.set("a/x", JSONText("wxyz")))?.excess.added == 1)
    try store.set("a/x", JSONText("x"))
    try store.set("a/y", number(17))
    #expect(use("") == [2, 5])
    try store.set("a/x", JSONText("z"), always: true)
    try store.delete("a/y")
    #expect(use("") == [1, 3])
  }

  @Test func `of several quotas each has to admit a write`() throws {
    store.setQuotas([
      try Quota("users/{id}/**", properties: 2), try Quota("**", properties: 3), try Quota("**/big", bytes: 9),
    ])
    try store.set("users/ann/x", number(1))
    try store.set("users/ann/big", number(1))
    #expect(refused(.set("users/ann/y", number(1)))?.excess.match == "users/{id}/**")
    try store.set("other", number(1))
    #expect(refused(.set("users/bob/x", number(1)))?.excess.match == "**")
    #expect(refused(.set("users/ann/big", JSONText("12345678")))?.excess.match == "**/big")
    #expect(refused(.set("users/ann/big", JSONText("12345678")))?.excess.captures.isEmpty == true)
    #expect(use("", quota: 1) == [3, 3] && use("", quota: 2) == [1, 1])
  }

  @Test func `deletions and what makes less pass always, also where there is more than may be`() throws {
    for name in ["a", "b", "c"] { try store.set(PropertyPath("q/\(name)"), JSONText("0123456789")) }
    store.setQuotas([try Quota("q/**", properties: 1, bytes: 4)])
    #expect(use("") == [3, 36])
    try store.set("q/a", JSONText("012345678"))
    try store.set("q/a", JSONText("876543210"))
    #expect(refused(.set("q/a", JSONText("0123456789")))?.excess.used == 35)
    #expect(refused(.set("q/d", .null))?.excess.measure == .properties)
    try store.transact([.set("q/a", .null), .delete("q/b")])
    try store.delete("q/c")
    #expect(use("") == [1, 4])
    #expect(refused(.set("q/d", number(1)))?.excess.measure == .properties)
    try store.delete("q/a")
    #expect(store.quotaUse == [[:]])
  }

  @Test func `a transaction is judged as a whole`() throws {
    store.setQuotas([try Quota("q/{n}/**", properties: 2, bytes: 8)])
    try store.transact([.set("q/1/a", number(1)), .set("q/1/b", number(1)), .set("q/2/a", number(1))])
    let refusal = try #require(
      refused(.set("free", number(1)), .delete("q/2/a"), .set("q/1/c", number(1)), .set("q/1/d", number(1))))
    #expect(refusal.operation == 2 && refusal.excess.added == 2)
    #expect(store.get("free") == nil && store.get("q/2/a") != nil)
    // What one operation adds another takes away.
    try store.transact([.set("q/1/c", JSONText("1234")), .delete("q/1/a")])
    #expect(use("1/") == [2, 7])
    #expect(refused(.set("q/1/b", JSONText("x")), .set("q/1/c", JSONText("x")))?.operation == nil)
    #expect(use("1/") == [2, 6])
  }

  @Test func `what ends by itself is given back`() throws {
    store.setQuotas([try Quota("q/**", properties: 2)])
    let holder = store.makeHolder()
    try store.set("q/a", number(1), ttl: .seconds(1))
    try store.set("q/b", number(1), holder: holder)
    #expect(refused(.set("q/c", number(1))) != nil)
    clock.advance(to: .seconds(2))
    #expect(use("") == [1, 1])
    store.release(holder)
    #expect(store.quotaUse == [[:]])
  }

  @Test func `a formula whose value there is no room for is null, and says why`() throws {
    store.setQuotas([try Quota("q/**", properties: 2, bytes: 12)])
    let twice = Formula(source: "twice", inputs: ["in"]) { read in
      .value(JSONText((read("in")?.value.description ?? "") + (read("in")?.value.description ?? "")))
    }
    try store.set("in", number(12345))
    try store.define("q/twice", twice)
    #expect(store.get("q/twice")?.value == JSONText("1234512345") && use("") == [1, 12])
    try store.set("in", number(123456))
    #expect(store.get("q/twice")?.value == .null && use("") == [1, 4])
    #expect(store.get("q/twice")?.computation?.error == "the quota \"q/**\" is used up")
    // A computed value is at least null, for which there is always room.
    try store.set("in", number(1))
    #expect(store.get("q/twice")?.value == JSONText("11") && use("") == [1, 4])
    try store.set("q/a", number(12345678))
    try store.set("in", number(22))
    #expect(store.get("q/twice")?.value == .null && use("") == [2, 12])
    try store.set("q/a", number(1))
    try store.set("in", number(33))
    #expect(store.get("q/twice")?.value == JSONText("3333") && use("") == [2, 7])
    #expect(refused(.define("q/more", twice))?.excess.measure == .properties)
    try store.delete("q/twice")
    try store.set("q/a", JSONText("0123456"))
    #expect(refused(.define("q/more", twice))?.excess.measure == .bytes)
  }

  @Test func `what is defined together shares what there is room for`() throws {
    store.setQuotas([try Quota("q/**", bytes: 14)])
    let long = Formula(source: "long", inputs: []) { _ in .value(number(123_456_789)) }
    try store.transact([.define("q/a", long), .define("q/b", long), .define("q/c", long)])
    let values = ["q/a", "q/b", "q/c"].map { store.get($0)?.value }
    #expect(values.count { $0 == .null } == 3 || use("")[1] <= 14)
    #expect(use("")[0] == 3 && use("")[1] <= 14)
  }

  @Test func `without quotas nothing is counted`() throws {
    store.setQuotas([try Quota("q/**", properties: 2)])
    try store.set("q/a", number(1))
    store.setQuotas([])
    #expect(store.quotas.isEmpty && store.quotaUse.isEmpty)
    for index in 0..<5 { try store.set(PropertyPath("q/\(index)"), number(1)) }
  }

  @Test(arguments: ["", "a//b", "{a}/{a}", "{}", "{a-b}", "{x}/**/b/**"])
  func `a pattern that is none is refused`(_ match: String) {
    #expect(throws: RuleFault.self) { try Quota(match, properties: 1) }
  }

  @Test func `a quota limits something`() {
    #expect(throws: RuleFault(reason: "needs a number of properties, or of bytes, or both")) { try Quota("a/**") }
  }

  @Test func `captures are counted alike only if they are alike`() throws {
    func key(_ match: String, _ path: PropertyPath) throws -> String {
      var text: [UInt8] = []
      let pattern = try CapturePattern(match, limits: PathLimits())
      try #require(pattern.pattern.matches(path))
      pattern.appendCaptures(of: path, to: &text)
      return String(decoding: text, as: UTF8.self)
    }
    #expect(try key("rooms/{room}/**", "rooms/a") == "a/")
    #expect(try key("rooms/{room}/**", "rooms/a/b/c") == "a/")
    #expect(try key("{a}/x/{b}", "é/x/ü") == "é/ü/")
    #expect(try key("**/{name}/last", "x/y/z/last") == "z/")
    #expect(try key("**/{name}", "x") == "x/")
    #expect(try key("{a}/{rest=**}", "x") == "x//")
    #expect(try key("{a}/{rest=**}", "x/y/z") == "x/y/z/")
    #expect(try key("{a}/{rest=**}/{z}", "x/y") == "x//y/")
    #expect(try key("{a}/{rest=**}/{z}", "x/1/2/y") == "x/1/2/y/")
    #expect(try key("a/**", "a/b") == "")
  }

  /// Properties that match, counted one by one.
  static func naive(_ store: PropertyStore) -> [[String: QuotaUse]] {
    store.quotas.map { quota in
      var all: [String: QuotaUse] = [:]
      for property in store.snapshot().scan() where quota.pattern.pattern.matches(property.path) {
        let texts = quota.pattern.captures.map { CapturePattern.text(at: $0.place, of: property.path) }
        let key = texts.map { $0 + "/" }.joined()
        all[key, default: QuotaUse()].properties += 1
        let size = property.value.bytes.count
        all[key, default: QuotaUse()].bytes += property.computation == nil ? size : max(4, size)
      }
      return all
    }
  }

  static let quotaSets: [[Quota]] = {
    func quota(_ match: String, _ properties: Int?, _ bytes: Int?) -> Quota {
      guard let quota = try? Quota(match, properties: properties, bytes: bytes) else {
        preconditionFailure("A pattern of the test is none.")
      }
      return quota
    }
    return [
      [quota("**", 7, 900), quota("{a}/**", 2, 300), quota("a/{b}", nil, 260)],
      [quota("{all=**}", 1, 100), quota("**/{last}", 3, nil)],
      [],
      [quota("{a}", nil, 30), quota("a/**", 0, nil), quota("{a}/{rest=**}/{z}", 9, 20)],
    ]
  }()

  @Test(arguments: 1...60)
  func `counts are exact after every commit, and nothing grows beyond a quota`(_ seed: UInt64) throws {
    let run = try RandomRun(seed: seed)
    var generator = StoreGenerator(seed: seed)
    var last: [[String: QuotaUse]] = []
    func compare() {
      let use = run.store.quotaUse
      #expect(use == Self.naive(run.store))
      for (index, quota) in run.store.quotas.enumerated() {
        for (key, now) in use[index] {
          let before = last.indices.contains(index) ? last[index][key] ?? QuotaUse() : QuotaUse()
          if let most = quota.properties { #expect(now.properties <= max(most, before.properties)) }
          if let most = quota.bytes { #expect(now.bytes <= max(most, before.bytes)) }
        }
      }
      last = use
    }
    func restart(with quotas: [Quota]) {
      run.restart(from: run.store.replica, sink: nil, quotas: quotas)
    }
    for _ in 0..<12 {
      let quotas = Self.quotaSets[generator.number(below: Self.quotaSets.count)]
      last = []
      if generator.chance(30) { restart(with: quotas) } else { run.store.setQuotas(quotas) }
      last = Self.naive(run.store)
      compare()
      let store = run.store
      let subscription = store.changes.subscribe { commit in
        if store.revision == commit.revision { #expect(store.quotaUse == Self.naive(store)) }
      }
      for _ in 0..<25 {
        try run.steps(1)
        compare()
      }
      subscription.cancel()
    }
  }

  @Test(arguments: 1...20)
  func `exactly what would exceed a quota is refused`(_ seed: UInt64) throws {
    var generator = StoreGenerator(seed: seed)
    let quotas = Self.quotaSets[[0, 1, 3][generator.number(below: 3)]]
    store.setQuotas(quotas)
    for _ in 0..<300 {
      var operations: [PropertyStore.Operation] = []
      for _ in 0...generator.number(below: 5) {
        let path = PropertyPath(
          stringLiteral: ["a", "b", "a/a", "a/b", "a/b/c", "x/y/z", "c"][generator.number(below: 7)])
        if operations.contains(where: { $0.path == path }) { continue }
        let text = String(repeating: "x", count: generator.number(below: 60))
        operations.append(generator.chance(25) ? .delete(path) : .set(path, JSONText(text)))
      }
      var expected = false
      for (index, quota) in quotas.enumerated() {
        var growth: [String: QuotaUse] = [:]
        for operation in operations where quota.pattern.pattern.matches(operation.path) {
          let key = quota.pattern.captures.map { CapturePattern.text(at: $0.place, of: operation.path) + "/" }.joined()
          let now = QuotaUse(after: operation) - QuotaUse(store.get(operation.path))
          growth[key] = (growth[key] ?? QuotaUse()) + now
        }
        for (key, growth) in growth {
          let use = store.quotaUse[index][key] ?? QuotaUse()
          if let most = quota.properties, growth.properties > 0, use.properties + growth.properties > most {
            expected = true
          }
          if let most = quota.bytes, growth.bytes > 0, use.bytes + growth.bytes > most { expected = true }
        }
      }
      let before = store.revision
      let isRefused: Bool
      do {
        if operations.count == 1 { try store.execute(operations[0]) } else { try store.transact(operations) }
        isRefused = false
      } catch {
        isRefused = true
        #expect(store.revision == before)
      }
      #expect(isRefused == expected, "\(operations)")
    }
  }
}
