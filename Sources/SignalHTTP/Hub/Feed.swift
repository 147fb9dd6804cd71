// SPDX-License-Identifier: MIT
import SignalStore

/// The commits or messages of one topic that arrive at a hub from any thread, and the progress of their routing to the
/// groups.
///
/// The store is observed only while there is a group.
final class Feed {
  let topic: Topic
  private let store: PropertyStore
  private let mailbox: Mailbox<Commit>
  private var subscription: Subscription?
  /// The number of groups.
  private var groups = 0
  /// How many commits were taken together and are not routed yet, and since when the first of them has been waiting.
  private var arrivals: [(left: Int, since: UInt64)] = []
  var finder = GroupFinder()
  var routing = Routing()

  init(_ topic: Topic, of store: PropertyStore, loop: isolated EventLoop) {
    self.topic = topic
    self.store = store
    mailbox = Mailbox { [weak loop] in loop?.wake() }
  }

  /// Whether the store is observed.
  var isAttached: Bool { subscription != nil }

  /// Starts observing if necessary; returns false when it did not observe before.
  func attach() -> Bool {
    guard subscription == nil else { return true }
    subscription =
      switch topic {
      case .properties: store.changes.subscribe { [mailbox] commit in mailbox.put(commit) }
      case .signals:
        store.signals.messages.subscribe { [mailbox] message in
          mailbox.put(Commit(Change(set: StoredValue(message), replacing: nil)))
        }
      }
    return false
  }

  func add(_ group: SubscriptionGroup) {
    finder.add(group)
    groups += 1
  }

  /// Removes a group.
  ///
  /// - Returns: The indices in the hub that are free now: a commit that is being routed still refers to those of
  ///   removed groups.
  func remove(_ group: SubscriptionGroup) -> [Int] {
    finder.remove(group)
    groups -= 1
    routing.retired.append(group.index)
    if groups == 0 { detach() }
    return routing.isWithinCommit ? [] : routing.takeRetired()
  }

  private func detach() {
    subscription?.cancel()
    subscription = nil
    _ = mailbox.take()
    arrivals = []
    routing.removeAll()
  }

  func ownerWillTake() { if subscription != nil { mailbox.ownerWillTake() } }

  /// Takes what has arrived since the last time.
  func take() {
    guard subscription != nil else { return }
    let (commits, since) = mailbox.takeAll()
    if !commits.isEmpty { arrivals.append((commits.count, since)) }
    routing.add(commits)
  }

  /// Counts commits that have been routed, and whose events are sent at the end of this turn.
  func noteRouted(_ commits: Int, on loop: isolated EventLoop) {
    var commits = commits
    while commits > 0, let (left, since) = arrivals.first {
      let number = min(commits, left)
      loop.noteDelivered(number, since: since)
      commits -= number
      if number == left { arrivals.removeFirst() } else { arrivals[0].left -= number }
    }
  }
}

extension StoredValue {
  /// Presents a message as a value, with its number as the revision.
  convenience init(_ message: SignalMessage) {
    self.init(
      path: message.path, value: message.message, revision: Revision(message.number), time: message.time)
  }
}

extension TurnWork {
  /// The work left for routing.
  subscript(topic: Topic) -> Int {
    get {
      switch topic {
      case .properties: routing
      case .signals: signals
      }
    }
    set {
      switch topic {
      case .properties: routing = newValue
      case .signals: signals = newValue
      }
    }
  }
}
