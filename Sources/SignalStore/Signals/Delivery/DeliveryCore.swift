// SPDX-License-Identifier: MIT

public import Synchronization

/// What a source sends and what it keeps, and how its observers are called.
@usableFromInline
protocol ObserverKind: SendableMetatype {
  associatedtype Message: Sendable
  /// What the source keeps under its lock.
  associatedtype Memory: Sendable

  /// What the source is called in a debugger.
  static var name: String { get }

  /// The message with which an observer can start: the current value, the last message; nil when there is none.
  static func first(from memory: Memory) -> Message?
}

/// The machine behind every source: the observers, the messages that wait, and what the source remembers.
///
/// Sources and subscriptions share it. Unchecked like ``ObserverList``, which says who may do what: the rights and the lock
/// there keep the accesses apart here too.
@safe @usableFromInline
final class DeliveryCore<Kind: ObserverKind>: ObserverList, @unchecked Sendable {
  @usableFromInline typealias Message = Kind.Message
  @usableFromInline typealias Memory = Kind.Memory
  @usableFromInline typealias Slot = ObserverTable.Slot

  /// How many messages may wait.
  @usableFromInline let limit: Int

  // The next three have nothing but the lock and the right to drain to keep accesses apart, so nothing checks that again at
  // run time (10 ns each).

  /// Messages that wait; unsafe, because it is the lock that guards them.
  @exclusivity(unchecked) @usableFromInline nonisolated(unsafe) var queue = PendingQueue<Message>()

  /// Memory for the queue while the drainer works off what was in it; empty.
  ///
  /// Unsafe, because it is the right to drain that guards it: it belongs to the drainer.
  @exclusivity(unchecked) @usableFromInline nonisolated(unsafe) var spare = PendingQueue<Message>()

  /// What the source remembers: the value of a property, the last message of a signal.
  ///
  /// Unsafe, because it is the lock that guards it.
  @exclusivity(unchecked) @usableFromInline nonisolated(unsafe) var memory: Memory

  @inlinable
  init(memory: Memory, pending buffering: Buffering, committing: Committing? = nil) {
    limit = buffering.limit
    unsafe self.memory = memory
    super.init(committing: committing)
  }

  /// How a message that was just sent goes on.
  @usableFromInline
  enum Route {
    /// Nobody is there to get it.
    case nobody
    /// This thread may deliver it at once to the first `end` entries.
    case direct(end: Int)
    /// It waits in the queue.
    case queued
  }

  // MARK: Sending

  /// Queues the message, or calls the observers if nothing else is being delivered.
  @inlinable
  func send(_ message: Message) {
    if isUnobserved { return }
    // Without the lock: the right to drain is enough to read the table.
    if begin() {
      fire(message, number: Stamp.everyone, end: table.used.load(ordering: .acquiring))
      finish()
    } else {
      sendBehindOthers(message)
    }
  }

  @inlinable @inline(never)
  func sendBehindOthers(_ message: Message) {
    let decided: Route = withLock { route(message, &$0) }
    follow(decided, message)
  }

  /// Decides under the lock how a message goes on.
  @inlinable
  func route(_ message: Message, _ guarded: inout ObserverList.Guarded) -> Route {
    let end = table.used.load(ordering: .relaxed)
    if end == 0 { return .nobody }
    if begin() { return .direct(end: end) }
    push(message, target: 0, &guarded)
    return .queued
  }

  /// Does, outside of the lock, what was decided under it.
  @inlinable
  func follow(_ route: Route, _ message: Message) {
    switch route {
    case .nobody:
      break
    case .direct(let end):
      fire(message, number: Stamp.everyone, end: end)
      finish()
    case .queued:
      deliver()
    }
  }

  /// Puts a message into the queue, for all observers or for the one of the order `target`.
  ///
  /// Needs the lock.
  @inlinable
  func push(_ message: Message, target: UInt64, _ guarded: inout ObserverList.Guarded) {
    guarded.clock += Stamp.step
    unsafe queue.append(Pending(number: guarded.clock | Stamp.message, target: target, message: message))
    setPending()
  }

