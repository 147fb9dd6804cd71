// SPDX-License-Identifier: MIT

/// A record as it was written elsewhere: a commit does not include the values that its changes have replaced.
package enum WrittenRecord: Sendable {
  case commit(WrittenCommit)
  /// Any other kind.
  case other(Record)
}

/// A commit of a ``WrittenRecord``.
package struct WrittenCommit: Sendable {
  package enum Change: Sendable {
    case set(StoredValue, isCorrection: Bool)
    case end(PropertyPath, SignalStore.Change.Operation, isCorrection: Bool)
  }

  package let revision: Revision
  package let time: Timestamp
  package let changes: [Change]

  package init(revision: Revision, time: Timestamp, changes: [Change]) {
    self.revision = revision
    self.time = time
    self.changes = changes
  }
}

extension WrittenRecord {
  /// The record as the store made it, given its replica at that time; nil when the two are inconsistent.
  ///
  /// - Parameter isLenient: Skips ends of properties that do not exist; nil when that leaves nothing.
  package func record(in replica: borrowing Replica, isLenient: Bool = false) -> Record? {
    switch self {
    case .other(let record): return record
    case .commit(let commit):
      var changes: [Change] = []
      changes.reserveCapacity(commit.changes.count)
      for change in commit.changes {
        switch change {
        case .set(let new, let isCorrection):
          let set = Change(set: new, replacing: replica.tree.value(at: new.path))
          changes.append(isCorrection ? set.asCorrection : set)
        case .end(let path, let op, let isCorrection):
          guard let old = replica.tree.value(at: path) else {
            if isLenient { continue }
            return nil
          }
          let end =
            op == .delete
            ? Change(delete: old, revision: commit.revision, time: commit.time)
            : Change(end: old, by: op, revision: commit.revision, time: commit.time)
          changes.append(isCorrection ? end.asCorrection : end)
        }
      }
      guard let first = changes.first else { return nil }
      return .commit(changes.count == 1 ? Commit(first) : Commit(first, rest: Array(changes.dropFirst())))
    }
  }
}
