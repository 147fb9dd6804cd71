// SPDX-License-Identifier: MIT

import SignalStore

/// Finds the rules of a policy that match a path, or something of what a pattern matches: the cost does not depend on
/// how many others there are, unless they begin with the same segment or with a wildcard.
///
/// Shared by the rights of many callers. Used by one thread at a time: a look-up changes memory of its own.
package final class RuleIndex {
  package let policy: AccessPolicy
  private var trie = PatternTrie()
  /// The rules whose patterns begin with a segment, by that.
  private var beginning: [ArraySlice<UInt8>: [Int]] = [:]
  /// The rules whose patterns begin with a wildcard.
  private var anywhere: [Int] = []
  /// The last path that was looked up, and its rules: a write asks three times, of itself, of what may be seen and of
  /// what must stay.
  private var path: PropertyPath?
  private var numbers: [Int] = []

  package init(_ policy: AccessPolicy) {
    self.policy = policy
    for rule in policy.rules {
      trie.add(rule.match.pattern, rule.number)
      if let first = RuleIndex.beginning(of: rule.match.pattern) {
        beginning[first, default: []].append(rule.number)
      } else {
        anywhere.append(rule.number)
      }
    }
  }

  /// The first segment; nil when it is a wildcard.
  private static func beginning(of pattern: PathPattern) -> ArraySlice<UInt8>? {
    guard pattern.literalPrefix != nil else { return nil }
    var segments = pattern.segments.makeIterator()
    return segments.next()
  }

  /// The numbers of the rules that match a path, in their order.
  func rules(matching path: PropertyPath) -> [Int] {
    if self.path == path { return numbers }
    numbers.removeAll(keepingCapacity: true)
    trie.forEachMatch(path) { numbers.append($0) }
    if numbers.count > 1 { numbers.sort() }
    self.path = path
    return numbers
  }

  /// The numbers of the rules that match something of what the patterns match, in their order.
  func rules(within patterns: [PathPattern]) -> [Int] {
    var found: [Int] = []
    for (place, pattern) in patterns.enumerated() {
      func add(_ numbers: some Sequence<Int>) {
        for number in numbers {
          let rule = policy.rules[number].match.pattern
          guard rule.overlaps(pattern), !patterns[..<place].contains(where: { rule.overlaps($0) }) else { continue }
          found.append(number)
        }
      }
      if let first = RuleIndex.beginning(of: pattern) {
        beginning[first].map { add($0) }
        add(anywhere)
      } else {
        add(policy.rules.indices)
      }
    }
    return found.sorted()
  }
}
