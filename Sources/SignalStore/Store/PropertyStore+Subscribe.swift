// SPDX-License-Identifier: MIT

import Synchronization

/// What a subscription to a store delivers: the properties as they are, then their changes.
public enum StoreEvent: Sendable, Equatable {
  /// A property of the initial snapshot.
  case snapshot(StoredValue)
  /// The end of the snapshot: everything up to this revision has been delivered, and every change after it follows.
  case live(Revision)
  /// A change of a property. With `more`, another change of the same transaction follows.
  case change(Change, more: Bool)
}

extension PropertyStore {
  /// Calls `handler` with the properties that match one of the patterns, and then with every change
  /// of such a property, for as long as the subscription is kept.
  ///
  /// 1. First come the properties as of one revision n, in path order, then `live` at n, then every
  ///    change after n in the order of the revisions: no gap and no repeat. Without `initial`, `live`
  ///    is the first.
  /// 2. The changes of a transaction follow each other, all but the last marked with `more`.
  /// 3. The handler never runs twice at a time. The properties and `live` come before `subscribe`
  ///    returns, on the calling thread; changes that are made meanwhile are queued in memory, and
  ///    `subscribe` returns when the handler has caught up with them. From then on the delivery rules
  ///    of ``Signal`` hold.
  /// 4. After `cancel` has returned, no call starts on the same thread.
  public func subscribe(
    match patterns: [PathPattern] = [.all], initial: Bool = true, _ handler: @escaping @Sendable (StoreEvent) -> Void
  ) -> Subscription {
    let feed = StoreFeed(patterns: patterns, handler: handler)
    // In this order: what is committed between the two comes twice and is recognized by its
    // revision; the other way round it would be lost.
    let subscription = commits.subscribe { commit in feed.receive(commit) }
    feed.begin(with: snapshot(), initial: initial)
    return subscription
  }
}

/// Joins the snapshot and the changes of one subscription.
///
///     starting ── snapshot delivered, nothing queued ──▶ live
///
/// While it is starting, the subscribing thread calls the handler, and commits are queued; then the thread that
/// delivers ``PropertyStore/changes`` calls it, of which there is one at a time.
private final class StoreFeed: Sendable {
  private struct State {
    /// The revision of the snapshot, once the feed is live.
    ///
    /// Commits up to it have not all been delivered by then, and arrive late.
    var start: Revision?
    var waiting: [Commit] = []
  }

  private let patterns: [PathPattern]
  private let handler: @Sendable (StoreEvent) -> Void
  private let state = Mutex(State())

  init(patterns: [PathPattern], handler: @escaping @Sendable (StoreEvent) -> Void) {
    self.patterns = patterns
    self.handler = handler
  }

  func begin(with snapshot: StoreSnapshot, initial: Bool) {
    if initial {
      for value in snapshot.scan(match: patterns) { handler(.snapshot(value)) }
    }
    handler(.live(snapshot.revision))
    while let commits = takeWaiting(orGoLiveAfter: snapshot.revision) {
      for commit in commits { handOut(commit, ifAfter: snapshot.revision) }
    }
  }

  func receive(_ commit: Commit) {
    let start = state.withLock { state in
      if state.start == nil { state.waiting.append(commit) }
      return state.start
    }
    if let start { handOut(commit, ifAfter: start) }
  }

  /// Takes the queued commits; nil when there are none, and from then on the feed is live.
  private func takeWaiting(orGoLiveAfter start: Revision) -> [Commit]? {
    state.withLock { state in
      if state.waiting.isEmpty {
        state.start = start
        return nil
      }
      var taken: [Commit] = []
      swap(&taken, &state.waiting)
      return taken
    }
  }

  private func handOut(_ commit: Commit, ifAfter start: Revision) {
    guard commit.revision > start else { return }
    // Delivered one match late, because only the next match shows that there is more.
    var held: Change?
    for change in commit where patterns.contains(where: { $0.matches(change.path) }) {
      if let held { handler(.change(held, more: true)) }
      held = change
    }
    if let held { handler(.change(held, more: false)) }
  }
}
