// SPDX-License-Identifier: MIT
import Synchronization

/// Holds answers of one loop's connections back until what they tell can no longer be lost.
///
/// Whoever answers from a store that is written to disk says on which of its records the answer depends
/// (``depend(on:)``); the next bytes that the connection sends, and all behind them, then wait (``HeldOutput``) until
/// ``RecordMark`` has passed that record, or the connection ends because that will never be. So an answer is written once, when the command is executed, replies keep
/// their order, and nothing is kept for those who have gone. A server whose store is in memory has no gate.
final class AnswerGate: TurnParticipant {
  /// Where the last durable record is told, from any thread.
  let mark: RecordMark
  /// The last record that cannot be lost any more, as far as this loop has heard.
  private var durable: UInt64 = 0
  /// The last record on which an answer depends that has not been sent yet; 0 when it depends on none.
  private var dependence: UInt64 = 0
  private var holding: [ConnectionID] = []

  init(loop: isolated EventLoop) {
    mark = RecordMark { [weak loop] in loop?.wake() }
  }

  /// The answer that is being written tells something that the store knows only since this record.
  func depend(on record: UInt64) {
    if record > durable { dependence = max(dependence, record) }
  }

  /// What the bytes that are sent next have to wait for; 0 when they need not wait.
  func takeDependence() -> UInt64 {
    defer { dependence = 0 }
    return dependence > durable ? dependence : 0
  }

  /// Notes a connection that has begun to hold output back.
  func add(_ connection: ConnectionID) { holding.append(connection) }

  func turnBegins(on loop: isolated EventLoop) {}

  /// Sends what need not wait any more, and drops those whose answers can never be sent: what has become of what they asked
  /// for is not known.
  func turnEnds(on loop: isolated EventLoop) {
    if mark.hasFailed, !holding.isEmpty {
      for id in holding { (loop.member(id) as? Connection)?.abort(on: loop) }
      holding = []
    }
    let record = mark.load()
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

/// The last durable record, on its way from the thread that writes records to one loop.
final class RecordMark: Sendable {
  private let record = Atomic<UInt64>(0)
  private let failed = Atomic(false)
  private let wake: @Sendable () -> Void

  init(wake: @escaping @Sendable () -> Void) { self.wake = wake }

  func load() -> UInt64 { record.load(ordering: .acquiring) }

  func advance(to record: UInt64) {
    self.record.max(record, ordering: .acquiringAndReleasing)
    wake()
  }

  /// Whether later records will never be durable.
  var hasFailed: Bool { failed.load(ordering: .acquiring) }

  func fail() {
    failed.store(true, ordering: .releasing)
    wake()
  }
}

/// Output of one connection that waits for records to be durable, and everything behind it.
final class HeldOutput {
  private var blocks: [(block: [UInt8], record: UInt64)] = []
  private var next = 0
  /// Bytes that wait.
  private(set) var count = 0

  /// Blocks that may wait before the connection is no longer received from.
  static let limit = 64

  var isEmpty: Bool { next == blocks.count }
  var isFull: Bool { blocks.count - next >= Self.limit }

  /// - Parameter record: What it waits for; 0 when only for what is before it.
  func append(_ block: [UInt8], until record: UInt64) {
    blocks.append((block, record))
    count += block.count
  }

  /// The first block, if it need not wait for more than this record.
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