  /// Takes a message that is more than may wait.
  ///
  /// Needs the lock; the caller releases the message after it.
  @inlinable
  func popOverflow() -> Pending<Message>? {
    if limit == .max { return nil }
    return unsafe queue.popOverflow(limit: limit)
  }

  /// Gives up a message that was taken out because too many wait.
  @inlinable
  func discard(_ message: Pending<Message>) {
    guard let transaction = message.transaction else { return }
    transactionEnded()
    transaction.wasTold()
  }

  /// The first half of a send: takes the message's place in the order, and nothing else.
  @inlinable
  func enqueue(_ message: Message) {
    if isUnobserved { return }
    withLock { push(message, target: 0, &$0) }
  }

  /// The second half of a send: delivers what is queued, unless another thread is doing that already.
  @inlinable
  func deliver() {
    if beginPending() {
      drain()
    } else if limit != .max {
      // Gives up what was added beyond the limit; not done there, because it releases messages.
      while let dropped = withLock({ _ in popOverflow() }) { discard(dropped) }
    }
  }

  // MARK: Draining

  /// Gives the right to drain back, after doing everything that came in meanwhile.
  @inlinable
  func finish() {
    if !end() { drain() }
  }

  @safe @usableFromInline
  enum Work {
    case release([ErasedClosure])
    case drop(Pending<Message>)
    case message(Pending<Message>)
    case look
    case done
  }

  /// Works off the queue, one piece after the other; never recursive, however deep the cascade of messages.
  @inlinable @inline(never)
  func drain() {
    // Messages that were taken out of the queue, all at once. One at a time would not do: other threads that use the lock
    // for subscribing could then send faster than the drainer, which shares the lock with them, can deliver, and it would
    // never get away. They are in a variable of this call because what is beside the queue is written by other threads
    // all the time.
    var taken = PendingQueue<Message>()
    unsafe swap(&spare, &taken)
    // How many entries there were then: those that came later are too young for these messages.
    var end = 0
    while true {
      if !hasDead, let next = taken.popFirst() {
        deliver(next, end: end)
        continue
      }
      let work: Work = withLock { guarded in
        let closures = takeDead(&guarded)
        end = table.used.load(ordering: .relaxed)
        if let closures { return .release(closures) }
        if taken.count > 0 { return .look }
        if limit == .max, unsafe queue.count > 0 {
          unsafe swap(&queue, &taken)
          return .look
        }
        // With a limit one by one, because those that wait are counted.
        if let dropped = popOverflow() { return .drop(dropped) }
        if let next = unsafe queue.popFirst() { return .message(next) }
        unsafe swap(&spare, &taken)
        endLocked()
        return .done
      }
      switch work {
      case .release(let closures): for closure in closures { closure.release() }
      case .drop(let dropped): discard(dropped)
      case .message(let next): deliver(next, end: end)
      case .look: break
      case .done: return
      }
    }
  }

  /// Delivers one message that has waited to those of the first `end` entries that are old enough.
  @inlinable
  func deliver(_ next: Pending<Message>, end: Int) {
    if next.target != 0 {
      if let slot = unsafe table.slot(withOrder: next.target) { unsafe call(slot, next.message) }
      return
    }
    if let transaction = next.transaction {
      transaction.tell { fire(next.message, number: next.number, end: end) }
      transactionEnded()
      transaction.wasTold()
    } else {
      fire(next.message, number: next.number, end: end)
    }
  }

  /// Calls every observer that is old enough for the message.
  @inlinable
  func fire(_ message: Message, number: UInt64, end: Int) {
    unsafe table.forEach(end: end) { slot in
      let stamp = unsafe slot.pointee.stamp.load(ordering: .relaxed)
      if stamp <= number {
        unsafe Kind.call(closure(of: slot), message)
      } else if stamp &- Stamp.staged <= number {
        unsafe Kind.callStaged(closure(of: slot), message)
      } else if stamp & Stamp.order <= number {
        unsafe call(slot, message)
      }
      return true
    }
  }

