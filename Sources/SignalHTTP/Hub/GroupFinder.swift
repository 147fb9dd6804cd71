// SPDX-License-Identifier: MIT
import SignalStore

/// Finds the groups that a change may concern: by their patterns, and by their filters where these are indexed.
struct GroupFinder: ~Copyable {
  /// What a pattern refers to, and its number in the trie.
  private enum Target {
    case group(Int)
    /// Groups with the same patterns, to be found by their filters.
    case index(Int)

    init(_ number: Int) { self = number & 1 == 0 ? .group(number >> 1) : .index(number >> 1) }

    var number: Int {
      switch self {
      case .group(let group): group << 1
      case .index(let index): index << 1 | 1
      }
    }
  }

  private var trie = PatternTrie()
  private var filters = IndexedFilters()
  /// Kept to reuse its memory.
  private var candidates: [Candidate] = []

  mutating func add(_ group: SubscriptionGroup) {
    let options = group.key.options
    if let filter = options.filter, let conjunct = FilterIndex.conjunct(of: filter) {
      guard let new = filters.insert(group.index, filter, conjunct, for: options.patterns) else { return }
      add(options.patterns, .index(new))
    } else {
      add(options.patterns, .group(group.index))
    }
  }

  mutating func remove(_ group: SubscriptionGroup) {
    let options = group.key.options
    if let conjunct = options.filter.flatMap(FilterIndex.conjunct) {
      guard let empty = filters.remove(group.index, conjunct, for: options.patterns) else { return }
      remove(options.patterns, .index(empty))
    } else {
      remove(options.patterns, .group(group.index))
    }
  }

  private mutating func add(_ patterns: [PathPattern], _ target: Target) {
    for pattern in patterns { trie.add(pattern, target.number) }
  }

  private mutating func remove(_ patterns: [PathPattern], _ target: Target) {
    for pattern in patterns { trie.remove(pattern, target.number) }
  }

  /// The groups that a change may concern, each once.
  mutating func candidates(for change: inout FilteredChange) -> [Candidate] {
    candidates.removeAll(keepingCapacity: true)
    trie.forEachMatch(change.change.path) { number in
      switch Target(number) {
      case .group(let group): candidates.append(Candidate(group: group))
      case .index(let index): filters.addCandidates(index, &change, to: &candidates)
      }
    }
    return candidates
  }
}
