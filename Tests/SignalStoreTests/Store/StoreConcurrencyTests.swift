// SPDX-License-Identifier: MIT

import Foundation
import JSON
import Synchronization
import Testing

@testable import SignalStore

/// A number of threads that run at the same time, and the wait for their end.
private func together(_ count: Int, _ work: @escaping @Sendable (Int) -> Void) {
  let done = DispatchGroup()
  let start = DispatchSemaphore(value: 0)
  for index in 0..<count {
    done.enter()
    Thread.detachNewThread {
      start.wait()
      work(index)
      done.leave()
    }
  }
  for _ in 0..<count { start.signal() }
  done.wait()
}

/// A state that is made from the events of a subscription, and checks their order.
private final class Fold: Sendable {
  struct State {
    var values: [PropertyPath: StoredValue] = [:]
    var revision: Revision = 0
    var isLive = false
    var isRunning = false
    var isInside = false
    var faults: [String] = []
  }

  let state = Mutex(State())

  func take(_ event: StoreEvent) {
    state.withLock { state in
      if state.isRunning { state.faults.append("two calls at a time") }
      state.isRunning = true
    }
    state.withLock { state in
      switch event {
      case .snapshot(let value):
        if state.isLive { state.faults.append("a snapshot after live") }
        if state.values.updateValue(value, forKey: value.path) != nil { state.faults.append("\(value.path) twice") }
      case .live(let revision):
        if state.isLive { state.faults.append("live twice") }
        if let newest = state.values.values.map(\.revision).max(), newest > revision {
          state.faults.append("the snapshot is newer than live")
        }
        state.isLive = true
        state.revision = revision
      case .change(let change, let more):
        if !state.isLive { state.faults.append("a change before live") }
        // Every change matches here, so no revision is left out.
        let expected = state.isInside ? state.revision : Revision(state.revision.number + 1)
        if change.revision != expected { state.faults.append("\(change.revision) after \(state.revision)") }
        if state.values[change.path] !== change.old { state.faults.append("another old value at \(change.revision)") }
        state.values[change.path] = change.new
        state.revision = change.revision
        state.isInside = more
      }
      state.isRunning = false
    }
  }

  var faults: [String] { state.withLock { Array($0.faults.prefix(5)) } }
  var values: [StoredValue] { state.withLock { $0.values.values.sorted { $0.path < $1.path } } }
  var revision: Revision { state.withLock { $0.revision } }
}

@Suite(.serialized) struct StoreConcurrencyTests {
  /// Sets, removals and transactions on few paths, so that they meet.
  private static func write(_ count: Int, to store: PropertyStore, seed: UInt64) {
    var generator = StoreGenerator(seed: seed)
    for index in 0..<count {
      let path = PropertyPath(stringLiteral: "p/\(generator.number(below: 200))")
      switch generator.number(below: 8) {
      case 0: _ = try? store.delete(path)
      case 1:
        _ = try? store.transact([
          .set("t/1", number(index)), .set("t/2", number(index)), .set(path, number(-1)), .delete("t/3"),
        ])
      default: _ = try? store.set(path, number(generator.number(below: 1000)))
      }
    }
  }

  @Test func `every observer sees every commit once, in order, and ends at the state of the store`() {
    let store = PropertyStore()
    let folds = (0..<3).map { _ in Fold() }
    let revisions = Recorder<Revision>()
    let subscriptions =
      folds.map { fold in store.subscribe { fold.take($0) } } + [
        store.changes.subscribe { revisions.record($0.revision) }
      ]
    together(4) { Self.write(3000, to: store, seed: UInt64($0)) }
    let last = store.revision
    #expect(revisions.elements == (1...last.number).map { Revision($0) })
    let now = Array(store.snapshot().scan())
    #expect(now.count > 100)
    for fold in folds {
      #expect(fold.faults == [])
      #expect(fold.revision == last)
      let isSame = fold.values.elementsEqual(now) { $0 === $1 }
      #expect(isSame)
    }
    for subscription in subscriptions { subscription.cancel() }
  }

