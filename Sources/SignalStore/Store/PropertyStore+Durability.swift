// SPDX-License-Identifier: MIT

import Synchronization

/// What is said of the durability of records.
package enum Announcement: Sendable, Equatable {
  /// Up to the record of this number everything is durable, and everybody has been told of it.
  case durable(through: UInt64)
  /// What is not durable by now will never be.
  case failed
}

/// Telling of changes only when they are durable.
///
/// A store in memory tells of a commit when it is made. One whose records are written to disk tells of it when somebody says
/// that they are there: what a crash takes back has then been seen by nobody. Reading is not held back: whoever passes on what
/// was read waits until the records that there were (``records``) are announced.
extension PropertyStore {
  /// From now on ``changes`` and the messages of ``signals`` are sent by ``announce(through:)``.
  ///
  /// To be called before the store is used.
  ///
  /// - Parameter record: The number of the last record that was made before; those of the store follow it.
  package func holdBack(after record: UInt64) {
    shared.state.withLock { $0.announcements = Announcements(after: record) }
  }

  /// Whether changes are told later than they are made.
  package var holdsBack: Bool { shared.state.withLock { $0.announcements != nil } }

  /// The number of the last record; 0 in a store that tells everything at once.
  package var records: UInt64 { shared.state.withLock { $0.announcements?.records ?? 0 } }

  /// The number of the last record of whose changes everybody has been told; in a store that tells everything at once, that
  /// of the last durable one.
  package var lastAnnounced: UInt64 {
    let (announced, sink) = shared.state.withLock { ($0.announcements?.announced, $0.sink) }
    return announced ?? sink?.status?.durable ?? 0
  }

  /// Tells of everything up to a record, which is durable now, and then says so to ``announced``.
  ///
  /// To be called by one thread at a time, with numbers that grow.
  package func announce(through record: UInt64) {
    let holdsBack = shared.state.withLock { state in
      state.announcements?.take(through: record, commits, signals.messages)
      return state.announcements != nil
    }
    if holdsBack {
      commits.deliver()
      signals.messages.deliver()
    }
    announced.send(.durable(through: record))
  }

  /// Says to ``announced`` that nothing more becomes durable.
  package func announceFailure() { announced.send(.failed) }

  /// Asks for what was recorded to be durable soon, where that is usually later.
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

  /// The same place by the name of the present epoch, when it is one of an earlier epoch that is still part of the history;
  /// otherwise the cursor as it is.
  package func present(_ cursor: Cursor) -> Cursor {
    guard cursor.epoch != epoch, let end = ancestors[cursor.epoch], cursor.revision <= end else { return cursor }
    return Cursor(epoch: epoch, revision: cursor.revision)
  }

  /// The same condition by the name of the present epoch.
  package func present(_ condition: Condition) -> Condition {
    switch condition {
    case .matches(let cursor): .matches(present(cursor))
    case .matchesAny(let cursors): .matchesAny(cursors.map(present))
    case .noneMatch(let cursors): .noneMatch(cursors.map(present))
    case .any, .exists, .absent, .unmodifiedSince: condition
    }
  }

  /// Whether the cursor is behind the end of an earlier epoch: what it names was lost.
  package func isLost(_ cursor: Cursor) -> Bool { ancestors[cursor.epoch].map { cursor.revision > $0 } ?? false }
}
