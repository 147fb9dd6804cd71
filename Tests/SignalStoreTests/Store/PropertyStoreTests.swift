// SPDX-License-Identifier: MIT

import JSON
import Synchronization
import Testing

@testable import SignalStore

/// Collects what an observer is told.
final class Recorder<Element: Sendable>: Sendable {
  private let recorded = Mutex<[Element]>([])

  func record(_ element: Element) { recorded.withLock { $0.append(element) } }
  var elements: [Element] { recorded.withLock { $0 } }
}

@Suite struct PropertyStoreTests {
  static let epoch = Epoch("x7")!

  private func makeStore(_ limits: StoreLimits = StoreLimits()) -> PropertyStore {
    PropertyStore(epoch: Self.epoch, limits: limits, clock: { Timestamp(milliseconds: 5) })
  }

  @Test func `a new store is empty and at revision 0`() {
    let store = makeStore()
    #expect(store.revision == 0)
    #expect(store.count == 0)
    #expect(store.cursor.description == "x7.0")
    #expect(store.get("a") == nil)
    #expect(PropertyStore().epoch != PropertyStore().epoch)
  }

  @Test func `setting creates, then replaces, and each change takes the next revision`() throws {
    let store = makeStore()
    let created = try store.set("a", number(1))
    #expect(created.outcome == .created)
    #expect(created.revision == 1)
    #expect(created.value == StoredValue(path: "a", value: number(1), revision: 1, time: Timestamp(milliseconds: 5)))
    let replaced = try store.set("a", number(2))
    #expect(replaced.outcome == .replaced)
    #expect(replaced.revision == 2)
    #expect(store.get("a") === replaced.value)
    #expect(store.get(bytes: Array("a".utf8).span) === replaced.value)
    #expect(store.count == 1)
  }

  @Test func `setting an equal value changes nothing, unless asked to`() throws {
    let store = makeStore()
    let first = try store.set("a", number(1))
    let recorder = Recorder<Commit>()
    let subscription = store.changes.subscribe { recorder.record($0) }
    let equal = try store.set("a", number(1))
    #expect(equal.outcome == .unchanged)
    #expect(equal.value === first.value)
    #expect(equal.revision == 1)
    #expect(store.revision == 1)
    #expect(recorder.elements.isEmpty)
    let forced = try store.set("a", number(1), always: true)
    #expect(forced.outcome == .replaced)
    #expect(forced.revision == 2)
    #expect(recorder.elements.map(\.first) == [Change(set: forced.value!, replacing: first.value)])
    subscription.cancel()
  }

  @Test func `values are equal when their bytes are`() throws {
    let store = makeStore()
    try store.set("a", .init(validating: "1.0"))
    #expect(try store.set("a", .init(validating: "1")).outcome == .replaced)
    #expect(try store.set("a", .init(validating: " 1 ")).outcome == .unchanged)
  }

  @Test func `deleting removes, and deleting what is not there does nothing`() throws {
    let store = makeStore()
    let old = try store.set("a", number(1)).value
    let recorder = Recorder<Commit>()
    let subscription = store.changes.subscribe { recorder.record($0) }
    let deleted = try store.delete("a")
    #expect(deleted.outcome == .deleted)
    #expect(deleted.value === old)
    #expect(deleted.revision == 2)
    #expect(store.get("a") == nil)
    #expect(store.count == 0)
    let again = try store.delete("a")
    #expect(again.outcome == .unchanged)
    #expect(again.value == nil)
    #expect(again.revision == 2)
    let changes = recorder.elements.flatMap(Array.init)
    #expect(changes.count == 1)
    #expect(changes.first?.op == .delete)
    #expect(changes.first?.path == "a")
    #expect(changes.first?.old === old)
    #expect(changes.first?.new == nil)
    #expect(changes.first?.revision == 2)
    subscription.cancel()
  }

