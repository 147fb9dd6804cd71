// SPDX-License-Identifier: MIT

import JSON
import SignalStore
import Testing

/// Random paths, patterns and values that are the same again for the same seed (SplitMix64).
struct StoreGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var word = state
    word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
    word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
    return word ^ (word >> 31)
  }

  mutating func number(below limit: Int) -> Int { Int(next() % UInt64(limit)) }

  mutating func chance(_ percent: Int) -> Bool { number(below: 100) < percent }

  /// Few names with common beginnings and bytes on both sides of "/", so that paths and patterns
  /// meet and the order is put to the test.
  mutating func segment() -> String {
    ["a", "b", "a-b", "a b", "ab", "abcdefgh", "abcdefghi", "é"][number(below: 8)]
  }

  mutating func path(depth: Int = 5) -> PropertyPath {
    let segments = (0...number(below: depth)).map { _ in segment() }
    return PropertyPath(stringLiteral: segments.joined(separator: "/"))
  }

  mutating func patternText(depth: Int = 5) -> String {
    let segments = (0...number(below: depth)).map { _ in
      switch number(below: 10) {
      case 0, 1: "*"
      case 2, 3, 4: "**"
      default: segment()
      }
    }
    return segments.joined(separator: "/")
  }

  mutating func pattern(depth: Int = 5) -> PathPattern { PathPattern(stringLiteral: patternText(depth: depth)) }
}

/// A JSON number as a value.
func number(_ value: Int) -> JSONText { JSONText(value) }

/// A property for tests of the tree alone.
func stored(_ path: PropertyPath, _ value: Int, revision: UInt64 = 1) -> StoredValue {
  StoredValue(
    path: path, value: number(value), revision: Revision(revision), time: Timestamp(milliseconds: Int64(value)))
}

@Suite struct StoreGeneratorTests {
  @Test func `a generator repeats itself and differs from another seed`() {
    var one = StoreGenerator(seed: 1)
    var same = StoreGenerator(seed: 1)
    var other = StoreGenerator(seed: 2)
    let numbers = (0..<8).map { _ in one.next() }
    #expect(numbers == (0..<8).map { _ in same.next() })
    #expect(numbers != (0..<8).map { _ in other.next() })
  }

  /// The first outputs of the published algorithm for the seed 0.
  @Test func `the generator is SplitMix64`() {
    var generator = StoreGenerator(seed: 0)
    #expect(generator.next() == 0xE220_A839_7B1D_CDAF)
    #expect(generator.next() == 0x6E78_9E6A_A1B9_65F4)
  }
}
