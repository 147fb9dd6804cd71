// SPDX-License-Identifier: MIT
import SignalStore

/// Where finished bytes are sent: a socket, as the hub sees it.
protocol Outlet: AnyObject {
  /// Bytes that may be pending while the socket takes no output.
  var highWaterMark: Int { get }
  /// Whether output has to wait: for the socket, or until what it tells is durable.
  var isBlocked: Bool { get }
  /// Whether the socket takes no output at the moment.
  var isFull: Bool { get }
  /// Bytes that are pending.
  var backlog: Int { get }
  /// Sends bytes; drops them when it is closed.
  func send(_ block: [UInt8], on loop: isolated EventLoop)
}

extension Outlet {
  var isFull: Bool { isBlocked }

  func send(_ frames: Frames, on loop: isolated EventLoop) {
    send(frames.first, on: loop)
    for piece in frames.rest { send(piece, on: loop) }
  }

  /// Whether the socket takes no output, and more than the high-water mark is pending.
  var isOverloaded: Bool { isBlocked && backlog > highWaterMark }
}

/// The hub's view of a connection that subscribes.
protocol Subscriber: AnyObject {
  /// Where its events are sent, until it has ended its subscriptions.
  var outlet: any Outlet { get }
  /// Ends the subscriber with the cursor to resume from (rule 5); see ``Membership/reached(settled:)``.
  func tooSlow(on loop: isolated EventLoop)
  /// A subscription waits until the socket has taken everything; see ``SubscriptionGroup/drained(_:on:)``.
  func waitsForRoom()
  /// The recent cost of its expensive filters.
  var filterWork: RecentWork { get set }
  /// What a subscription may see may be something else than before.
  func accessChanged(_ membership: Membership, on loop: isolated EventLoop)
  /// The same for a subscription to demand.
  func accessChanged(_ subscription: DemandSubscription, on loop: isolated EventLoop)
  /// A subscription has received all the events it wanted; they have been sent already.
  func ended(_ membership: Membership, on loop: isolated EventLoop)

  /// How frames for it can be compressed.
  var compression: FrameCompression { get }
  /// Whether one of its subscriptions is in the window of its group.
  var isInWindow: Bool { get }
  /// A subscription is about to be in the window of its group; false when another is in its own.
  func enterWindow(_ membership: Membership) -> Bool
  /// The subscription that is in a window, if any, leaves it.
  func leaveWindow()
}

extension Subscriber {
  /// Not at all.
  var compression: FrameCompression { .none }
  /// Never.
  var isInWindow: Bool { false }
  /// None may.
  func enterWindow(_ membership: Membership) -> Bool { false }
  /// Does nothing.
  func leaveWindow() {}
}

/// One subscription of one connection: a member of its group, with its own beginning.
///
/// While the beginning (snapshot or missed changes) is being sent, piece by piece as the socket takes it, the group's
/// blocks wait here, within the high-water mark.
final class Membership {
  // The fields needed for each block come first and together: see `SubscriptionGroup`.

  private var replay: Replay?
  /// Held until the subscription ends, which every connection ensures: when a change is delivered, nothing else of the
  /// connection is accessed.
  private let outlet: any Outlet
  private let mode: DeliveryOptions.Mode
  /// Events that it still wants; nil is all.
  private(set) var wanted: Int?

  /// Which of the group's compressed frames it gets; `plain` while it is not in the group's list of members.
  private(set) var form = FrameForm.plain

  let group: SubscriptionGroup
  /// Its index in one of the group's lists, while it is in one.
  var place: Int?
  /// Whether it is in the list of lagging members, which get bytes of their own.
  var isBehind = false
  /// The position of the beginning: the group's events up to it are not sent to this member.
  let joinedAt: Revision
  /// The revision of the store at the beginning.
  let revision: Revision
  /// Whether a given cursor could be resumed from; nil when none was given.
  let recovered: Bool?
  /// Whether its beginning contains the current value of every property.
  let knowsState: Bool
  private unowned let subscriber: any Subscriber
  private let conflatedBytes: Int
  private var waiting: [(frames: Frames, marks: [EventMark])] = []
  private var waitingBytes = 0
  /// How many gaps it has been told.
  var gaps = 0
  /// What it has missed while it was lagging.
  private var missed: Conflation?
  /// Whether it lags because of its client, and not because it is new.
  private(set) var fellBehindBySlowness = false
  /// Whether too much had to be kept, so that it is to be ended.
  private(set) var isOverloaded = false
  /// The revision up to which it has been sent everything, as far as events show; kept when it wants a fixed number of
  /// them.
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

  /// Whether the connection has budget left for its filters.
  func canPay(within limit: Int, at now: UInt64) -> Bool { subscriber.filterWork.isWithin(limit, at: now) }

  func pay(_ work: Int) { subscriber.filterWork.add(work) }

  // MARK: The beginning

  /// Whether the beginning is still being sent: call `proceed` when the socket has taken what was sent.
  var isReplaying: Bool { replay != nil }