  /// Calls one observer, whatever its age and its kind.
  @inlinable
  func call(_ slot: Slot, _ message: Message) {
    let stamp = unsafe slot.pointee.stamp.load(ordering: .relaxed)
    if stamp & Stamp.cancelled != 0 { return }
    // Before the call, so that nothing the observer does can make it run again.
    if stamp & Stamp.endsAfterNext != 0 { unsafe retire(slot) }
    if stamp & Stamp.staged != 0 {
      unsafe Kind.callStaged(closure(of: slot), message)
    } else {
      unsafe Kind.call(closure(of: slot), message)
    }
  }

  /// Where the closure of an entry lies.
  ///
  /// The optional around it has the same layout, and is not nil: whoever takes the closure marks the stamp first, and has
  /// the right to drain.
  @inlinable @inline(__always)
  func closure(of slot: Slot) -> UnsafePointer<ErasedClosure> {
    unsafe UnsafeRawPointer(slot).assumingMemoryBound(to: ErasedClosure.self)
  }

  // MARK: Subscribing

  /// Adds an observer behind all others.
  @inlinable
  func subscribe(_ closure: ErasedClosure, flags: UInt64 = 0) -> Subscription {
    let token = Subscription(source: self)
    append(closure, flags: flags, token: token)
    return token
  }

  /// Adds an observer behind all others, with a first message for it alone, if the source has one.
  @inlinable
  func subscribeFromFirst(_ closure: ErasedClosure, flags: UInt64 = 0) -> Subscription {
    noticeGoneReceivers()
    let token = Subscription(source: self)
    var own: FirstCall<Message>?
    let message: Message? = withLock { guarded in
      let first = unsafe Kind.first(from: memory)
      let isFree = first != nil && begin()
      if let first, !isFree, FirstValue.isAtOnce, flags & Stamp.endsAfterNext == 0 {
        let call = FirstCall<Message>(closure, isStaged: flags & Stamp.staged != 0)
        own = call
        _ = append(call.closure, flags: flags & ~Stamp.staged, token: token, &guarded)
        return first
      }
      let order = append(closure, flags: flags, token: token, &guarded)
      if isFree { return first }
      if let first { push(first, target: order, &guarded) }
      return nil
    }
    watcher?.deliver()
    if let own, let message {
      own.begin(with: message) { isActive(token) }
    } else if let message {
      callAlone(token, message)
      finish()
    } else {
      deliver()
    }
    return token
  }

  /// Calls the observer of a token.
  ///
  /// Needs the right to drain, but not the lock: it finds the entry under it.
  @inlinable
  func callAlone(_ token: Subscription, _ message: Message) {
    if let slot = unsafe entry(of: token) { unsafe call(slot, message) }
  }

  /// Sends a message to one observer, in its turn; false when that has ended.
  @inlinable
  func send(to token: Subscription, _ make: (Memory) -> Message?) -> Bool {
    let (found, message): (Bool, Message?) = withLock { guarded in
      guard let order = order(of: token), let message = unsafe make(memory) else { return (false, nil) }
      if begin() { return (true, message) }
      push(message, target: order, &guarded)
      return (true, nil)
    }
    if let message {
      callAlone(token, message)
      finish()
    } else if found {
      deliver()
    }
    return found
  }
}

extension DeliveryCore: SubscriptionSource {
  @usableFromInline func replay(to subscription: Subscription) -> Bool {
    send(to: subscription) { Kind.first(from: $0) }
  }
  @usableFromInline func endAfterNext(_ subscription: Subscription) {
    change(subscription, set: Stamp.endsAfterNext)
  }
  @usableFromInline func detach(_ subscription: Subscription) -> @Sendable () -> Void {
    change(subscription, set: Stamp.detached)
    let order = withLock { _ in self.order(of: subscription) }
    return { [weak self] in if let order { self?.cancel(order: order) } }
  }
}
