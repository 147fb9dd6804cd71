// SPDX-License-Identifier: MIT

import Synchronization

/// The properties of a store as they were after everything that has been announced.
final class AnnouncedState: Sendable {
  private static let count = Atomic<UInt64>(0)

  /// No other one of the process has it; above 0.
  let number = count.add(1, ordering: .relaxed).newValue
  let tree: PathTree
  let revision: Revision
  /// The number of the last record that was announced.
  let record: UInt64

  /// Takes back what is not announced.
  ///
  /// - Parameters:
  ///   - commits: The last changes of the tree, in their order; an amendment of a property that they do not change stays.
  ///   - revision: That of the tree.
  init(_ tree: PathTree, without commits: [Commit], revision: Revision, record: UInt64) {
    var tree = tree
    for commit in commits.reversed() {
      for change in commit.reversed() {
        if let old = change.old { _ = tree.set(old) } else { _ = tree.remove(change.path) }
      }
    }
    self.tree = tree
    self.revision = commits.first.map { Revision($0.revision.number - 1) } ?? revision
    self.record = record
  }
}

/// Reading while the disk is full.
///
/// What is read is told only when it is durable, and with a full disk nobody knows when that will be. Writes are refused
/// then, and readers are given the state of before those that were not.
extension PropertyStore {
  /// From now on, until the next record is announced, readers are given the properties as they have been announced, and
  /// nothing is written.
  ///
  /// Messages that have only waited for changes before them are sent. Has no effect in a store that does not hold changes
  /// back.
  package func readAnnounced() {
    let taken = shared.state.withLock { state in
      state.announcements?.takeMessages(messages: signals.messages)
      return state.announcements.map { ($0.commits, $0.announced, state.replica.tree, state.replica.revision) }
    }
    signals.messages.deliver()
    guard let (commits, record, tree, revision) = taken else { return }
    let made = AnnouncedState(tree, without: commits, revision: revision, record: record)
    let replaced = shared.state.withLock { state in
      guard state.announcements?.announced == record else { return made }
      let old = state.announcedState
      state.announcedState = made
      return old ?? made
    }
    withExtendedLifetime(replaced) {}
  }

  /// A number of the state that readers are given instead of the present one; 0 while they are given that.
  package var announcedState: UInt64 { shared.state.withLock { $0.announcedState?.number ?? 0 } }

  /// The number of the record that has to be durable before something may be told that was read or done; 0 in a store
  /// that sends everything at once.
  ///
  /// - Parameters:
  ///   - begin: What ``announcedState`` was before that: if it still is, that was read, and nothing was done.
  ///   - ofEvents: Whether messages or timers were read, and not properties alone.
  package func dependence(since begin: UInt64 = 0, ofEvents: Bool = false) -> UInt64 {
    shared.state.withLock { state in
      guard let announcements = state.announcements else { return 0 }
      guard let told = state.announcedState, told.number == begin, !ofEvents || !announcements.hasEvents else {
        return announcements.records
      }
      return told.record
    }
  }

  /// Why writes are refused now; nil when they are accepted.
  package var refusal: StorageRefusal? { shared.state.withLock { $0.refusal } }
}
