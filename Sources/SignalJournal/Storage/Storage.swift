// SPDX-License-Identifier: MIT

package import SignalStore
internal import Synchronization

/// A folder open for writing, with its threads, until it is closed.
package final class Storage: Sendable {
  /// Receives the records of the store.
  package let journal: Journal
  /// Answers queries of past values; nil when no history is kept.
  package var history: (any SeriesSource)? { reader }
  private let reader: HistoryReader?
  private let lock: Mutex<FolderLock?>
  private let thread = WorkerThread()
  private let failure = Mutex<StorageError?>(nil)

  init(
    _ configuration: StorageConfiguration, lock: FolderLock, files: DataFolder, mark: SmallFile,
    after place: JournalPlace, revision: Revision, epoch: Epoch, _ observer: Journal.Observer,
    _ historyObserver: HistoryObserver
  ) throws(StorageError) {
    let covered = files.state.head.journal.position
    let fits = try files.historyFits(configuration.history, end: place)
    let level = JournalLevel(
      try files.journal.size(after: covered), coveredThrough: covered,
      // The journal still has what a restarted history needs.
      history: files.history.map { fits ? $0.head.journal.position : 0 })
    let journal = Journal(
      after: place, revision: revision, limits: configuration.journal, level: level, observer: observer)
    func open(
      _ access: Database.Access, _ file: DataFile = .journal, cache: Int = 2 << 20
    ) throws(StorageError) -> Database {
      try file.open(in: configuration.folder, access, system: configuration.system, cache: cache).database
    }
    let failed: @Sendable (StorageError) -> Void = { journal.set(.failed($0)) }
    let keeper = StateKeeper(
      files.state, rows: try JournalFile(try open(.read)), level: level, limits: configuration.journal,
      store: configuration.store, failed: failed)
    let log = try open(.write)
    try log.prepareForWriting(logLimit: JournalLimits.logBytes)
    let checkpointer = Checkpointer(log, failed: failed)
    var history: HistoryKeeper?
    var reader: HistoryReader?
    if let file = files.history {
      let keeper = HistoryKeeper(
        file, rows: try JournalFile(try open(.read)), level: level, configuration.history,
        journal: configuration.journal, mustBegin: !fits, observer: historyObserver,
        openState: { () throws(StorageError) in
          try DataFile.state.open(in: configuration.folder, .read, system: configuration.system).database
        })
      reader = HistoryReader(
        try SeriesScan(try open(.read, .history, cache: HistoryLimits.readCache), configuration.history.limits),
        configuration.history, keeper: keeper, journal: journal, unreadable: historyObserver.unreadable)
      history = keeper
    }
    self.reader = reader
    let writer = JournalWriter(
      journal, files.journal, after: place, revision: revision, mark: mark, epoch: epoch, level: level,
      keeper: keeper, history: history, checkpointer: checkpointer)
    self.journal = journal
    self.lock = Mutex(lock)
    keeper.start()
    history?.start()
    reader?.start()
    checkpointer.start()
    thread.start { [self] in
      let result = writer.run()
      failure.withLock { $0 = result }
    }
  }

  /// Writes what has been appended, updates the state, and ends the threads; later records are not written.
  ///
  /// - Returns: Why not everything was written; nil when it was.
  @discardableResult
  package func close() -> StorageError? {
    reader?.close()
    journal.endWriting()
    thread.join()
    lock.withLock { $0 = nil }
    return failure.withLock { $0 }
  }
}