  @Test func `a change tells the old and the new value`() throws {
    let store = makeStore()
    let recorder = Recorder<Change>()
    let subscription = store.changes.subscribe { for change in $0 { recorder.record(change) } }
    try store.set("a", number(1))
    try store.set("a", number(2))
    try store.delete("a")
    try store.set("a", number(3))
    let changes = recorder.elements
    #expect(changes.map(\.op) == [.set, .set, .delete, .set])
    #expect(changes.map { $0.old?.value } == [nil, number(1), number(2), nil])
    #expect(changes.map { $0.new?.value } == [number(1), number(2), nil, number(3)])
    #expect(changes.map { $0.old?.revision } == [nil, 1, 2, nil])
    #expect(changes.map(\.revision) == [1, 2, 3, 4])
    #expect(changes.allSatisfy { $0.path == "a" && $0.time.milliseconds == 5 })
    subscription.cancel()
  }

  static func cursor(_ revision: UInt64) -> Cursor { Cursor(epoch: epoch, revision: Revision(revision)) }
  static let other = Cursor(epoch: Epoch("y8")!, revision: 1)

  /// Conditions, whether each holds for a property at revision 1, and whether for one that is not there.
  static let conditions: [(Condition, Bool, Bool)] = [
    (.any, true, true),
    (.matches(cursor(1)), true, false), (.matches(cursor(2)), false, false), (.matches(other), false, false),
    (.matchesAny([]), false, false), (.matchesAny([cursor(2), cursor(1)]), true, false),
    (.matchesAny([other, cursor(2)]), false, false),
    (.exists, true, false), (.absent, false, true),
    (.noneMatch([]), true, true), (.noneMatch([cursor(1)]), false, true), (.noneMatch([cursor(2), other]), true, true),
    (.noneMatch([cursor(2), cursor(1)]), false, true),
  ]

  @Test(arguments: conditions)
  func `a condition is judged by the revision of the property`(
    condition: Condition, holdsForOne: Bool, holdsForNone: Bool
  ) throws {
    for (path, holds) in [("there", holdsForOne), ("missing", holdsForNone)] as [(PropertyPath, Bool)] {
      for isSet in [true, false] {
        let store = makeStore()
        let current = try store.set("there", number(1)).value
        let attempt = { () throws(StoreError) -> OperationResult in
          isSet ? try store.set(path, number(2), if: condition) : try store.delete(path, if: condition)
        }
        if holds {
          _ = try attempt()
          #expect(store.get(path)?.value == (isSet ? number(2) : nil))
        } else {
          let expected = path == "there" ? current : nil
          #expect(throws: StoreError.conditionFailed(operation: 0, current: expected, revision: 1)) { try attempt() }
          #expect(store.revision == 1)
          #expect(store.get(path) === expected)
        }
      }
    }
  }

  @Test func `a refused condition is refused also when the value is equal`() throws {
    let store = makeStore()
    try store.set("a", number(1))
    #expect(throws: StoreError.self) { try store.set("a", number(1), if: .absent) }
  }

  @Test func `a property that was deleted and made again has another cursor`() throws {
    let store = makeStore()
    try store.set("a", number(1))
    try store.delete("a")
    try store.set("a", number(1))
    #expect(throws: StoreError.self) { try store.set("a", number(2), if: .matches(Self.cursor(1))) }
    try store.set("a", number(2), if: .matches(Self.cursor(3)))
  }

  @Test func `a full store takes no new property, but changes of those it has`() throws {
    let store = makeStore(StoreLimits(properties: 2))
    try store.set("a", number(1))
    try store.set("b", number(1))
    #expect(throws: StoreError.tooManyProperties(limit: 2)) { try store.set("c", number(1)) }
    #expect(store.revision == 2)
    #expect(store.get("c") == nil)
    try store.set("a", number(2))
    try store.delete("b")
    try store.set("c", number(1))
    #expect(store.count == 2)
  }

  @Test func `a store takes no more bytes than it may, but always less`() throws {
    // Two properties with a path of one byte and a value of ten.
    let store = makeStore(StoreLimits(propertyBytes: 2 * (180 + 1 + 10)))
    try store.set("a", text(8))
    let full = StoreError.tooManyBytes(limit: 382)
    #expect(throws: full) { try store.set("b", text(9)) }
    #expect(throws: full) { try store.set("bb", text(8)) }
    try store.set("b", text(8))
    #expect(throws: full) { try store.set("a", text(9)) }
    #expect(throws: full) { try store.set("c", number(1)) }
    #expect(store.revision == 2 && store.count == 2)
    try store.set("a", text(7))
    try store.set("b", text(9))
    try store.delete("a")
    #expect(throws: full) { try store.transact([.set("c", text(8)), .set("d", number(1))]) }
    #expect(throws: full) { try store.define("computed/long", Formula(uncompiled: "c")) }
    try store.transact([.set("c", text(4)), .set("b", text(8))])
    try store.transact([.delete("b"), .delete("c"), .set("x", text(8)), .set("y", text(8))])
    #expect(store.snapshot().list(limit: 9).properties.map(\.path) == ["x", "y"])
  }

