// SPDX-License-Identifier: MIT

internal import Dispatch
internal import JSON
internal import SignalStore
internal import Synchronization

/// Advances the history from the journal, on a thread of its own.
///
/// 1. The position in the journal is stored in the file, in the same commit as the changes before it: a crash neither
///    loses nor repeats any.
/// 2. The journal keeps what is not durable in the history. When that exceeds the limit of a whole journal, the history
///    continues from the state instead, and the series that have changed meanwhile record a gap: writing never waits
///    for it.
/// 3. When its file fails, nothing more is kept, and the journal does not wait.
// Unchecked: the files are not Sendable, and used by the thread only. What others use is guarded by a lock, atomic or
// constant.
final class HistoryKeeper: @unchecked Sendable {
  struct Wish {
    /// The journal has something new.
    var isWanted = false
    /// A query is waiting.
    var isHurried = false
    var isClosing = false
    /// Nothing more may be written.
    var isFailed = false
    /// The callers that wait until a position is in the file.
    var waiting: [(position: UInt64, semaphore: DispatchSemaphore)] = []
  }

  let file: HistoryFile
  /// The journal by a connection of its own.
  let rows: JournalFile
  let level: JournalLevel
  let configuration: HistoryConfiguration
  let journal: JournalLimits
  let openState: () throws(StorageError) -> Database
  let observer: HistoryObserver
  let wish = Mutex(Wish())
  private let wake = DispatchSemaphore(value: 0)
  private let thread = WorkerThread()
  private let reached: Atomic<UInt64>
  /// Before this position the file contains more than its head says.
  private let readyFrom: UInt64
  private let hasFailed = Atomic(false)
  private let isCrowded = Atomic(false)
  let hasBegun: Atomic<Bool>
  /// Whether the history does not continue where the journal does, or has other rules.
  var mustBegin: Bool
  var nextRound = DispatchTime.now()
  var nextSweep = DispatchTime.now()
  /// The series that the current sweep has not reached yet.
  var toSweep: [PropertyPath] = []

  /// - Parameter openState: Opens `state.sqlite` for reading.
  init(
    _ file: HistoryFile, rows: JournalFile, level: JournalLevel, _ configuration: HistoryConfiguration,
    journal: JournalLimits, mustBegin: Bool, observer: HistoryObserver,
    openState: @escaping () throws(StorageError) -> Database
  ) {
    self.file = file
    self.rows = rows
    self.level = level
    self.configuration = configuration
    self.journal = journal
    self.mustBegin = mustBegin
    self.observer = observer
    self.openState = openState
    readyFrom = file.head.journal.position
    hasBegun = Atomic(!mustBegin)
    reached = Atomic(mustBegin ? 0 : file.head.journal.position)
  }

  func start() {
    thread.start { self.run() }
  }

  // MARK: Other threads

  /// Whether the history has failed, and nothing more is kept.
  var isOver: Bool { hasFailed.load(ordering: .acquiring) }

  /// Whether the file matches its head: not while it is rebuilt with other rules.
  var isReady: Bool { reached.load(ordering: .acquiring) >= readyFrom && hasBegun.load(ordering: .acquiring) }

  /// Whether properties have been left out because there are too many series.
  var isFull: Bool { isCrowded.load(ordering: .relaxed) }

  /// Notifies it that the journal has something new.
  func request() {
    let isNew = wish.withLock { wish in
      defer { wish.isWanted = true }
      return !wish.isWanted
    }
    if isNew { wake.signal() }
  }

  /// Waits until everything up to a position is in the file, at most for ``HistoryLimits/patience``.
  ///
  /// - Returns: Whether it is.
  func reach(_ position: UInt64) -> Bool {
    if has(position) { return true }
    let semaphore = DispatchSemaphore(value: 0)
    let isThere = wish.withLock { wish in
      if wish.isClosing || isOver { return true }
      wish.isHurried = true
      wish.waiting.append((position, semaphore))
      return false
    }
    if !isThere {
      wake.signal()
      _ = semaphore.wait(timeout: .now() + configuration.limits.patience.dispatch)
      wish.withLock { wish in wish.waiting.removeAll { $0.semaphore === semaphore } }
    }
    return has(position)
  }

  /// Whether everything up to a position is in the file, and the file matches its head.
  private func has(_ position: UInt64) -> Bool { isReady && reached.load(ordering: .acquiring) >= position }

  /// Advances the history as far as possible, and ends the thread.
  ///
  /// - Parameter isFailed: Whether nothing more may be written.
  func close(isFailed: Bool) {
    wish.withLock { wish in
      wish.isClosing = true
      wish.isFailed = isFailed
    }
    wake.signal()
    thread.join()
  }

