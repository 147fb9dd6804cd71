// SPDX-License-Identifier: MIT
import JSON
import Testing

@testable import SignalStore

private struct Light: Codable, Equatable { var on: Bool, level: Int }

@Suite struct `A property of a store as a Swift type` {
  @Test func `setting it sets the store, and a change there is told here`() throws {
    let store = PropertyStore()
    let temperature = store.property("kitchen/temperature", as: Double.self)
    #expect(temperature.value == nil)
    #expect(temperature.error == nil)
    let log = Log<Double?>()
    let subscription = temperature.subscribe { log.add($0) }
    temperature.value = 21.5
    #expect(store.get("kitchen/temperature")?.value.description == "21.5")
    try store.set("kitchen/temperature", JSONText(validating: "22"))
    try store.set("hall/temperature", JSONText(validating: "9"))
    #expect(temperature.value == 22)
    temperature.value = nil
    #expect(store.get("kitchen/temperature") == nil)
    #expect(log.entries == [nil, 21.5, 22, nil])
    subscription.cancel()
    #expect(temperature.observerCount == 0)
  }

  @Test func `any type that is Codable will do, and a part of it can be set`() throws {
    let store = PropertyStore()
    let light = store.property("light", as: Light.self).defaulting(to: Light(on: false, level: 0))
    light[\.level].value = 3
    #expect(store.get("light")?.value.description == #"{"on":false,"level":3}"#)
    light[\.on].toggle()
    #expect(light.value == Light(on: true, level: 3))
  }

