// SPDX-License-Identifier: MIT
import JSON
import Testing

@testable import SignalStore

@Suite("Reading what has been announced") struct AnnouncedStateTests {
  private func contents(_ snapshot: StoreSnapshot) -> [String] {
    snapshot.scan().map { "\($0.path) \($0.value) \($0.revision.number)" }
  }

  @Test(arguments: 1...20)
  func `readers get the state of the last announcement, whatever came behind it`(seed: UInt64) throws {
    var random = StoreGenerator(seed: seed)
    let store = PropertyStore()
    store.holdBack(after: 0)
    var states = [store.snapshot()]
    for step in 0..<300 {
      let operations = (0..<Int.random(in: 1...4, using: &random)).map { _ in Int.random(in: 0..<30, using: &random) }
      var paths: Set<Int> = []
      let commit = try operations.filter { paths.insert($0).inserted }.map { number in
        let path = try PropertyPath("p/\(number)")
        return Bool.random(using: &random)
          ? PropertyStore.Operation.set(path, try JSONText(validating: "\(step)"), ttl: .seconds(3600)) : .delete(path)
      }
      let before = store.revision
      try store.transact(commit)
      if store.revision != before { states.append(store.snapshot()) }
    }
    for told in [0, 1, states.count / 2, states.count - 1] {
      if told > 0 { store.announce(through: UInt64(told)) }
      store.readAnnounced()
      let state = states[told]
      #expect(store.revision == state.revision && store.count == state.count)
      #expect(store.dependence(since: store.announcedState) == told)
      #expect(contents(store.snapshot()) == contents(state))
      for number in 0..<30 {
        let path = try PropertyPath("p/\(number)")
        #expect(store.get(path)?.revision == state.get(path)?.revision)
      }
      let missed = try #require(store.changes(since: Cursor(epoch: store.epoch, revision: 0)))
      #expect(missed.map(\.revision.number) == Array(0..<UInt64(told)).map { $0 + 1 })
    }
    #expect(contents(store.snapshot()) == contents(try #require(states.last)))
  }

  @Test func `who has begun with another state depends on what there is`() throws {
    let store = PropertyStore()
    store.holdBack(after: 0)
    let begin = store.announcedState
    try store.set("a", JSONText(validating: "1"))
    store.readAnnounced()
    let full = store.announcedState
    #expect(begin == 0 && full > 0 && store.dependence(since: begin) == 1 && store.dependence(since: full) == 0)
    #expect(throws: StoreError.notKept(.full)) { try store.set("a", JSONText(validating: "2")) }
    store.announce(through: 1)
    #expect(store.announcedState == 0 && store.dependence(since: full) == 1)
    try store.set("a", JSONText(validating: "2"))
    store.readAnnounced()
    #expect(store.announcedState != full && store.dependence(since: full) == 2)
  }

  @Test func `what is announced meanwhile is read`() throws {
    let store = PropertyStore()
    store.readAnnounced()
    try store.set("a", JSONText(validating: "1"))
    #expect(store.revision == 1 && store.dependence() == 0)
    store.holdBack(after: 0)
    try store.set("a", JSONText(validating: "2"))
    store.readAnnounced()
    #expect(store.revision == 1)
    store.announce(through: 1)
    #expect(store.revision == 2 && store.dependence() == 1)
  }
}
