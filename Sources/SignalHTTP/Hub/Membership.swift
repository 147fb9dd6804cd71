// SPDX-License-Identifier: MIT
import SignalStore

/// Where finished bytes go: a socket, as the hub sees it.
protocol Outlet: AnyObject {
  /// Bytes that may wait while the socket takes nothing.
  var highWaterMark: Int { get }
  /// The socket takes nothing at the moment.
  var isBlocked: Bool { get }
  /// Bytes that wait.
  var backlog: Int { get }
  /// Takes bytes; one that has been closed drops them.
  func send(_ block: [UInt8], on loop: isolated EventLoop)
}

extension Outlet {
  func send(_ frames: Frames, on loop: isolated EventLoop) {
    send(frames.first, on: loop)
    for piece in frames.rest { send(piece, on: loop) }
  }

  /// The socket takes nothing at the moment, and more than the high-water mark waits.
  var isOverloaded: Bool { isBlocked && backlog > highWaterMark }
}

/// What the hub needs of whoever subscribes.
protocol Subscriber: AnyObject {
  /// Where its events go, until it has ended its subscriptions.
  var outlet: any Outlet { get }
  /// Ends the subscriber, telling it from where to resume (rule 5); see ``Membership/reached(settled:)``.
  func tooSlow(on loop: isolated EventLoop)
  /// A subscription waits for the socket to have taken everything; see ``SubscriptionGroup/drained(_:on:)``.
  func waitsForRoom()
  /// What its expensive filters have cost lately.
  var filterWork: RecentWork { get set }
  /// A subscription has had all the events it wanted; what it was told is sent already.
  func ended(_ membership: Membership, on loop: isolated EventLoop)
}

/// One subscription of one connection: a member of its group, with its own beginning.
///
/// While the beginning (snapshot or missed changes) is being sent, piece by piece as the socket takes it, the group's
/// blocks wait here, within the high-water mark.
final class Membership {
  // What each block needs comes first and together: see `SubscriptionGroup`.

  private var replay: Replay?
  /// Held until the subscription ends, which every connection sees to: of those who are told of a change, nothing else
  /// is touched.
  private let outlet: any Outlet
  private let mode: DeliveryOptions.Mode
  /// Events that it still wants; nil is all.
  private var wanted: Int?

  let group: SubscriptionGroup
  /// Where in one of the group's lists, while in.
  var place: Int?
  /// Which of the two: it gets bytes of its own.
  var isBehind = false
  /// The position of the beginning: the group's events up to it are not for this member.
  let joinedAt: Revision
  /// The revision of the store at the beginning.
  let revision: Revision
  /// Whether a given cursor could be resumed from; nil when none was given.
  let recovered: Bool?
  /// Whether its beginning tells the present value of every property.
  let knowsState: Bool
  private unowned let subscriber: any Subscriber
  private let conflatedBytes: Int
  private var waiting: [(frames: Frames, marks: [EventMark])] = []
  private var waitingBytes = 0
  /// What it has missed while it was behind.
  private var missed: Conflation?
  /// Behind because of its client, and not because it is new.
  private(set) var fellBehindBySlowness = false
  /// Too much had to be kept: it is to be ended.
  private(set) var isOverloaded = false
  /// Up to where it has been given everything, as far as events tell; kept for one that wants a number of them.
  private var complete: Revision?

  init(group: SubscriptionGroup, subscriber: any Subscriber, replay: Replay, take: Int?, conflatedBytes: Int) {
    self.group = group
    self.subscriber = subscriber
    outlet = subscriber.outlet
    self.replay = replay
    self.conflatedBytes = conflatedBytes
    mode = group.key.options.delivery.mode
    joinedAt = replay.position
    revision = replay.revision
    recovered = replay.recovered
    knowsState = replay.isSnapshot
    wanted = take
    complete = replay.reached
  }

  // MARK: Work

  /// Whether the connection's filters may cost something yet.
  func canPay(within limit: Int, at now: UInt64) -> Bool { subscriber.filterWork.isWithin(limit, at: now) }

  func pay(_ work: Int) { subscriber.filterWork.add(work) }

  // MARK: The beginning

  /// Whether the beginning is still being sent: call `proceed` when the socket has taken what it was given.
  var isReplaying: Bool { replay != nil }

