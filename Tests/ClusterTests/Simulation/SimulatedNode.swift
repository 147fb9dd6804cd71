// SPDX-License-Identifier: MIT
import SignalCluster
import SignalStore

/// One node: its machine, and a state that is nothing but a list of what was applied.
final class SimulatedNode {
  let name: String
  var machine: ClusterMachine
  /// The operations that were applied, in order.
  private(set) var applied: [String] = []
  private(set) var isLeading = false
  /// What was judged and has not been proposed.
  private(set) var queue: [String] = []
  /// What was proposed and is not committed.
  private(set) var proposed: [String] = []
  /// The operations whose writers have been told that they are done, and those that will never be.
  private(set) var acknowledged: [String] = []
  private(set) var dropped: [String] = []
  /// When something was committed last, or nothing was proposed.
  private var lastProgress: UInt64 = 0
  /// How often it has given up leading.
  private(set) var stepsBack = 0
  /// After which it does, in milliseconds.
  private static let patience: UInt64 = 3000
  /// Nothing happens to it before.
  var pausedUntil: UInt64 = 0
  /// Its clock: how much it is ahead, and how fast it goes, in thousandths.
  let offset: UInt64
  let rate: UInt64
  /// Whether it thinks that the logs differ.
  private(set) var hasDiverged = false

  init(_ name: String, session: Int, seed: UInt64, offset: UInt64, rate: UInt64) {
    self.name = name
    self.offset = offset
    self.rate = rate
    machine = ClusterMachine(
      node: name, session: "s\(session)", key: ChainKey(Array("secret".utf8)), seed: seed,
      epoch: { $0.epoch ?? Epoch("simulate") ?? .random() })
  }

  /// The time by its own clock.
  func clock(_ now: UInt64) -> UInt64 { now * rate / 1000 + offset }

  /// When its clock shows a time.
  func moment(of time: UInt64) -> UInt64 {
    time == .max ? .max : (max(time, offset) - offset) * 1000 / rate + 1
  }

  func write(_ operation: String) { queue.append(operation) }

  /// Proposes what it may.
  func propose(at now: UInt64) {
    while isLeading, machine.canPropose, !queue.isEmpty {
      let count = min(queue.count, 3)
      var lines: [UInt8] = []
      for operation in queue.prefix(count) { lines += Array("{\"c\":\"\(operation)\"}\n".utf8) }
      proposed += queue.prefix(count)
      queue.removeFirst(count)
      machine.propose(lines, at: clock(now))
    }
  }

  func adopt(_ record: LogRecord) { applied += Self.operations(of: record) }

  func committed(_ record: LogRecord, at now: UInt64) {
    lastProgress = now
    let operations = Self.operations(of: record)
    precondition(Array(proposed.prefix(operations.count)) == operations, "It is what was proposed first.")
    proposed.removeFirst(operations.count)
    applied += operations
    acknowledged += operations
  }

  func follow() {
    dropped += proposed + queue
    proposed = []
    queue = []
    isLeading = false
  }

  /// Gives up leading when nothing was committed for long; what was proposed may come to count.
  func stepBackIfStuck(at now: UInt64) {
    if !isLeading || proposed.isEmpty { return lastProgress = now }
    guard now >= lastProgress + Self.patience else { return }
    machine.stepBack(at: clock(now))
    dropped += queue
    (proposed, queue, isLeading) = ([], [], false)
    stepsBack += 1
  }

  func lead() {
    precondition(proposed.isEmpty && queue.isEmpty, "Who did not lead has judged nothing.")
    isLeading = true
  }

  func diverge() { hasDiverged = true }

  static func operations(of record: LogRecord) -> [String] {
    record.lines.map { line in String(decoding: line.dropFirst(6).dropLast(2), as: UTF8.self) }
  }
}
