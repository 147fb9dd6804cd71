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

  /// A number of what was applied, in which every operation and its place count.
  private(set) var digest: UInt64 = 0
  /// The history that it shows, once it shows anything.
  private(set) var epoch: Epoch?
  private(set) var isServing = false
  private let epochs: SimulatedEpochs

  /// - Parameter isEngineSynced: Whether it goes on with a history that it has only read.
  init(
    _ name: String, session: Int, seed: UInt64, offset: UInt64, rate: UInt64, isEngineSynced: Bool = true
  ) {
    let epochs = SimulatedEpochs(isTrusted: isEngineSynced, seed: seed)
    self.epochs = epochs
    self.name = name
    self.offset = offset
    self.rate = rate
    machine = ClusterMachine(
      node: name, session: "s\(session)", key: ChainKey(Array("secret".utf8)), seed: seed,
      epoch: { epochs.choose($0) })
  }

  /// Continues with a snapshot.
  func load(_ snapshot: SimulatedStream.Snapshot, at now: UInt64) {
    applied = []
    digest = 0
    apply(snapshot.applied)
    epoch = snapshot.position.epoch
    machine.load(snapshot.position, at: clock(now))
  }

  func snapshot(at position: LogPosition) -> SimulatedStream.Snapshot {
    SimulatedStream.Snapshot(
      sequence: position.sequence, session: machine.session, position: position, applied: applied)
  }

  private func apply(_ operations: [String]) {
    applied += operations
    for operation in operations {
      for byte in operation.utf8 { digest = (digest ^ UInt64(byte)) &* 0x100_0000_01B3 }
      digest = (digest ^ 0xFF) &* 0x100_0000_01B3
    }
  }

  /// The revisions from here on belong to an epoch; what is shown belongs to one.
  func take(_ epoch: Epoch) {
    if isServing, self.epoch != epoch { diverge() }
    self.epoch = epoch
  }

  /// The leader is heard of: what is read is shown from now on.
  func heard(_ beat: Beat) {
    if beat.isLeading, beat.term == machine.position.term, machine.role == .following { serve() }
  }

  private func serve() {
    isServing = true
    epochs.isTrusted = true
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

  func adopt(_ record: LogRecord) { apply(Self.operations(of: record)) }

  func committed(_ record: LogRecord, at now: UInt64) {
    lastProgress = now
    let operations = Self.operations(of: record)
    precondition(Array(proposed.prefix(operations.count)) == operations, "It is what was proposed first.")
    proposed.removeFirst(operations.count)
    apply(operations)
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
    serve()
  }

  func diverge() { hasDiverged = true }

  static func operations(of record: LogRecord) -> [String] {
    record.lines.map { line in String(decoding: line.dropFirst(6).dropLast(2), as: UTF8.self) }
  }
}

/// Chooses the epochs of a node's claims, which follow from its seed.
final class SimulatedEpochs {
  var isTrusted: Bool
  private var random: SeededGenerator

  init(isTrusted: Bool, seed: UInt64) {
    self.isTrusted = isTrusted
    random = SeededGenerator(seed: seed &+ 1)
  }

  func choose(_ position: LogPosition) -> Epoch {
    if isTrusted, !position.isFenced, let epoch = position.epoch { return epoch }
    return .random(using: &random)
  }
}
