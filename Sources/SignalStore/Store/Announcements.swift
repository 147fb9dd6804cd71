// SPDX-License-Identifier: MIT

/// The notifications of a store that wait until their record is durable.
///
/// Part of the state, so guarded by the lock of the store and in the order of the records.
struct Announcements: Sendable {
  private enum Subject: Sendable {
    case commit(Commit)
    case message(SignalMessage, isRecorded: Bool)
  }

  /// How many records the store has made.
  private(set) var records: UInt64
  /// The last record whose notifications have all been sent.
  private(set) var announced: UInt64
  private var waiting: [(record: UInt64, subject: Subject)] = []
  private var next = 0
  /// The number of waiting messages.
  private var messages = 0
  /// The last record of a message or a timer.
  private var lastEvent: UInt64 = 0
  /// Approximate bytes of the waiting messages without a record; those with one are counted by the writer of the
  /// records.
  private var messageBytes = 0
  /// The bound of ``messageBytes``, which one message may exceed.
  private static let messageBytesLimit = 64 << 20

  /// - Parameter record: The number of the last record that was made before.
  init(after record: UInt64) {
    records = record
    announced = record
  }

  /// Counts the next record, which was made; nil for a number that no record has.
  mutating func count(_ record: Record?) {
    records += 1
    switch record {
    case .signal, .timer, .timerFired, .timerRemoved: lastEvent = records
    case .commit, .omittedCommit, .amendment, .omittedAmendment, .lastOperations, .rules, nil: break
    }
  }

  /// Whether a message or a timer waits to become durable.
  var hasEvents: Bool { lastEvent > announced }

  /// The commits that wait, in their order.
  var commits: [Commit] {
    waiting[next...].compactMap { if case .commit(let commit) = $0.subject { commit } else { nil } }
  }

  /// Sends the messages without a record, up to the first that has one: they wait for nothing that they tell of.
  mutating func takeMessages(messages signal: Signal<SignalMessage>) {
    guard messages > 0 else { return }
    var rest: [(record: UInt64, subject: Subject)] = []
    var isBehindRecord = false
    for entry in waiting[next...] {
      guard !isBehindRecord, case .message(let message, let isRecorded) = entry.subject, !isRecorded else {
        if case .message = entry.subject { isBehindRecord = true }
        rest.append(entry)
        continue
      }
      signal.enqueue(message)
      messages -= 1
      messageBytes -= KeptSignals.cost(of: message)
    }
    waiting = rest
    next = 0
  }

  mutating func keep(_ commit: Commit) { waiting.append((records, .commit(commit))) }

  /// Holds a message until everything before it can be sent; false when it can be sent now.
  ///
  /// - Parameters:
  ///   - isRecorded: Whether the last record is its own.
  ///   - isStalled: Whether nobody knows when something can be sent; then it waits for other messages alone.
  mutating func keep(_ message: SignalMessage, isRecorded: Bool, isStalled: Bool = false) -> Bool {
    if !isRecorded {
      if announced >= records || (isStalled && messages == 0) { return false }
      messageBytes += KeptSignals.cost(of: message)
    }
    waiting.append((records, .message(message, isRecorded: isRecorded)))
    messages += 1
    return true
  }

  /// Forgets what waits for records that will never be durable.
  ///
  /// Their numbers are not used again.
  ///
  /// - Returns: The last record before them, and the last of them.
  mutating func dropWaiting() -> (after: UInt64, through: UInt64) {
    let lost = (after: announced, through: records)
    waiting = []
    next = 0
    messages = 0
    messageBytes = 0
    announced = records
    return lost
  }

  /// Whether the waiting messages exceed their limit, so that no more without a record should be added.
  var isFull: Bool { messageBytes > Self.messageBytesLimit }

  /// Sends what waits for the records up to this one.
  mutating func take(through record: UInt64, _ changes: Signal<Commit>, _ signal: Signal<SignalMessage>) {
    announced = max(announced, record)
    while next < waiting.count, waiting[next].record <= record {
      switch waiting[next].subject {
      case .commit(let commit): changes.enqueue(commit)
      case .message(let message, _):
        signal.enqueue(message)
        messages -= 1
      }
      next += 1
    }
    // Forwarded in runs, to keep this linear.
    if next == waiting.count {
      waiting.removeAll(keepingCapacity: next < 1024)
      next = 0
      messageBytes = 0
    } else if next > 1024, next > waiting.count / 2 {
      waiting.removeFirst(next)
      next = 0
    }
  }
}
