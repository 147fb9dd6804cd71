// SPDX-License-Identifier: MIT

public import Synchronization

/// The machine that delivers messages to observers; every source has one.
///
/// One atomic word says who may call observers:
///
///                    send, nobody delivers                      nothing came in meanwhile
///        idle (0) ───────────────────────────▶ draining ───────────────────────────────────▶ idle
///          │                                      │ ▲
///          │ enqueue                              │ │ message sent, observer cancelled meanwhile
///          ▼                 deliver              ▼ │
///        pending ─────────────────────▶ draining + pending ──▶ takes one piece of work after the other, under the lock,
///                                                              until there is none ──▶ idle
///
/// * *draining* is the right to call observers, to take closures out of the table and to compact it. One thread has it.
/// * *pending* says that the queue has messages or that cancelled closures wait. It is set only under the lock, and
///   cleared only under the lock by the drainer that found nothing left. So a thread that sees another one drain can
///   return: its message is in the queue, and that drainer cannot become idle without having looked there.
/// * The lock guards everything else. No observer is called and nothing of the user is released while it is held.
///
/// Unchecked because of the pointers in the table: the rights above are what makes it safe to share.
@usableFromInline
struct DeliveryCore<Body: ObserverBody, Memory: Sendable>: ~Copyable, @unchecked Sendable {
  @usableFromInline typealias Message = Body.Message
  @usableFromInline typealias Slot = ObserverTable<Body>.Slot

  @usableFromInline static var draining: UInt { 1 }
  @usableFromInline static var pending: UInt { 2 }

  /// What the lock guards.
  ///
  /// Unchecked: the table's pointers make it non-Sendable, but they are only reached through the lock.
  @usableFromInline
  struct Guarded: ~Copyable, @unchecked Sendable {
    @usableFromInline var queue = PendingQueue<Message>()
    @usableFromInline var editor = ObserverTableEditor<Body>()
    /// Counts subscriptions and queued messages; see ``Stamp``.
    @usableFromInline var clock: UInt64 = 0
    /// Observers that are not cancelled.
    @usableFromInline var live = 0
    /// What the source remembers: the value of a property, the last message of a signal.
    @usableFromInline var memory: Memory

    @inlinable
    init(memory: consuming Memory) { self.memory = memory }
  }

  @usableFromInline let state: Atomic<UInt>
  @usableFromInline let table: ObserverTable<Body>
  @usableFromInline let limit: Int
  @usableFromInline let guarded: Mutex<Guarded>

  @inlinable
  init(memory: consuming Memory, pending buffering: Buffering) {
    state = Atomic(0)
    table = ObserverTable()
    limit = buffering.limit
    guarded = Mutex(Guarded(memory: memory))
  }

  deinit {
    guarded.withLock { $0.editor.destroy(table) }
  }

  /// How a message that was just sent goes on.
  @usableFromInline
  enum Route {
    /// Nobody is there to get it.
    case nobody
    /// This thread may deliver it at once to the first `end` entries.
    case direct(end: Int)
    /// It waits in the queue.
    case queued(dropped: Message?)
  }

  /// Whether there is no entry at all; a hint that is exact for what this thread knows.
  @inlinable var isUnobserved: Bool { table.used.load(ordering: .relaxed) == 0 }

  /// Observers that are not cancelled.
  var observerCount: Int { guarded.withLock { $0.live } }

  // MARK: Sending

  /// Queues the message, or calls the observers if nothing else is being delivered.
  @inlinable
  func send(_ message: Message) {
    if isUnobserved { return }
    // Without the lock: the right to drain is enough to read the table.
    if begin() {
      fire(message, sequence: Stamp.everyone, end: table.used.load(ordering: .acquiring))
      finish()
    } else {
      sendBehindOthers(message)
    }
  }

  @usableFromInline @inline(never)
  func sendBehindOthers(_ message: Message) {
    let decided: Route = guarded.withLock { route(message, &$0) }
    follow(decided, message)
  }

  /// Decides under the lock how a message goes on.
  @inlinable
  func route(_ message: Message, _ guarded: inout Guarded) -> Route {
    let end = table.used.load(ordering: .relaxed)
    if end == 0 { return .nobody }
    if begin() { return .direct(end: end) }
    push(message, target: 0, &guarded)
    return .queued(dropped: popOverflow(&guarded))
  }

  /// Does, outside of the lock, what was decided under it.
  @inlinable
  func follow(_ route: Route, _ message: Message) {
    switch route {
    case .nobody:
      break
    case .direct(let end):
      fire(message, sequence: Stamp.everyone, end: end)
      finish()
    case .queued:
      deliver()
    }
  }

