// SPDX-License-Identifier: MIT

/// The notifications of a store that wait until their record is durable.
///
/// Part of the state, so guarded by the lock of the store and in the order of the records.
struct Announcements: Sendable {
  private enum Subject: Sendable {
    case commit(Commit)
    case message(SignalMessage)
  }

  /// How many records the store has made.
  private(set) var records: UInt64
  /// The last record whose notifications have all been sent.
  private(set) var announced: UInt64
  private var waiting: [(record: UInt64, subject: Subject)] = []
  private var next = 0
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

  /// Counts the next record, which was made.
  mutating func count() { records += 1 }

  mutating func keep(_ commit: Commit) { waiting.append((records, .commit(commit))) }

  /// Holds a message until everything before it can be sent; false when it can be sent now.
  ///
  /// - Parameter isRecorded: Whether the last record is its own.
  mutating func keep(_ message: SignalMessage, isRecorded: Bool) -> Bool {
    if !isRecorded {
      if announced >= records { return false }
      messageBytes += KeptSignals.cost(of: message)
    }
    waiting.append((records, .message(message)))
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
    messageBytes = 0
    announced = records
    return lost
  }

  /// Whether the waiting messages exceed their limit, so that no more without a record should be added.
  var isFull: Bool { messageBytes > Self.messageBytesLimit }

  /// Sends what waits for the records up to this one.
  mutating func take(through record: UInt64, _ changes: Signal<Commit>, _ messages: Signal<SignalMessage>) {
    announced = max(announced, record)
    while next < waiting.count, waiting[next].record <= record {
      switch waiting[next].subject {
      case .commit(let commit): changes.enqueue(commit)
      case .message(let message): messages.enqueue(message)
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
