// SPDX-License-Identifier: MIT

internal import SignalStore

extension WrittenRecord {
  /// The record as the store made it, given its replica at that time; nil when the two are inconsistent.
  ///
  /// - Parameter isLenient: Skips ends of properties that do not exist; nil when that leaves nothing.
  func record(in replica: borrowing Replica, isLenient: Bool = false) -> Record? {
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

extension JournalRow {
  /// Applies the records to a replica in the state before them.
  ///
  /// - Parameter isLenient: The replica may lack properties that existed; their ends are skipped.
  func replay(to replica: inout Replica, from file: String, isLenient: Bool = false) throws(StorageError) {
    try forEachRecord(in: file) { written throws(StorageError) in
      guard let record = written.record(in: replica, isLenient: isLenient) else {
        if isLenient { return }
        throw .damaged(
          .init(
            file, "the row at position \(first)", "it removes what is not there", after: replica.revision))
      }
      replica.apply(record)
    }
  }
}
