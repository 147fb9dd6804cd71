// SPDX-License-Identifier: MIT

public import Synchronization

/// The kind of a source: what it sends and stores, and how its observers are called.
@usableFromInline
protocol ObserverKind: SendableMetatype {
  associatedtype Message: Sendable
  /// The state that the source guards with its lock.
  associatedtype Memory: Sendable

  /// The name of the source in a debugger.
  static var name: String { get }

  /// The message with which an observer can start: the current value, the last message; nil when there is none.
  static func first(from memory: Memory) -> Message?
}

/// The engine of every source: its observers, its pending messages, and its stored state.
///
/// Sources and subscriptions share it. Unchecked like ``ObserverList``, which documents who may do what: its rights and
/// its lock also separate the accesses here.
@safe @usableFromInline
final class DeliveryCore<Kind: ObserverKind>: ObserverList, @unchecked Sendable {
  @usableFromInline typealias Message = Kind.Message
  @usableFromInline typealias Memory = Kind.Memory
  @usableFromInline typealias Slot = ObserverTable.Slot

  /// How many messages may wait.
  @usableFromInline let limit: Int

  // The next three are guarded only by the lock and the right to drain, so exclusivity is not checked again at run time
  // (10 ns each).

  /// The pending messages; unsafe, because the lock guards them.
  @exclusivity(unchecked) @usableFromInline nonisolated(unsafe) var queue = PendingQueue<Message>()

  /// A spare buffer for the queue while the drainer delivers its contents; empty.
  ///
  /// Unsafe, because the right to drain guards it: it belongs to the drainer.
  @exclusivity(unchecked) @usableFromInline nonisolated(unsafe) var spare = PendingQueue<Message>()

  /// The stored state: the value of a property, the last message of a signal.
  ///
  /// Unsafe, because the lock guards it.
  @exclusivity(unchecked) @usableFromInline nonisolated(unsafe) var memory: Memory

  @inlinable
  init(memory: Memory, pending buffering: Buffering, committing: Committing? = nil) {
    limit = buffering.limit
    unsafe self.memory = memory
    super.init(committing: committing)
  }

  /// How a message that was just sent is handled.
  @usableFromInline
  enum Route {
    /// There are no observers.
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

  /// Decides under the lock how a message is handled.
  @inlinable
  func route(_ message: Message, _ guarded: inout ObserverList.Guarded) -> Route {
    let end = table.used.load(ordering: .relaxed)
    if end == 0 { return .nobody }
    if begin() { return .direct(end: end) }
    push(message, target: 0, &guarded)
    return .queued
  }

  /// Executes, outside of the lock, what was decided under it.
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

  /// Puts a message into the queue, for all observers or for the one with the order `target`.
  ///
  /// Needs the lock.
  @inlinable
  func push(_ message: Message, target: UInt64, _ guarded: inout ObserverList.Guarded) {
    guarded.clock += Stamp.step
    unsafe queue.append(Pending(number: guarded.clock | Stamp.message, target: target, message: message))
    setPending()
  }

  /// Removes a message beyond the limit of the queue.
  ///
  /// Needs the lock; the caller releases the message after unlocking.
  @inlinable
  func popOverflow() -> Pending<Message>? {
    if limit == .max { return nil }
    return unsafe queue.popOverflow(limit: limit)
  }

  /// Drops a message that was removed because too many wait.
  @inlinable
  func discard(_ message: Pending<Message>) {
    guard let transaction = message.transaction else { return }
    transactionEnded()
    transaction.wasTold()
  }

  /// The first half of a send: reserves the message's place in the order, and nothing else.
  @inlinable
  func enqueue(_ message: Message) {
    if isUnobserved { return }
    withLock { push(message, target: 0, &$0) }
  }

  /// The second half of a send: delivers what is queued, unless another thread is already doing that.
  @inlinable
  func deliver() {
    if beginPending() {
      drain()
    } else if limit != .max {
      // Drops what was added beyond the limit; not done when it was added, because it releases messages.
      while let dropped = withLock({ _ in popOverflow() }) { discard(dropped) }
    }
  }

  // MARK: Draining

  /// Releases the right to drain, after handling everything that came in meanwhile.
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

  /// Drains the queue iteratively; never recursive, however deep the cascade of messages.
  @inlinable @inline(never)
  func drain() {
    // The messages taken out of the queue, as one batch. Taken one at a time, threads that use the lock for subscribing
    // could send faster than the drainer, which contends for the lock with them, can deliver, and it would never
    // finish. They are in a local variable because other threads constantly write the memory beside the queue.
    var taken = PendingQueue<Message>()
    unsafe swap(&spare, &taken)
    // The number of entries at that time: later ones subscribed after these messages were sent.
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
        // With a limit, one by one, because the pending ones are counted.
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

  /// Delivers one pending message to those of the first `end` entries that subscribed before it.
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

  /// Calls every observer that subscribed before the message was sent.
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

  /// Calls one observer, whatever its order and its kind.
  @inlinable
  func call(_ slot: Slot, _ message: Message) {
    let stamp = unsafe slot.pointee.stamp.load(ordering: .relaxed)
    if stamp & Stamp.cancelled != 0 { return }
    // Ended before the call, so that nothing the observer does can make it run again.
    if stamp & Stamp.endsAfterNext != 0 { unsafe retire(slot) }
    if stamp & Stamp.staged != 0 {
      unsafe Kind.callStaged(closure(of: slot), message)
    } else {
      unsafe Kind.call(closure(of: slot), message)
    }
  }

  /// The address of the closure of an entry.
  ///
  /// The optional around it has the same layout, and is not nil: a thread that takes the closure out marks the stamp
  /// first, and has the right to drain.
  @inlinable @inline(__always)
  func closure(of slot: Slot) -> UnsafePointer<ErasedClosure> {
    unsafe UnsafeRawPointer(slot).assumingMemoryBound(to: ErasedClosure.self)
  }

  // MARK: Subscribing

  /// Appends an observer.
  @inlinable
  func subscribe(_ closure: ErasedClosure, flags: UInt64 = 0) -> Subscription {
    let token = Subscription(source: self)
    append(closure, flags: flags, token: token)
    return token
  }

  /// Adds an observer at the end, with a first message for it alone, if the source has one.
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
  /// Needs the right to drain; it takes the lock itself to find the entry.
  @inlinable
  func callAlone(_ token: Subscription, _ message: Message) {
    if let slot = unsafe entry(of: token) { unsafe call(slot, message) }
  }

  /// Sends a message to one observer, in order; false when that subscription has ended.
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
