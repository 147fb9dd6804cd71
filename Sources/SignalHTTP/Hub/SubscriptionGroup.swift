// SPDX-License-Identifier: MIT
import SignalStore

/// The subscribers of one loop whose patterns, filter, options, subscription id and wire are equal: they are sent the
/// same bytes.
///
/// A lagging member gets bytes of its own instead, the newest event of each path, until it has caught up: see
/// `SubscriptionGroup+Behind.swift`.
final class SubscriptionGroup {
  struct Key: Hashable {
    let options: SubscriptionOptions
    let id: Int
    let wire: Wire
    /// Whether members want a fixed number of events.
    var isCounted = false
    /// How the frames are compressed.
    var compression = FrameCompression.none
  }

  // The fields needed for each event come first and together: with ten thousand groups, the memory of each is cold.

  /// Whether events are written straight into the block, for all members.
  private var isDirect: Bool
  private var isTouched = false
  /// Set by the hub while it routes a commit of which the group has been given changes: nothing is delivered then, and
  /// no member begins to lag or catches up, because the rest of it may follow in a later turn.
  var isInCommit = false
  /// Whether the filter's last evaluation was so expensive that the next must be charged to a member.
  var isExpensive = false
  private var judgement = Judgement()
  let isPaced: Bool
  let writer: LiveEventWriter
  /// The newest revision at which a member has joined: commits after it are for all members.
  private var newestJoin: Revision = 0
  /// When something was last sent, in the loop's time.
  private(set) var lastEvent: UInt64
  /// Members that get the group's blocks.
  var members: [Membership] = []
  /// Lagging members, which get bytes of their own; see `fallBehind`.
  var behind: [Membership] = [] {
    didSet { updateDirect() }
  }
  private var block: FrameBlock
  let key: Key
  /// nil where frames are not compressed.
  let compression: GroupCompression?

  /// The group's index in the hub, by which the trie refers to it.
  let index: Int
  let progress: HubProgress
  private var deadband: DeadbandState?
  /// For a paced group: events that have arrived since the last delivery.
  var pending: Conflation
  /// For a paced group: when the next delivery is due.
  private(set) var nextFlush: UInt64 = 0
  /// Whether the hub has scheduled the flush at `nextFlush`.
  var isScheduled = false
  private let interval: UInt64
  private let isPlain: Bool

  init(
    _ key: Key, index: Int, progress: HubProgress, limits: HubLimits, compressors: Compressors, now: UInt64
  ) {
    self.key = key
    compression = GroupCompression(key.compression, compressors)
    self.index = index
    self.progress = progress
    let options = key.options
    writer = LiveEventWriter(subscription: key.id, fields: options.fields)
    block = FrameBlock(key.wire, epoch: progress.epoch, isCounted: key.isCounted)
    lastEvent = now
    deadband = options.delivery.deadband.map { DeadbandState($0, limit: limits.deadbandPaths) }
    pending = Conflation(options)
    isPaced = options.delivery.isPaced
    interval = options.delivery.interval
    isPlain = options.topic == .properties && deadband == nil && options.pointer == nil && !isPaced
    isDirect = isPlain
  }

  var isEmpty: Bool { members.isEmpty && behind.isEmpty }

  private func updateDirect() { isDirect = isPlain && behind.isEmpty }

  /// Resets the group for its next member, after the last has left.
  func begin(limits: HubLimits, now: UInt64) {
    block = FrameBlock(key.wire, epoch: progress.epoch, isCounted: key.isCounted)
    pending = Conflation(key.options)
    deadband = key.options.delivery.deadband.map { DeadbandState($0, limit: limits.deadbandPaths) }
    newestJoin = 0
    nextFlush = 0
    lastEvent = now
  }

  // MARK: Members

  /// A member whose connection has budget left for its filters; nil when there is none among the first few.
  func payer(within limit: Int, at now: UInt64) -> Membership? {
    members.prefix(Self.askedPayers).first { $0.canPay(within: limit, at: now) }
      ?? behind.prefix(Self.askedPayers).first { $0.canPay(within: limit, at: now) }
  }

  static let askedPayers = 8

  func join(_ membership: Membership) {
    deadband?.join(
      at: membership.joinedAt, knowsState: membership.knowsState && key.options.followsState, isFirst: isEmpty,
      judged: progress.routed)
    newestJoin = max(newestJoin, membership.joinedAt)
    if isPaced {
      // Only part of what is pending is for it: it begins on its own, and gets the group's blocks from the next
      // interval on.
      add(membership, toBehind: true)
    } else {
      add(membership, toBehind: false)
    }
  }

  /// Removes a member; false when it was not in the group.
  func leave(_ membership: Membership) -> Bool {
    guard let place = membership.place else { return false }
    if compression != nil { membership.resetForm() }
    membership.place = nil
    if membership.isBehind {
      Self.remove(place, membership, from: &behind)
    } else {
      Self.remove(place, membership, from: &members)
    }
    return true
  }

  func add(_ membership: Membership, toBehind isBehind: Bool) {
    membership.isBehind = isBehind
    membership.place = isBehind ? behind.count : members.count
    if isBehind { behind.append(membership) } else { members.append(membership) }
    if compression != nil { membership.chooseForm() }
  }

  private static func remove(_ place: Int, _ membership: Membership, from list: inout [Membership]) {
    let last = list.removeLast()
    if last !== membership {
      list[place] = last
      last.place = place
    }
  }