  @Test func `a value of another shape is an error that the property tells`() throws {
    let store = PropertyStore()
    let light = store.property("light", as: Light.self)
    let values = Log<Light?>()
    let errors = Log<String>()
    let bag = SubscriptionBag()
    light.subscribe(from: .future) { values.add($0) }.stored(in: bag)
    light.errors.subscribe { errors.add($0.description) }.stored(in: bag)
    try store.set("light", JSONText(validating: #"{"on":true,"level":"high"}"#))
    #expect(light.value == nil)
    #expect(light.error?.description == errors.entries.first)
    #expect(
      errors.entries == [
        #"{"on":true,"level":"high"} has another shape: level: Expected an integer of its range, found "high"."#
      ])
    try store.set("light", JSONText(validating: #"{"on":true,"level":1}"#))
    #expect(light.error == nil)
    #expect(values.entries == [nil, Light(on: true, level: 1)])
  }

  @Test func `what cannot be set is told and changes nothing`() throws {
    let store = PropertyStore(limits: StoreLimits(properties: 1))
    let first = store.property("a", as: Double.self)
    let second = store.property("b", as: Double.self)
    let errors = Log<String>()
    let bag = SubscriptionBag()
    first.errors.subscribe { errors.add($0.description) }.stored(in: bag)
    second.errors.subscribe { errors.add($0.description) }.stored(in: bag)
    first.value = 1
    first.value = .nan
    #expect(first.value == 1)
    second.value = 2
    #expect(second.value == nil)
    second.modify { $0 = 3 }
    #expect(
      errors.entries == [
        "The value cannot be written as JSON: JSON has no nan (RFC 8259 §6).",
        "The store is full: it holds at most 1 properties.", "The store is full: it holds at most 1 properties.",
      ])
    #expect(throws: StorePropertyError.self) { try second.set(4) }
    #expect(store.revision == 1)
  }

  @Test func `two of one path and several types agree`() throws {
    let store = PropertyStore()
    let number = store.property("x", as: Int.self)
    let fraction = store.property("x", as: Double.self)
    number.value = 4
    #expect(fraction.value == 4)
    fraction.value = 4.5
    #expect(number.value == nil)
    #expect(number.error != nil)
  }

  @Test func `it is a source like any other`() throws {
    let store = PropertyStore()
    let a = store.property("a", as: Int.self).defaulting(to: 0)
    let local = Property(7)
    let binding = local.bindBothWays(with: a)
    #expect(store.get("a")?.value.description == "7")
    try store.set("a", JSONText(validating: "8"))
    #expect(local.value == 8)
    let log = Log<Int>()
    let token = combineLatest(a, store.property("b", as: Int.self).defaulting(to: 1)).map { $0 * $1 }
      .subscribe { log.add($0) }
    try store.transact([.set("a", JSONText(2)), .set("b", JSONText(5))])
    #expect(log.entries.last == 10)
    withExtendedLifetime((binding, token)) {}
  }

  @Test func `what a transaction sets is one commit, and told once`() throws {
    let store = PropertyStore()
    let a = store.property("a", as: Int.self)
    let b = store.property("b", as: Int.self)
    let local = Property(0)
    let log = Log<String>()
    let bag = SubscriptionBag()
    combineLatest(a, b, local).subscribe(from: .future) { log.add("\($0 ?? -1) \($1 ?? -1) \($2)") }.stored(in: bag)
    let commits = Log<Int>()
    store.changes.subscribe { commits.add($0.count) }.stored(in: bag)
    combine(a, b).value = (1, 2)
    #expect(commits.entries == [2])
    #expect(store.revision == 1)
    #expect(log.entries == ["1 2 0"])
    withTransaction {
      local.value = 7
      a.value = 3
      b.value = nil
      #expect(a.value == 3 && b.value == nil)
      #expect(store.get("a")?.value.description == "1")
      a.modify { $0 = ($0 ?? 0) + 1 }
    }
    #expect(commits.entries == [2, 2])
    #expect(a.value == 4)
    #expect(log.entries == ["1 2 0", "4 -1 7"])
    try store.transact([.set("a", JSONText(5)), .set("b", JSONText(6))])
    #expect(log.entries.last == "5 6 7" && log.entries.count == 3)
  }

  @Test func `what a transaction sets is refused as a whole, and each property tells why`() throws {
    let store = PropertyStore(limits: StoreLimits(properties: 2))
    let properties = ["a", "b", "c"].map { store.property(try! PropertyPath($0), as: Int.self) }
    let errors = Log<String>()
    let bag = SubscriptionBag()
    for property in properties { property.errors.subscribe { errors.add($0.description) }.stored(in: bag) }
    withTransaction { for (n, property) in properties.enumerated() { property.value = n } }
    #expect(store.count == 0 && store.revision == 0)
    #expect(errors.entries == Array(repeating: "The store is full: it holds at most 2 properties.", count: 3))
    withTransaction { for (n, property) in properties.prefix(2).enumerated() { property.value = n } }
    #expect(properties.map(\.value) == [0, 1, nil])
  }

  @Test func `what is bound to a property of the store is set in the transaction`() {
    let store = PropertyStore()
    let (a, b) = (Property(0), Property(0))
    let bag = SubscriptionBag()
    a.bind(to: store.property("a", as: Int.self)).stored(in: bag)
    b.bind(to: store.property("b", as: Int.self)).stored(in: bag)
    let revision = store.revision
    withTransaction {
      a.value = 1
      b.value = 2
    }
    #expect(store.revision == revision.next)
    #expect(store.get("b")?.value.description == "2")
  }

  @Test func `modify is one step among the changes of all threads`() throws {
    let store = PropertyStore()
    let properties = (0..<4).map { _ in store.property("count", as: Int.self) }
    let log = Log<Int?>()
    let subscription = properties[0].subscribe(from: .future) { log.add($0) }
    onThreads(4) { thread in
      for _ in 0..<500 { properties[thread].modify { $0 = ($0 ?? 0) + 1 } }
    }
    #expect(properties[0].value == 2000)
    #expect(log.entries == Array(1...2000))
    subscription.cancel()
  }

  @Test func `a subscription begins with the value of now and misses nothing while others set`() throws {
    let store = PropertyStore()
    let writer = store.property("count", as: Int.self)
    writer.value = 0
    onThreads(2) { thread in
      if thread == 0 {
        for n in 1...2000 { writer.value = n }
        return
      }
      for _ in 0..<50 {
        let log = Log<Int?>()
        let property = store.property("count", as: Int.self)
        let subscription = property.subscribe { log.add($0) }
        while property.value != 2000, log.entries.count < 20 {}
        subscription.cancel()
        let seen = log.entries.compactMap { $0 }
        #expect(seen == Array((seen.first ?? 0)..<(seen.first ?? 0) + seen.count))
      }
    }
  }

  @Test func `nothing of it is left in the store`() throws {
    let store = PropertyStore()
    for n in 0..<200 {
      let property = store.property(try PropertyPath("p\(n)"), as: Int.self)
      property.value = n
    }
    #expect(store.commits.observerCount == 1)
    weak var gone: StoreProperty<Int>?
    do {
      let property = store.property("x", as: Int.self)
      gone = property
      property.value = 1
      let token = property.subscribe { _ in }
      property.value = 2
      token.cancel()
    }
    #expect(gone == nil)
  }
}
