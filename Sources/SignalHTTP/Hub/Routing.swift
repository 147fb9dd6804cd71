// SPDX-License-Identifier: MIT
import SignalStore

/// The commits being routed to the groups of a hub, and the progress of that.
///
/// A turn may end in the middle of a commit. A group that has been given a part of it then delivers nothing before it
/// has all of it (`SubscriptionGroup.isInCommit`), so a client sees a transaction as one, and members that join or
/// leave a group meanwhile see it as between two commits. The snapshot of a subscription that begins meanwhile includes
/// the commit.
struct Routing {
  private var commits: [Commit] = []
  /// The index of the first commit in `commits`.
  private var position = 0
  /// The changes of the first commit after the current one; nil when it has not been begun.
  private var changes: Commit.Iterator?
  /// The current change, between the turns that work on it.
  private var change: FilteredChange?
  private var candidates: [Candidate] = []
  private var nextPlace = 0
  /// Whether `candidates` are those of the current change.
  private var isWithinChange = false
  /// Groups that have been given changes of the commit; kept to reuse its memory.
  var inCommit: [SubscriptionGroup] = []
  /// Groups that have something to deliver at the end of the turn.
  var touched: [SubscriptionGroup] = []
  /// Indices of removed groups; `candidates` may refer to them until the commit has been routed.
  var retired: [Int] = []

  mutating func takeRetired() -> [Int] {
    defer { retired = [] }
    return retired
  }

  var first: Commit? { position < commits.count ? commits[position] : nil }

  /// Whether the first commit has been routed in part.
  var isWithinCommit: Bool { changes != nil }

  mutating func add(_ taken: [Commit]) {
    if commits.isEmpty {
      commits = taken
    } else if !taken.isEmpty {
      commits.removeFirst(position)
      position = 0
      commits += taken
    }
  }

  /// Removes the first commit, which has been routed.
  mutating func removeFirst() {
    changes = nil
    position += 1
    guard position == commits.count else { return }
    commits = []
    position = 0
  }

  /// Forgets everything but `retired`: there are no groups left.
  mutating func removeAll() { self = Routing(retired: retired) }

  mutating func keep(_ filtered: FilteredChange) { change = filtered }

  mutating func takeChange() -> FilteredChange? { change.take() }

  /// Moves on to the next change, unless there is a current one; false after the last.
  mutating func nextChange(
    of commit: Commit, _ filtered: inout FilteredChange, _ finder: inout GroupFinder
  ) -> Bool {
    if isWithinChange { return true }
    if changes == nil { changes = commit.makeIterator() }
    guard let change = changes?.next() else { return false }
    filtered.begin(change)
    candidates = finder.candidates(for: &filtered)
    nextPlace = 0
    isWithinChange = true
    return true
  }

  /// The next group that the change may concern; nil after the last.
  mutating func nextCandidate() -> Candidate? {
    guard nextPlace < candidates.count else {
      isWithinChange = false
      // Released, so that the finder can reuse the memory.
      candidates = []
      return nil
    }
    defer { nextPlace += 1 }
    return candidates[nextPlace]
  }

  /// Forgets the groups that have delivered, except those that have been given part of a commit.
  mutating func endTurn() {
    if isWithinCommit { touched.removeAll { !$0.isInCommit } } else { touched.removeAll(keepingCapacity: true) }
  }
}

/// A FIFO queue of the groups of ended subscriptions, which are still to be removed from the trie and, unless that has
/// been done, from the watchers.
struct Departures {
  /// The cost of removing one, and the same for each of its patterns, in the units of `TurnWork`.
  static let cost = 150

  private var groups: [(group: SubscriptionGroup, isCounted: Bool)] = []
  private var taken = 0

  var isEmpty: Bool { groups.isEmpty }

  mutating func add(_ group: SubscriptionGroup, isCounted: Bool) { groups.append((group, isCounted)) }

  mutating func next() -> (group: SubscriptionGroup, isCounted: Bool)? {
    guard taken < groups.count else {
      groups.removeAll(keepingCapacity: groups.capacity <= 4096)
      taken = 0
      return nil
    }
    defer { taken += 1 }
    return groups[taken]
  }
}

/// The recent cost of expensive work, which decays at the rate that the limit allows.
struct RecentWork {
  private var units = 0
  /// The time up to which the decay has been applied, in the loop's time.
  private var time: UInt64 = 0

  /// Whether there is budget for more, with that many units allowed per second, and at most one second's worth at once.
  mutating func isWithin(_ perSecond: Int, at now: UInt64) -> Bool {
    let passed = now > time ? now - time : 0
    time = max(now, time)
    let forgotten = passed >= 1_000_000_000 ? units : Int(Double(perSecond) * Double(passed) / 1e9)
    units = max(0, units - forgotten)
    return units < perSecond
  }

  mutating func add(_ work: Int) { units += work }
}
