// SPDX-License-Identifier: MIT

import SignalStore

/// Finds the rules of a policy that match a path: the cost does not depend on how many others there are.
///
/// Shared by the rights of many callers. Used by one thread at a time: a look-up changes memory of its own.
package final class RuleIndex {
  package let policy: AccessPolicy
  private var trie = PatternTrie()
  /// The last path that was looked up, and its rules: a write asks three times, of itself, of what may be seen and of
  /// what must stay.
  private var path: PropertyPath?
  private var numbers: [Int] = []

  package init(_ policy: AccessPolicy) {
    self.policy = policy
    for rule in policy.rules { trie.add(rule.match.pattern, rule.number) }
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
}
