// SPDX-License-Identifier: MIT
import CEL
import SignalStore

/// A group that a change may concern.
struct Candidate {
  let group: Int
  /// The result of the group's filter, if known; nil when it has to be evaluated.
  var verdict: FilterVerdict?
}

/// The results of a filter for the value before a change and for the one after it.
struct FilterVerdict {
  var old = false
  var new = false
}

/// The filters that are indexed, with one index for each list of patterns.
struct IndexedFilters {
  private struct Entry {
    var index = FilterIndex()
    /// How many groups are in it.
    var count = 0
  }

  private var numbers: [[PathPattern]: Int] = [:]
  private var entries: [Entry] = []
  private var free: [Int] = []
  private var groups: [Group] = []
  private var search = 0

  private struct Group {
    /// Whether its filter certainly holds when the index finds it.
    var isDecided = false
    /// The search that found it last, and its position among the candidates: a change has two values to look up.
    var search = 0
    var place = 0
  }

  /// Inserts a group.
  ///
  /// - Returns: The number of the index when it is new; it is stored with the patterns.
  mutating func insert(
    _ group: Int, _ filter: Filter, _ conjunct: FilterConjunct, for patterns: [PathPattern]
  ) -> Int? {
    if group >= groups.count { groups += [Group](repeating: Group(), count: group + 1 - groups.count) }
    groups[group].isDecided = FilterIndex.decides(filter, by: conjunct)
    if let number = numbers[patterns] {
      entries[number].index.insert(group, conjunct)
      entries[number].count += 1
      return nil
    }
    let number = free.popLast() ?? entries.count
    if number == entries.count { entries.append(Entry()) }
    entries[number].index.insert(group, conjunct)
    entries[number].count = 1
    numbers[patterns] = number
    return number
  }

  /// Removes a group.
  ///
  /// - Returns: The number of the index when it has become empty and has been removed.
  mutating func remove(_ group: Int, _ conjunct: FilterConjunct, for patterns: [PathPattern]) -> Int? {
    guard let number = numbers[patterns] else { return nil }
    entries[number].index.remove(group, conjunct)
    entries[number].count -= 1
    guard entries[number].count == 0 else { return nil }
    numbers[patterns] = nil
    free.append(number)
    return number
  }

  /// Adds the groups of an index whose filter may hold after the change, or may have held before it, each once.
  mutating func addCandidates(_ number: Int, _ change: inout FilteredChange, to candidates: inout [Candidate]) {
    search += 1
    let path = change.change.path
    let index = entries[number].index
    index.forEachCandidate(path: path, value: change.newTree) { group in
      add(group, FilterVerdict(new: true), to: &candidates)
    }
    // The end of a matching state is sent, too.
    guard change.change.old != nil else { return }
    index.forEachCandidate(path: path, value: change.oldTree) { group in
      if groups[group].search == search {
        candidates[groups[group].place].verdict?.old = true
      } else {
        add(group, FilterVerdict(old: true), to: &candidates)
      }
    }
  }

  private mutating func add(_ group: Int, _ verdict: FilterVerdict, to candidates: inout [Candidate]) {
    groups[group].search = search
    groups[group].place = candidates.count
    candidates.append(Candidate(group: group, verdict: groups[group].isDecided ? verdict : nil))
  }
}
