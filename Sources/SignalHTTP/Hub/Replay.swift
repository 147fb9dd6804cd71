// SPDX-License-Identifier: MIT
import SignalStore

/// The beginning of a subscription (`docs/protocol.md` §4 rule 2): the snapshot at a revision, or what was missed since
/// a cursor, or the messages that are kept, and then `live`.
///
/// It is made piece by piece, as the socket takes it. A class, because it is large, and every established subscription
/// would otherwise reserve the space.
final class Replay {
  private enum Source {
    case nothing
    case snapshot(PropertyScan)
    case history(HistorySlice.Iterator)
    case messages(ArraySlice<SignalMessage>)
  }

  /// How much is made at a time.
  struct Pace {
    let snapshotBytes: Int
    let turnProperties: Int
  }

  /// A piece, framed.
  struct Piece {
    let frames: Frames
    let marks: [EventMark]
    let events: FrameBlock.Events
    let isLast: Bool
  }

  /// Whether a given cursor could be resumed from; nil when none was given.
  let recovered: Bool?
  /// Whether it contains the current value of every property.
  let isSnapshot: Bool
  /// The revision of `live`.
  let revision: Revision
  /// Events after this position come from the group: a revision, or the number of a message.
  let position: Revision
  /// The revision up to which everything missed has been returned; nil before the end of a snapshot.
  private(set) var reached: Revision?
  private let options: SubscriptionOptions
  private let writer: LiveEventWriter
  private let pace: Pace
  private var block: FrameBlock
  private var source: Source
  private var reset: ResetReason?
  /// The newest of what was missed, for a subscription that wants only that.
  private var missed: Conflation
  private var deadband: DeadbandState?
  private let conflatedBytes: Int

  /// Takes the current state.
  ///
  /// The caller gets every commit after `position` elsewhere.
  init(
    _ key: SubscriptionGroup.Key, initial: Bool, since: Cursor?, reset reason: ResetReason? = nil, store: PropertyStore,
    pace: Pace, limits: HubLimits
  ) {
    options = key.options
    writer = LiveEventWriter(subscription: key.id, fields: options.fields)
    self.pace = pace
    conflatedBytes = limits.conflatedBytes
    missed = Conflation(options, isResuming: true)
    // The last value sent to the client for a path is not known: the first change is sent, and the band begins there.
    deadband = options.delivery.deadband.map { DeadbandState($0, limit: limits.deadbandPaths) }
    block = FrameBlock(key.wire, epoch: store.epoch, isCounted: key.isCounted)
    if options.topic == .signals {
      let (messages, last) = store.signals.remembered(match: initial || reason != nil ? options.patterns : [])
      reset = reason
      revision = store.revision
      position = Revision(last)
      recovered = nil
      isSnapshot = false
      source = .messages(messages[...])
      return
    }
    let since = since.map(store.present)
    if reason == nil, let since, let missed = store.changes(since: since, match: key.options.patterns) {
      recovered = true
      isSnapshot = false
      position = missed.through
      revision = position
      reached = since.revision
      source = .history(missed.makeIterator())
      return
    }
    let snapshot = store.snapshot()
    position = snapshot.revision
    revision = position
    recovered = since == nil ? nil : false
    reset =
      reason
      ?? since.map { since in
        store.isLost(since)
          ? .lost : since.epoch != store.epoch ? .epoch : since.revision > snapshot.revision ? .future : .history
      }
    isSnapshot = initial || reset != nil
    if isSnapshot {
      source = .snapshot(snapshot.scan(match: options.patterns))
    } else {
      source = .nothing
      reached = position
    }
  }

  /// Why it begins anew, until the first piece has been made; nil when it does not.
  var resetReason: ResetReason? { reset }

  /// Makes the next piece, which may be empty: when no work is left for it in this turn, or nothing matches.
  ///
  /// - Parameter work: What all beginnings may cost in this turn; the cost of this piece is subtracted from it.
  func nextPiece(_ work: inout Int) -> Piece {
    if let reason = reset {
      reset = nil
      let audience = reason == .access ? options.audienceMark : nil
      block.append { [writer, revision] in writer.appendReset(revision, reason, audience: audience, to: &$0.bytes) }
    }
    var budget = pace.turnProperties
    let isLast =
      switch source {
      case .nothing: true
      case .snapshot(var scan):
        addProperties(&scan, &budget, &work)
      case .history(var commits):
        addCommits(&commits, &budget, &work)
      case .messages(var messages):
        addMessages(&messages, &work)
      }
    if isLast {
      block.append(resumeAt: options.topic == .properties ? revision : nil) { [writer, revision] in
        writer.appendLive(revision, to: &$0.bytes)
      }
    }
    let marks = block.takeMarks()
    let events = block.takeEvents()
    return Piece(frames: block.take(), marks: marks, events: events, isLast: isLast)
  }

  private func addProperties(_ scan: inout PropertyScan, _ budget: inout Int, _ work: inout Int) -> Bool {
    source = .nothing
    while block.count < pace.snapshotBytes, work > 0, let stored = scan.next(visiting: &budget) {
      guard let value = options.see(stored, decided: revision, work: &work) else { continue }
      block.appendProperty { [writer] in writer.appendSnapshot(stored, value: value, to: &$0) }
    }
    if scan.isAtEnd { return true }
    source = .snapshot(scan)
    return false
  }

  private func addCommits(_ commits: inout HistorySlice.Iterator, _ budget: inout Int, _ work: inout Int) -> Bool {
    source = .nothing
    while block.count < pace.snapshotBytes, budget > 0, work > 0 {
      guard let commit = commits.next() else {
        flushMissed()
        return true
      }
      var filtered = FilteredChange(commit.first)
      var judgement = Judgement()
      for change in commit {
        budget -= 1
        guard options.matches(change.path) else { continue }
        filtered.begin(change)
        guard let seen = options.see(&filtered, after: &judgement), deadband?.lets(seen) != false else { continue }
        if options.delivery.isPaced {
          missed.add(seen)
        } else {
          block.open(change.revision) { [writer] in writer.append(seen, to: &$0) }
        }
      }
      block.close()
      work -= filtered.work + WorkCost.property * commit.count
      if missed.bytes > conflatedBytes { flushMissed() }
      if missed.isEmpty { reached = commit.revision }
    }
    source = .history(commits)
    return false
  }

  private func addMessages(_ messages: inout ArraySlice<SignalMessage>, _ work: inout Int) -> Bool {
    source = .nothing
    while block.count < pace.snapshotBytes, work > 0, let message = messages.popFirst().map(StoredValue.init) {
      guard options.see(message, decided: nil, work: &work) != nil else { continue }
      block.append { [writer] in writer.appendSignal(message, isRemembered: true, to: &$0) }
    }
    if messages.isEmpty { return true }
    source = .messages(messages)
    return false
  }

  private func flushMissed() {
    guard !missed.isEmpty else { return }
    block.append(&missed, .paced, writer)
  }
}