  @Test func `what is computed has to fit into the store, or is nothing`() throws {
    let store = PropertyStore(limits: StoreLimits(propertyBytes: 2000))
    let formula = Formula(source: "large", inputs: ["n"]) { read in
      .value(JSONText(String(repeating: "x", count: read("n")?.value == number(1) ? 500 : 5000)))
    }
    try store.set("n", number(1))
    try store.define("large", formula)
    #expect(store.get("large")?.value.bytes.count == 502)
    try store.set("n", number(2))
    #expect(store.get("large")?.value == .null && store.get("large")?.computation?.error == "the store is full")
    #expect(throws: StoreError.tooManyBytes(limit: 2000)) { try store.set("m", text(1600)) }
    try store.set("n", number(1))
    #expect(store.get("large")?.value.bytes.count == 502)
    // Where there is just as much room as before, what is there can be computed anew.
    try store.set("m", text(2000 - 3 * 180 - 502 - 7 - 1 - 2))
    try store.define(
      "large",
      Formula(source: "other", inputs: ["n"]) { _ in
        .value(JSONText(String(repeating: "y", count: 500)))
      })
    #expect(store.get("large")?.value.description.contains("y") == true)
  }

  private func text(_ count: Int) -> JSONText { JSONText(String(repeating: "x", count: count)) }

  @Test func `time never goes back, also when the clock does`() throws {
    let clock = Mutex<[Int64]>([10, 7, 12, 3, 20])
    let store = PropertyStore(clock: { Timestamp(milliseconds: clock.withLock { $0.removeFirst() }) })
    let times = try (0..<5).map { try store.set("a", number($0)).value?.time.milliseconds }
    #expect(times == [10, 10, 12, 12, 20])
  }

  @Test func `the clock may use the store`() throws {
    let holder = Mutex<PropertyStore?>(nil)
    let store = PropertyStore(clock: {
      Timestamp(milliseconds: Int64(holder.withLock { $0 }?.revision.number ?? 0))
    })
    holder.withLock { $0 = store }
    try store.set("a", number(1))
    #expect(try store.set("a", number(2)).value?.time.milliseconds == 1)
    holder.withLock { $0 = nil }
  }

  @Test func `an observer may change the store; its change comes after, for everyone`() throws {
    let store = makeStore()
    let recorder = Recorder<Revision>()
    let first = store.changes.subscribe { commit in
      if commit.revision < 5 { _ = try? store.set("a", number(Int(commit.revision.number) + 1)) }
    }
    let second = store.changes.subscribe { recorder.record($0.revision) }
    try store.set("a", number(1))
    #expect(recorder.elements == [1, 2, 3, 4, 5])
    #expect(store.get("a")?.value == number(5))
    first.cancel()
    second.cancel()
  }

  @Test func `an observer reads at least what it is told`() throws {
    let store = makeStore()
    let recorder = Recorder<Bool>()
    let subscription = store.changes.subscribe { commit in
      recorder.record(store.get(commit.first.path) === commit.first.new && store.revision == commit.revision)
    }
    for value in 0..<10 { try store.set("a", number(value)) }
    #expect(recorder.elements == Array(repeating: true, count: 10))
    subscription.cancel()
  }

