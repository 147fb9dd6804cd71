// SPDX-License-Identifier: MIT

/// What a store has to tell of, kept back until its record is durable.
///
/// Part of the state, and so under the lock of the store, in the order of the records.
struct Announcements: Sendable {
  private enum Subject: Sendable {
    case commit(Commit)
    case message(SignalMessage)
  }

  /// How many records the store has made.
  private(set) var records: UInt64
  /// The last record of which everything has been handed out.
  private(set) var announced: UInt64
  private var waiting: [(record: UInt64, subject: Subject)] = []
  private var next = 0
  /// About how many bytes of messages without a record wait; those with one are counted by whoever writes the records.
  private var messageBytes = 0
  /// At most so many of them, and one message more.
  private static let messageBytesLimit = 64 << 20

  /// - Parameter record: The number of the last record that was made before.
  init(after record: UInt64) {
    records = record
    announced = record
  }

  /// The next record was made.
  mutating func count() { records += 1 }

  mutating func keep(_ commit: Commit) { waiting.append((records, .commit(commit))) }

  /// Keeps a message back until everything before it can be told; false when it can be told now.
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

  /// Whether so many messages wait that none without a record should be added.
  var isFull: Bool { messageBytes > Self.messageBytesLimit }

  /// Hands out what is told by the records up to this one.
  mutating func take(through record: UInt64, _ changes: Signal<Commit>, _ messages: Signal<SignalMessage>) {
    announced = max(announced, record)
    while next < waiting.count, waiting[next].record <= record {
      switch waiting[next].subject {
      case .commit(let commit): changes.enqueue(commit)
      case .message(let message): messages.enqueue(message)
      }
      next += 1
    }
    // In runs, so that it stays linear.
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
