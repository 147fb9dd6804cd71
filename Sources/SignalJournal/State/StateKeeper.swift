// SPDX-License-Identifier: MIT

internal import Dispatch
internal import SignalStore
internal import Synchronization

/// Advances the state from the journal, on a thread of its own.
///
/// It leaves as much in the journal as the store keeps for resuming: read at a start, these records restore the
/// history, each change with the value it replaced, which can only be derived from the state before them.
// Unchecked: the files are not Sendable, and used by the thread only. What others use is guarded by a lock, atomic or
// constant.
final class StateKeeper: @unchecked Sendable {
  private struct Wish {
    var isWanted = false
    var isClosing = false
    var isFailed = false
  }

  private let state: StateFile
  /// The journal by a connection of its own.
  private let rows: JournalFile
  private let level: JournalLevel
  private let limits: JournalLimits
  /// What stays in the journal, and the amount of work at which it is shortened.
  private let history: (changes: Int, bytes: Int, records: Int)
  private let mostWork: Int
  private let failed: @Sendable (StorageError) -> Void
  private let wish = Mutex(Wish())
  private let wake = DispatchSemaphore(value: 0)
  private let thread = WorkerThread()
  private let result = Mutex<StorageError?>(nil)

  init(
    _ state: StateFile, rows: JournalFile, level: JournalLevel, limits: JournalLimits, store: StoreLimits,
    failed: @escaping @Sendable (StorageError) -> Void
  ) {
    self.state = state
    self.rows = rows
    self.level = level
    self.limits = limits
    // What stays has to be less than what triggers it.
    mostWork = max(limits.journalChanges, 4 * store.historyChanges)
    history = (store.historyChanges, min(store.historyBytes, limits.journalBytes / 4), mostWork / 2)
    self.failed = failed
  }

  func start() {
    thread.start { self.run() }
  }

  /// Whether the journal is so large that a part of it should move into the state.
  var isNeeded: Bool {
    level.bytes > limits.journalBytes / 2 || level.work > mostWork
  }

  /// Requests a run; one that is running is followed by another.
  func request() {
    let isNew = wish.withLock { wish in
      defer { wish.isWanted = true }
      return !wish.isWanted
    }
    if isNew { wake.signal() }
  }

  /// Advances the state as far as possible, and ends the thread.
  ///
  /// - Parameter isFailed: Whether nothing more may be written.
  /// - Returns: Why that was not possible; nil on success.
  func close(isFailed: Bool) -> StorageError? {
    wish.withLock { wish in
      wish.isClosing = true
      wish.isFailed = isFailed
    }
    wake.signal()
    thread.join()
    return result.withLock { $0 }
  }

  private func run() {
    while true {
      wake.wait()
      let wish = wish.withLock { wish in
        // Before reading the end of the journal: a request made during the work is about what has come since.
        wish.isWanted = false
        return wish
      }
      if wish.isFailed { return }
      do throws(StorageError) {
        try advance()
        if wish.isClosing { return }
      } catch {
        if wish.isClosing { return result.withLock { $0 = error } }
        guard error.isTemporary else { return failed(error) }
        // Nothing is lost, as the journal has it; when that has grown to its limit, writes are refused.
        _ = wake.wait(timeout: .now() + limits.retryInterval.dispatch)
        wake.signal()
      }
    }
  }

  /// Moves what is older than the kept history into the state, in transactions of bounded size.
  private func advance() throws(StorageError) {
    let goal = try rows.position(beforeNewest: history.changes, bytes: history.bytes, records: history.records)
    guard state.head.journal.position < goal else { return }
    while state.head.journal.position < goal {
      var changes = StateChanges()
      var (bytes, work) = (0, 0)
      let end = try rows.read(after: state.head.journal) { row throws(StorageError) in
        try row.forEachRecord(in: rows.database.file) { record throws(StorageError) in
          try changes.apply(record) { path throws(StorageError) in try state.timer(at: path) }
        }
        bytes += row.records.count
        work += row.work
        return row.last < goal && bytes < limits.transactionBytes
      }
      try state.apply(changes, through: end)
      level.cover(bytes: bytes, work: work, through: end.position)
    }
    try state.database.checkpoint()
  }
}
