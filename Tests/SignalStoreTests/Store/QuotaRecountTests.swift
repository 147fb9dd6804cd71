// SPDX-License-Identifier: MIT

import Dispatch
import JSON
import Synchronization
import Testing

@testable import SignalStore

@Suite("Other quotas while a store is used")
struct QuotaRecountTests {
  @Test func `counting goes some at a time, and counts what changes meanwhile once`() throws {
    var state = StoreState(epoch: .random(), limits: StoreLimits())
    let changes = Signal<Commit>()
    let now = Moment(time: Timestamp(milliseconds: 1), ticks: nil)
    func path(_ index: Int) -> PropertyPath { PropertyPath(stringLiteral: "q/\(index % 7)/\(index)") }
    for index in 0..<2500 { _ = try state.execute(.set(path(index), number(index)), at: now, changes) }
    var generator = StoreGenerator(seed: 7)
    let turn = state.judge.beginRecount([try Quota("q/{n}/**", properties: 10_000)])
    var steps = 0
    while true {
      // On both sides of what has been counted.
      for _ in 0..<200 {
        let index = generator.number(below: 4000)
        let operation: PropertyStore.Operation =
          generator.chance(40) ? .delete(path(index)) : .set(path(index), number(generator.number(below: 9999)))
        _ = try state.execute(operation, at: now, changes)
      }
      #expect(state.judge.quotas.isEmpty)
      steps += 1
      if state.proceedWithRecount(turn).isDone { break }
    }
    #expect(steps >= 3)
    var naive: [[UInt8]: QuotaUse] = [:]
    for property in state.replica.snapshot.scan() {
      let key = Array((property.path.segments.map { String(decoding: $0, as: UTF8.self) }[1] + "/").utf8)
      naive[key] = (naive[key] ?? QuotaUse()) + QuotaUse(property)
    }
    #expect(state.judge.quotas.use(of: 0) == naive)
  }

  @Test func `the last call counts, and equal quotas are not counted again`() throws {
    let store = PropertyStore()
    for index in 0..<3000 { try store.set(PropertyPath("q/\(index)"), number(1)) }
    let one = try Quota("q/**", properties: 1)
    let other = try Quota("q/*", bytes: 1)
    let late = store.shared.state.withLock { $0.judge.beginRecount([one]) }
    _ = store.shared.state.withLock { $0.proceedWithRecount(late) }
    store.setQuotas([other])
    #expect(store.quotas == [other])
    // The first one finds out that another has begun.
    #expect(store.shared.state.withLock { $0.proceedWithRecount(late) }.isDone)
    #expect(store.quotas == [other])
    let same = store.shared.state.withLock { $0.judge.beginRecount([other]) }
    #expect(store.shared.state.withLock { $0.judge.recount == nil && $0.proceedWithRecount(same).isDone })
    #expect(store.quotaUse[0][""]?.properties == 3000)
  }

  @Test func `threads that write while quotas change leave exact counts`() throws {
    let store = PropertyStore()
    let sets = QuotaTests.quotaSets.map { quotas in quotas.map { try? Quota($0.match, properties: 100_000) } }
    DispatchQueue.concurrentPerform(iterations: 3) { thread in
      var generator = StoreGenerator(seed: UInt64(thread))
      for step in 0..<1500 {
        if thread == 0, step % 10 == 0 {
          store.setQuotas(sets[generator.number(below: sets.count)].compactMap(\.self))
        } else {
          let path = PropertyPath(stringLiteral: "a/\(generator.number(below: 9))/\(generator.number(below: 300))")
          if generator.chance(30) { _ = try? store.delete(path) } else { _ = try? store.set(path, number(step)) }
        }
      }
    }
    store.setQuotas(QuotaTests.quotaSets[0])
    #expect(store.quotaUse == QuotaTests.naive(store))
  }
}
