// SPDX-License-Identifier: MIT

internal import Dispatch
internal import JSON
internal import SignalStore
internal import Synchronization

/// Brings the history further, on a thread of its own, by what is in the journal.
///
/// 1. The place in the journal is in the file, in the commit of what was before it: a crash neither loses nor doubles.
/// 2. The journal keeps what is not durable in the history. When that has become as much as a whole journal may have, the
///    history goes on from the state instead, and the series that have changed meanwhile say that something is missing: writing
///    never waits for it.
/// 3. When its file fails, nothing is kept any more, and the journal does not wait.
// Unchecked: the files are not Sendable, and used by the thread only. What others use is behind a lock, atomic or constant.
final class HistoryKeeper: @unchecked Sendable {
  struct Wish {
    /// There is something in the journal.
    var isWanted = false
    /// Somebody asks.
    var isHurried = false
    var isClosing = false
    /// Nothing is to be written any more.
    var isFailed = false
    /// Those who wait until something is in the file.
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
  /// Before this the file has more than it says.
  private let readyFrom: UInt64
  private let hasFailed = Atomic(false)
  private let isCrowded = Atomic(false)
  let hasBegun: Atomic<Bool>
  /// Whether what was kept does not go on where the journal does, or by other rules.
  var mustBegin: Bool
  var nextRound = DispatchTime.now()
  var nextSweep = DispatchTime.now()
  /// Those that the sweep under way has not come to yet.
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

  // MARK: For others

  /// Whether nothing is kept any more.
  var isOver: Bool { hasFailed.load(ordering: .acquiring) }

  /// Whether the file is as it says: not while it begins anew with other rules.
  var isReady: Bool { reached.load(ordering: .acquiring) >= readyFrom && hasBegun.load(ordering: .acquiring) }

  /// Whether properties have been left out because there are too many series.
  var isFull: Bool { isCrowded.load(ordering: .relaxed) }

  /// Says that there is something in the journal.
  func request() {
    let isNew = wish.withLock { wish in
      defer { wish.isWanted = true }
      return !wish.isWanted
    }
    if isNew { wake.signal() }
  }

  /// Waits until everything up to a position is in the file, as long as ``HistoryLimits/patience`` lasts.
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

  /// Whether everything up to a position is in the file, and nothing that it does not tell of.
  private func has(_ position: UInt64) -> Bool { isReady && reached.load(ordering: .acquiring) >= position }

  /// Brings the history as far as it goes, and ends the thread.
  ///
  /// - Parameter isFailed: Nothing is to be written any more.
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
        // Before it looks how far the journal goes: who asks while it is at it means what has come since.
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
        // When the disk is full, the journal says so; what is missing here is still in it.
        if wish.isClosing { return letGo() }
        _ = wake.wait(timeout: .now() + journal.retryInterval.dispatch)
        request()
      }
    }
  }

  /// Waits until there is something to be done: now, for those who ask; otherwise after a while, with what has come by then.
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

  /// Takes over everything in the journal, in transactions of bounded size.
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
        // The newest value where values are not all kept; one that the series has already is passed over.
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
