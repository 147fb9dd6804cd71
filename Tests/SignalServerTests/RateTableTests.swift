// SPDX-License-Identifier: MIT
import JSON
import Testing

@testable import signal_server

@Suite("Rates of paths")
struct RateTableTests {
  @Test func `rates are of the last interval, means of the last ten, totals of all`() {
    var table = RateTable()
    for interval in 1...25 {
      for _ in 0..<(interval <= 20 ? 4 : 2) { table.count("a", value: JSONText(interval)) }
      if interval == 25 { table.count("b", value: nil) }
      table.count(unknown: 1)
      table.count(bytes: 100)
      table.close(after: .milliseconds(500))
    }
    let rows = table.busiest(9)
    // Five intervals with 4 changes and five with 2, of half a second each.
    #expect(rows.map(\.path) == ["a", "b"])
    #expect(rows.map(\.rate) == [4, 2])
    #expect(rows.map(\.mean) == [6, 0.2])
    #expect(rows.map(\.total) == [90, 1])
    #expect(rows.map(\.value) == [JSONText(25), nil])
    #expect(table.changes.rate == 8)
    #expect(table.bytes == 200)
    #expect(table.paths == 2 && !table.hasForgotten)
  }

  @Test func `the busiest come first, then those with more in all, then in the order of their paths`() {
    var table = RateTable()
    for path in ["c", "b", "a", "d", "d"] { table.count(path, value: nil) }
    table.close(after: .seconds(1))
    #expect(table.busiest(9).map(\.path) == ["d", "a", "b", "c"])
    #expect(table.busiest(2).map(\.path) == ["d", "a"])
    for _ in 0..<RateTable.intervals { table.close(after: .seconds(1)) }
    // Nothing changes any more.
    #expect(table.busiest(9).map(\.mean) == [0, 0, 0, 0])
    #expect(table.busiest(9).map(\.path) == ["d", "a", "b", "c"])
  }

  @Test func `paths that differ in composition only are two`() {
    var table = RateTable()
    table.count("\u{E9}", value: nil)
    table.count("e\u{301}", value: nil)
    #expect(table.paths == 2)
  }

  @Test func `of too many paths the busiest are kept`() {
    var table = RateTable()
    for number in 0..<RateTable.mostPaths {
      table.count("p/\(number)", value: nil)
      if number < 3 { table.count("p/\(number)", value: nil) }
    }
    #expect(table.paths == RateTable.mostPaths && !table.hasForgotten)
    table.count("p/0", value: nil)
    #expect(table.paths == RateTable.mostPaths)
    table.count("more", value: nil)
    #expect(table.paths == RateTable.mostPaths / 2 + 1 && table.hasForgotten)
    table.close(after: .seconds(1))
    #expect(table.busiest(3).map(\.path) == ["p/0", "p/1", "p/2"])
    #expect(table.changes.rate == Double(RateTable.mostPaths + 5))
  }

  @Test func `counts end at the largest number there is`() {
    var table = RateTable()
    for _ in 1...2 { table.count(unknown: .max) }
    table.count("a", value: nil)
    table.close(after: .seconds(1))
    #expect(table.changes.rate == Double(UInt64.max))
  }
}
