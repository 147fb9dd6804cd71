// SPDX-License-Identifier: MIT
import JSON
import SignalStore
import Synchronization

/// What a subscriber to signals asks for, apart from its beginning: equal options share a group.
struct SignalOptions: Hashable {
  let patterns: [PathPattern]
  let filter: SignalFilter?

  /// - Parameter work: What that has cost is taken from it.
  func matches(_ message: SignalMessage, work: inout Int) -> Bool {
    work -= WorkCost.property
    guard patterns.contains(where: { $0.matches(message.path) }) else { return false }
    guard let filter else { return true }
    work -= WorkCost.tree(of: message.message)
    return filter.holds(for: SignalFilter.FilteredMessage(message), work: &work)
  }
}

/// Takes the messages of signals to the subscribers of one loop: like `Hub`, without state, history and transactions.
final class SignalHub: TurnParticipant {
  private let exchange: SignalExchange
  private let epoch: Epoch
  private let mailbox: SignalMailbox
  private var feed: Subscription?
  private var trie = PatternTrie()
  private var groups: [SignalGroup?] = []
  private var freeGroups: [Int] = []
  private var indexes: [SignalGroup.Key: Int] = [:]
  private var touched: [SignalGroup] = []
  /// Messages that have come, the next one last.
  private var pending: [SignalMessage] = []
  /// The message under way, and the groups that it may be for, the next one last: more than one turn may be needed for
  /// them all.
  private var message: (SignalMessage, SignalFilter.FilteredMessage?)?
  private var found: [SignalGroup] = []
  private let limits: HubLimits
  /// What expensive filters have cost lately.
  private var filterWork = RecentWork()

  init(_ store: PropertyStore, limits: HubLimits, loop: isolated EventLoop) {
    exchange = store.signals
    self.limits = limits
    epoch = store.epoch
    mailbox = SignalMailbox { [weak loop] in loop?.wake() }
  }

  /// Begins a subscription; nothing of it is sent before `SignalMembership.proceed`.
  ///
  /// - Parameter remembered: Whether the messages that are kept come first.
  func subscribe(
    _ options: SignalOptions, id: Int, wire: Wire, remembered: Bool, subscriber: any Subscriber
  ) -> SignalMembership {
    // First the mailbox, then what is kept: what is sent in between is in both, and recognized by its number.
    if feed == nil { feed = exchange.messages.subscribe { [mailbox] message in mailbox.put(message) } }
    let (kept, through) = exchange.remembered(match: remembered ? options.patterns : [])
    let key = SignalGroup.Key(options: options, id: id, wire: wire)
    let group = group(for: key)
    let membership = SignalMembership(
      group, subscriber, after: through, remembered: kept, epoch: epoch)
    group.join(membership)
    return membership
  }

  func cancel(_ membership: SignalMembership) {
    let group = membership.group
    guard group.leave(membership), group.members.isEmpty, let index = indexes.removeValue(forKey: group.key) else {
      return
    }
    for pattern in group.key.options.patterns { trie.remove(pattern, index) }
    groups[index] = nil
    freeGroups.append(index)
    if indexes.isEmpty {
      feed?.cancel()
      feed = nil
      _ = mailbox.take()
      pending = []
      message = nil
      found = []
    }
  }

  private func group(for key: SignalGroup.Key) -> SignalGroup {
    if let index = indexes[key], let group = groups[index] { return group }
    let index = freeGroups.popLast() ?? groups.count
    let group = SignalGroup(key, epoch: epoch)
    if index == groups.count { groups.append(group) } else { groups[index] = group }
    indexes[key] = index
    for pattern in key.options.patterns { trie.add(pattern, index) }
    return group
  }

  func turnBegins(on loop: isolated EventLoop) { if feed != nil { mailbox.ownerWillTake() } }

  func turnEnds(on loop: isolated EventLoop) {
    // Whoever begins to observe does so within a turn, so its end comes here.
    guard feed != nil else { return }
    let taken = mailbox.take()
    if !taken.isEmpty { pending.insert(contentsOf: taken.reversed(), at: 0) }
    while loop.work.signals > 0, let (message, made) = next() {
      var filtered = made
      while loop.work.signals > 0, let group = found.popLast() {
        loop.work.signals -= WorkCost.candidate
        guard !group.members.isEmpty, holds(group, message, &filtered, on: loop) else { continue }
        if group.append(message, on: loop) { touched.append(group) }
      }
      self.message = found.isEmpty ? nil : (message, filtered)
    }
    for group in touched { group.deliver(on: loop) }
    touched.removeAll(keepingCapacity: true)
    if message != nil || !pending.isEmpty { loop.continueInNextTurn() }
  }

