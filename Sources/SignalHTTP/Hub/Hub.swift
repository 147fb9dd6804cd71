// SPDX-License-Identifier: MIT
import SignalAccess
import SignalStore

/// Delivers the changes of the store, and the messages of its signals, to the subscribers of one loop.
///
/// Once per turn the mailbox of each `Feed` is emptied: each change is matched against the trie of patterns to find the
/// groups it concerns; a group's filter is evaluated once and its frame written once; at the end the group's frames of
/// this turn are one block, and every member gets a reference to it. A connection sends once, after that.
///
/// What a turn spends on this is bounded (`TurnWork`). At the limit, even in the middle of a commit, what is complete
/// is delivered, and routing continues in the next turn; see `Routing`.
///
/// Belongs to its loop, like everything here.
final class Hub: TurnParticipant {
  private let store: PropertyStore
  private let pace: Replay.Pace
  private let limits: HubLimits
  private let bookmarkNanoseconds: UInt64
  private var shortestBookmark: UInt64
  private let counterTable: CounterTable
  private let changes: Feed
  private let messages: Feed
  private var groups: [SubscriptionGroup?] = []
  private var freeGroups: [Int] = []
  /// Groups that have lost a member, each once: the trie and the watchers are updated at the ends of turns.
  private var departures = Departures()
  /// The budget left in this turn for updating the watchers at once.
  private var countsLeft: Int
  private var indexes: [SubscriptionGroup.Key: Int] = [:]
  private let progress: HubProgress
  /// The revision up to which every group has delivered everything to its members: `routed`, except within the end of a
  /// turn, and while a commit is routed over several.
  private(set) var settled: Revision = 0
  private var nextBookmarks: UInt64 = 0
  /// Counts the subscriptions of all loops.
  let watchers: Watchers
  private let demandBox: Mailbox<Watchers.Demand>
  private var demandFeed: Subscription?
  private var demandSubscriptions: [DemandSubscription] = []
  /// The groups by the properties that decide what their viewers see.
  private var deciding = PatternTrie()
  /// Groups of which such a property has changed in this turn.
  private var redecided: Set<Int> = []
  /// The recent cost of expensive evaluations for all connections of the loop.
  private var filterWork = RecentWork()
  /// Called when filters failed for a change (rule 6), with its path and their number.
  var filterFailed: (@Sendable (PropertyPath, Int) -> Void)?

  init(
    store: PropertyStore, bookmarkInterval: Duration, pace: Replay.Pace, limits: HubLimits,
    watchers: Watchers = Watchers(), filterFailed: (@Sendable (PropertyPath, Int) -> Void)? = nil,
    loop: isolated EventLoop
  ) {
    self.store = store
    self.pace = pace
    self.limits = limits
    counterTable = loop.counterTable
    progress = HubProgress(epoch: store.epoch)
    countsLeft = loop.work.limit
    bookmarkNanoseconds = max(1, bookmarkInterval.nanosecondsClamped)
    shortestBookmark = bookmarkNanoseconds
    changes = Feed(.properties, of: store, loop: loop)
    messages = Feed(.signals, of: store, loop: loop)
    self.watchers = watchers
    self.filterFailed = filterFailed
    demandBox = Mailbox { [weak loop] in loop?.wake() }
  }

  // MARK: Subscribing