  /// Ends all members, and discards what has been written for them: there is no memory for it.
  func endAll(on loop: isolated EventLoop) {
    block = FrameBlock(key.wire, epoch: progress.epoch, isCounted: key.isCounted)
    for member in members + behind { member.end(on: loop) }
  }

  // MARK: Changes

  /// Bytes that are written and not delivered yet.
  var writtenBytes: Int { block.count }

  /// Writes the event of a change, if the group is to be sent one.
  ///
  /// - Parameter verdict: The result of the group's filter; nil when it has to be evaluated.
  func append(_ change: inout FilteredChange, _ verdict: FilterVerdict?) -> Bool {
    guard isDirect else {
      return key.options.topic == .signals ? appendMessage(&change, verdict) : appendSeen(&change)
    }
    if let viewers = key.options.viewers {
      switch change.visibility(to: viewers, key.options.topic, after: &judgement) {
      case .whole: break
      case .hidden: return false
      case .entering, .exiting: return appendSeen(&change)
      }
    }
    guard let event = key.options.event(for: &change, verdict) else { return false }
    let change = change.change
    block.open(change.revision, room: writer.room(for: change)) { [writer] in writer.append(event, change, to: &$0) }
    return true
  }

  private func appendMessage(_ change: inout FilteredChange, _ verdict: FilterVerdict?) -> Bool {
    if let filter = key.options.filter, !(verdict?.new ?? filter.holds(forNew: &change)) { return false }
    guard let message = change.change.new else { return false }
    if let viewers = key.options.viewers,
      change.visibility(to: viewers, key.options.topic, after: &judgement) == .hidden
    {
      return false
    }
    block.appendMessage { [writer] in writer.appendSignal(message, isRemembered: false, to: &$0) }
    return true
  }

  private func appendSeen(_ change: inout FilteredChange) -> Bool {
    guard let seen = key.options.see(&change, after: &judgement) else { return false }
    let revision = seen.change.revision
    if deadband?.lets(seen) == false { return false }
    for member in behind { member.keep(seen) }
    if members.isEmpty { return true }
    if isPaced {
      pending.add(seen)
    } else {
      block.open(revision, room: writer.room(for: seen.change)) { [writer] in writer.append(seen, to: &$0) }
    }
    return true
  }

  /// Closes a commit's last event; true when the group was not yet on the list for delivery in this turn.
  ///
  /// While a member's snapshot is as new as the commit, or newer, the commit is delivered separately, without that
  /// member.
  func endCommit(_ revision: Revision, on loop: isolated EventLoop) -> Bool {
    block.close()
    guard revision <= newestJoin, !isPaced else {
      defer { isTouched = true }
      return !isTouched
    }
    lastEvent = loop.now
    let marks = block.takeMarks()
    let events = block.takeEvents()
    let frames = block.take()
    var receivers = 0
    // Not compressed: who does not get it could not go on in the window.
    for place in members.indices.reversed() where members[place].joinedAt < revision {
      receivers += 1
      members[place].deliver(frames, marks, on: loop)
    }
    loop.counters.count(events, for: receivers)
    return false
  }

  /// Delivers this turn's frames to every member; false when that has to wait until `nextFlush`.
  func deliver(on loop: isolated EventLoop) -> Bool {
    isTouched = false
    if isPaced {
      guard loop.now >= nextFlush else { return false }
      flush(on: loop)
    } else {
      send(on: loop)
      endOverloaded(on: loop)
    }
    return true
  }

  private func send(on loop: isolated EventLoop) {
    lastEvent = loop.now
    let marks = block.takeMarks()
    loop.counters.count(block.takeEvents(), for: members.count)
    let frames = block.take()
    if frames.isEmpty { return }
    if let compression { return send(compression.forms(of: frames, for: members, at: loop.now), on: loop) }
    // In reverse, because a member that is too slow leaves, and the last one moves to its index.
    for place in members.indices.reversed() { members[place].deliver(frames, marks, on: loop) }
  }

  private func send(_ forms: FrameForms, on loop: isolated EventLoop) {
    for place in members.indices.reversed() {
      let member = members[place]
      member.deliver(forms[member.form], [], on: loop)
    }
  }

  /// Delivers to the members of a paced group what has arrived since the last time, also to those that have caught up.
  func flush(on loop: isolated EventLoop) {
    var hasGiven = !pending.isEmpty
    if hasGiven {
      keepForBlocked()
      if !members.isEmpty {
        if block.append(&pending, .paced, writer) { for member in members { member.gaps += 1 } }
        send(on: loop)
      } else {
        pending = Conflation(key.options)
      }
    }
    for place in behind.indices.reversed() where catchUp(behind[place], on: loop) { hasGiven = true }
    if hasGiven { startInterval(on: loop) }
    endOverloaded(on: loop)
  }

  /// Schedules the next delivery after the interval.
  func startInterval(on loop: isolated EventLoop) {
    lastEvent = loop.now
    if interval > 0 { nextFlush = loop.now + interval }
  }

  func sendBookmark(_ revision: Revision, on loop: isolated EventLoop) {
    guard !isInCommit, key.options.topic == .properties else { return }
    // What is pending of a paced group may be older than the snapshot of a member that would then get it.
    if pending.isEmpty { for place in behind.indices.reversed() where behind[place].isIdle { rejoin(behind[place]) } }
    // A member whose snapshot is newer than what has been routed gets the bookmark at the next occasion, and so does
    // everyone when something is pending until the interval ends.
    guard revision >= newestJoin, pending.isEmpty else { return }
    block.appendBookmark(revision) { [writer] in writer.appendBookmark(revision, to: &$0.bytes) }
    send(on: loop)
  }
}