  /// The message to go on with.
  private func next() -> (SignalMessage, SignalFilter.FilteredMessage?)? {
    if let message { return message }
    guard let message = pending.popLast() else { return nil }
    // Found first and served afterwards: serving may end a subscription, which changes the trie.
    trie.forEachMatch(message.path) { index in if let group = groups[index] { found.append(group) } }
    return (message, nil)
  }

  private func holds(
    _ group: SignalGroup, _ message: SignalMessage, _ filtered: inout SignalFilter.FilteredMessage?,
    on loop: isolated EventLoop
  ) -> Bool {
    guard let filter = group.key.options.filter else { return true }
    var payer: SignalMembership?
    if group.isExpensive {
      payer = group.payer(within: limits.filterWork, at: loop.now)
      guard payer != nil, filterWork.isWithin(limits.loopFilterWork, at: loop.now) else { return false }
    }
    // Made for the first group that has a filter.
    if filtered == nil { loop.work.signals -= WorkCost.tree(of: message.message) }
    let seen = filtered ?? SignalFilter.FilteredMessage(message)
    filtered = seen
    let before = loop.work.signals
    let holds = filter.holds(for: seen, work: &loop.work.signals)
    let used = before - loop.work.signals
    group.isExpensive = used > limits.cheapFilterWork
    if let payer {
      payer.pay(used)
      filterWork.add(used)
    }
    return holds
  }
}

/// The subscribers whose options, subscription id and wire are equal: they get the same bytes.
final class SignalGroup {
  struct Key: Hashable {
    let options: SignalOptions
    let id: Int
    let wire: Wire
  }

  let key: Key
  private(set) var members: [SignalMembership] = []
  private var block: FrameBlock
  /// Every member has the messages up to this number behind it.
  private var newestJoin: UInt64 = 0
  /// Whether the filter's last evaluation was so expensive that somebody has to pay for the next.
  var isExpensive = false

  init(_ key: Key, epoch: Epoch) {
    self.key = key
    block = FrameBlock(key.wire, epoch: epoch)
  }

  func join(_ membership: SignalMembership) {
    membership.place = members.count
    members.append(membership)
    newestJoin = max(newestJoin, membership.joinedAfter)
  }

  /// Takes a member out; false when it was not in.
  func leave(_ membership: SignalMembership) -> Bool {
    guard let place = membership.place else { return false }
    membership.place = nil
    let last = members.removeLast()
    if last !== membership {
      members[place] = last
      last.place = place
    }
    return true
  }

  /// A member whose connection has not spent yet what its filters may cost; nil when there is none among the first few.
  func payer(within limit: Int, at now: UInt64) -> SignalMembership? {
    members.prefix(SubscriptionGroup.askedPayers).first { $0.canPay(within: limit, at: now) }
  }

  /// Writes a message; true when it is the first of this turn.
  ///
  /// For a member that came after it was sent, it is not: then the others are given what there is by itself.
  func append(_ message: SignalMessage, on loop: isolated EventLoop) -> Bool {
    guard newestJoin < message.number else {
      deliver(on: loop)
      write(message)
      let frames = block.take()
      // A copy, because one that is too slow leaves.
      for member in Array(members) where member.joinedAfter < message.number { member.deliver(frames, on: loop) }
      return false
    }
    let isFirst = block.isEmpty
    write(message)
    return isFirst
  }

  private func write(_ message: SignalMessage) {
    block.append { [key] in SignalMembership.write(message, subscription: key.id, isRemembered: false, to: &$0) }
  }

  /// Gives every member this turn's messages.
  func deliver(on loop: isolated EventLoop) {
    guard !block.isEmpty else { return }
    let frames = block.take()
    // A copy, because one that is too slow leaves.
    for member in Array(members) { member.deliver(frames, on: loop) }
  }
}