  /// Begins a subscription; the state of its beginning is in the `Membership`.
  ///
  /// Its first piece is sent by `Membership.proceed`.
  ///
  /// - Parameters:
  ///   - take: How many events it wants; nil is all.
  ///   - reset: Why it begins anew, with a snapshot; nil: it does not.
  func subscribe(
    _ options: SubscriptionOptions, id: Int, wire: Wire, initial: Bool, since: Cursor?, take: Int? = nil,
    reset: ResetReason? = nil,
    subscriber: any Subscriber, on loop: isolated EventLoop
  ) -> Membership {
    let key = SubscriptionGroup.Key(
      options: options, id: id, wire: wire, isCounted: take != nil,
      // What is cut behind an event is not compressed.
      compression: take == nil ? subscriber.compression : .none)
    // The mailbox first, then the current state: a commit in between is in both, and dropped once.
    let wasAttached = feed(of: options.topic).attach()
    let replay = Replay(key, initial: initial, since: since, reset: reset, store: store, pace: pace, limits: limits)
    if !wasAttached, options.topic == .properties {
      progress.routed = replay.position
      settled = replay.position
    }
    let group = group(for: key, compressors: loop.compressors, now: loop.now)
    loop.takePart(self)
    let membership = Membership(
      group: group, subscriber: subscriber, replay: replay, take: take, conflatedBytes: limits.conflatedBytes)
    group.join(membership)
    counters.add(options.topic.counter)
    if let reason = replay.resetReason { counters.add(reason.counter) }
    if options.topic == .properties { watchers.add(options.patterns) }
    return membership
  }

  private var counters: LoopCounters { counterTable.counters }

  private func feed(of topic: Topic) -> Feed {
    switch topic {
    case .properties: changes
    case .signals: messages
    }
  }

  /// Ends a subscription: nothing is sent to it any more.
  ///
  /// It is no longer counted among the watchers, unless thousands end at once. Further cleanup is done at the end of
  /// this turn, or over several: a group without members remains until then.
  func cancel(_ membership: Membership) {
    let group = membership.group
    guard group.leave(membership) else { return }
    counters.add(group.key.options.topic.counter, -1)
    let isCounted = countsLeft > 0
    if isCounted { countsLeft -= countOut(group) }
    departures.add(group, isCounted: isCounted)
  }

  /// Removes a group from the watchers; returns the cost.
  private func countOut(_ group: SubscriptionGroup) -> Int {
    guard group.key.options.topic == .properties else { return 0 }
    let patterns = group.key.options.patterns
    watchers.remove(patterns)
    return Departures.cost * patterns.count
  }

  /// Whether the last turn left work undone.
  var hasWorkLeft: Bool {
    changes.routing.first != nil || messages.routing.first != nil || !departures.isEmpty
  }

  private func settleDepartures(on loop: isolated EventLoop) {
    while loop.work.endings > 0, let (group, isCounted) = departures.next() {
      loop.work.endings -= Departures.cost
      if !isCounted { loop.work.endings -= countOut(group) }
      guard group.isEmpty, groups[group.index] === group else { continue }
      for pattern in group.key.options.viewers?.audience.dependencies ?? [] { deciding.remove(pattern, group.index) }
      indexes[group.key] = nil
      groups[group.index] = nil
      counters.add(.groups, -1)
      freeGroups += feed(of: group.key.options.topic).remove(group)
    }
    if !departures.isEmpty { loop.continueInNextTurn() }
  }

  /// Begins a subscription to demand.
  ///
  /// Its first piece is sent by `DemandSubscription.proceed`.
  func subscribe(
    demand patterns: [PathPattern], id: Int, wire: Wire, subscriber: any Subscriber, on loop: isolated EventLoop
  ) -> DemandSubscription {
    loop.takePart(self)
    // The changes first, then the current state: what happens in between is in both, and recognized by its number.
    if demandFeed == nil { demandFeed = watchers.demand.subscribe { [demandBox] in demandBox.put($0) } }
    let (watched, number) = watchers.present
    let subscription = DemandSubscription(
      patterns, id: id, wire: wire, watched: watched, number: number, store: store, pieceBytes: pace.snapshotBytes,
      subscriber: subscriber)
    demandSubscriptions.append(subscription)
    counters.add(.demandSubscriptions)
    watchers.addDemand(1)
    return subscription
  }

