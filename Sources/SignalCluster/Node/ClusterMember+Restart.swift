// SPDX-License-Identifier: MIT

internal import SignalHTTP
internal import SignalStore

/// The log has lost what this node has shown: it is restarted with a snapshot of that, as another epoch.
extension ClusterMember {
  /// Writes the snapshot, without what says that it is complete.
  func restart(at position: LogPosition, on loop: isolated EventLoop) {
    let now = loop.milliseconds
    guard let replica = restartReplica, isIdleOrReading else {
      return machine.restartFailed(at: now)
    }
    observer(.restartsLog(sequence: position.sequence, revision: position.revision))
    snapshots.since = now
    writeRestart(
      SnapshotWriter(replica, at: position, session: session, key: machine.key), at: now, on: loop)
  }

  /// What the log has made up to the position of this node; nil while that cannot be said.
  private var restartReplica: Replica? {
    guard !isSettling, postponed.isEmpty else { return nil }
    return isLeading ? committed : store?.replica ?? replica
  }

  /// Whether nothing is under way that has to be finished.
  private var isIdleOrReading: Bool {
    switch snapshots.stage {
    case .idle, .listing: true
    default: false
    }
  }

  private func writeRestart(_ writer: SnapshotWriter, at now: UInt64, on loop: isolated EventLoop) {
    var writer = writer
    if let part = writer.next() {
      snapshots.stage = .restarting(writer)
      log.snapshots.store(part, of: writer.name, on: loop)
    } else {
      snapshots.stage = .written(writer)
      machine.restartWritten(at: now)
      perform(at: now, on: loop)
    }
  }

  /// The log is fenced: says that the snapshot is complete, and has the log begin behind it.
  func finishRestart(before end: UInt64, on loop: isolated EventLoop) {
    guard case .written(let writer) = snapshots.stage else { return endRestart(on: loop) }
    snapshots.restartEnd = end
    snapshots.since = loop.milliseconds
    snapshots.stage = .completing(writer)
    log.snapshots.store(nil, of: writer.name, on: loop)
  }

  /// Goes on with what was answered.
  ///
  /// - Returns: Whether it is about a restart.
  func continueRestart(
    _ stage: SnapshotWork.Stage, _ answer: SnapshotAnswer, at now: UInt64, on loop: isolated EventLoop
  ) -> Bool {
    switch (stage, answer) {
    case (.restarting(let writer), .stored): writeRestart(writer, at: now, on: loop)
    case (.completing(let writer), .stored) where now < snapshots.restartEnd:
      snapshots.stage = .shifting(writer)
      log.snapshots.restartLog(behind: writer.name.sequence, on: loop)
    case (.completing(let writer), _), (.restarting(let writer), _):
      log.snapshots.remove(writer.name, on: loop)
      endRestart(on: loop)
    case (.shifting, _): endRestart(on: loop)
    case (.written, _): snapshots.stage = stage
    default: return false
    }
    return true
  }

  /// The snapshot is of no use.
  func abandonRestart(at now: UInt64, on loop: isolated EventLoop) {
    switch snapshots.stage {
    case .restarting(let writer), .written(let writer), .completing(let writer):
      log.snapshots.remove(writer.name, on: loop)
      snapshots.abandon(until: now + SnapshotWork.pause)
    default: break
    }
  }

  /// As ``SnapshotWork/abandon(until:)``; the machine is told of a restart that ends by it.
  func abandonSnapshots(until next: UInt64, at now: UInt64, on loop: isolated EventLoop) {
    switch snapshots.stage {
    case .restarting(let writer), .written(let writer), .completing(let writer):
      log.snapshots.remove(writer.name, on: loop)
      endRestart(on: loop)
    // Whether it begins there now is read.
    case .shifting: endRestart(on: loop)
    default: snapshots.abandon(until: next)
    }
  }

  private func endRestart(on loop: isolated EventLoop) {
    let now = loop.milliseconds
    snapshots.abandon(until: now + SnapshotWork.pause)
    machine.restartEnded(at: now)
    perform(at: now, on: loop)
  }
}
