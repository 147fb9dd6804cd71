// SPDX-License-Identifier: MIT
import CEL
import SignalStore

/// The filters that an index can find, one index for each list of patterns.
struct IndexedFilters {
  private struct Entry {
    var index = FilterIndex()
    /// How many groups are in it.
    var count = 0
  }

  private var numbers: [[PathPattern]: Int] = [:]
  private var entries: [Entry] = []
  private var free: [Int] = []
  /// Which groups have been found for a change, by the number of the search; for a change has two values to look up.
  private var found: [Int] = []
  private var search = 0

  /// Puts a group in.
  ///
  /// - Returns: The number of the index when it is new; it goes with the patterns.
  mutating func insert(_ group: Int, _ conjunct: FilterConjunct, for patterns: [PathPattern]) -> Int? {
    if group >= found.count { found += [Int](repeating: 0, count: group + 1 - found.count) }
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

  /// Takes a group out.
  ///
  /// - Returns: The number of the index when it is empty now, and no more.
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
  mutating func addCandidates(_ number: Int, _ change: inout FilteredChange, to candidates: inout [Int]) {
    search += 1
    let path = change.change.path
    let index = entries[number].index
    index.forEachCandidate(path: path, value: change.newTree) { group in
      found[group] = search
      candidates.append(group)
    }
    // A state that has ended is told, too.
    guard change.change.old != nil else { return }
    index.forEachCandidate(path: path, value: change.oldTree) { group in
      guard found[group] != search else { return }
      found[group] = search
      candidates.append(group)
    }
  }
}