  func cancel(_ subscription: DemandSubscription) {
    guard let index = demandSubscriptions.firstIndex(where: { $0 === subscription }) else { return }
    demandSubscriptions.remove(at: index)
    counters.add(.demandSubscriptions, -1)
    watchers.addDemand(-1)
    guard demandSubscriptions.isEmpty else { return }
    demandFeed?.cancel()
    demandFeed = nil
  }

  private func group(
    for key: SubscriptionGroup.Key, compressors: Compressors, now: UInt64
  ) -> SubscriptionGroup {
    if let index = indexes[key], let group = groups[index] {
      if group.isEmpty { group.begin(limits: limits, now: now) }
      return group
    }
    let index = freeGroups.popLast() ?? groups.count
    let group = SubscriptionGroup(
      key, index: index, progress: progress, limits: limits, compressors: compressors, now: now)
    if index == groups.count { groups.append(group) } else { groups[index] = group }
    indexes[key] = index
    counters.add(.groups)
    if let bookmark = key.options.bookmark, bookmark < shortestBookmark {
      shortestBookmark = bookmark
      nextBookmarks = min(nextBookmarks, now + bookmark / 8)
    }
    feed(of: key.options.topic).add(group)
    for pattern in key.options.viewers?.audience.dependencies ?? [] { deciding.add(pattern, index) }
    return group
  }

  // MARK: Routing

  func turnBegins(on loop: isolated EventLoop) {
    changes.ownerWillTake()
    messages.ownerWillTake()
    countsLeft = loop.work.limit
  }

  func turnEnds(on loop: isolated EventLoop) -> Bool {
    if !departures.isEmpty { settleDepartures(on: loop) }
    route(changes, on: loop)
    route(messages, on: loop)
    if !changes.routing.isWithinCommit { settled = progress.routed }
    for group in progress.takeDue(on: loop) { group.flush(on: loop) }
    if !redecided.isEmpty { restartRedecided(on: loop) }
    if !demandSubscriptions.isEmpty { tellDemand(on: loop) }
    if loop.now >= nextBookmarks { sendBookmarks(on: loop) }
    return changes.isAttached || messages.isAttached || !demandSubscriptions.isEmpty || !departures.isEmpty
  }

  /// Routes what has arrived of a topic to the groups that it concerns, as far as this turn allows.
  private func route(_ feed: Feed, on loop: isolated EventLoop) {
    feed.take()
    guard let first = feed.routing.first else { return }
    // Moved out while it is mutated: this saves an exclusivity check for each of thousands of changes in a turn.
    var routing = Routing()
    swap(&routing, &feed.routing)
    var filtered = routing.takeChange() ?? FilteredChange(first.first)
    let (begin, evaluations) = (filtered.work, filtered.evaluations)
    var routed = 0
    let end = begin + loop.work[feed.topic]
    while filtered.work < end, let commit = routing.first,
      route(commit, of: feed, &routing, &filtered, until: end, on: loop)
    {
      routing.removeFirst()
      routed += 1
      if !routing.retired.isEmpty { freeGroups += routing.takeRetired() }
    }
    loop.work[feed.topic] -= filtered.work - begin
    if filtered.evaluations > evaluations { counters.add(.filterEvaluations, filtered.evaluations - evaluations) }
    if routed > 0 { feed.noteRouted(routed, on: loop) }
    if routing.isWithinCommit { routing.keep(filtered) }
    for group in routing.touched where !group.isInCommit && !group.deliver(on: loop) {
      progress.schedule(group, on: loop)
    }
    routing.endTurn()
    if routing.first != nil { loop.continueInNextTurn() }
    swap(&routing, &feed.routing)
  }

