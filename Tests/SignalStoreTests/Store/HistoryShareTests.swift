// SPDX-License-Identifier: MIT

import JSON
import Testing

@testable import SignalStore

@Suite("Shares of the history") struct HistoryShareTests {
  @Test(arguments: [
    ("sensors/** 20%", "sensors/** 20%"), ("a b 1%", "a b 1%"), (" a  99% ", "a 99%"),
  ])
  func `a share is a pattern and how much it may take`(line: String, text: String) throws {
    #expect(try HistoryShare(line).description == text)
  }

  @Test(arguments: [
    ("", "it should be a pattern and how much it may take, such as 'sensors/** 20%'"),
    ("20%", "it should be a pattern and how much it may take, such as 'sensors/** 20%'"),
    ("a 0%", "'0%' is nothing from 1% to 99%"), ("a 100%", "'100%' is nothing from 1% to 99%"),
    ("a 20", "'20' is nothing from 1% to 99%"), ("a -1%", "'-1%' is nothing from 1% to 99%"),
  ])
  func `what is none is refused`(line: String, reason: String) {
    #expect(throws: RuleFault(reason: reason)) { try HistoryShare(line) }
  }

  private static let limits = StoreLimits(
    historyChanges: 1000, history: [HistoryShare("noise/**", percent: 20), HistoryShare("more/**", percent: 10)])

  @Test func `noise does not push out what others resume with`() throws {
    let store = PropertyStore(limits: Self.limits)
    try store.set("flags/a", number(1))
    let cursor = store.cursor
    try store.set("flags/a", number(2))
    for value in 0..<5000 { try store.set("noise/a", number(value)) }
    try store.set("flags/b", number(3))
    #expect(store.changes(since: cursor) == nil)
    #expect(
      store.changes(since: cursor, match: ["noise/*"]) == nil && store.changes(since: cursor, match: ["**"]) == nil)
    let missed = try #require(store.changes(since: cursor, match: ["flags/**", "x"]))
    #expect(missed.map { $0.first.path.description } == ["flags/a", "flags/b"])
    #expect(missed.through == store.revision)
    // Of the noise there is about as much as it may take.
    let reach = Int(store.revision.number) - 150
    #expect(store.changes(since: Cursor(epoch: store.epoch, revision: Revision(UInt64(reach)))) != nil)
    #expect(store.changes(since: Cursor(epoch: store.epoch, revision: Revision(UInt64(reach - 100)))) == nil)
  }

  @Test func `whoever can resume is told of every change that matches, once and in order`() throws {
    for seed in 1...40 as ClosedRange<UInt64> {
      var random = StoreGenerator(seed: seed)
      let store = PropertyStore(limits: Self.limits)
      var all: [Commit] = []
      let paths = ["noise/a", "noise/b", "more/a", "rest/a", "rest/b"]
      for value in 0..<1500 {
        let count = random.chance(20) ? 1 + random.number(below: 3) : 1
        let first = random.chance(80) ? 0 : random.number(below: 5)
        let operations = (0..<count).map {
          PropertyStore.Operation.set(PropertyPath(stringLiteral: paths[(first + $0) % 5]), number(value))
        }
        try store.transact(operations)
        all.append(
          contentsOf: store.changes(since: Cursor(epoch: store.epoch, revision: Revision(UInt64(value))))
            ?? HistorySlice([], after: 0, through: 0))
      }
      #expect(all.count == 1500)
      var served: Set<String> = []
      for pattern in ["**", "noise/**", "more/*", "rest/**", "*/a"] as [PathPattern] {
        for _ in 0..<20 {
          let since = Revision(UInt64(random.number(below: 1501)))
          guard let missed = store.changes(since: Cursor(epoch: store.epoch, revision: since), match: [pattern]) else {
            continue
          }
          served.insert(pattern.description)
          let revisions = missed.map(\.revision)
          #expect(revisions == revisions.sorted() && Set(revisions).count == revisions.count)
          let found = missed.flatMap { $0.filter { pattern.matches($0.path) } }
          let expected = all.filter { $0.revision > since }.flatMap { $0.filter { pattern.matches($0.path) } }
          #expect((found == expected) as Bool, "seed \(seed), \(pattern) since \(since)")
        }
      }
      #expect(served.contains("rest/**"))
    }
  }
}
