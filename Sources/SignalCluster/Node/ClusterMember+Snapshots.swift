// SPDX-License-Identifier: MIT

internal import SignalHTTP
internal import SignalStore

/// What a node does about snapshots at the moment.
struct SnapshotWork {
  enum Stage {
    case idle, listing
    /// A part is being stored, or what says that all are there.
    case writing(SnapshotWriter, isComplete: Bool)
    /// Parts are being read, from a sequence on.
    case loading(SnapshotName, SnapshotReader)
    /// A part of the snapshot by which the log is restarted is being stored; all of them are, but for what says so; that is
    /// being stored; the log is made to begin behind it.
    case restarting(SnapshotWriter), written(SnapshotWriter), completing(SnapshotWriter), shifting(SnapshotWriter)
  }

  var stage = Stage.idle
  /// When the last question was asked.
  var since: UInt64 = 0
  /// When it is looked again which there are.
  var nextLook: UInt64 = 0
  /// The newest that is complete, as far as that is known.
  var newest: UInt64 = 0
  /// Whether a newer one was there, to which the log may have been shortened.
  var isMissing = false
  /// Bytes of records that were read behind it, and how many of these have no entries.
  var bytes = 0
  var empty: UInt64 = 0
  /// What has to be in the one that is to be loaded; nil while none is needed.
  private(set) var needed: UInt64?
  /// How often in a row it was not there.
  var misses = 0
  /// Up to where the log was shortened by this node.
  var purged: UInt64 = 0
  /// Until when a restart may be finished.
  var restartEnd: UInt64 = 0

  /// For an answer; then it is begun anew.
  static let patience: UInt64 = 5000
  /// Between two looks for one that is to be loaded.
  static let pause: UInt64 = 1000
  /// Looks in which one that is to be loaded was not there, after which it is believed to be gone.
  static let mostMisses = 10

  /// The log does not reach back to what this node has: a snapshot is needed that is at least as far.
  mutating func load(behind sequence: UInt64) {
    needed = sequence
    if case .idle = stage { nextLook = 0 }
  }

  mutating func loaded() { (needed, misses) = (nil, 0) }

  /// What was under way is not answered.
  mutating func abandon(until next: UInt64) {
    stage = .idle
    nextLook = next
  }

  var deadline: UInt64 { if case .idle = stage { nextLook } else { since + Self.patience } }
}

/// Snapshots: the follower with the lowest name writes one now and then, the leader keeps the newest two and shortens the
/// log up to the older of these, and whoever begins loads that one, so that its history reaches as far as that of others.
extension ClusterMember {
  /// Looks now and then which snapshots there are.
  func tendSnapshots(at now: UInt64, on loop: isolated EventLoop) {
    guard isOpen else { return abandonSnapshots(until: now, at: now, on: loop) }
    if case .idle = snapshots.stage {
      guard now >= snapshots.nextLook else { return }
      snapshots.stage = .listing
      log.snapshots.list(on: loop)
    } else {
      guard now >= snapshots.since + SnapshotWork.patience else { return }
      tellUnlisted(snapshots.stage)
      return abandonSnapshots(until: now + SnapshotWork.pause, at: now, on: loop)
    }
    snapshots.since = now
  }

  func received(_ answer: SnapshotAnswer, on loop: isolated EventLoop) {
    let now = loop.milliseconds
    let stage = snapshots.stage
    snapshots.stage = .idle
    snapshots.since = now
    switch (stage, answer) {
    case (.listing, .listed(let complete, let incomplete)):
      if let newest = complete.last { machine.knows(snapshot: newest.sequence) }
      guard isStarted else {
        isStarted = true
        machine.start(at: now)
        return perform(at: now, on: loop)
      }
      look(at: complete, incomplete, now, on: loop)
    case (.writing(let writer, let isComplete), .stored):
      if isComplete {
        snapshots.newest = max(snapshots.newest, writer.name.sequence)
        snapshots.nextLook = now + configuration.times.snapshots
        observer(.snapshotWritten(sequence: writer.name.sequence))
      } else {
        write(writer, on: loop)
      }
    case (.loading(let name, let reader), .parts(let parts, let next, let isEnd)):
      load(name, reader, parts, next, isEnd, at: now, on: loop)
    default:
      if continueRestart(stage, answer, at: now, on: loop) { return }
      tellUnlisted(stage)
      snapshots.abandon(until: now + SnapshotWork.pause)
    }
  }

  /// A node does not start before it knows which snapshots there are.
  private func tellUnlisted(_ stage: SnapshotWork.Stage) {
    guard case .listing = stage, !isStarted else { return }
    tell(.engineRefused("it does not say which snapshots there are"))
  }

