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
  /// Empty, with their storage, for the next connections that hold output back: a server that writes to disk would
  /// otherwise allocate for each answer.
  private var spares: [HeldOutput] = []
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

  /// Notes that a connection begins to hold output back.
  ///
  /// - Returns: For its output; given back by ``takeBack(_:)`` when it is empty.
  func begin(_ connection: ConnectionID) -> HeldOutput {
    holding.append(connection)
    return spares.popLast() ?? HeldOutput()
  }

  /// Keeps what a connection has emptied, for the next.
  func takeBack(_ held: HeldOutput) {
    if spares.count < Self.spareLimit, held.isSmall { spares.append(held) }
  }

  /// Most that are kept for reuse.
  private static let spareLimit = 1024

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
    forEachHolding(on: loop) { !$0.releaseOutput(through: record, on: loop) }
  }

  /// Visits the connections that hold output back; those for which `body` returns true go on.
  ///
  /// They may begin anew meanwhile, and are then visited the next time.
  private func forEachHolding(on loop: isolated EventLoop, _ body: (Connection) -> Bool) {
    let count = holding.count
    var kept = 0
    for index in 0..<count {
      let id = holding[index]
      guard let connection = loop.member(id) as? Connection, body(connection) else { continue }
      holding[kept] = id
      kept += 1
    }
    holding.removeSubrange(kept..<count)
  }
}

extension AnswerGate {
  /// Ends the connections whose answers tell of what was taken back.
  private func drop(on loop: isolated EventLoop) {
    (lost, losses) = mark.lost
    forEachHolding(on: loop) { connection in
      if connection.releaseOutput(through: lost.after, on: loop) { return false }
      if !connection.isHolding(through: lost.through) { return true }
      connection.loseOutput(on: loop)
      return false
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
  /// Storage for the next block that is copied.
  private var spare: [UInt8] = []
  /// Bytes held.
  private(set) var count = 0

  /// Blocks that may be held before the connection stops receiving.
  static let limit = 64
  /// Most bytes of the storage that is kept for reuse.
  static let spareBytes = 1024

  /// Whether its storage is small enough to be kept for reuse.
  var isSmall: Bool { blocks.capacity <= Self.limit }
  /// Whether it is one block.
  var isSingle: Bool { blocks.count - next == 1 }
  var isEmpty: Bool { next == blocks.count }
  var isFull: Bool { blocks.count - next >= Self.limit }

  /// - Parameter record: The record it waits for; 0 when it waits only for the blocks before it.
  func append(_ block: [UInt8], until record: UInt64) {
    blocks.append((block, record))
    count += block.count
  }

  /// Appends a copy of a block, the storage of which is used for other things soon.
  func append(copying block: [UInt8], until record: UInt64) {
    var copy: [UInt8] = []
    swap(&copy, &spare)
    copy.append(contentsOf: block)
    append(copy, until: record)
  }

  /// Takes back the storage of a block that was sent, for the next that is copied.
  func reuse(_ block: consuming [UInt8]) {
    guard block.capacity <= Self.spareBytes else { return }
    block.removeAll(keepingCapacity: true)
    spare = block
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
