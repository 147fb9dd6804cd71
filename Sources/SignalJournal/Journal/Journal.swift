// SPDX-License-Identifier: MIT

internal import Dispatch
internal import JSON
package import SignalStore
internal import Synchronization

/// Takes the records of a store, numbers them, and makes them durable in this order.
///
/// 1. The first record has the position that follows the recovered one, and each the next, also one that is omitted. Who wants to know when something
///    is durable asks for ``position`` after it has been executed, and waits until that is.
/// 2. One thread writes: whatever has come while it was writing is the next group, one row of the journal and one sync.
/// 3. After each sync it calls `durable` with the last position and revision that are; these only grow. No lock is held.
///    Records that are omitted need no sync: of a group that has no others the durable mark is written, and that is all.
/// 4. When the disk is full, the group stays where it is and is tried again each second; records are taken meanwhile, but
///    ``health`` says so, and who sees it should refuse to write.
/// 5. When a sync has failed, of whichever file, nothing is written any more and records are dropped; `durable` is not called
///    for what was written after that.
package final class Journal: RecordSink {
  /// How the journal is.
  package enum Health: Equatable, Sendable {
    case ok
    /// There is no room on the disk; it is tried again.
    case full(StorageError)
    /// Nothing is written any more.
    case failed(StorageError)
  }

  /// A place up to which everything is durable.
  package struct Place: Equatable, Sendable {
    /// That of the last record.
    package let position: UInt64
    /// That of the last commit.
    package let revision: Revision
  }

  /// What the journal calls on its threads; it has to be quick, and may use the journal.
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
    /// Of those that wait and those that are being written.
    var bytes = 0
    var position: UInt64
    var sleep = Sleep.none
    /// Somebody does not want to wait for the end of the interval.
    var isHurried = false
    /// When the interval ends for a time to live that was given; nil when none was.
    var renewalDeadline: DispatchTime?
    var isClosing = false
    var isFailed = false
  }

  /// What the thread that writes waits for, if it does.
  private enum Sleep {
    case none
    /// For a record.
    case records
    /// For the end of an interval, or somebody who cannot wait for it.
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
  private let level: JournalLevel
  /// Whether an interval is longer than a time to live may wait.
  private let shortensInterval: Bool

  /// - Parameter revision: The last one that was taken, also by a commit that is not kept.
  init(
    after place: JournalPlace, revision: Revision, limits: JournalLimits, level: JournalLevel, observer: Observer
  ) {
    self.limits = limits
    self.observer = observer
    self.level = level
    queue = Mutex(Queue(position: place.position))
    lastPosition = Atomic(place.position)
    durablePosition = Atomic(place.position)
    durableRevision = Atomic(revision.number)
    writtenPosition = Atomic(place.position)
    shortensInterval =
      if case .interval(let interval) = limits.sync { interval > JournalLimits.renewalDelay } else { false }
  }

  // MARK: For the store and its users

  /// Takes the next record.
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

  /// The position of the last record that was taken.
  package var position: UInt64 { lastPosition.load(ordering: .acquiring) }

  /// The position up to which everything is durable.
  package var durable: UInt64 { durablePosition.load(ordering: .acquiring) }

  /// The position of the last durable record as the files count them, without those that are omitted.
  var written: UInt64 { writtenPosition.load(ordering: .acquiring) }

  /// About how many bytes of records wait to be durable.
  package var queuedBytes: Int { queued.load(ordering: .relaxed) }

  /// Whether so much is waiting that nothing should be added.
  package var isFull: Bool { queuedBytes > limits.queueBytes || level.bytes > limits.journalBytes }

  /// How the journal is.
  package var health: Health { state.withLock { $0 } }

  /// Why nothing should be written now.
  package var refusal: StorageRefusal? {
    switch health {
    case .ok: isFull ? .slow : nil
    case .full: .full
    case .failed: .failed
    }
  }

  /// How the journal is, in numbers.
  package var status: StorageStatus? {
    // In this order, so that the revision is not behind the position.
    let durable = durable
    return StorageStatus(
      refusal: refusal, taken: position, durable: durable,
      revision: Revision(durableRevision.load(ordering: .acquiring)), queuedBytes: queuedBytes,
      sync: limits.sync)
  }

  /// Makes what has been taken durable now, also when there is an interval.
  package func hurry() {
    wakeWriter { $0.isHurried = true }
  }

  // MARK: For the thread that writes

  /// Waits for records.
  ///
  /// - Parameter spare: An array for the next ones; its storage is used again.
  /// - Returns: nil when the journal is being closed and there are none left.
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

  /// Waits until it is time to try again; false when nobody wants to wait any longer.
  func waitForRetry() -> Bool {
    let deadline = DispatchTime.now() + limits.retryInterval.dispatch
    while queue.withLock({ !$0.isClosing && !$0.isFailed }) {
      if wake.wait(timeout: deadline) == .timedOut { return true }
    }
    return false
  }

  /// Everything up to there is durable, and so many bytes do not wait any more.
  ///
  /// - Parameter written: The position of the last record in the file.
  func reached(_ place: Place, written: UInt64, releasing bytes: Int) {
    queue.withLock { queue in
      queue.bytes -= bytes
      queued.store(queue.bytes, ordering: .relaxed)
    }
    // Before the others, so that whoever sees those finds it in the file.
    writtenPosition.store(written, ordering: .releasing)
    durableRevision.store(place.revision.number, ordering: .releasing)
    durablePosition.store(place.position, ordering: .releasing)
    observer.durable(place)
  }

  func set(_ health: Health) {
    let isChange = state.withLock { state in
      // What has failed stays so.
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

  /// Makes ``take(spare:)`` return nil when nothing is left.
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

  /// About how many bytes a record takes while it waits.
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
  /// Whether it gives a property a time to live, or gives it anew.
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
  /// The same for Dispatch, at most some centuries.
  var dispatch: DispatchTimeInterval {
    let (seconds, attoseconds) = components
    guard seconds < 1 << 33 else { return .seconds(1 << 33) }
    return .nanoseconds(Int(max(0, seconds)) * 1_000_000_000 + Int(max(0, attoseconds / 1_000_000_000)))
  }
}
