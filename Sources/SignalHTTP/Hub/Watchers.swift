// SPDX-License-Identifier: MIT
package import SignalStore
import Synchronization

/// Counts the subscriptions over all loops of a server: how many match a path, and which patterns have any.
///
/// In a cluster those of other nodes count as well, once somebody has asked: ``changeElsewhere(_:)``.
package final class Watchers: Sendable {
  /// A pattern that has got its first subscription, or lost its last.
  struct Demand: Sendable, Equatable {
    let pattern: PathPattern
    let isWatched: Bool
    /// Increases with each change of demand.
    let number: UInt64
  }

  /// A list of patterns as some subscriptions have it.
  private struct Entry {
    var patterns: [PathPattern]
    /// How many subscriptions, and how many of these are of clients of this server.
    var count = 0
    var own = 0
  }

  private struct State: ~Copyable {
    /// Lists of patterns, by number.
    var trie = PatternTrie()
    var lists: [[PathPattern]: Int] = [:]
    var entries: [Entry] = []
    var free: [Int] = []
    /// Subscriptions of each pattern.
    var patterns: [PathPattern: Int] = [:]
    var number: UInt64 = 0
    /// Bytes of the lists that have subscriptions here.
    var ownBytes = 0
    /// Lists whose number here has changed and was not taken; nil while no other server wants to know.
    var changed: Set<[PathPattern]>?
    /// Subscriptions to demand.
    var demands = 0
    /// Whether all numbers are known, and whether somebody has asked for one.
    var isComplete = true
    var isAsked = false
  }

  private let state = Mutex(State())
  private let changes = Signal<Demand>()

  package init() {}

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
      return found.reduce(0) { $0 + state.entries[$1].count }
    }
  }

  func add(_ patterns: [PathPattern]) { changeHere(patterns, by: 1) }

  func remove(_ patterns: [PathPattern]) { changeHere(patterns, by: -1) }

  private func changeHere(_ patterns: [PathPattern], by difference: Int) {
    state.withLock { state in
      change(patterns, by: difference, here: difference, &state)
      state.changed?.insert(patterns)
    }
    changes.deliver()
  }

  /// Changes how many subscriptions a list has.
  ///
  /// - Parameter here: By how much those of this server change.
  private func change(_ patterns: [PathPattern], by difference: Int, here: Int, _ state: inout State) {
    let known = state.lists[patterns]
    let list = known ?? state.free.popLast() ?? state.entries.count
    if known == nil {
      let entry = Entry(patterns: patterns)
      if list == state.entries.count { state.entries.append(entry) } else { state.entries[list] = entry }
      state.lists[patterns] = list
      for pattern in patterns { state.trie.add(pattern, list) }
    }
    let wasHere = state.entries[list].own > 0
    state.entries[list].count += difference
    state.entries[list].own += here
    if wasHere != (state.entries[list].own > 0) { state.ownBytes += (wasHere ? -1 : 1) * Self.bytes(of: patterns) }
    if state.entries[list].count == 0 {
      state.lists[patterns] = nil
      state.free.append(list)
      state.entries[list].patterns = []
      for pattern in patterns { state.trie.remove(pattern, list) }
    }
    for pattern in Set(patterns) {
      let before = state.patterns[pattern] ?? 0
      let after = before + difference
      state.patterns[pattern] = after == 0 ? nil : after
      if (before == 0) != (after == 0) { note(pattern, isWatched: after > 0, &state) }
    }
  }

  /// Queues the change in order while locked; it is delivered after unlocking.
  private func note(_ pattern: PathPattern, isWatched: Bool, _ state: inout State) {
    state.number += 1
    changes.enqueue(Demand(pattern: pattern, isWatched: isWatched, number: state.number))
  }

  /// Counts the subscriptions to demand.
  func addDemand(_ difference: Int) { state.withLock { $0.demands += difference } }

  /// What a list takes where it is kept, about.
  private static func bytes(of patterns: [PathPattern]) -> Int { patterns.reduce(192) { $0 + $1.bytes.count + 64 } }
}

/// How many subscriptions have a list of patterns, or how many more.
package struct WatchedList: Sendable, Equatable {
  package var patterns: [PathPattern]
  package var count: Int

  package init(_ patterns: [PathPattern], _ count: Int) {
    self.patterns = patterns
    self.count = count
  }
}

/// For those who tell other servers what is watched here, and this one what is watched there.
extension Watchers {
  /// Whether a client wants to know what is watched: one has a subscription to demand, or has asked since the last call.
  package func isDemanded() -> Bool {
    state.withLock { state in
      defer { state.isAsked = false }
      return state.demands > 0 || state.isAsked
    }
  }

  /// Notes that a client wants to know how many subscriptions there are.
  ///
  /// - Returns: Whether those of all servers are known.
  func ask() -> Bool {
    state.withLock { state in
      state.isAsked = true
      return state.isComplete
    }
  }

  /// Whether what is watched at other servers is known.
  package func setComplete(_ isComplete: Bool) { state.withLock { $0.isComplete = isComplete } }

  /// Bytes of the lists that subscriptions here have, about.
  package var ownBytes: Int { state.withLock { $0.ownBytes } }

  /// From now on the lists are noted whose number here changes, or none any more.
  package func noteChanges(_ isNoting: Bool) { state.withLock { $0.changed = isNoting ? [] : nil } }

  /// Takes the lists whose number here has changed.
  package func takeChanges() -> Set<[PathPattern]> {
    state.withLock { state in
      guard let changed = state.changed, !changed.isEmpty else { return [] }
      state.changed = []
      return changed
    }
  }

  /// How many subscriptions here have each of these lists.
  package func own(_ lists: ArraySlice<[PathPattern]>) -> [WatchedList] {
    state.withLock { state in
      lists.map { WatchedList($0, state.lists[$0].map { state.entries[$0].own } ?? 0) }
    }
  }

  /// Some of the lists that subscriptions here have, and where to go on; nil at the end.
  ///
  /// What changes meanwhile has to be noted.
  package func own(from first: Int, atMost count: Int) -> (lists: [WatchedList], next: Int?) {
    state.withLock { state in
      let end = min(first + count, state.entries.count)
      let lists = state.entries[min(first, end)..<end].compactMap { entry in
        entry.own > 0 ? WatchedList(entry.patterns, entry.own) : nil
      }
      return (lists, end < state.entries.count ? end : nil)
    }
  }

  /// Subscriptions of other servers have begun, or ended: each list with how many more there are.
  package func changeElsewhere(_ lists: [WatchedList]) {
    state.withLock { state in
      for list in lists where list.count != 0 { change(list.patterns, by: list.count, here: 0, &state) }
    }
    changes.deliver()
  }
}
