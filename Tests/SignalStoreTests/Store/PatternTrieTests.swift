// SPDX-License-Identifier: MIT

import Testing

@testable import SignalStore

/// A trie that `#expect` can look into: it cannot be copied itself.
private final class TrieBox {
  private var trie = PatternTrie()

  var isEmpty: Bool { trie.isEmpty }
  var nodeCount: Int { trie.nodes.count }
  var activeCount: Int { trie.active.count }

  @discardableResult
  func add(_ pattern: PathPattern, _ number: Int) -> Bool { trie.add(pattern, number) }

  @discardableResult
  func remove(_ pattern: PathPattern, _ number: Int) -> Bool { trie.remove(pattern, number) }

  /// The numbers found, in order; one that is found twice is there twice.
  func matches(_ path: PropertyPath) -> [Int] {
    var found: [Int] = []
    trie.forEachMatch(path) { found.append($0) }
    return found.sorted()
  }
}

@Suite struct PatternTrieTests {
  @Test func `a number with several matching patterns is found once`() {
    let trie = TrieBox()
    for pattern in ["a/**", "a/*", "**/b", "a/b"] as [PathPattern] { trie.add(pattern, 7) }
    trie.add("a/b", 8)
    #expect(trie.matches("a/b") == [7, 8])
    #expect(trie.matches("a") == [7])
    #expect(trie.matches("b") == [7])
    #expect(trie.matches("c") == [])
  }

  @Test func `adding a pattern twice or removing one that is not there changes nothing`() {
    let trie = TrieBox()
    #expect(trie.add("a/**/*", 1))
    #expect(!trie.add("a/*/**", 1))
    #expect(!trie.remove("a/*", 1))
    #expect(!trie.remove("a/*/**", 2))
    trie.add("b", 2)
    #expect(!trie.remove("a/*/**", 2))
    trie.remove("b", 2)
    #expect(trie.matches("a/b") == [1])
    #expect(trie.remove("a/*/**", 1))
    #expect(!trie.remove("a/*/**", 1))
    #expect(trie.matches("a/b") == [])
    #expect(trie.isEmpty)
  }

  @Test func `what is removed leaves nothing behind`() {
    let trie = TrieBox()
    for round in 0..<3 {
      for number in 0..<1000 { trie.add(PathPattern(stringLiteral: "a/\(round)/*/\(number)/**/z"), number) }
      for number in 0..<1000 { trie.remove(PathPattern(stringLiteral: "a/\(round)/*/\(number)/**/z"), number) }
    }
    #expect(trie.isEmpty)
    // One round's nodes, used again by the next.
    #expect(trie.nodeCount == 1 + 3 + 3 * 1000)
  }

  @Test(arguments: [1, 2, 3, 4])
  func `a trie finds what matching each pattern finds, while patterns come and go`(seed: UInt64) {
    var generator = StoreGenerator(seed: seed)
    let trie = TrieBox()
    var model: [Int: Set<PathPattern>] = [:]
    var found = 0
    for _ in 0..<3000 {
      let element = generator.number(below: 60)
      switch generator.number(below: 4) {
      case 0, 1:
        let pattern = generator.pattern(depth: 4)
        #expect(trie.add(pattern, element) == model[element, default: []].insert(pattern).inserted)
      case 2:
        guard let pattern = model[element]?.randomElement(using: &generator) else { continue }
        model[element]?.remove(pattern)
        #expect(trie.remove(pattern, element))
      default:
        let path = generator.path()
        let expected = model.filter { $0.value.contains { $0.matches(path) } }.map(\.key).sorted()
        let actual = trie.matches(path)
        #expect(actual == expected, "\(path)")
        found += actual.count
      }
    }
    #expect(found > 1000)
    for (element, patterns) in model { for pattern in patterns { trie.remove(pattern, element) } }
    #expect(trie.isEmpty)
  }

  @Test func `many wildcards in many patterns reach each node once per segment`() {
    let trie = TrieBox()
    for number in 1...15 {
      trie.add(PathPattern(stringLiteral: Array(repeating: "**/a", count: number).joined(separator: "/")), number)
    }
    trie.add(PathPattern(stringLiteral: Array(repeating: "**/a", count: 15).joined(separator: "/") + "/b"), 99)
    let path = PropertyPath(stringLiteral: Array(repeating: "a", count: 32).joined(separator: "/"))
    #expect(trie.matches(path) == Array(1...15))
    #expect(trie.activeCount <= trie.nodeCount)
  }

  @Test func `ten thousand other patterns are not visited`() {
    let trie = TrieBox()
    for number in 0..<10_000 {
      trie.add(PathPattern(stringLiteral: "sensors/\(number)/temperature"), number)
      trie.add(PathPattern(stringLiteral: "**/\(number)"), number)
    }
    #expect(trie.matches("sensors/77/temperature") == [77])
    #expect(trie.matches("x/y/z/77") == [77])
    #expect(trie.matches("sensors/77") == [77])
    // The "**" at the root, and what the last path leads to.
    #expect(trie.activeCount <= 3)
  }
}
