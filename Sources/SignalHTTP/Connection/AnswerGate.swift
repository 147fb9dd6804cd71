// SPDX-License-Identifier: MIT
import Synchronization

/// Holds back answers of one loop's connections until the state that they report is durable.
///
/// When an answer comes from a store that is written to disk, the code that writes it names the record on which it
/// depends (``depend(on:)``); the next bytes that the connection sends, and all after them, then wait (``HeldOutput``)
/// until ``RecordMark`` has passed that record, or the connection is dropped because the record can never become
/// durable. So an answer is written once, when the command is executed, replies keep their order, and nothing is kept
/// for closed connections. A server with an in-memory store has no gate.
final class AnswerGate: TurnParticipant {
  /// The last durable record, updated from any thread.
  let mark: RecordMark
  /// The last durable record that this loop has seen.
  private var durable: UInt64 = 0
  /// The last record on which an unsent answer depends; 0 when there is none.
  private var dependence: UInt64 = 0
  /// Whether an unsent answer tells of something that was taken back.
  private var dependsOnLost = false
  /// The last records that were taken back, as this loop has seen it.
  private var lost = LostRecords()
  private var losses: UInt64 = 0
  private var holding: [ConnectionID] = []
  /// Which state of the store readers were given when this turn began, by a number.
  private(set) var state: UInt64 = 0
  private let currentState: () -> UInt64

  /// - Parameter state: Which state of the store readers are given.
  init(state: @escaping () -> UInt64, loop: isolated EventLoop) {
    currentState = state
    mark = RecordMark { [weak loop] in loop?.wake() }
  }

  /// Notes that the answer being written reports state that depends on this record.
  func depend(on record: UInt64) {
    if record > durable { dependence = max(dependence, record) }
    if lost.contain(record) { dependsOnLost = true }
  }

  /// Whether the bytes sent next tell of what was taken back: they must not be sent.
  func takeLoss() -> Bool {
    defer { dependsOnLost = false }
    return dependsOnLost
  }

  /// The record that the bytes sent next have to wait for; 0 when there is none.
  func takeDependence() -> UInt64 {
    defer { dependence = 0 }
    return dependence > durable ? dependence : 0
  }

  /// Adds a connection that has begun to hold output back.
  func add(_ connection: ConnectionID) { holding.append(connection) }

  func turnBegins(on loop: isolated EventLoop) { state = currentState() }

  /// Sends what need not wait any more, and drops connections whose answers can never be sent: the outcome of their
  /// requests is not known.
  ///
  /// In every turn, so that what is durable already is known when an answer is written.
  func turnEnds(on loop: isolated EventLoop) -> Bool {
    proceed(on: loop)
    return true
  }

  private func proceed(on loop: isolated EventLoop) {
    if mark.hasFailed, !holding.isEmpty {
      for id in holding { (loop.member(id) as? Connection)?.abort(on: loop) }
      holding = []
    }
    // What was lost before a record is durable is stored before it, and therefore read after it.
    let record = mark.load()
    if mark.losses != losses { drop(on: loop) }
    guard record > durable else { return }
    durable = record
    var holding: [ConnectionID] = []
    swap(&holding, &self.holding)
    for id in holding {
      guard let connection = loop.member(id) as? Connection else { continue }
      if !connection.releaseOutput(through: record, on: loop) { self.holding.append(id) }
    }
  }
}

extension AnswerGate {
  /// Ends the connections whose answers tell of what was taken back.
  private func drop(on loop: isolated EventLoop) {
    (lost, losses) = mark.lost
    var holding: [ConnectionID] = []
    swap(&holding, &self.holding)
    for id in holding {
      guard let connection = loop.member(id) as? Connection else { continue }
      if connection.releaseOutput(through: lost.after, on: loop) { continue }
      if connection.isHolding(through: lost.through) {
        connection.loseOutput(on: loop)
      } else {
        self.holding.append(id)
      }
    }
    durable = max(durable, lost.through)
  }
}

/// Records that will never be durable, and whose numbers are not used again.
struct LostRecords: Equatable {
  var after: UInt64 = 0
  var through: UInt64 = 0

  func contain(_ record: UInt64) -> Bool { record > after && record <= through }
}

/// The last durable record, passed from the thread that writes records to one loop.
final class RecordMark: Sendable {
  private let record = Atomic<UInt64>(0)
  private let taken = Mutex(LostRecords())
  private let lossCount = Atomic<UInt64>(0)
  private let failed = Atomic(false)
  private let wake: @Sendable () -> Void

  init(wake: @escaping @Sendable () -> Void) { self.wake = wake }

  func load() -> UInt64 { record.load(ordering: .acquiring) }

  func advance(to record: UInt64) {
    self.record.max(record, ordering: .acquiringAndReleasing)
    wake()
  }

  /// How often records were lost.
  var losses: UInt64 { lossCount.load(ordering: .acquiring) }

  /// The records that were lost last, and how often some were.
  var lost: (LostRecords, UInt64) { taken.withLock { ($0, lossCount.load(ordering: .acquiring)) } }

  func lose(after: UInt64, through: UInt64) {
    taken.withLock { lost in
      lost = LostRecords(after: after, through: through)
      lossCount.add(1, ordering: .acquiringAndReleasing)
    }
    wake()
  }

  /// Whether later records will never be durable.
  var hasFailed: Bool { failed.load(ordering: .acquiring) }

  func fail() {
    failed.store(true, ordering: .releasing)
    wake()
  }
}

/// Output of one connection that waits for records to be durable, and everything after it.
final class HeldOutput {
  private var blocks: [(block: [UInt8], record: UInt64)] = []
  private var next = 0
  /// Bytes held.
  private(set) var count = 0

  /// Blocks that may be held before the connection stops receiving.
  static let limit = 64

  var isEmpty: Bool { next == blocks.count }
  var isFull: Bool { blocks.count - next >= Self.limit }

  /// - Parameter record: The record it waits for; 0 when it waits only for the blocks before it.
  func append(_ block: [UInt8], until record: UInt64) {
    blocks.append((block, record))
    count += block.count
  }

  /// Whether a block waits for this record or an earlier one.
  func waits(through record: UInt64) -> Bool {
    blocks[next...].contains { $0.record > 0 && $0.record <= record }
  }

  /// The first block, if it waits for this record or an earlier one.
  func takeFirst(through record: UInt64) -> [UInt8]? {
    guard next < blocks.count, blocks[next].record <= record else { return nil }
    var block: [UInt8] = []
    swap(&block, &blocks[next].block)
    next += 1
    count -= block.count
    if next == blocks.count {
      blocks.removeAll(keepingCapacity: true)
      next = 0
    }
    return block
  }
}
