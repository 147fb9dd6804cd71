// SPDX-License-Identifier: MIT

import JSON
import Testing

@testable import SignalStore

@Suite struct HistoryTests {
  private func makeStore(_ limits: StoreLimits = StoreLimits()) -> PropertyStore {
    PropertyStore(epoch: Epoch("x7")!, limits: limits)
  }

  private func cursor(_ revision: UInt64, epoch: String = "x7") -> Cursor {
    Cursor(epoch: Epoch(epoch)!, revision: Revision(revision))
  }

  @Test func `the history after a cursor is every commit after it, in order`() throws {
    let store = makeStore()
    let recorder = Recorder<Commit>()
    let subscription = store.changes.subscribe { recorder.record($0) }
    for index in 0..<1000 {
      if index % 10 == 0 {
        try store.transact([.set("t", number(index)), .set("u", number(index))])
      } else {
        try store.set("a", number(index))
      }
    }
    let all = recorder.elements
    for since in [0, 1, 254, 255, 256, 257, 511, 512, 999] {
      let slice = try #require(store.changes(since: cursor(UInt64(since))))
      #expect(slice.after == Revision(UInt64(since)))
      #expect(slice.through == 1000)
      let isSame = slice.elementsEqual(all[since...]) { $0 === $1 }
      #expect(isSame, "since \(since)")
    }
    let nothing = try #require(store.changes(since: store.cursor))
    #expect(Array(nothing).isEmpty)
    #expect(nothing.through == 1000)
    subscription.cancel()
  }

  @Test func `a cursor of another epoch or of the future has no history`() throws {
    let store = makeStore()
    #expect(store.changes(since: cursor(0)).map(Array.init)?.isEmpty == true)
    try store.set("a", number(1))
    #expect(store.changes(since: cursor(1)) != nil)
    #expect(store.changes(since: cursor(2)) == nil)
    #expect(store.changes(since: cursor(.max)) == nil)
    #expect(store.changes(since: cursor(1, epoch: "y8")) == nil)
    #expect(store.changes(since: cursor(0, epoch: "x")) == nil)
  }

  @Test(arguments: [0, 1, 2, 10, 100, 1000])
  func `the count of changes is bounded, and what is kept is without a hole`(limit: Int) throws {
    let store = makeStore(StoreLimits(historyChanges: limit))
    for index in 1...3000 {
      try store.set("a", number(index))
      guard index % 97 == 0 || index > 2990 else { continue }
      let kept = (0...UInt64(index)).reversed().prefix { store.changes(since: cursor($0)) != nil }.count - 1
      #expect(kept <= limit)
      #expect(kept >= min(index, limit - limit / 16 - 1), "after \(index)")
      let slice = try #require(store.changes(since: cursor(UInt64(index - kept))))
      #expect(slice.map(\.revision.number) == Array((UInt64(index - kept) + 1)..<(UInt64(index) + 1)))
    }
  }

  @Test func `the bytes that the changes keep alive are bounded`() throws {
    let store = makeStore(StoreLimits(historyBytes: 1 << 20))
    let large = try [1, 2].map { try JSONText(validating: "\"\(String(repeating: "\($0)", count: 10_000))\"") }
    for index in 0..<1000 { try store.set("a", large[index % 2]) }
    let kept = (0...UInt64(1000)).reversed().prefix { store.changes(since: cursor($0)) != nil }.count - 1
    #expect((90...104).contains(kept))
  }

  @Test func `a change too large for the history empties it, and it goes on from there`() throws {
    let store = makeStore(StoreLimits(historyBytes: 10_000))
    try store.set("a", number(1))
    try store.set("big", .init(validating: "\"\(String(repeating: "x", count: 20_000))\""))
    #expect(store.changes(since: cursor(0)) != nil)
    // What the history keeps alive is the value that is no longer in the store.
    try store.delete("big")
    #expect(store.changes(since: cursor(2)) == nil)
    #expect(store.changes(since: cursor(3)) != nil)
    try store.set("a", number(2))
    #expect(store.changes(since: cursor(3))?.map(\.revision) == [4])
  }

