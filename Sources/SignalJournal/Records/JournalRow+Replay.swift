// SPDX-License-Identifier: MIT

internal import SignalStore

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
