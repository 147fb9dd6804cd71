// SPDX-License-Identifier: MIT

import Testing

@testable import SignalStore

@Suite struct StoreTransactionTests {
  private let store = PropertyStore(epoch: Epoch("x7")!, clock: { Timestamp(milliseconds: 5) })

  @Test func `a transaction is one revision and one commit, its changes in the order of the operations`() throws {
    try store.set("b", number(0))
    try store.set("d", number(4))
    let recorder = Recorder<Commit>()
    let subscription = store.changes.subscribe { recorder.record($0) }
    let result = try store.transact([
      .set("c", number(1)), .delete("b"), .set("a", number(2)), .delete("missing"), .set("d", number(4)),
    ])
    #expect(result.revision == 3)
    #expect(result.results.map(\.outcome) == [.created, .deleted, .created, .unchanged, .unchanged])
    #expect(result.results.map(\.value?.path) == ["c", "b", "a", nil, "d"])
    #expect(result.results.allSatisfy { $0.revision == 3 })
    let commits = recorder.elements
    #expect(commits.count == 1)
    #expect(commits.first?.count == 3)
    #expect(commits.first?.map(\.path) == ["c", "b", "a"])
    #expect(commits.first?.map(\.op) == [.set, .delete, .set])
    #expect(commits.first?.allSatisfy { $0.revision == 3 && $0.time.milliseconds == 5 } == true)
    #expect(commits.first?.revision == 3)
    #expect(store.get("a")?.revision == 3)
    #expect(store.get("d")?.revision == 2)
    subscription.cancel()
  }

  @Test func `a transaction that changes nothing takes no revision`() throws {
    try store.set("a", number(1))
    let recorder = Recorder<Commit>()
    let subscription = store.changes.subscribe { recorder.record($0) }
    #expect(try store.transact([]).revision == 1)
    #expect(try store.transact([.set("a", number(1)), .delete("b")]).revision == 1)
    #expect(store.revision == 1)
    #expect(recorder.elements.isEmpty)
    subscription.cancel()
  }

  @Test func `one failed condition undoes nothing, because nothing was done`() throws {
    let current = try store.set("a", number(1)).value
    let before = store.snapshot().list(limit: .max)
    #expect(throws: StoreError.conditionFailed(operation: 2, current: current, revision: 1)) {
      try store.transact([
        .set("b", number(1)), .set("c", number(1), if: .absent), .set("a", number(2), if: .absent), .delete("d"),
      ])
    }
    #expect(store.snapshot().list(limit: .max) == before)
    #expect(store.revision == 1)
    #expect(throws: StoreError.conditionFailed(operation: 0, current: nil, revision: 1)) {
      try store.transact([.delete("b", if: .exists)])
    }
  }

  @Test func `conditions are judged against the state before the transaction`() throws {
    try store.set("a", number(1))
    let cursor = store.cursor
    let result = try store.transact([
      .set("b", number(1), if: .absent), .delete("a", if: .matches(cursor)),
      .set("c", number(1), if: .noneMatch([cursor])),
    ])
    #expect(result.revision == 2)
    #expect(store.snapshot().list(limit: 9).properties.map(\.path) == ["b", "c"])
  }

  @Test func `a path may occur once`() throws {
    for operations in [
      [.set("a", number(1)), .set("b", number(1)), .set("a", number(2))],
      [.delete("a"), .set("b", number(1)), .set("a", number(2))],
    ] as [[PropertyStore.Operation]] {
      #expect(throws: StoreError.repeatedPath(operation: 2)) { try store.transact(operations) }
    }
    #expect(store.revision == 0)
  }

  @Test func `a transaction with too many operations is refused`() throws {
    let store = PropertyStore(limits: StoreLimits(transactionOperations: 2))
    #expect(throws: StoreError.tooManyOperations(limit: 2)) {
      try store.transact([.set("a", number(1)), .set("b", number(1)), .set("c", number(1))])
    }
    try store.transact([.set("a", number(1)), .set("b", number(1))])
    #expect(store.revision == 1)
  }

  @Test func `the limit of properties holds for the outcome of a transaction`() throws {
    let store = PropertyStore(limits: StoreLimits(properties: 2))
    try store.transact([.set("a", number(1)), .set("b", number(1))])
    #expect(throws: StoreError.tooManyProperties(limit: 2)) {
      try store.transact([.delete("a"), .set("c", number(1)), .set("d", number(1))])
    }
    #expect(store.revision == 1)
    try store.transact([.set("c", number(1)), .delete("a")])
    #expect(store.snapshot().list(limit: 9).properties.map(\.path) == ["b", "c"])
  }

  @Test func `an unchanged operation can be forced to be a change`() throws {
    try store.set("a", number(1))
    let result = try store.transact([.set("a", number(1), always: true), .set("b", number(2))])
    #expect(result.results.map(\.outcome) == [.replaced, .created])
    #expect(store.get("a")?.revision == 2)
  }

  @Test(arguments: [
    StoreError.conditionFailed(operation: 3, current: nil, revision: 1),
    .conditionFailed(operation: 3, current: stored("a/b", 1), revision: 1), .repeatedPath(operation: 3),
    .tooManyProperties(limit: 3), .tooManyBytes(limit: 3), .tooManyOperations(limit: 3),
  ])
  func `an error says in a sentence what is wrong and where`(error: StoreError) {
    #expect(error.description.contains("3"))
    #expect(error.description.hasSuffix("."))
  }
}
