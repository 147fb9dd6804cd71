// SPDX-License-Identifier: MIT
import SignalStore

/// What comes to a hub of one topic, from any thread, and how far it has come on its way to the groups.
///
/// The store is observed only while there is a group.
final class Feed {
  let topic: Topic
  private let store: PropertyStore
  private let mailbox: Mailbox<Commit>
  private var subscription: Subscription?
  /// How many groups there are.
  private var groups = 0
  var finder = GroupFinder()
  var routing = Routing()

  init(_ topic: Topic, of store: PropertyStore, loop: isolated EventLoop) {
    self.topic = topic
    self.store = store
    mailbox = Mailbox { [weak loop] in loop?.wake() }
  }

  /// Sees to it that something comes in; false when it did not before.
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

  /// Takes a group out.
  ///
  /// - Returns: The places in the hub that are free now: a commit that is being routed still names those of groups that
  ///   are gone.
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
    routing.removeAll()
  }

  func ownerWillTake() { if subscription != nil { mailbox.ownerWillTake() } }

  /// Takes what has come since the last time.
  func take() { if subscription != nil { routing.add(mailbox.take()) } }
}

extension StoredValue {
  /// A message as a value, at its number.
  convenience init(_ message: SignalMessage) {
    self.init(
      path: message.path, value: message.message, revision: Revision(message.number), time: message.time)
  }
}

extension TurnWork {
  /// What is left for routing.
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
