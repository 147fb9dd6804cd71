// SPDX-License-Identifier: MIT

internal import Glibc
internal import JSON
internal import Synchronization
internal import SignalStore

/// Takes the records of a store that leads, until they are proposed; refuses writes while the store follows.
final class ClusterSink: RecordSink {
  /// A record, the forwarded operation that has made it, and whether the next record has to be adopted with it.
  typealias Item = (record: Record, operation: String?, continues: Bool)

  private struct Queue {
    var items: [Item] = []
    var bytes = 0
    /// How many of the next records are of one operation.
    var joined = 0
    /// The first and the last record of the forwarded operation that is executed.
    var executed: ClosedRange<Int>?
    /// The thread on which a forwarded operation is executed, and which.
    var executing: (thread: pthread_t, operation: String)?
    /// The term that the store leads; 0 for none.
    var term: UInt64 = 0
    /// Whether the other thread has been told that there is something.
    var isAwaited = true

    /// The next record is of the forwarded operation that is executed: all since its first one are adopted with it, so
    /// that an operation that is in the log has been executed wholly.
    mutating func noteExecuted() {
      let first = executed?.lowerBound ?? items.count
      for index in (executed?.upperBound ?? items.count)..<items.count { items[index].continues = true }
      executed = first...items.count
    }

    /// Takes everything but what has begun and not ended.
    mutating func take() -> [Item] {
      guard let executed else {
        defer { items = [] }
        return items
      }
      let taken = Array(items[..<executed.lowerBound])
      items.removeFirst(taken.count)
      self.executed = 0...(executed.upperBound - taken.count)
      return taken
    }
  }

  private let queue = Mutex(Queue())
  /// How many records have come since the store began to lead.
  private let total = Atomic<UInt64>(0)
  private let isLeading = Atomic(false)
  /// Whether the engine has not confirmed anything for so long that nothing more is begun.
  private let isStuck = Atomic(false)
  private let queued = Atomic(0)
  private let durable = Atomic<UInt64>(0)
  private let durableRevision = Atomic<UInt64>(0)
  private let limit: Int
  private let wake: @Sendable () -> Void

  /// - Parameters:
  ///   - limit: Bytes of records that may wait.
  ///   - wake: Called when there is something to take.
  init(limit: Int, wake: @escaping @Sendable () -> Void) {
    self.limit = limit
    self.wake = wake
  }

  // MARK: Used by the store

  func join(_ count: Int) { queue.withLock { $0.joined = count } }

  func append(_ record: Record) {
    let cost = Self.cost(of: record)
    total.add(1, ordering: .acquiringAndReleasing)
    let isFirst = queue.withLock { queue in
      let operation = queue.executing.flatMap { pthread_equal($0.thread, pthread_self()) != 0 ? $0.operation : nil }
      if operation != nil { queue.noteExecuted() }
      queue.items.append((record, operation, queue.joined > 1))
      queue.joined = max(0, queue.joined - 1)
      queue.bytes += cost
      queued.store(queue.bytes, ordering: .relaxed)
      defer { queue.isAwaited = false }
      return queue.isAwaited
    }
    if isFirst { wake() }
  }

  var refusal: StorageRefusal? {
    if !isLeading.load(ordering: .acquiring) || isStuck.load(ordering: .relaxed) { return .elsewhere }
    return queued.load(ordering: .relaxed) > limit ? .slow : nil
  }

  var status: StorageStatus? {
    let durable = durable.load(ordering: .acquiring)
    return StorageStatus(
      refusal: refusal, taken: durable, durable: durable,
      revision: Revision(durableRevision.load(ordering: .acquiring)), queuedBytes: queued.load(ordering: .relaxed),
      sync: .commit)
  }

  // MARK: Used by the node

  /// How many records have come since the store began to lead.
  var count: UInt64 { total.load(ordering: .acquiring) }

  func setStuck(_ isStuck: Bool) { self.isStuck.store(isStuck, ordering: .relaxed) }

  /// From now on writes are accepted, as those of a term.
  func lead(_ term: UInt64) {
    queue.withLock { queue in
      queue = Queue()
      queue.term = term
    }
    total.store(0, ordering: .releasing)
    queued.store(0, ordering: .relaxed)
    isStuck.store(false, ordering: .relaxed)
    isLeading.store(true, ordering: .releasing)
  }

  /// From now on writes are refused; what has not been taken is forgotten.
  func follow() {
    isLeading.store(false, ordering: .releasing)
    let old = queue.withLock { queue in
      let old = queue
      queue = Queue()
      return old
    }
    queued.store(0, ordering: .relaxed)
    withExtendedLifetime(old) {}
  }

  /// Takes everything; to be called between two operations.
  func take() -> [Item] {
    queue.withLock { queue in
      queue.isAwaited = true
      return queue.take()
    }
  }

  /// What was taken is committed.
  func committed(_ records: some Sequence<Record>, revision: Revision) {
    let bytes = records.reduce(0) { $0 + Self.cost(of: $1) }
    queue.withLock { queue in
      queue.bytes = max(0, queue.bytes - bytes)
      queued.store(queue.bytes, ordering: .relaxed)
    }
    durableRevision.store(revision.number, ordering: .releasing)
  }

  /// The last record whose changes have been sent.
  func announced(_ record: UInt64) { durable.store(record, ordering: .releasing) }

  /// Whether the operation that is executed has made a record so far.
  var hasRecorded: Bool { queue.withLock { $0.executed != nil } }

  /// Marks the records that `body` makes on this thread as those of an operation, if the store still leads the term in
  /// which it was asked for; otherwise does nothing, as whoever has asked asks again.
  func executing<Result>(_ operation: String, in term: UInt64, _ body: () -> Result) -> Result? {
    let isLeading = queue.withLock { queue in
      if queue.term != term { return false }
      queue.executing = (pthread_self(), operation)
      return true
    }
    guard isLeading else { return nil }
    let result = body()
    let isAwaited = queue.withLock { queue in
      defer { (queue.executing, queue.executed) = (nil, nil) }
      // What had to wait for the end can be taken now.
      return queue.executed != nil && queue.isAwaited
    }
    if isAwaited { wake() }
    return result
  }

  /// The approximate size of a record in bytes.
  static func cost(of record: Record) -> Int {
    switch record {
    case .commit(let commit), .omittedCommit(let commit):
      commit.reduce(64) { $0 + 64 + $1.path.bytes.count + ($1.new?.value.bytes.count ?? 0) }
    case .amendment(let property), .omittedAmendment(let property): 128 + property.path.bytes.count
    case .signal(let message, _), .timerFired(let message, _):
      128 + message.path.bytes.count + message.message.bytes.count
    case .timer(let timer): 128 + timer.path.bytes.count + timer.message.bytes.count
    case .timerRemoved(let path): 64 + path.bytes.count
    case .lastOperations(_, let operations): 64 + (operations?.bytes.count ?? 0)
    case .rules: 64
    }
  }
}