  private func look(
    at complete: [SnapshotName], _ incomplete: [SnapshotName], _ now: UInt64, on loop: isolated EventLoop
  ) {
    snapshots.nextLook = now + configuration.times.snapshots
    let newest = complete.last?.sequence ?? 0
    if newest < snapshots.newest {
      // They are gone, and the log may begin behind them.
      (snapshots.newest, snapshots.isMissing) = (newest, true)
    } else if newest > snapshots.newest {
      (snapshots.newest, snapshots.bytes, snapshots.empty, snapshots.isMissing) = (newest, 0, 0, false)
    }
    if let needed = snapshots.needed {
      snapshots.nextLook = now + SnapshotWork.pause
      guard let name = complete.first(where: { $0.sequence >= needed }) else {
        snapshots.misses += 1
        if snapshots.misses >= SnapshotWork.mostMisses {
          snapshots.misses = 0
          machine.misses(snapshot: newest, at: now)
          if machine.role != .behind { return snapshots.loaded() }
        }
        return tell(
          .engineRefused("the log begins behind record \(needed), and there is no snapshot of what was before"))
      }
      snapshots.stage = .loading(name, SnapshotReader(key: machine.key))
      return log.snapshots.read(name, from: 1, on: loop)
    }
    if isLeading { shorten(complete, incomplete, on: loop) }
    if isSnapshotDue(at: now), let replica = committedReplica {
      (snapshots.bytes, snapshots.empty) = (0, 0)
      write(SnapshotWriter(replica, at: machine.position, session: session, key: machine.key), on: loop)
    }
  }

  /// What the log has made up to the position of this node; nil while that cannot be said.
  private var committedReplica: Replica? {
    guard !isSettling, postponed.isEmpty, machine.isCaughtUp else { return nil }
    return isLeading ? committed : store?.replica
  }

  private func isSnapshotDue(at now: UInt64) -> Bool {
    let behind = machine.position.sequence - min(machine.position.sequence, snapshots.newest)
    let records = behind - min(behind, snapshots.empty)
    let isMuch =
      snapshots.isMissing || records >= configuration.snapshotRecords
      || snapshots.bytes >= configuration.snapshotBytes
    guard isMuch, store != nil else { return false }
    let leader = isLeading ? configuration.node : machine.position.leader
    let followers = heard.filter { $0.key != leader && now < $0.value + configuration.times.node }.keys
    // The leader has enough to do, unless nobody else does it.
    guard let first = followers.min() else { return true }
    if isLeading { return !snapshots.isMissing && records >= 2 * configuration.snapshotRecords }
    return first == configuration.node
  }

  private func write(_ writer: SnapshotWriter, on loop: isolated EventLoop) {
    var writer = writer
    let part = writer.next()
    snapshots.stage = .writing(writer, isComplete: part == nil)
    log.snapshots.store(part, of: writer.name, on: loop)
  }

  /// Keeps the newest two, and of the log what is behind the older one.
  private func shorten(_ complete: [SnapshotName], _ incomplete: [SnapshotName], on loop: isolated EventLoop) {
    for name in complete.dropLast(2) { log.snapshots.remove(name, on: loop) }
    guard complete.count >= 2, let newest = complete.last else { return }
    for name in incomplete where name < newest { log.snapshots.remove(name, on: loop) }
    let older = complete[complete.count - 2].sequence
    // One that is further than the log is of another one, which this one must not be made to follow.
    guard older > snapshots.purged, older <= machine.position.sequence else { return }
    snapshots.purged = older
    log.snapshots.purgeLog(through: older, on: loop)
  }

  private func load(
    _ name: SnapshotName, _ reader: SnapshotReader, _ parts: [[UInt8]], _ next: UInt64, _ isEnd: Bool,
    at now: UInt64, on loop: isolated EventLoop
  ) {
    var reader = reader
    do throws(LogEntryError) {
      for part in parts { try reader.take(part) }
    } catch {
      snapshots.abandon(until: now + SnapshotWork.pause)
      return tell(.engineRefused("the snapshot \(name.text) cannot be read, or was written with another secret"))
    }
    guard isEnd else {
      snapshots.stage = .loading(name, reader)
      return log.snapshots.read(name, from: next, on: loop)
    }
    guard let (replica, position) = reader.result(limits: configuration.store), position.sequence == name.sequence
    else {
      return snapshots.abandon(until: now + SnapshotWork.pause)
    }
    snapshots.loaded()
    snapshots.newest = max(snapshots.newest, name.sequence)
    self.replica = replica
    applied = position.entries
    observer(.snapshotLoaded(sequence: name.sequence))
    machine.load(position, at: now)
    perform(at: now, on: loop)
  }
}
