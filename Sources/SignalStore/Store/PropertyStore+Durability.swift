// SPDX-License-Identifier: MIT

import Synchronization

/// A notification about the durability of records.
package enum Announcement: Sendable, Equatable {
  /// Up to the record of this number everything is durable, and its notifications have been sent.
  case durable(through: UInt64)
  /// Records that are not durable by now never will be.
  case failed
  /// Nor will the records after one up to another, and what followed from them was taken back.
  case lost(after: UInt64, through: UInt64)
}

/// Sending changes only when they are durable.
///
/// A store in memory sends a commit when it is made. A store whose records are written to disk sends it when its writer
/// reports them durable: so nobody has seen what a crash undoes. Reads are not held back: a caller that passes on what
/// it has read first waits until the records made by then (``dependence(ofEvents:)``) are announced.
extension PropertyStore {
  /// From now on ``changes`` and the messages of ``signals`` are sent by ``announce(through:)``.
  ///
  /// To be called before the store is used.
  ///
  /// - Parameter record: The number of the last record that was made before; those of the store follow it.
  package func holdBack(after record: UInt64) {
    shared.state.withLock { $0.announcements = Announcements(after: record) }
  }

  /// Whether changes are sent later than they are made.
  package var holdsBack: Bool { shared.state.withLock { $0.announcements != nil } }

  /// The number of the last record whose changes have been sent to all observers; in a store that sends everything at
  /// once, that of the last durable one.
  package var lastAnnounced: UInt64 {
    let (announced, sink) = shared.state.withLock { ($0.announcements?.announced, $0.sink) }
    return announced ?? sink?.status?.durable ?? 0
  }

  /// Sends everything up to a record, which is durable now, and then reports that through ``announced``.
  ///
  /// To be called by one thread at a time, with numbers that grow.
  package func announce(through record: UInt64) {
    let (holdsBack, replaced) = shared.state.withLock { state in
      state.announcements?.take(through: record, commits, signals.messages)
      let replaced = state.announcedState
      if replaced.map({ $0.record < record }) == true { state.announcedState = nil }
      return (state.announcements != nil, replaced)
    }
    // Released without the lock.
    withExtendedLifetime(replaced) {}
    if holdsBack {
      commits.deliver()
      signals.messages.deliver()
    }
    announced.send(.durable(through: record))
  }

  /// Reports through ``announced`` that nothing more becomes durable.
  package func announceFailure() { announced.send(.failed) }

  /// Requests that what was recorded becomes durable soon, where that is usually delayed.
  ///
  /// - Returns: The number of the last record, which is announced when it is.
  package func hurry() -> UInt64 {
    guard let sink = shared.state.withLock({ $0.sink }), let status = sink.status else { return 0 }
    if status.durable < status.taken { sink.hurry() }
    return status.taken
  }

  /// How the records are kept; nil when a restart forgets everything.
  package var storage: StorageStatus? { shared.state.withLock { $0.sink }?.status }

  // MARK: Epochs

  /// The same position as a cursor of the present epoch, when it belongs to an earlier epoch that is still part of the
  /// history; otherwise the cursor unchanged.
  package func present(_ cursor: Cursor) -> Cursor {
    guard cursor.epoch != epoch, let end = ancestors[cursor.epoch], cursor.revision <= end else { return cursor }
    return Cursor(epoch: epoch, revision: cursor.revision)
  }

  /// The same condition with cursors of the present epoch.
  package func present(_ condition: Condition) -> Condition {
    switch condition {
    case .matches(let cursor): .matches(present(cursor))
    case .matchesAny(let cursors): .matchesAny(cursors.map(present))
    case .noneMatch(let cursors): .noneMatch(cursors.map(present))
    case .any, .exists, .absent, .unmodifiedSince: condition
    }
  }

  /// Whether the cursor is past the end of an earlier epoch: the change it names was lost.
  package func isLost(_ cursor: Cursor) -> Bool { ancestors[cursor.epoch].map { cursor.revision > $0 } ?? false }
}
