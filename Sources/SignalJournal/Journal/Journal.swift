// SPDX-License-Identifier: MIT

internal import Dispatch
internal import JSON
package import SignalStore
internal import Synchronization

/// Takes the records of a store, numbers them, and makes them durable in this order.
///
/// 1. The first record has the position that follows the recovered one, and each further record the next, including
///    omitted ones. To learn when something is durable, read ``position`` after it has been executed, and wait until
///    that is durable.
/// 2. One thread writes: all records that have come while it was writing are the next group, one row of the journal and
///    one sync.
/// 3. After each sync it calls `durable` with the last durable position and revision; these only grow. No lock is held.
///    Omitted records need no sync: for a group with no others, only the durable mark is written.
/// 4. When the disk is full, the group is kept and retried each second; records are accepted meanwhile, but ``health``
///    reports it, and callers should refuse writes.
/// 5. When a sync has failed, of any file, nothing more is written and records are dropped; `durable` is not called for
///    what was written after that.
///    for what was written after that.
package final class Journal: RecordSink {
  /// The health of the journal.
  package enum Health: Equatable, Sendable {
    case ok
    /// The disk is full; writing is retried.
    case full(StorageError)
    /// Nothing more is written.
    case failed(StorageError)
  }

  /// A position up to which everything is durable.
  package struct Place: Equatable, Sendable {
    /// The position of the last record.
    package let position: UInt64
    /// The revision of the last commit.
    package let revision: Revision
  }

  /// The callbacks of the journal, called on its threads; they have to be quick, and may use the journal.
  package struct Observer: Sendable {
    package var durable: @Sendable (Place) -> Void
    package var changed: @Sendable (Health) -> Void

    package init(
      durable: @escaping @Sendable (Place) -> Void = { _ in }, changed: @escaping @Sendable (Health) -> Void = { _ in }
    ) {
      self.durable = durable
      self.changed = changed
    }
  }

  private struct Queue {
    var records: [Record] = []
    /// The bytes of the waiting records and of those being written.
    var bytes = 0
    var position: UInt64
    var sleep = Sleep.none
    /// Whether a caller cannot wait for the end of the interval.
    var isHurried = false
    /// When the interval ends early for a new time to live; nil when there is none.
    var renewalDeadline: DispatchTime?
    var isClosing = false
    var isFailed = false
  }

  /// What the writer thread waits for, if it does.
  private enum Sleep {
    case none
    /// Waits for a record.
    case records
    /// Waits for the end of an interval, or a caller that cannot.
    case interval
  }

  package let limits: JournalLimits
  private let observer: Observer
  private let queue: Mutex<Queue>
  private let wake = DispatchSemaphore(value: 0)
  private let lastPosition: Atomic<UInt64>
  private let durablePosition: Atomic<UInt64>
  private let durableRevision: Atomic<UInt64>
  private let writtenPosition: Atomic<UInt64>
  private let queued = Atomic<Int>(0)
  private let state = Mutex(Health.ok)
  private let writing: Mutex<StorageActivity>
  private let level: JournalLevel
  /// Whether the interval is longer than a time to live may wait.
  private let shortensInterval: Bool

  /// - Parameter revision: The last revision, including those of omitted commits.
  init(
    after place: JournalPlace, revision: Revision, limits: JournalLimits, level: JournalLevel, observer: Observer
  ) {
    self.limits = limits
    self.observer = observer
    self.level = level
    writing = Mutex(StorageActivity(queueLimit: limits.queueBytes))
    queue = Mutex(Queue(position: place.position))
    lastPosition = Atomic(place.position)
    durablePosition = Atomic(place.position)
    durableRevision = Atomic(revision.number)
    writtenPosition = Atomic(place.position)
    shortensInterval =
      if case .interval(let interval) = limits.sync { interval > JournalLimits.renewalDelay } else { false }
  }

  // MARK: Used by the store

  /// Appends the next record.
  package func append(_ record: Record) {
    let cost = Journal.cost(of: record)
    let renewal =
      shortensInterval && record.givesTimeToLive ? DispatchTime.now() + JournalLimits.renewalDelay.dispatch : nil
    let isAwaited = queue.withLock { queue in
      queue.position += 1
      lastPosition.store(queue.position, ordering: .releasing)
      if queue.isFailed { return false }
      queue.records.append(record)
      queue.bytes += cost
      queued.store(queue.bytes, ordering: .relaxed)
      let isFirstRenewal = renewal != nil && queue.renewalDeadline == nil
      if isFirstRenewal { queue.renewalDeadline = renewal }
      switch queue.sleep {
      case .records: break
      case .interval where queue.bytes > limits.queueBytes / 2 || isFirstRenewal: break
      case .none, .interval: return false
      }
      queue.sleep = .none
      return true
    }
    if isAwaited { wake.signal() }
  }

  /// The position of the last record that was appended.
  package var position: UInt64 { lastPosition.load(ordering: .acquiring) }

  /// The position up to which everything is durable.
  package var durable: UInt64 { durablePosition.load(ordering: .acquiring) }

  /// The position of the last durable record as the files count them, without omitted ones.
  var written: UInt64 { writtenPosition.load(ordering: .acquiring) }

  /// The approximate bytes of records that are not durable yet.
  package var queuedBytes: Int { queued.load(ordering: .relaxed) }

  /// Whether a limit of waiting bytes is exceeded, so that writes should be refused.
  package var isFull: Bool { queuedBytes > limits.queueBytes || level.bytes > limits.journalBytes }

  /// The health of the journal.
  package var health: Health { state.withLock { $0 } }

  /// Why writes should be refused now.
  package var refusal: StorageRefusal? {
    switch health {
    case .ok: isFull ? .slow : nil
    case .full: .full
    case .failed: .failed
    }
  }

  /// The status of the journal, in numbers.
  package var status: StorageStatus? {
    // Read in this order, so that the revision does not lag the position.
    let durable = durable
    return StorageStatus(
      refusal: refusal, taken: position, durable: durable,
      revision: Revision(durableRevision.load(ordering: .acquiring)), queuedBytes: queuedBytes,
      sync: limits.sync)
  }

  package var activity: StorageActivity? { writing.withLock { $0 } }

  /// Makes what has been appended durable now, without waiting for the interval.
  package func hurry() {
    wakeWriter { $0.isHurried = true }
  }

  // MARK: Used by the writer thread

  /// Waits for records.
  ///
  /// - Parameter spare: An array for the next ones; its storage is reused.
  /// - Returns: nil when the journal is closed and none are left.
  func take(spare: consuming [Record]) -> (records: [Record], bytes: Int)? {
    var deadline: DispatchTime?
    while true {
      let (result, isOver): ((records: [Record], bytes: Int)?, Bool) = queue.withLock { queue in
        queue.sleep = .none
        if queue.records.isEmpty {
          if queue.isClosing || queue.isFailed { return (nil, true) }
          queue.isHurried = false
          queue.sleep = .records
          return (nil, false)
        }
        if case .interval(let interval) = limits.sync, !queue.isHurried, !queue.isClosing,
          queue.bytes <= limits.queueBytes / 2
        {
          let end = min(deadline ?? .now() + interval.dispatch, queue.renewalDeadline ?? .distantFuture)
          if .now() < end {
            deadline = end
            queue.sleep = .interval
            return (nil, false)
          }
        }
        queue.isHurried = false
        queue.renewalDeadline = nil
        swap(&queue.records, &spare)
        return ((spare, queue.bytes), false)
      }
      if isOver { return nil }
      if let result { return result }
      if let deadline { _ = wake.wait(timeout: deadline) } else { wake.wait() }
    }
  }

  /// Counts a row that has become durable, and how long that took, in nanoseconds.
  func count(_ row: JournalRow, taking duration: UInt64) {
    writing.withLock { writing in
      writing.syncs.record(duration)
      writing.records += row.last - row.first + 1
      writing.writtenBytes += row.records.count
    }
  }

  /// Waits until it is time to retry; false when the journal is being closed.
  func waitForRetry() -> Bool {
    let deadline = DispatchTime.now() + limits.retryInterval.dispatch
    while queue.withLock({ !$0.isClosing && !$0.isFailed }) {
      if wake.wait(timeout: deadline) == .timedOut { return true }
    }
    return false
  }

  /// Reports everything up to a place as durable, and subtracts its bytes from the queue.
  ///
  /// - Parameter written: The position of the last record in the file.
  func reached(_ place: Place, written: UInt64, releasing bytes: Int) {
    queue.withLock { queue in
      queue.bytes -= bytes
      queued.store(queue.bytes, ordering: .relaxed)
    }
    // Stored before the others, so that a thread that reads them finds the record in the file.
    writtenPosition.store(written, ordering: .releasing)
    durableRevision.store(place.revision.number, ordering: .releasing)
    durablePosition.store(place.position, ordering: .releasing)
    observer.durable(place)
  }

  func set(_ health: Health) {
    let isChange = state.withLock { state in
      // A failure is permanent.
      if case .failed = state { return false }
      defer { state = health }
      return state != health
    }
    guard isChange else { return }
    if case .failed = health {
      let dropped = queue.withLock { queue in
        queue.isFailed = true
        defer { queue.records = [] }
        return queue.records
      }
      withExtendedLifetime(dropped) {}
      wakeWriter { _ in }
    }
    observer.changed(health)
  }

  /// Makes ``take(spare:)`` return nil when no records are left.
  func endWriting() {
    wakeWriter { $0.isClosing = true }
  }

  private func wakeWriter(_ change: (inout Queue) -> Void) {
    queue.withLock { queue in
      change(&queue)
      queue.sleep = .none
    }
    wake.signal()
  }

  /// The approximate size of a waiting record in bytes.
  static func cost(of record: Record) -> Int {
    switch record {
    case .commit(let commit), .omittedCommit(let commit): commit.reduce(64) { $0 + 64 + cost(of: $1) }
    case .amendment(let property), .omittedAmendment(let property):
      128 + property.path.bytes.count + property.value.bytes.count
    case .signal(let message, _), .timerFired(let message, _):
      128 + message.path.bytes.count + message.message.bytes.count
    case .timer(let timer): 128 + timer.path.bytes.count + timer.message.bytes.count
    case .timerRemoved(let path): 64 + path.bytes.count
    case .lastOperations(_, let operations): 64 + (operations?.bytes.count ?? 0)
    case .rules(let rules): rules.reduce(64) { $0 + 64 + $1.pattern.bytes.count }
    }
  }

  private static func cost(of change: Change) -> Int {
    change.path.bytes.count + (change.new?.value.bytes.count ?? 0) + (change.old?.value.bytes.count ?? 0)
  }
}

extension Record {
  /// Whether it sets or renews a time to live.
  fileprivate var givesTimeToLive: Bool {
    switch self {
    case .commit(let commit): commit.contains { $0.new?.lease?.term != nil }
    case .amendment(let property): property.lease?.term != nil
    case .signal, .timer, .timerFired, .timerRemoved, .lastOperations, .rules: false
    case .omittedCommit, .omittedAmendment: false
    }
  }
}

extension Duration {
  /// The duration for Dispatch, at most some centuries.
  var dispatch: DispatchTimeInterval {
    let (seconds, attoseconds) = components
    guard seconds < 1 << 33 else { return .seconds(1 << 33) }
    return .nanoseconds(Int(max(0, seconds)) * 1_000_000_000 + Int(max(0, attoseconds / 1_000_000_000)))
  }
}