  /// Sends the next piece of the beginning; behind its last one, what has waited.
  func proceed(on loop: isolated EventLoop) {
    guard let piece = replay?.nextPiece(&loop.work.replays) else { return }
    send(piece.frames, piece.marks, on: loop)
    // It may have wanted no more than that.
    guard place != nil, piece.isLast else { return }
    replay = nil
    complete = joinedAt
    let waited = waiting
    waiting = []
    waitingBytes = 0
    for (frames, marks) in waited where place != nil { send(frames, marks, on: loop) }
  }

  /// Whether it can be resumed: messages leave nothing to resume from.
  var isResumable: Bool { group.key.options.topic == .properties }

  /// Up to where the subscriber has been given everything, so that it can resume from there; nil while a snapshot is
  /// under way, of which no part is worth anything.
  ///
  /// - Parameter settled: Up to where the groups have been given everything.
  func reached(settled: Revision) -> Revision? {
    if let replay { return replay.reached }
    let before = isBehind ? missed?.before : group.pending.before
    return max(min(before ?? settled, settled), joinedAt)
  }

  // MARK: Frames of the group

  /// Takes frames of the group.
  func deliver(_ frames: Frames, _ marks: [EventMark], on loop: isolated EventLoop) {
    if replay != nil {
      if mode == .all, waitingBytes > outlet.highWaterMark { return subscriber.tooSlow(on: loop) }
      waiting.append((frames, marks))
      waitingBytes += frames.count
      if mode != .all, waitingBytes > outlet.highWaterMark { group.fallBehind(self) }
      return
    }
    if mode == .all {
      if outlet.isOverloaded { return subscriber.tooSlow(on: loop) }
      send(frames, marks, on: loop)
      return
    }
    if send(frames, marks, on: loop) { group.fallBehind(self) }
  }

  /// Gives frames to the connection: all of them, or up to the last event that is wanted; true when it is overloaded then.
  @discardableResult func send(_ frames: Frames, _ marks: [EventMark], on loop: isolated EventLoop) -> Bool {
    if frames.isEmpty { return false }
    guard let wanted else { return give(frames, on: loop) }
    let wire = group.key.wire
    for mark in marks.prefix(wanted) { complete = mark.resumeAt ?? complete }
    self.wanted = max(0, wanted - marks.count)
    if marks.count < wanted { return give(wire.chunked(frames), on: loop) }
    // Those of a counted group are in one piece.
    outlet.send(wire.chunked(Array(frames.first[..<marks[wanted - 1].end])), on: loop)
    var block = FrameBlock(wire, epoch: group.progress.epoch)
    block.append(resumeAt: complete, name: "end") { [group, complete] in
      group.writer.appendEnd(complete, to: &$0.bytes)
    }
    outlet.send(block.take(), on: loop)
    subscriber.ended(self, on: loop)
    return false
  }

  private func give(_ frames: Frames, on loop: isolated EventLoop) -> Bool {
    outlet.send(frames, on: loop)
    return outlet.isOverloaded
  }

  // MARK: Behind

  /// Whether the client is so slow that what comes now is kept for later: as the mode has it.
  var isLate: Bool { mode == .latest ? outlet.isBlocked : outlet.isOverloaded }

  var canCatchUp: Bool { replay == nil && !outlet.isBlocked && !isOverloaded }

  var hasMissed: Bool { missed != nil }

  /// Behind, but only in name: there is nothing that it has not been given.
  var isIdle: Bool { missed == nil && canCatchUp }

  /// Keeps an event for later.
  func keep(_ seen: SeenEvent) {
    guard seen.change.revision > joinedAt, !isOverloaded else { return }
    var kept = missed ?? Conflation(group.key.options)
    // Out of its place while it grows, so that it is not copied.
    missed = nil
    kept.add(seen)
    missed = kept
    checkKept()
  }

  /// Keeps what the group had collected.
  func keep(_ pending: Conflation) {
    missed = pending
    checkKept()
  }

  private func checkKept() { if let missed, missed.bytes > conflatedBytes { isOverloaded = true } }

  func takeMissed() -> Conflation {
    defer { missed = nil }
    return missed ?? Conflation(group.key.options)
  }

  func waitForRoom() {
    fellBehindBySlowness = true
    subscriber.waitsForRoom()
  }

  func hasCaughtUp() { fellBehindBySlowness = false }

  /// Ends the connection, because too much has to be kept.
  func end(on loop: isolated EventLoop) { subscriber.tooSlow(on: loop) }
}
