// SPDX-License-Identifier: MIT

import Testing

@testable import SignalJournal
@testable import SignalStore

@Suite("Ancestry") struct AncestryTests {
  private func ancestry(_ starts: [(String, Revision)]) throws -> Ancestry {
    Ancestry(
      try starts.map { name, after in
        Ancestry.Generation(
          epoch: try #require(Epoch(name)), after: after, position: 0, time: Timestamp(milliseconds: 0))
      })
  }

  private func resolve(_ ancestry: Ancestry, _ text: String) throws -> Ancestry.Meaning {
    ancestry.resolve(try #require(Cursor(text)), newest: 250)
  }

  @Test func `a cursor of an earlier epoch is good up to the end of that epoch`() throws {
    let ancestry = try ancestry([("a", 0), ("b", 100), ("c", 200)])
    #expect(try resolve(ancestry, "c.0") == .revision(0))
    #expect(try resolve(ancestry, "c.250") == .revision(250))
    #expect(try resolve(ancestry, "c.251") == .unknown)
    #expect(try resolve(ancestry, "b.200") == .revision(200))
    #expect(try resolve(ancestry, "b.201") == .lost)
    #expect(try resolve(ancestry, "a.100") == .revision(100))
    #expect(try resolve(ancestry, "a.101") == .lost)
    #expect(try resolve(ancestry, "d.1") == .unknown)
  }

  @Test func `what a later start did not find is lost for all that came before`() throws {
    let ancestry = try ancestry([("a", 0), ("b", 100), ("c", 80), ("d", 120)])
    #expect(try resolve(ancestry, "a.80") == .revision(80))
    #expect(try resolve(ancestry, "a.81") == .lost)
    #expect(try resolve(ancestry, "b.81") == .lost)
    #expect(try resolve(ancestry, "c.120") == .revision(120))
    #expect(try resolve(ancestry, "c.121") == .lost)
  }

  @Test func `the latest starts are remembered, and the others forgotten`() throws {
    let folder = try TemporaryFolder()
    _ = try Recovery(configuration(folder))
    let files = try DataFolder(configuration(folder))
    try files.journal.database.execute("PRAGMA synchronous = OFF")
    for number in 2...Ancestry.limit + 3 {
      try files.journal.begin(
        Ancestry.Generation(
          epoch: .random(), after: Revision(UInt64(number)), position: 0, time: Timestamp(milliseconds: 5)))
    }
    let generations = try files.journal.generations()
    #expect(generations.count == Ancestry.limit && generations.first?.after == 4)
  }
}
