// SPDX-License-Identifier: MIT
import SignalStore

/// Commits on their way to the groups of a hub, and how far that has come.
///
/// A turn may end in the midst of a commit. A group that has been given a part of it then delivers nothing before it has
/// all of it (`SubscriptionGroup.isInCommit`), so a client sees a transaction as one, and those who join or leave a group
/// meanwhile find it as between two commits. A subscription that begins meanwhile has a snapshot that the commit is in.
struct Routing {
  private var commits: [Commit] = []
  /// Where the first is in `commits`.
  private var position = 0
  /// Of the first commit: what comes behind the change under way; nil when it has not been begun.
  private var changes: Commit.Iterator?
  /// The change under way, while a turn does not work on it.
  private var change: FilteredChange?
  private var candidates: [Candidate] = []
  private var nextPlace = 0
  /// Whether `candidates` are those of the change under way.
  private var isWithinChange = false
  /// Groups that have been given something of the commit; kept for its memory.
  var inCommit: [SubscriptionGroup] = []
  /// Groups that have something to deliver at the end of the turn.
  var touched: [SubscriptionGroup] = []
  /// Places of groups that are gone; `candidates` may name them until the commit has been routed.
  var retired: [Int] = []

  mutating func takeRetired() -> [Int] {
    defer { retired = [] }
    return retired
  }

  var first: Commit? { position < commits.count ? commits[position] : nil }

  /// Whether a part of the first commit has been routed.
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

  /// The first commit has been routed.
  mutating func removeFirst() {
    changes = nil
    position += 1
    guard position == commits.count else { return }
    commits = []
    position = 0
  }

  /// Forgets all but what is retired: there are no groups left.
  mutating func removeAll() { self = Routing(retired: retired) }

  mutating func keep(_ filtered: FilteredChange) { change = filtered }

  mutating func takeChange() -> FilteredChange? { change.take() }

  /// Goes on to the next change, unless there is one under way; false behind the last.
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

  /// The next group that the change may concern; nil behind the last.
  mutating func nextCandidate() -> Candidate? {
    guard nextPlace < candidates.count else {
      isWithinChange = false
      // Given back, so that the finder can use the memory again.
      candidates = []
      return nil
    }
    defer { nextPlace += 1 }
    return candidates[nextPlace]
  }

  /// The groups that had something to deliver have done so, but for those that have a part of a commit.
  mutating func endTurn() {
    if isWithinCommit { touched.removeAll { !$0.isInCommit } } else { touched.removeAll(keepingCapacity: true) }
  }
}

/// Subscriptions that have ended, and of which the trie may still know, and the watchers, unless they have been counted
/// out: their groups, first in, first out.
struct Departures {
  /// What it costs to take out one, and as much for each of its patterns, in the units of `TurnWork`.
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

/// What expensive work has cost lately: it is forgotten as fast as the limit allows it to be done.
struct RecentWork {
  private var units = 0
  /// Up to when it has been forgotten, in the loop's time.
  private var time: UInt64 = 0

  /// Whether there is room for more, with so many units in a second allowed, and up to a second's at once.
  mutating func isWithin(_ perSecond: Int, at now: UInt64) -> Bool {
    let passed = now > time ? now - time : 0
    time = max(now, time)
    let forgotten = passed >= 1_000_000_000 ? units : Int(Double(perSecond) * Double(passed) / 1e9)
    units = max(0, units - forgotten)
    return units < perSecond
  }

  mutating func add(_ work: Int) { units += work }
}