/// One subscription to signals of one connection.
///
/// While the messages that were kept are being sent, as the socket takes them, new ones wait here, within the high-water
/// mark.
final class SignalMembership {
  let group: SignalGroup
  /// Where in the group's members, while in.
  fileprivate(set) var place: Int?
  /// The messages up to this number are not for this member.
  let joinedAfter: UInt64
  private unowned let subscriber: any Subscriber
  private let outlet: any Outlet
  private var remembered: ArraySlice<SignalMessage>
  private var block: FrameBlock
  private var isLive = false
  private var waiting: [Frames] = []
  private var waitingBytes = 0

  init(
    _ group: SignalGroup, _ subscriber: any Subscriber, after number: UInt64, remembered: [SignalMessage], epoch: Epoch
  ) {
    self.group = group
    self.subscriber = subscriber
    outlet = subscriber.outlet
    joinedAfter = number
    self.remembered = remembered[...]
    block = FrameBlock(group.key.wire, epoch: epoch)
  }

  /// Whether the connection's filters may cost something yet.
  func canPay(within limit: Int, at now: UInt64) -> Bool { subscriber.filterWork.isWithin(limit, at: now) }

  func pay(_ work: Int) { subscriber.filterWork.add(work) }

  /// Whether the beginning is still being sent: call `proceed` when the socket has taken what it was given.
  var isBeginning: Bool { !isLive }

  /// Sends the next piece of the messages that were kept; behind the last one, `live` and what has waited.
  func proceed(_ revision: Revision, bytes limit: Int, on loop: isolated EventLoop) {
    guard !isLive else { return }
    let id = group.key.id
    while block.count < limit, loop.work.replays > 0, let message = remembered.popFirst() {
      guard group.key.options.matches(message, work: &loop.work.replays) else { continue }
      block.append { Self.write(message, subscription: id, isRemembered: true, to: &$0) }
    }
    if remembered.isEmpty {
      block.append { LiveEventWriter(subscription: id).appendLive(revision, to: &$0.bytes) }
      isLive = true
    }
    outlet.send(block.take(), on: loop)
    guard isLive else { return }
    let waited = waiting
    waiting = []
    waitingBytes = 0
    for frames in waited { outlet.send(frames, on: loop) }
  }

  fileprivate func deliver(_ frames: Frames, on loop: isolated EventLoop) {
    if isLive {
      if !outlet.isOverloaded {
        outlet.send(frames, on: loop)
        return
      }
    } else if waitingBytes <= outlet.highWaterMark {
      waiting.append(frames)
      waitingBytes += frames.count
      return
    }
    subscriber.tooSlow(on: loop)
  }

  /// Writes the event (`docs/protocol.md` §3.3).
  fileprivate static func write(
    _ message: SignalMessage, subscription: Int, isRemembered: Bool, to text: inout FrameText
  ) {
    text.bytes.append(literal: #"{"type":"signal","subscription":"#)
    text.bytes.appendJSON(subscription)
    text.bytes.append(literal: #","path":"#)
    let path = message.path.bytes
    text.bytes.appendJSON(utf8: path.span)
    text.bytes.append(literal: #","message":"#)
    text.append(message.message)
    text.bytes.append(literal: #","time":""#)
    message.time.write(to: &text.bytes)
    text.bytes.append(literal: isRemembered ? #"","remembered":true}"# : #""}"#)
  }
}

/// Messages on their way from any thread to one loop.
private final class SignalMailbox: Sendable {
  private struct State {
    var messages: [SignalMessage] = []
    /// The loop is in a turn and will take what comes in before the turn ends: it need not be woken.
    var ownerWillTake = false
  }

  private let state = Mutex(State())
  private let wake: @Sendable () -> Void

  init(wake: @escaping @Sendable () -> Void) { self.wake = wake }

  func put(_ message: SignalMessage) {
    let mustWake = state.withLock { state in
      state.messages.append(message)
      return state.messages.count == 1 && !state.ownerWillTake
    }
    if mustWake { wake() }
  }

  func ownerWillTake() { state.withLock { $0.ownerWillTake = true } }

  func take() -> [SignalMessage] {
    state.withLock { state in
      state.ownerWillTake = false
      guard !state.messages.isEmpty else { return [] }
      var taken: [SignalMessage] = []
      swap(&taken, &state.messages)
      return taken
    }
  }
}
