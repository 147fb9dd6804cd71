// SPDX-License-Identifier: MIT

import Synchronization
import Testing

@testable import SignalStore

@Suite struct StoreSubscribeTests {
  private let store = PropertyStore(epoch: Epoch("x7")!, clock: { Timestamp(milliseconds: 5) })

  @Test func `first come the properties in path order, then live, then every change`() throws {
    try store.set("b", number(1))
    try store.set("a", number(2))
    let recorder = Recorder<StoreEvent>()
    let subscription = store.subscribe { recorder.record($0) }
    let a = try #require(store.get("a"))
    let b = try #require(store.get("b"))
    #expect(recorder.elements == [.snapshot(a), .snapshot(b), .live(2)])
    let set = try #require(store.set("a", number(3)).value)
    try store.delete("b")
    #expect(
      recorder.elements.dropFirst(3) == [
        .change(Change(set: set, replacing: a), more: false),
        .change(Change(delete: b, revision: 4, time: Timestamp(milliseconds: 5)), more: false),
      ])
    subscription.cancel()
    try store.set("a", number(4))
    #expect(recorder.elements.count == 5)
  }

  @Test func `without the initial properties, live is first`() throws {
    try store.set("a", number(1))
    let recorder = Recorder<StoreEvent>()
    let subscription = store.subscribe(match: ["**"], initial: false) { recorder.record($0) }
    #expect(recorder.elements == [.live(1)])
    try store.set("b", number(1))
    #expect(recorder.elements.count == 2)
    subscription.cancel()
  }

  @Test func `only what matches a pattern comes, once`() throws {
    for path in ["a", "a/b", "b", "b/c", "c"] as [PropertyPath] { try store.set(path, number(1)) }
    let recorder = Recorder<StoreEvent>()
    let subscription = store.subscribe(match: ["a/**", "*", "b/*"]) { recorder.record($0) }
    #expect(paths(recorder) == ["a", "a/b", "b", "b/c", "c", nil])
    for path in ["a/b/c", "b/c/d", "b/c"] as [PropertyPath] { try store.set(path, number(2)) }
    #expect(paths(recorder).dropFirst(6) == ["a/b/c", "b/c"])
    subscription.cancel()
  }

  @Test func `of a transaction all matching changes but the last are marked with more`() throws {
    let recorder = Recorder<StoreEvent>()
    let subscription = store.subscribe(match: ["a/*"]) { recorder.record($0) }
    try store.transact([
      .set("b/1", number(1)), .set("a/1", number(1)), .set("b/2", number(1)), .set("a/2", number(1)),
      .set("a/3", number(1)), .set("b/3", number(1)),
    ])
    try store.transact([.set("b/1", number(2)), .set("a/1", number(2))])
    try store.transact([.set("b/1", number(3)), .set("b/2", number(3))])
    let marks = recorder.elements.compactMap { event -> (PropertyPath, Bool)? in
      if case .change(let change, let more) = event { (change.path, more) } else { nil }
    }
    #expect(marks.map(\.0) == ["a/1", "a/2", "a/3", "a/1"])
    #expect(marks.map(\.1) == [true, true, false, false])
    subscription.cancel()
  }

  @Test func `what the handler changes while it gets the snapshot comes after live`() throws {
    for index in 0..<10 { try store.set(PropertyPath(stringLiteral: "a/\(index)"), number(index)) }
    let recorder = Recorder<StoreEvent>()
    let store = store
    let subscription = store.subscribe { event in
      recorder.record(event)
      if case .snapshot(let value) = event { _ = try? store.set(value.path, number(100), always: true) }
    }
    let events = recorder.elements
    #expect(events.count == 21)
    #expect(events[10] == .live(10))
    #expect(events.prefix(10).allSatisfy { if case .snapshot = $0 { true } else { false } })
    let revisions = events.dropFirst(11).map { event -> UInt64 in
      if case .change(let change, more: false) = event { change.revision.number } else { 0 }
    }
    #expect(revisions == Array(11...20))
    subscription.cancel()
  }

  @Test func `a handler that subscribes while it is told of a change misses and repeats nothing`() throws {
    let inner = Recorder<StoreEvent>()
    let kept = Mutex<[Subscription]>([])
    let store = store
    let outer = store.changes.subscribe { commit in
      guard commit.revision == 2 else { return }
      let subscription = store.subscribe { inner.record($0) }
      kept.withLock { $0.append(subscription) }
    }
    for value in 1...4 { try store.set("a", number(value)) }
    let events = inner.elements
    #expect(events.count == 4)
    #expect(
      events.first == .snapshot(try #require(store.changes(since: store.cursor(at: 1))?.first { _ in true }?.first.new))
    )
    #expect(events.dropFirst().first == .live(2))
    #expect(paths(inner).dropFirst(2) == ["a", "a"])
    #expect(kept.withLock { $0.count } == 1)
    outer.cancel()
  }

  @Test func `dropping the subscription ends it and frees the handler`() throws {
    weak let witness: Recorder<StoreEvent>?
    do {
      let recorder = Recorder<StoreEvent>()
      witness = recorder
      let subscription = store.subscribe { recorder.record($0) }
      try store.set("a", number(1))
      #expect(recorder.elements.count == 2)
      _ = consume subscription
    }
    #expect(witness == nil)
    #expect(store.commits.observerCount == 0)
  }

  private func paths(_ recorder: Recorder<StoreEvent>) -> [PropertyPath?] {
    recorder.elements.map { event in
      switch event {
      case .snapshot(let value): value.path
      case .live: nil
      case .change(let change, _): change.path
      }
    }
  }
}

extension PropertyStore {
  fileprivate func cursor(at revision: Revision) -> Cursor { Cursor(epoch: epoch, revision: revision) }
}