  // MARK: The thread

  private func run() {
    while true {
      waitForWork()
      let wish = wish.withLock { wish in
        // Before reading the end of the journal: a request made during the work is about what has come since.
        defer { (wish.isWanted, wish.isHurried) = (false, false) }
        return wish
      }
      if wish.isFailed { return letGo() }
      do throws(StorageError) {
        try work(wish)
        if wish.isClosing { return letGo() }
      } catch {
        guard error.isTemporary else {
          fail(error)
          return
        }
        // When the disk is full, the journal reports it; what is missing here is still in the journal.
        if wish.isClosing { return letGo() }
        _ = wake.wait(timeout: .now() + journal.retryInterval.dispatch)
        request()
      }
    }
  }

  /// Waits for work: at once for queries; otherwise for the interval, to collect what comes in it.
  private func waitForWork() {
    while true {
      let (isUrgent, isWanted) = wish.withLock { wish in
        (wish.isHurried || wish.isClosing || wish.isFailed, wish.isWanted)
      }
      let time = isWanted ? min(nextRound, nextSweep) : nextSweep
      if isUrgent || time <= .now() { return }
      _ = wake.wait(timeout: time)
    }
  }

  private func work(_ wish: Wish) throws(StorageError) {
    let isDue = wish.isClosing || nextRound <= .now()
    let isBehind = try isTooFarBehind
    if mustBegin || isBehind { try begin() }
    try fill(isDurable: isDue)
    if isDue { nextRound = .now() + configuration.limits.interval.dispatch }
    if wish.isClosing || file.database.frames >= HistoryLimits.logFrames { try file.database.checkpoint() }
    if !wish.isClosing, nextSweep <= .now() { try sweep() }
  }

  /// Copies everything from the journal, in transactions of bounded size.
  private func fill(isDurable: Bool) throws(StorageError) {
    var isOver = false
    while !isOver {
      var changes: [PropertyPath: HistoryFile.Changes] = [:]
      var bytes = 0
      isOver = true
      let end = try rows.read(after: file.head.journal) { row throws(StorageError) in
        try collect(row, &changes)
        bytes += row.records.count
        isOver = bytes < configuration.limits.transactionBytes
        return isOver
      }
      let isLast = isOver && isDurable
      guard end != file.head.journal || (isLast && level.historyCovered < end.position) else { break }
      let leftOut = try file.apply(changes, configuration, through: end, isDurable: isLast)
      noteCrowd(leftOut)
      if isLast { level.coverHistory(through: end.position) }
      report(end.position)
    }
    report(file.head.journal.position)
  }

  private func collect(
    _ row: JournalRow, _ changes: inout [PropertyPath: HistoryFile.Changes]
  ) throws(StorageError) {
    try row.forEachRecord(in: rows.database.file) { record in
      if case .other(.amendment(let property)) = record, isKept(property.path) {
        // The newest value where not all are recorded; one that the series already has is skipped.
        changes[property.path, default: HistoryFile.Changes()].samples.append(Sample(property))
      }
      guard case .commit(let commit) = record else { return }
      let (time, revision) = (commit.time.milliseconds, commit.revision.number)
      for change in commit.changes {
        switch change {
        case .set(let property, _):
          guard isKept(property.path) else { continue }
          changes[property.path, default: HistoryFile.Changes()].samples.append(Sample(property))
        case .end(let path, _, _):
          guard isKept(path) else { continue }
          changes[path, default: HistoryFile.Changes()].samples.append(
            Sample(time: time, revision: revision, kind: .absent, text: []))
        }
      }
    }
  }

  func isKept(_ path: PropertyPath) -> Bool {
    file.numbers[path] != nil || configuration.rule(for: path) != nil
  }

  private func report(_ position: UInt64) {
    reached.store(position, ordering: .releasing)
    wish.withLock { wish in
      wish.waiting.removeAll { waiting in
        guard waiting.position <= position else { return false }
        waiting.semaphore.signal()
        return true
      }
    }
  }

  func noteCrowd(_ count: Int) {
    guard count > 0, !isCrowded.exchange(true, ordering: .relaxed) else { return }
    observer.crowded(configuration.limits.series)
  }

  // MARK: End

  private func letGo() {
    wish.withLock { wish in
      wish.isClosing = true
      for waiting in wish.waiting { waiting.semaphore.signal() }
      wish.waiting = []
    }
  }

  private func fail(_ error: StorageError) {
    hasFailed.store(true, ordering: .releasing)
    level.coverHistory(through: .max)
    letGo()
    observer.failed(error)
  }
}
