// SPDX-License-Identifier: MIT

import JSON
import Testing

@testable import SignalStore

@Suite("The size of what changes at once")
struct CommitSizeTests {
  private let store: PropertyStore

  init() {
    var limits = StoreLimits()
    limits.commitBytes = 2000
    store = PropertyStore(epoch: Epoch("x7")!, limits: limits)
  }

  private func text(_ bytes: Int) -> JSONText { JSONText(String(repeating: "x", count: bytes)) }

  private func isRefused(_ body: () throws(StoreError) -> Void) -> Bool {
    let before = store.replica.revision
    do throws(StoreError) {
      try body()
      return false
    } catch {
      return error == .commitTooLarge(limit: 2000) && store.revision == before
    }
  }

  @Test func `a value and a transaction that are too large are refused, and nothing is changed`() throws {
    #expect(isRefused { () throws(StoreError) in try store.set("a", text(2000)) })
    #expect(isRefused { () throws(StoreError) in try store.transact([.set("a", text(800)), .set("b", text(800))]) })
    try store.transact([.set("a", text(700)), .set("b", text(700))])
    #expect(store.revision == 1)
  }

  @Test func `what is computed counts as well, and a definition that is refused leaves nothing`() throws {
    let copy = Formula(source: "a", inputs: ["a"]) { read in read("a").map { .value($0.value) } ?? .failure("none") }
    try store.transact([.set("a", text(10)), .define("f", copy), .define("g", copy)])
    #expect(isRefused { () throws(StoreError) in try store.set("a", text(700)) })
    #expect(store.get("f")?.value == text(10))
    #expect(
      isRefused { () throws(StoreError) in
        try store.transact([.set("a", text(500)), .define("h", copy), .delete("g")])
      })
    // The graph is what it was: h is no dependent, and g still is one.
    try store.set("a", text(20))
    #expect(store.get("g")?.value == text(20) && store.get("h") == nil)
  }
}
