// SPDX-License-Identifier: MIT
import TestSupport
import Testing

/// The helper that cuts input has to be right itself.
@Suite struct `Cutting input` {
  private let input = Array("abcdef".utf8)

  @Test func `every way of cutting gives the input back`() throws {
    var ways = 0
    let joined = try Splits.all(of: input) { pieces in
      ways += 1
      return pieces.flatMap { $0 }
    }
    #expect(joined == input)
    // Whole, before the first byte, byte by byte, six single cuts, sixteen random ones.
    #expect(ways == 1 + 1 + 1 + 6 + 16)
  }

  @Test func `whole, byte by byte, and once at every place are among the ways`() throws {
    var ways: Set<[Int]> = []
    _ = try Splits.all(of: input) { pieces in
      ways.insert(pieces.map(\.count))
      return 0
    }
    #expect(ways.isSuperset(of: [[6], [0, 6], [1, 1, 1, 1, 1, 1], [1, 5], [2, 4], [3, 3], [4, 2], [5, 1]]))
  }

  @Test func `an outcome that depends on the cuts is reported`() {
    let mismatch = #expect(throws: Splits.Mismatch.self) {
      try Splits.all(of: input) { $0.contains(Array("cd".utf8)) || $0.count == 1 }
    }
    #expect(mismatch?.cuts == [0])
    #expect(throws: Splits.Mismatch.self) { try Splits.all(of: input) { $0.last == Array("f".utf8) } }
  }

  @Test func `input of no and of one byte is cut as far as it goes`() throws {
    #expect(try Splits.all(of: []) { $0.flatMap { $0 } } == [])
    #expect(try Splits.all(of: [1]) { $0.flatMap { $0 } } == [1])
  }

  @Test func `equal seeds give equal numbers`() {
    var first = SplitMix(state: 3)
    var second = SplitMix(state: 3)
    #expect((0..<10).map { _ in first.next() } == (0..<10).map { _ in second.next() })
    // The first number of the published reference for seed 0.
    var reference = SplitMix(state: 0)
    #expect(reference.next() == 0xE220_A839_7B1D_CDAF)
  }
}