  /// Routes a commit to the groups that it concerns, from where the last turn stopped; false when this turn's work has
  /// reached `end` before.
  private func route(
    _ commit: Commit, of feed: Feed, _ routing: inout Routing, _ filtered: inout FilteredChange, until end: Int,
    on loop: isolated EventLoop
  ) -> Bool {
    if !deciding.isEmpty, feed.topic == .properties, !routing.isWithinCommit {
      for change in commit { deciding.forEachMatch(change.path) { redecided.insert($0) } }
    }
    while routing.nextChange(of: commit, &filtered, &feed.finder) {
      while let candidate = routing.nextCandidate() {
        // What their members may know of it is in the snapshot with which they begin anew.
        guard redecided.isEmpty || !redecided.contains(candidate.group) else { continue }
        guard let group = groups[candidate.group], !group.isEmpty else { continue }
        if append(&filtered, candidate, to: group, on: loop), !group.isInCommit {
          group.isInCommit = true
          routing.inCommit.append(group)
        }
        if filtered.work >= end { return false }
      }
      if filtered.errors > 0 {
        counters.add(.filterFailures, filtered.errors)
        filterFailed?(filtered.change.path, filtered.errors)
      }
    }
    for group in routing.inCommit {
      group.isInCommit = false
      if group.endCommit(commit.revision, on: loop) { routing.touched.append(group) }
    }
    routing.inCommit.removeAll(keepingCapacity: true)
    if feed.topic == .properties { progress.routed = max(progress.routed, commit.revision) }
    return true
  }

  /// Adds a change to a group; true when it is to be sent to the members.
  private func append(
    _ filtered: inout FilteredChange, _ candidate: Candidate, to group: SubscriptionGroup,
    on loop: isolated EventLoop
  ) -> Bool {
    filtered.spend(WorkCost.candidate)
    let evaluated = filtered.evaluated
    var payer: Membership?
    if group.isExpensive, candidate.verdict == nil {
      payer = group.payer(within: limits.filterWork, at: loop.now)
      guard payer != nil, filterWork.isWithin(limits.loopFilterWork, at: loop.now) else {
        filtered.refuse()
        return false
      }
    }
    let written = group.writtenBytes
    let isConcerned = group.append(&filtered, candidate.verdict)
    if isConcerned {
      filtered.spend(WorkCost.event(filtered.change))
      if let memory = loop.memory {
        memory.note(group.writtenBytes - written)
        // The frames of one commit for all groups are held until it has been routed; there may be no memory for that.
        if memory.isShort, group.writtenBytes > MemoryKeeper.smallRest { group.endAll(on: loop) }
      }
    }
    let used = filtered.evaluated - evaluated
    group.isExpensive = used > limits.cheapFilterWork
    if let payer {
      payer.pay(used)
      filterWork.add(used)
    }
    return isConcerned
  }

  /// Lets the subscriptions begin anew whose viewers may see something else than before.
  private func restartRedecided(on loop: isolated EventLoop) {
    let indices = redecided
    redecided = []
    for index in indices {
      guard let group = groups[index] else { continue }
      for member in group.members + group.behind { member.restart(on: loop) }
    }
  }

  /// Lets all subscriptions begin anew for which the rules, which have changed, leave something else than before.
  func restartAll(on loop: isolated EventLoop) {
    for case let group? in groups {
      for member in group.members + group.behind { member.restart(on: loop) }
    }
    for subscription in demandSubscriptions { subscription.accessChanged(on: loop) }
  }

  private func tellDemand(on loop: isolated EventLoop) {
    let changes = demandBox.take()
    guard !changes.isEmpty else { return }
    for subscription in demandSubscriptions {
      for demand in changes { subscription.note(demand) }
      subscription.proceed(on: loop)
    }
  }

  /// Sends bookmarks: a quiet subscription's cursor must not become older than the history (rule 8).
  private func sendBookmarks(on loop: isolated EventLoop) {
    nextBookmarks = loop.now + max(1, shortestBookmark / 8)
    for case let group? in groups
    where group.lastEvent + (group.key.options.bookmark ?? bookmarkNanoseconds) <= loop.now {
      group.sendBookmark(progress.routed, on: loop)
    }
  }
}
