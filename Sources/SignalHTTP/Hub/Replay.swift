// SPDX-License-Identifier: MIT
import SignalStore

/// The beginning of a subscription (`docs/protocol.md` §4 rule 2): the snapshot at a revision, or what was missed since
/// a cursor, and then `live`.
///
/// It is made piece by piece, as the socket takes it.
struct Replay {
  private enum Source {
    case nothing
    case snapshot(PropertyScan)
    case history(HistorySlice.Iterator)
  }

  /// How much is made at a time.
  struct Pace {
    let bytes: Int
    let properties: Int
  }

  /// Whether a given cursor could be resumed from; nil when none was given.
  let recovered: Bool?
  /// The revision of `live`: what comes after it is the group's.
  let position: Revision
  /// Up to where everything missed has been handed out; nil before the end of a snapshot.
  private(set) var reached: Revision?
  private let options: SubscriptionOptions
  private let writer: LiveEventWriter
  private let pace: Pace
  private var block: FrameBlock
  private var source: Source
  private var reset: ResetReason?

  /// Takes what is there now.
  ///
  /// The caller gets every commit after `position` from elsewhere.
  init(
    _ options: SubscriptionOptions, writer: LiveEventWriter, wire: Wire, initial: Bool, since: Cursor?,
    store: PropertyStore, pace: Pace
  ) {
    self.options = options
    self.writer = writer
    self.pace = pace
    block = FrameBlock(wire, epoch: store.epoch)
    if let since, let missed = store.changes(since: since) {
      recovered = true
      position = missed.through
      reached = since.revision
      source = .history(missed.makeIterator())
      return
    }
    let snapshot = store.snapshot()
    position = snapshot.revision
    recovered = since == nil ? nil : false
    reset = since.map { since in
      since.epoch != store.epoch ? .epoch : since.revision > snapshot.revision ? .future : .history
    }
    if initial || since != nil {
      source = .snapshot(snapshot.scan(match: options.patterns))
    } else {
      source = .nothing
      reached = position
    }
  }

  /// Makes the next piece, which may be empty, and returns whether it was the last.
  mutating func nextPiece(_ deliver: ([UInt8]) -> Void) -> Bool {
    if let reason = reset {
      reset = nil
      block.append { [writer, position] in writer.appendReset(position, reason, to: &$0) }
    }
    var budget = pace.properties
    let isDone =
      switch source {
      case .nothing: true
      case .snapshot(var scan):
        addProperties(&scan, &budget)
      case .history(var commits):
        addCommits(&commits, &budget)
      }
    if isDone {
      block.append(resumeAt: position) { [writer, position] in writer.appendLive(position, to: &$0) }
    }
    let bytes = block.take()
    if !bytes.isEmpty { deliver(bytes) }
    return isDone
  }

  private mutating func addProperties(_ scan: inout PropertyScan, _ budget: inout Int) -> Bool {
    source = .nothing
    while block.count < pace.bytes, let stored = scan.next(visiting: &budget) {
      if let filter = options.filter, !filter.holds(forStored: stored) { continue }
      block.append { [writer] in writer.appendSnapshot(stored, to: &$0) }
    }
    if scan.isAtEnd { return true }
    source = .snapshot(scan)
    return false
  }

  private mutating func addCommits(_ commits: inout HistorySlice.Iterator, _ budget: inout Int) -> Bool {
    source = .nothing
    while block.count < pace.bytes, budget > 0 {
      guard let commit = commits.next() else { return true }
      for change in commit {
        budget -= 1
        guard options.matches(change.path) else { continue }
        var filtered = FilteredChange(change)
        guard let event = options.event(for: &filtered) else { continue }
        block.open(change.revision) { [writer] in writer.append(event, change, to: &$0) }
      }
      block.close()
      reached = commit.revision
    }
    source = .history(commits)
    return false
  }
}