  @Test(arguments: [1, 2, 3] as [UInt64])
  func `a store behaves like a dictionary with numbered changes`(seed: UInt64) throws {
    var generator = StoreGenerator(seed: seed)
    let store = makeStore(StoreLimits(properties: 150))
    var model: [PropertyPath: StoredValue] = [:]
    var revision: UInt64 = 0
    for _ in 0..<6000 {
      let path = generator.path(depth: 3)
      let current = model[path]
      let condition = Self.conditions[generator.number(below: Self.conditions.count)].0
      let isSet = generator.chance(60)
      let value = number(generator.number(below: 3))
      let always = generator.chance(20)
      let operation: PropertyStore.Operation =
        isSet ? .set(path, value, if: condition, always: always) : .delete(path, if: condition)
      switch attempt(operation, on: store) {
      case .success(let result):
        #expect(condition.holds(for: current, in: Self.epoch))
        switch result.outcome {
        case .created:
          #expect(isSet && current == nil)
        case .replaced:
          #expect(isSet && current != nil && (always || current?.value != value))
        case .deleted:
          #expect(!isSet && current != nil && result.value === current)
        case .unchanged:
          #expect(isSet ? current?.value == value && !always : current == nil)
          #expect(result.value === current)
        }
        if result.outcome != .unchanged {
          revision += 1
          model[path] = isSet ? result.value : nil
          if isSet { #expect(result.value?.revision == Revision(revision) && result.value?.value == value) }
        }
        #expect(result.revision == Revision(revision))
      case .failure(.conditionFailed(let operation, let found, let at)):
        #expect(!condition.holds(for: current, in: Self.epoch))
        #expect(operation == 0 && found === current && at == Revision(revision))
      case .failure(.tooManyProperties):
        #expect(isSet && current == nil && model.count == 150)
      case .failure(let error):
        Issue.record("\(error)")
      }
      #expect(store.get(path) === model[path])
    }
    #expect(model.count > 50)
    let all = store.snapshot().list(limit: .max)
    let isSame = all.properties.elementsEqual(model.values.sorted { $0.path < $1.path }) { $0 === $1 }
    #expect(isSame)
    #expect(store.count == model.count)
  }

  /// A single operation, by the method that is made for it.
  private func attempt(
    _ operation: PropertyStore.Operation, on store: PropertyStore
  ) -> Result<OperationResult, StoreError> {
    Result { () throws(StoreError) in
      switch operation.action {
      case .set(let value, let always, let ttl, let holder):
        try store.set(operation.path, value, if: operation.condition, always: always, ttl: ttl, holder: holder)
      case .delete:
        try store.delete(operation.path, if: operation.condition)
      case .define(let formula):
        try store.define(operation.path, formula, if: operation.condition)
      }
    }
  }

  @Test func `a snapshot stays at its revision`() throws {
    let store = makeStore()
    for index in 0..<300 { try store.set(PropertyPath(stringLiteral: "p/\(index)"), number(index)) }
    let snapshot = store.snapshot()
    for index in 0..<300 where index % 3 > 0 {
      let path = PropertyPath(stringLiteral: "p/\(index)")
      if index % 3 == 1 { try store.set(path, number(-1)) } else { try store.delete(path) }
    }
    #expect(snapshot.revision == 300)
    #expect(snapshot.cursor.description == "x7.300")
    #expect(snapshot.count == 300)
    #expect(store.count == 200)
    for index in 0..<300 {
      let path = PropertyPath(stringLiteral: "p/\(index)")
      #expect(snapshot.get(path)?.value == number(index))
      #expect(snapshot.get(bytes: path.bytes.span)?.value == number(index))
    }
    #expect(snapshot.get("p") == nil)
  }

  @Test func `a list is cut into pages that join without a gap`() throws {
    let store = makeStore()
    for index in 0..<25 {
      try store.set(PropertyPath(stringLiteral: "a/\(100 + index)/x"), number(index))
      try store.set(PropertyPath(stringLiteral: "a/\(100 + index)/y"), number(index))
    }
    let snapshot = store.snapshot()
    var pages: [[StoredValue]] = []
    var after: PropertyPath?
    repeat {
      let page = snapshot.list(match: ["*/*/x"], after: after, limit: 10)
      pages.append(page.properties)
      after = page.next
    } while after != nil
    #expect(pages.map(\.count) == [10, 10, 5])
    #expect(pages.joined().map { $0.value } == (0..<25).map(number))
    #expect(snapshot.list(match: ["*/*/x"], limit: 25).next == nil)
    #expect(snapshot.list(match: ["a/100/x"], after: "a/100/x", limit: 5).properties.isEmpty)
    #expect(snapshot.list(match: [], limit: 5) == PropertyPage(properties: [], next: nil))
  }
}