  @usableFromInline
  func push(_ message: Message, target: UInt64, _ guarded: inout Guarded) {
    guarded.clock += Stamp.step
    guarded.queue.append(Pending(sequence: guarded.clock | Stamp.detached, target: target, message: message))
    // Relaxed: the lock orders it.
    state.bitwiseOr(Self.pending, ordering: .relaxed)
  }

  @usableFromInline
  func popOverflow(_ guarded: inout Guarded) -> Message? {
    guarded.queue.popOverflow(limit: limit) { Body.conflate(&$0, into: &$1) }
  }

  /// The first half of a send: takes the message's place in the order, and nothing else.
  @inlinable
  func enqueue(_ message: Message) {
    if isUnobserved { return }
    guarded.withLock { push(message, target: 0, &$0) }
  }

  /// The second half of a send: delivers what is queued, unless another thread is doing that already.
  @usableFromInline
  func deliver() {
    var seen = state.load(ordering: .relaxed)
    while seen & Self.pending != 0, seen & Self.draining == 0 {
      let (won, current) = state.weakCompareExchange(
        expected: seen, desired: seen | Self.draining, successOrdering: .acquiring, failureOrdering: .relaxed)
      if won {
        drain()
        return
      }
      seen = current
    }
    if limit != .max, seen & Self.pending != 0 { dropOverflow() }
  }

  /// Gives up what `enqueue` added beyond the limit; not done there, because it releases messages.
  private func dropOverflow() {
    while guarded.withLock({ popOverflow(&$0) }) != nil {}
  }

  // MARK: Draining

  /// Takes the right to drain, if nobody has it and nothing is pending.
  @inlinable
  func begin() -> Bool {
    state.compareExchange(
      expected: 0, desired: Self.draining, successOrdering: .acquiring, failureOrdering: .relaxed
    ).exchanged
  }

  /// Gives the right to drain back, after doing everything that came in meanwhile.
  @inlinable
  func finish() {
    let idle = state.compareExchange(
      expected: Self.draining, desired: 0, successOrdering: .releasing, failureOrdering: .relaxed
    ).exchanged
    if !idle { drain() }
  }

  @safe private enum Work {
    case release([Body])
    case drop(Message)
    case message(Pending<Message>, end: Int)
    case target(Pending<Message>, Slot?)
    case none
  }

  /// Works off the queue, one piece after the other; never recursive, however deep the cascade of messages.
  @usableFromInline @inline(never)
  func drain() {
    while true {
      let work: Work = guarded.withLock { guarded in
        if unsafe !guarded.editor.dead.isEmpty {
          let bodies = guarded.editor.takeDead()
          guarded.editor.compactIfNeeded(table)
          return .release(bodies)
        }
        if let dropped = popOverflow(&guarded) { return .drop(dropped) }
        guard let next = guarded.queue.popFirst() else {
          state.store(0, ordering: .releasing)
          return .none
        }
        if next.target != 0 { return unsafe .target(next, table.slot(withOrder: next.target)) }
        return .message(next, end: table.used.load(ordering: .relaxed))
      }
      switch work {
      case .release, .drop: break
      case .message(let next, let end): fire(next.message, sequence: next.sequence, end: end)
      case .target(let next, let slot):
        if let slot = unsafe slot { unsafe call(slot, next.message) }
      case .none: return
      }
    }
  }

  /// Calls every observer that is old enough for the message.
  @inlinable
  func fire(_ message: Message, sequence: UInt64, end: Int) {
    unsafe table.forEach(end: end) { slot in
      let stamp = unsafe slot.pointee.stamp.load(ordering: .relaxed)
      if stamp <= sequence {
        unsafe slot.pointee.call(message)
      } else if stamp & Stamp.cancelled == 0, stamp & Stamp.order <= sequence {
        unsafe callForTheLastTime(slot, message)
      }
      return true
    }
  }

  /// Calls one observer, whatever its age.
  private func call(_ slot: Slot, _ message: Message) {
    let stamp = unsafe slot.pointee.stamp.load(ordering: .relaxed)
    if stamp & Stamp.cancelled != 0 { return }
    if stamp & Stamp.endsAfterNext != 0 {
      unsafe callForTheLastTime(slot, message)
    } else {
      unsafe slot.pointee.call(message)
    }
  }

  /// Ends the subscription and then calls its observer, so that nothing the observer does can make it run again.
  @usableFromInline @inline(never)
  func callForTheLastTime(_ slot: Slot, _ message: Message) {
    guarded.withLock { unsafe retire(slot, &$0) }
    unsafe slot.pointee.call(message)
  }

  // MARK: Subscribing