  @Test func `subscribing during writes misses nothing and repeats nothing, a thousand times`() {
    let store = PropertyStore()
    let kept = Mutex<[(fold: Fold, subscription: Subscription)]>([])
    // Each subscription is made while a writer writes a little, so that the two meet and neither runs away.
    let start = DispatchSemaphore(value: 0)
    let done = DispatchSemaphore(value: 0)
    let subscribers = Atomic(2)
    together(4) { index in
      if index < 2 {
        var seed = UInt64(index)
        while true {
          start.wait()
          if subscribers.load(ordering: .acquiring) == 0 { return }
          Self.write(20, to: store, seed: seed)
          seed += 2
          done.signal()
        }
      }
      var recent: [(fold: Fold, subscription: Subscription)] = []
      for round in 0..<500 {
        start.signal()
        let fold = Fold()
        recent.append((fold, store.subscribe { fold.take($0) }))
        if round % 100 == 99 { kept.withLock { $0.append(recent.removeLast()) } }
        if recent.count > 3 {
          let (fold, subscription) = recent.removeFirst()
          subscription.cancel()
          if fold.faults != [] { Issue.record("\(fold.faults)") }
        }
        done.wait()
      }
      if subscribers.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 {
        for _ in 0..<2 { start.signal() }
      }
    }
    let now = Array(store.snapshot().scan())
    #expect(now.count > 100)
    for (fold, subscription) in kept.withLock({ $0 }) {
      #expect(fold.faults == [])
      #expect(fold.revision == store.revision)
      let isSame = fold.values.elementsEqual(now) { $0 === $1 }
      #expect(isSame)
      subscription.cancel()
    }
    #expect(kept.withLock { $0.count } == 10)
  }

  @Test func `readers see a transaction completely or not at all`() {
    let store = PropertyStore()
    let paths = (0..<5).map { PropertyPath(stringLiteral: "p/\($0)") }
    _ = try? store.transact(paths.map { .set($0, number(0)) })
    let isOver = Atomic(false)
    together(4) { index in
      if index == 0 {
        for value in 1...3000 { _ = try? store.transact(paths.map { .set($0, number(value)) }) }
        isOver.store(true, ordering: .relaxed)
      } else {
        var rounds = 0
        var last: Revision = 0
        while !isOver.load(ordering: .relaxed) || rounds == 0 {
          rounds += 1
          let snapshot = store.snapshot()
          let values = Array(snapshot.scan())
          let isWhole = Set(values.map(\.value)).count == 1 && values.allSatisfy { $0.revision == snapshot.revision }
          if !isWhole { Issue.record("a part of a transaction at \(snapshot.revision)") }
          if snapshot.revision < last { Issue.record("\(snapshot.revision) after \(last)") }
          last = snapshot.revision
        }
      }
    }
    #expect(store.revision == 3001)
  }

  @Test func `of writers with the same condition one wins`() {
    let store = PropertyStore()
    let wins = Atomic(0)
    together(4) { _ in
      for round in 0..<1000 {
        while true {
          let current = store.get("counter")
          let value = current.flatMap { Int(String(decoding: $0.value.bytes, as: UTF8.self)) } ?? 0
          if value > round { break }
          let condition =
            current.map { Condition.matches(Cursor(epoch: store.epoch, revision: $0.revision)) } ?? .absent
          if (try? store.set("counter", number(value + 1), if: condition)) != nil {
            wins.add(1, ordering: .relaxed)
          }
        }
      }
    }
    #expect(store.get("counter")?.value == number(1000))
    #expect(wins.load(ordering: .relaxed) == 1000)
    #expect(store.revision == 1000)
  }

  @Test func `snapshots and histories that are held while others write stay what they are`() {
    let store = PropertyStore(limits: StoreLimits(historyChanges: 500))
    for index in 0..<1000 { _ = try? store.set(PropertyPath(stringLiteral: "q/\(index)"), number(index)) }
    together(4) { index in
      if index < 2 {
        Self.write(4000, to: store, seed: UInt64(index))
      } else {
        for _ in 0..<150 {
          let cursor = store.cursor
          let snapshot = store.snapshot()
          let first = Array(snapshot.scan())
          guard let slice = store.changes(since: cursor) else { continue }
          let revisions = slice.map(\.revision.number)
          let isWhole = revisions == Array((cursor.revision.number + 1)..<(slice.through.number + 1))
          if !isWhole { Issue.record("a hole in the history after \(cursor)") }
          let isSame = snapshot.scan().elementsEqual(first) { $0 === $1 }
          if !isSame || first.count != snapshot.count { Issue.record("the snapshot at \(snapshot.revision) changed") }
        }
      }
    }
  }
}
