// SPDX-License-Identifier: MIT
import JSON
import SignalStore

/// A subscription to demand (`docs/protocol.md` §3.7): first the patterns that have subscriptions now, then those that
/// get their first subscription or lose their last.
///
/// Pending reports are kept as one state per pattern, so a slow client takes no more memory than that.
final class DemandSubscription {
  private let id: Int
  let patterns: [PathPattern]
  private let pieceBytes: Int
  private let since: UInt64
  private unowned let subscriber: any Subscriber
  private var block: FrameBlock
  /// Patterns whose state the client may not know yet.
  private var pending: [PathPattern: Bool] = [:]
  /// The same in the order in which they are sent, from `next` on.
  private var queue: [PathPattern] = []
  private var next = 0
  /// Patterns that were last reported as watched.
  private var told: Set<PathPattern> = []
  /// The store's revision at the beginning.
  let revision: Revision
  /// Whether the initial state has been sent.
  private var isLive = false

  init(
    _ patterns: [PathPattern], id: Int, wire: Wire, watched: [PathPattern], number: UInt64, store: PropertyStore,
    pieceBytes: Int, subscriber: any Subscriber
  ) {
    self.id = id
    self.patterns = patterns
    self.pieceBytes = pieceBytes
    self.subscriber = subscriber
    since = number
    revision = store.revision
    block = FrameBlock(wire, epoch: store.epoch)
    for pattern in watched where concerns(pattern) { note(pattern, isWatched: true) }
  }

  private func concerns(_ pattern: PathPattern) -> Bool { patterns.contains { $0.overlaps(pattern) } }

  /// Records a change.
  func note(_ demand: Watchers.Demand) {
    guard demand.number > since, concerns(demand.pattern) else { return }
    note(demand.pattern, isWatched: demand.isWatched)
  }

  private func note(_ pattern: PathPattern, isWatched: Bool) {
    if pending.updateValue(isWatched, forKey: pattern) == nil { queue.append(pattern) }
  }

  private func takeNext() -> (PathPattern, isWatched: Bool)? {
    guard next < queue.count else {
      queue = []
      next = 0
      return nil
    }
    let pattern = queue[next]
    next += 1
    return pending.removeValue(forKey: pattern).map { (pattern, $0) }
  }

  /// What it may be told may be something else than before.
  func accessChanged(on loop: isolated EventLoop) { subscriber.accessChanged(self, on: loop) }

  /// Sends that it is over.
  func sendEnd(on loop: isolated EventLoop) {
    block.append(resumeAt: nil, name: "end") { [id] in
      LiveEventWriter(subscription: id).appendEnd(nil, to: &$0.bytes)
    }
    subscriber.outlet.send(block.take(), on: loop)
  }

  /// Whether anything is left to send.
  var hasWork: Bool { !isLive || !pending.isEmpty }

  /// Sends the next piece, if the client can take it.
  func proceed(on loop: isolated EventLoop) {
    guard hasWork else { return }
    guard !subscriber.outlet.isBlocked else { return subscriber.waitsForRoom() }
    while block.count < pieceBytes, let (pattern, isWatched) = takeNext() {
      guard told.contains(pattern) != isWatched else { continue }
      if isWatched { told.insert(pattern) } else { told.remove(pattern) }
      block.append { [id] in LiveEventWriter(subscription: id).appendDemand(pattern, isWatched, to: &$0.bytes) }
    }
    if pending.isEmpty, !isLive {
      isLive = true
      block.append { [id, revision] in LiveEventWriter(subscription: id).appendLive(revision, to: &$0.bytes) }
    }
    let frames = block.take()
    if !frames.isEmpty { subscriber.outlet.send(frames, on: loop) }
    if hasWork { subscriber.waitsForRoom() }
  }
}
