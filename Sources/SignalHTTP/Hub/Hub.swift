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
  private let limits: HubLimits
  private let bookmarkNanoseconds: UInt64
  private var shortestBookmark: UInt64
  private var feed: Subscription?
  private var finder = GroupFinder()
  private var touched = Touched()
  private var groups: [SubscriptionGroup?] = []
  private var freeGroups: [Int] = []
  private var indexes: [SubscriptionGroup.Key: Int] = [:]
  private let progress: HubProgress
  /// Up to where every group has given its members everything: `routed`, except within the end of a turn.
  private(set) var settled: Revision = 0
  private var nextBookmarks: UInt64 = 0
  /// Who watches what, on all loops.
  let watchers: Watchers
  private let demandBox: DemandBox
  private var demandFeed: Subscription?
  private var demandSubscriptions: [DemandSubscription] = []
  /// Told of filters that failed for a change (rule 6): where it was, and how many they were.
  var filterFailed: (@Sendable (PropertyPath, Int) -> Void)?

  init(
    store: PropertyStore, bookmarkInterval: Duration, pace: Replay.Pace, limits: HubLimits,
    watchers: Watchers = Watchers(), filterFailed: (@Sendable (PropertyPath, Int) -> Void)? = nil,
    loop: isolated EventLoop
  ) {
    self.store = store
    self.pace = pace
    self.limits = limits
    progress = HubProgress(epoch: store.epoch)
    bookmarkNanoseconds = max(1, bookmarkInterval.nanosecondsClamped)
    shortestBookmark = bookmarkNanoseconds
    mailbox = Mailbox { [weak loop] in loop?.wake() }
    self.watchers = watchers
    self.filterFailed = filterFailed
    demandBox = DemandBox { [weak loop] in loop?.wake() }
  }

  // MARK: Subscribing

  /// Begins a subscription; `Membership` tells where it stands.
  ///
  /// Its first piece comes with `Membership.proceed`.
  ///
  /// - Parameter take: How many events it wants; nil is all.
  func subscribe(
    _ options: SubscriptionOptions, id: Int, wire: Wire, initial: Bool, since: Cursor?, take: Int? = nil,
    subscriber: any Subscriber, on loop: isolated EventLoop
  ) -> Membership {
    let key = SubscriptionGroup.Key(options: options, id: id, wire: wire, isCounted: take != nil)
    // First the mailbox, then what is there now: what is committed in between is in both, and dropped once.
    let wasAttached = attach()
    let replay = Replay(key, initial: initial, since: since, store: store, pace: pace, limits: limits)
    if !wasAttached {
      progress.routed = replay.position
      settled = replay.position
    }
    let group = group(for: key, now: loop.now)
    let membership = Membership(
      group: group, subscriber: subscriber, replay: replay, take: take, conflatedBytes: limits.conflatedBytes)
    group.join(membership)
    watchers.add(options.patterns)
    return membership
  }

  func cancel(_ membership: Membership) {
    let group = membership.group
    guard group.leave(membership) else { return }
    watchers.remove(group.key.options.patterns)
    guard group.isEmpty else { return }
    finder.remove(group)
    indexes[group.key] = nil
    groups[group.index] = nil
    freeGroups.append(group.index)
    if indexes.isEmpty { detach() }
  }

  /// Begins a subscription to what others watch.
  ///
  /// Its first piece comes with `DemandSubscription.proceed`.
  func subscribe(
    demand patterns: [PathPattern], id: Int, wire: Wire, subscriber: any Subscriber
  ) -> DemandSubscription {
    // First the changes, then what is there: what happens in between is in both, and recognized by its number.
    if demandFeed == nil { demandFeed = watchers.demand.subscribe { [demandBox] in demandBox.put($0) } }
    let (watched, number) = watchers.present
    let subscription = DemandSubscription(
      patterns, id: id, wire: wire, watched: watched, number: number, store: store, pieceBytes: pace.snapshotBytes,
      subscriber: subscriber)
    demandSubscriptions.append(subscription)
    return subscription
  }

  func cancel(_ subscription: DemandSubscription) {
    demandSubscriptions.removeAll { $0 === subscription }
    guard demandSubscriptions.isEmpty else { return }
    demandFeed?.cancel()
    demandFeed = nil
  }

  private func group(for key: SubscriptionGroup.Key, now: UInt64) -> SubscriptionGroup {
    if let index = indexes[key], let group = groups[index] { return group }
    let index = freeGroups.popLast() ?? groups.count
    let group = SubscriptionGroup(key, index: index, progress: progress, limits: limits, now: now)
    if index == groups.count { groups.append(group) } else { groups[index] = group }
    indexes[key] = index
    if let bookmark = key.options.bookmark, bookmark < shortestBookmark {
      shortestBookmark = bookmark
      nextBookmarks = min(nextBookmarks, now + bookmark / 8)
    }
    finder.add(group)
    return group
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

  /// Groups that have something to deliver, each once; kept for their memory.
  private struct Touched {
    /// Of the commit that is being routed.
    var inCommit: [SubscriptionGroup] = []
    /// Of the turn.
    var inTurn: [SubscriptionGroup] = []
  }

  func turnBegins(on loop: isolated EventLoop) { mailbox.ownerWillTake() }

  func turnEnds(on loop: isolated EventLoop) {
    let commits = mailbox.take()
    if let first = commits.first?.first {
      var filtered = FilteredChange(first)
      // Out of its place meanwhile: a turn that tells thousands of changes does not ask each time whether that is free.
      var touched = Touched()
      swap(&touched, &self.touched)
      for commit in commits { route(commit, &filtered, &touched, on: loop) }
      for group in touched.inTurn where !group.deliver(on: loop) { progress.schedule(group, on: loop) }
      touched.inTurn.removeAll(keepingCapacity: true)
      swap(&touched, &self.touched)
    }
    settled = progress.routed
    for group in progress.takeDue(on: loop) { group.flush(on: loop) }
    if !demandSubscriptions.isEmpty { tellDemand(on: loop) }
    if loop.now >= nextBookmarks { sendBookmarks(on: loop) }
  }

  private func route(
    _ commit: Commit, _ filtered: inout FilteredChange, _ touched: inout Touched, on loop: isolated EventLoop
  ) {
    for change in commit {
      filtered.begin(change)
      for candidate in finder.candidates(for: &filtered) {
        guard let group = groups[candidate.group], group.append(&filtered, candidate.verdict) else { continue }
        if !group.isInCommit {
          group.isInCommit = true
          touched.inCommit.append(group)
        }
      }
      if filtered.errors > 0 { filterFailed?(change.path, filtered.errors) }
    }
    for group in touched.inCommit {
      group.isInCommit = false
      if group.endCommit(commit.revision, on: loop) { touched.inTurn.append(group) }
    }
    touched.inCommit.removeAll(keepingCapacity: true)
    progress.routed = max(progress.routed, commit.revision)
  }

  private func tellDemand(on loop: isolated EventLoop) {
    let changes = demandBox.take()
    guard !changes.isEmpty else { return }
    for subscription in demandSubscriptions {
      for demand in changes { subscription.note(demand) }
      subscription.proceed(on: loop)
    }
  }

  /// A quiet subscription's cursor must not grow older than the history (rule 8).
  private func sendBookmarks(on loop: isolated EventLoop) {
    nextBookmarks = loop.now + max(1, shortestBookmark / 8)
    for case let group? in groups
    where group.lastEvent + (group.key.options.bookmark ?? bookmarkNanoseconds) <= loop.now {
      group.sendBookmark(progress.routed, on: loop)
    }
  }
}
