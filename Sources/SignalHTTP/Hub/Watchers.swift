// SPDX-License-Identifier: MIT
import SignalStore
import Synchronization

/// Counts the subscriptions over all loops of a server: how many match a path, and which patterns have any.
final class Watchers: Sendable {
  /// A pattern that has got its first subscription, or lost its last.
  struct Demand: Sendable, Equatable {
    let pattern: PathPattern
    let isWatched: Bool
    /// Increases with each change of demand.
    let number: UInt64
  }

  private struct State: ~Copyable {
    /// Lists of patterns, by number.
    var trie = PatternTrie()
    var lists: [[PathPattern]: Int] = [:]
    /// Subscriptions of each list.
    var counts: [Int] = []
    var free: [Int] = []
    /// Subscriptions of each pattern.
    var patterns: [PathPattern: Int] = [:]
    var number: UInt64 = 0
  }

  private let state = Mutex(State())
  private let changes = Signal<Demand>()

  /// Changes of demand; the current state is in ``present``.
  ///
  /// An observer that subscribes first and then reads the state can tell by the numbers which changes are in both.
  var demand: DerivedSignal<Demand, Never> { changes.readOnly }

  /// The patterns that are watched, and the number of the last change included.
  var present: (watched: [PathPattern], number: UInt64) {
    state.withLock { (Array($0.patterns.keys), $0.number) }
  }

  /// How many subscriptions have a pattern that matches the path.
  func count(_ path: PropertyPath) -> Int {
    state.withLock { state in
      var found: [Int] = []
      state.trie.forEachMatch(path) { found.append($0) }
      return found.reduce(0) { $0 + state.counts[$1] }
    }
  }

  func add(_ patterns: [PathPattern]) {
    state.withLock { state in
      let known = state.lists[patterns]
      let list = known ?? state.free.popLast() ?? state.counts.count
      if known == nil {
        if list == state.counts.count { state.counts.append(0) }
        state.lists[patterns] = list
        for pattern in patterns { state.trie.add(pattern, list) }
      }
      state.counts[list] += 1
      for pattern in Set(patterns) {
        let before = state.patterns[pattern] ?? 0
        state.patterns[pattern] = before + 1
        if before == 0 { note(pattern, isWatched: true, &state) }
      }
    }
    changes.deliver()
  }

  func remove(_ patterns: [PathPattern]) {
    state.withLock { state in
      guard let list = state.lists[patterns] else { return }
      state.counts[list] -= 1
      if state.counts[list] == 0 {
        state.lists[patterns] = nil
        state.free.append(list)
        for pattern in patterns { state.trie.remove(pattern, list) }
      }
      for pattern in Set(patterns) {
        let left = (state.patterns[pattern] ?? 1) - 1
        state.patterns[pattern] = left == 0 ? nil : left
        if left == 0 { note(pattern, isWatched: false, &state) }
      }
    }
    changes.deliver()
  }

  /// Queues the change in order while locked; it is delivered after unlocking.
  private func note(_ pattern: PathPattern, isWatched: Bool, _ state: inout State) {
    state.number += 1
    changes.enqueue(Demand(pattern: pattern, isWatched: isWatched, number: state.number))
  }
}
