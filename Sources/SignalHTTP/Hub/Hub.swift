// SPDX-License-Identifier: MIT
import SignalStore

/// Takes the changes of the store to the subscribers of one loop.
///
/// Once a turn the loop's mailbox is emptied: each change goes through the trie of patterns to the groups it concerns;
/// a group's filter is evaluated once and its frame written once; at the end the group's frames of this turn are one
/// block, and every member gets a reference to it. A connection sends once, after that.
///
/// Belongs to its loop, like everything here.
final class Hub: TurnParticipant {
  private let store: PropertyStore
  private let pace: Replay.Pace
  private let mailbox: Mailbox
  private let bookmarkNanoseconds: UInt64
  private var feed: Subscription?
  private var trie = PatternTrie<Target>()
  private var indexedFilters = IndexedFilters()
  private var groups: [SubscriptionGroup?] = []
  private var freeGroups: [Int] = []
  private var indexes: [SubscriptionGroup.Key: Int] = [:]
  /// Groups that a change may concern; kept for its memory.
  private var candidates: [Int] = []
  private var touched: [SubscriptionGroup] = []
  private var touchedByCommit: [SubscriptionGroup] = []
  /// The last revision whose changes the groups have been given.
  private var routed: Revision = 0
  /// Up to where every group has given its members everything: `routed`, except within the end of a turn.
  private(set) var settled: Revision = 0
  private var nextBookmarks: UInt64 = 0
  /// Filters that failed for a change, since the start (rule 6).
  private(set) var filterErrors = 0

  init(store: PropertyStore, bookmarkInterval: Duration, pace: Replay.Pace, loop: isolated EventLoop) {
    self.store = store
    self.pace = pace
    bookmarkNanoseconds = bookmarkInterval.nanosecondsClamped
    mailbox = Mailbox { [weak loop] in loop?.wake() }
  }

  // MARK: Subscribing

  /// Begins a subscription; `Membership` tells where it stands.
  ///
  /// Its first piece comes with `Membership.proceed`.
  func subscribe(
    _ options: SubscriptionOptions, id: Int, wire: Wire, initial: Bool, since: Cursor?, subscriber: any Subscriber,
    on loop: isolated EventLoop
  ) -> Membership {
    let writer = LiveEventWriter(subscription: id, includesOldValue: options.oldValue)
    // First the mailbox, then what is there now: what is committed in between is in both, and dropped once.
    let wasAttached = attach()
    let replay = Replay(options, writer: writer, wire: wire, initial: initial, since: since, store: store, pace: pace)
    if !wasAttached {
      routed = replay.position
      settled = routed
    }
    let key = SubscriptionGroup.Key(options: options, id: id, wire: wire)
    let group = group(for: key, writer: writer, now: loop.now)
    let membership = Membership(group: group, subscriber: subscriber, replay: replay)
    group.join(membership)
    return membership
  }

  func cancel(_ membership: Membership) {
    let group = membership.group
    guard group.leave(membership), group.members.isEmpty else { return }
    removeTarget(of: group)
    indexes[group.key] = nil
    groups[group.index] = nil
    freeGroups.append(group.index)
    if indexes.isEmpty { detach() }
  }

  private func group(for key: SubscriptionGroup.Key, writer: LiveEventWriter, now: UInt64) -> SubscriptionGroup {
    if let index = indexes[key], let group = groups[index] { return group }
    let index = freeGroups.popLast() ?? groups.count
    let group = SubscriptionGroup(key, index: index, writer: writer, epoch: store.epoch, now: now)
    if index == groups.count { groups.append(group) } else { groups[index] = group }
    indexes[key] = index
    addTarget(of: group)
    return group
  }

  /// What a pattern leads to.
  private enum Target: Hashable {
    case group(Int)
    /// Groups with the same patterns, to be found by their filters.
    case index(Int)
  }

  private func addTarget(of group: SubscriptionGroup) {
    let options = group.key.options
    if let conjunct = options.filter.flatMap(FilterIndex.conjunct) {
      guard let new = indexedFilters.insert(group.index, conjunct, for: options.patterns) else { return }
      for pattern in options.patterns { trie.add(pattern, .index(new)) }
    } else {
      for pattern in options.patterns { trie.add(pattern, .group(group.index)) }
    }
  }

  private func removeTarget(of group: SubscriptionGroup) {
    let options = group.key.options
    if let conjunct = options.filter.flatMap(FilterIndex.conjunct) {
      guard let empty = indexedFilters.remove(group.index, conjunct, for: options.patterns) else { return }
      for pattern in options.patterns { trie.remove(pattern, .index(empty)) }
    } else {
      for pattern in options.patterns { trie.remove(pattern, .group(group.index)) }
    }
  }

  /// Sees to it that changes come in; false when they did not before.
  private func attach() -> Bool {
    guard feed == nil else { return true }
    feed = store.changes.subscribe { [mailbox] commit in mailbox.put(commit) }
    return false
  }

  private func detach() {
    feed?.cancel()
    feed = nil
    _ = mailbox.take()
  }

  // MARK: Routing

  func turnBegins(on loop: isolated EventLoop) { mailbox.ownerWillTake() }

  func turnEnds(on loop: isolated EventLoop) {
    for commit in mailbox.take() { route(commit, on: loop) }
    for group in touched { group.deliver(on: loop) }
    touched.removeAll(keepingCapacity: true)
    settled = routed
    if loop.now >= nextBookmarks { sendBookmarks(on: loop) }
  }

  private func route(_ commit: Commit, on loop: isolated EventLoop) {
    for change in commit {
      var filtered = FilteredChange(change)
      candidates.removeAll(keepingCapacity: true)
      trie.forEachMatch(change.path) { target in
        switch target {
        case .group(let group): candidates.append(group)
        case .index(let index): indexedFilters.addCandidates(index, &filtered, to: &candidates)
        }
      }
      for candidate in candidates {
        guard let group = groups[candidate], group.append(&filtered) else { continue }
        if !group.isInCommit {
          group.isInCommit = true
          touchedByCommit.append(group)
        }
      }
      filterErrors += filtered.errors
    }
    for group in touchedByCommit {
      group.isInCommit = false
      if group.endCommit(commit.revision, on: loop) { touched.append(group) }
    }
    touchedByCommit.removeAll(keepingCapacity: true)
    routed = max(routed, commit.revision)
  }

  /// A quiet subscription's cursor must not grow older than the history (rule 8).
  private func sendBookmarks(on loop: isolated EventLoop) {
    nextBookmarks = loop.now + max(1, bookmarkNanoseconds / 8)
    for case let group? in groups where group.lastEvent + bookmarkNanoseconds <= loop.now {
      group.sendBookmark(routed, on: loop)
    }
  }
}