  /// Sends the next piece of the beginning; after its last one, the blocks that have waited.
  func proceed(on loop: isolated EventLoop) {
    guard let piece = replay?.nextPiece(&loop.work.replays) else { return }
    loop.counters.count(piece.events, for: 1)
    sendOwn(piece.frames, piece.marks, on: loop)
    // The piece may have contained all the events it wanted.
    guard place != nil, piece.isLast else { return }
    replay = nil
    complete = joinedAt
    let waited = waiting
    waiting = []
    waitingBytes = 0
    for (frames, marks) in waited where place != nil { send(frames, marks, on: loop) }
    chooseForm()
  }

  /// Whether it can be resumed: messages leave no state to resume from.
  var isResumable: Bool { group.key.options.topic == .properties }

  /// The revision up to which the subscriber has been sent everything, so that it can resume from there; nil during a
  /// snapshot, whose parts are of no use alone.
  ///
  /// - Parameter settled: The revision up to which the groups have delivered everything.
  func reached(settled: Revision) -> Revision? {
    if let replay { return replay.reached }
    let before = isBehind ? missed?.before : group.pending.before
    return max(min(before ?? settled, settled), joinedAt)
  }

  // MARK: Frames of the group

  /// Delivers frames of the group.
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

  /// Sends frames to the connection: all of them, or up to the last event that is wanted; true when it is overloaded
  /// then.
  @discardableResult func send(_ frames: Frames, _ marks: [EventMark], on loop: isolated EventLoop) -> Bool {
    if frames.isEmpty { return false }
    guard let wanted else { return give(frames, on: loop) }
    let wire = group.key.wire
    for mark in marks.prefix(wanted) { complete = mark.resumeAt ?? complete }
    self.wanted = max(0, wanted - marks.count)
    if marks.count < wanted { return give(wire.chunked(frames), on: loop) }
    // The frames of a counted group are in one piece.
    outlet.send(wire.chunked(Array(frames.first[..<marks[wanted - 1].end])), on: loop)
    var block = FrameBlock(wire, epoch: group.progress.epoch)
    block.append(resumeAt: complete, name: "end") { [group, complete] in
      group.writer.appendEnd(complete, to: &$0.bytes)
    }
    outlet.send(block.take(), on: loop)
    subscriber.ended(self, on: loop)
    return false
  }

  /// Sends frames that are for it alone, compressed where that is possible.
  func sendOwn(_ frames: Frames, _ marks: [EventMark], on loop: isolated EventLoop) {
    guard let compression = group.compression, mayBeCompressed, !frames.isEmpty else {
      send(frames, marks, on: loop)
      return
    }
    if subscriber.isInWindow {
      guard frames.count >= CompressionLimits.leavingBytes else {
        send(frames, marks, on: loop)
        return
      }
      subscriber.leaveWindow()
    }
    send(compression.alone(frames), marks, on: loop)
  }

  // MARK: Compression

  /// Chooses the form of the group's frames that it gets outside of the window.
  func chooseForm() {
    guard group.compression != nil, place != nil, form != .window else { return }
    take(isBehind || isReplaying || subscriber.isInWindow || !mayBeCompressed ? .plain : .alone)
  }

  /// Whether the subscriber still takes compressed frames, or may.
  private var mayBeCompressed: Bool { subscriber.compression != .none }

  /// Gets the group's window from its next frame on, which begins it, if the connection is in no other.
  func enterWindow() {
    guard form == .alone, subscriber.enterWindow(self) else { return }
    take(.window)
  }

  func leaveWindow() { take(.plain) }

  /// It is about to leave the list of the group's members.
  func resetForm() {
    if form == .window { subscriber.leaveWindow() }
    take(.plain)
  }

  private func take(_ form: FrameForm) {
    group.compression?.count(self.form, -1)
    group.compression?.count(form, 1)
    self.form = form
  }

  private func give(_ frames: Frames, on loop: isolated EventLoop) -> Bool {
    outlet.send(frames, on: loop)
    return outlet.isOverloaded
  }

  // MARK: Behind

  /// Whether the client is so slow, by the criterion of its mode, that new events are kept for later.
  var isLate: Bool { mode == .latest ? outlet.isBlocked : outlet.isOverloaded }

  var canCatchUp: Bool { replay == nil && !outlet.isBlocked && !isOverloaded }

  var hasMissed: Bool { missed != nil }

  /// Whether it lags only nominally: it has been sent everything.
  var isIdle: Bool { missed == nil && canCatchUp }

  /// Keeps an event for later.
  func keep(_ seen: SeenEvent) {
    guard seen.change.revision > joinedAt, !isOverloaded else { return }
    var kept = missed ?? Conflation(group.key.options)
    // Moved out while it grows, so that it is not copied.
    missed = nil
    kept.add(seen)
    missed = kept
    checkKept()
  }

  /// Keeps the events that the group had collected.
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
    // Where the newest alone is wanted, what waits for the disk is left out because of that, and not by the client.
    if outlet.isFull || mode != .latest && !group.isPaced { fellBehindBySlowness = true }
    subscriber.waitsForRoom()
  }

  func hasCaughtUp() { fellBehindBySlowness = false }

  /// Lets the subscriber begin it anew, if it may see something else than before.
  func restart(on loop: isolated EventLoop) { subscriber.accessChanged(self, on: loop) }

  /// Ends the connection, because too much would have to be kept.
  func end(on loop: isolated EventLoop) { subscriber.tooSlow(on: loop) }
}