  /// How a subscription starts and ends.
  struct Options: Sendable {
    /// The subscription ends with its first call.
    var once = false
    /// The subscription does not need its token.
    var detached = false

    init(once: Bool = false, detached: Bool = false) {
      self.once = once
      self.detached = detached
    }
  }

  /// Adds an observer behind all others.
  ///
  /// `replay` makes, from what the source remembers, a first message for it alone.
  func subscribe(
    _ body: Body, source: any SubscriptionSource, options: Options = Options(),
    replay: (Memory) -> Message? = { _ in nil }
  ) -> Subscription {
    let token = Subscription(source: source)
    let start: (slot: Slot, message: Message)? = unsafe guarded.withLock { guarded in
      guarded.clock += Stamp.step
      let order = guarded.clock
      var stamp = order
      if options.once { stamp |= Stamp.endsAfterNext }
      if options.detached { stamp |= Stamp.detached }
      let slot = unsafe guarded.editor.append(
        ObserverEntry(
          stamp: stamp, body: body, token: Unmanaged.passUnretained(token)), to: table)
      unsafe token.slot = UnsafeMutableRawPointer(slot)
      guarded.live += 1
      guard let message = replay(guarded.memory) else { return nil }
      if begin() { return unsafe (slot, message) }
      push(message, target: order, &guarded)
      return nil
    }
    if let start = unsafe start {
      unsafe call(start.slot, start.message)
      finish()
    } else {
      deliver()
    }
    return token
  }

  // MARK: Ending a subscription

  /// Ends a subscription.
  ///
  /// The closure is released after the lock.
  func cancel(_ token: Subscription) {
    let released: Body? = guarded.withLock { guarded in
      guard let slot = unsafe slot(of: token) else { return nil }
      unsafe token.slot = nil
      return unsafe remove(slot, &guarded)
    }
    _ = consume released
  }

  /// The token goes away: ends its subscription, unless that is detached.
  func release(_ token: Subscription) {
    let released: Body? = guarded.withLock { guarded in
      guard let slot = unsafe slot(of: token) else { return nil }
      unsafe token.slot = nil
      unsafe slot.pointee.token = nil
      if unsafe slot.pointee.stamp.load(ordering: .relaxed) & Stamp.detached != 0 { return nil }
      return unsafe remove(slot, &guarded)
    }
    _ = consume released
  }

  /// Lets the subscription go on without its token.
  func detach(_ token: Subscription) {
    guarded.withLock { _ in
      guard let slot = unsafe slot(of: token) else { return }
      unsafe slot.pointee.stamp.bitwiseOr(Stamp.detached, ordering: .relaxed)
    }
  }

  /// Whether the subscription has not ended.
  func isActive(_ token: Subscription) -> Bool {
    guarded.withLock { _ in unsafe slot(of: token) != nil }
  }

  /// The entry of a token.
  ///
  /// Needs the lock.
  private func slot(of token: Subscription) -> Slot? {
    unsafe token.slot?.assumingMemoryBound(to: ObserverEntry<Body>.self)
  }

  /// Marks an entry, and takes its closure out if nobody is draining.
  ///
  /// Needs the lock; the caller releases the closure after it.
  private func remove(_ slot: Slot, _ guarded: inout Guarded) -> Body? {
    // Only with nothing pending: with messages in the queue, a thread on its way to `deliver` counts on finding nobody
    // draining. With the right taken here and given back before the lock is, nobody can see it taken who holds the lock.
    guard begin() else {
      unsafe retire(slot, &guarded)
      return nil
    }
    unsafe mark(slot, &guarded)
    let body = unsafe guarded.editor.takeBody(of: slot)
    guarded.editor.compactIfNeeded(table)
    state.store(0, ordering: .releasing)
    return body
  }

  /// Marks an entry; the drainer takes its closure out.
  ///
  /// Needs the lock.
  private func retire(_ slot: Slot, _ guarded: inout Guarded) {
    if unsafe slot.pointee.stamp.load(ordering: .relaxed) & Stamp.cancelled != 0 { return }
    unsafe mark(slot, &guarded)
    unsafe guarded.editor.bury(slot)
    state.bitwiseOr(Self.pending, ordering: .relaxed)
  }

  private func mark(_ slot: Slot, _ guarded: inout Guarded) {
    unsafe slot.pointee.stamp.bitwiseOr(Stamp.cancelled, ordering: .relaxed)
    if let token = unsafe slot.pointee.token {
      unsafe token._withUnsafeGuaranteedRef { unsafe $0.slot = nil }
      unsafe slot.pointee.token = nil
    }
    guarded.live -= 1
  }
}
