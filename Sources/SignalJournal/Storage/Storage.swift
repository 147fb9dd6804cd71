// SPDX-License-Identifier: MIT

internal import SignalStore
internal import Synchronization

/// A folder that is written to, by threads of its own, until it is closed.
package final class Storage: Sendable {
  /// Takes the records of the store.
  package let journal: Journal
  private let lock: Mutex<FolderLock?>
  private let thread: Mutex<WorkerThread?>
  private let failure = Mutex<StorageError?>(nil)

  init(
    _ configuration: StorageConfiguration, lock: FolderLock, files: DataFolder, mark: SmallFile,
    after place: JournalPlace, epoch: Epoch, _ observer: Journal.Observer
  ) throws(StorageError) {
    let covered = files.state.head.journal.position
    let level = JournalLevel(try files.journal.size(after: covered), coveredThrough: covered)
    let journal = Journal(after: place, limits: configuration.journal, level: level, observer: observer)
    func open(_ access: Database.Access) throws(StorageError) -> Database {
      try DataFile.journal.open(in: configuration.folder, access, system: configuration.system).database
    }
    let failed: @Sendable (StorageError) -> Void = { journal.set(.failed($0)) }
    let keeper = StateKeeper(
      files.state, rows: try JournalFile(try open(.read)), level: level, limits: configuration.journal,
      store: configuration.store, failed: failed)
    let log = try open(.write)
    try log.prepareForWriting(logLimit: JournalLimits.logBytes)
    let checkpointer = Checkpointer(log, failed: failed)
    let writer = JournalWriter(
      journal, files.journal, after: place, mark: mark, epoch: epoch, level: level, keeper: keeper,
      checkpointer: checkpointer)
    self.journal = journal
    self.lock = Mutex(lock)
    thread = Mutex(nil)
    keeper.start()
    checkpointer.start()
    thread.withLock { thread in
      thread = WorkerThread { [self] in
        let result = writer.run()
        failure.withLock { $0 = result }
      }
    }
  }

  /// Writes what has been taken, brings the state up to date, and ends the threads; later records are not written.
  ///
  /// - Returns: Why not everything was written; nil when it was.
  @discardableResult
  package func close() -> StorageError? {
    let thread = thread.withLock { thread in
      defer { thread = nil }
      return thread
    }
    guard let thread else { return failure.withLock { $0 } }
    journal.endWriting()
    thread.join()
    lock.withLock { $0 = nil }
    return failure.withLock { $0 }
  }
}
