// SPDX-License-Identifier: MIT

internal import SignalStore

extension WrittenRecord {
  /// The record as the store made it, whose replica is as it was then; nil when the two do not fit.
  ///
  /// - Parameter isLenient: Leaves out the ends of what is not there; nil when that leaves nothing.
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
  /// Applies the records to a replica that is as it was before them.
  ///
  /// - Parameter isLenient: The replica may lack properties that there were; what ends them is left out.
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