  @Test func `a transaction counts with each of its changes`() throws {
    let store = makeStore(StoreLimits(historyChanges: 10))
    for round in 0..<5 {
      try store.transact((0..<4).map { .set(PropertyPath(stringLiteral: "p/\($0)"), number(round)) })
    }
    #expect(store.changes(since: cursor(2)) == nil)
    #expect(store.changes(since: cursor(3))?.map(\.count) == [4, 4])
  }

  @Test func `a slice stays what it was while the store goes on`() throws {
    let store = makeStore(StoreLimits(historyChanges: 100))
    for index in 0..<80 { try store.set("a", number(index)) }
    let slice = try #require(store.changes(since: cursor(10)))
    var iterator = slice.makeIterator()
    #expect(iterator.next()?.revision == 11)
    for index in 0..<1000 { try store.set("a", number(-index)) }
    #expect(slice.map(\.revision.number) == Array(11...80))
    #expect(iterator.next()?.revision == 12)
  }

  @Test func `what the history drops is freed`() throws {
    let store = makeStore(StoreLimits(historyChanges: 32))
    weak let first = try store.set("a", number(0)).value
    #expect(first != nil)
    for index in 1...31 { try store.set("a", number(index)) }
    #expect(first != nil)
    for index in 32...64 { try store.set("a", number(index)) }
    #expect(first == nil)
  }

  @Test func `a dropped chunk is freed commit by commit, and at once when there is much in it`() throws {
    let store = makeStore(StoreLimits(historyChanges: 10_000, historyBytes: 1 << 20))
    var values: [Weak] = []
    let large = try [1, 2].map { try JSONText(validating: "\"\(String(repeating: "\($0)", count: 300_000))\"") }
    func kept() -> Int { values.count { $0.value != nil } }
    for index in 0..<40_000 { values.append(Weak(value: try store.set("a", number(index)).value)) }
    // An eighth of the bytes more than is kept, and what is in the store.
    let steady = kept()
    let here = (0...UInt64(40_000)).reversed().prefix { store.changes(since: cursor($0)) != nil }.count - 1
    #expect(steady > here)
    #expect(steady < here * 9 / 8 + 2)
    for index in 0..<10 { values.append(Weak(value: try store.set("a", large[index % 2]).value)) }
    #expect(kept() <= 5)
  }

  private struct Weak { weak var value: StoredValue? }

  @Test(arguments: [1, 2] as [UInt64])
  func `the state at a cursor and the history after it make the state now`(seed: UInt64) throws {
    var generator = StoreGenerator(seed: seed)
    let store = makeStore()
    var snapshots: [StoreSnapshot] = [store.snapshot()]
    for _ in 0..<2000 {
      switch generator.number(below: 3) {
      case 0: try store.delete(generator.path(depth: 3))
      case 1: try store.set(generator.path(depth: 3), number(generator.number(below: 100)))
      default:
        let paths = Set((0..<3).map { _ in generator.path(depth: 3) })
        try store.transact(
          paths.sorted().map { generator.chance(70) ? .set($0, number(generator.number(below: 100))) : .delete($0) })
      }
      if generator.chance(2) { snapshots.append(store.snapshot()) }
    }
    let now = Array(store.snapshot().scan())
    for snapshot in snapshots {
      var state = Dictionary(uniqueKeysWithValues: snapshot.scan().map { ($0.path, $0) })
      for commit in try #require(store.changes(since: snapshot.cursor)) {
        for change in commit {
          #expect(state[change.path] === change.old)
          state[change.path] = change.new
        }
      }
      let isSame = state.values.sorted { $0.path < $1.path }.elementsEqual(now) { $0 === $1 }
      #expect(isSame, "since \(snapshot.revision)")
    }
  }
}
