// SPDX-License-Identifier: MIT

/// The observers of a ``Signal``.
@usableFromInline
enum MessageKind<Message: Sendable>: ObserverKind {
  @usableFromInline static var name: String { "Signal<\(Message.self)>" }

  @inlinable
  static func first(from memory: Message?) -> Message? { memory }
}

/// Sends messages to its subscribers, and keeps none of them.
///
/// ```swift
/// let pressed = Signal<Int>()
/// let subscription = pressed.subscribe { print("button", $0) }
/// pressed.send(3)                                  // button 3
/// ```
///
/// ## Delivery rules
///
/// 1. Observers are called in the order in which they subscribed.
/// 2. All observers get the same messages in the same order, however many threads send.
/// 3. Calls never nest and never overlap: a message that is sent from inside an observer, or by another thread while
///    one is delivered, is queued. One thread drains the queue, without recursion.
/// 4. If nothing else is being delivered, `send` returns after all observers have been called, on the sender's thread.
///    Otherwise it may return before, and the delivering thread delivers this message as well.
/// 5. An observer receives the messages sent after it subscribed, also when it subscribes from inside an observer, and
///    none that were sent before, even if they are still queued.
/// 6. After `cancel` has returned, no call of that observer starts on the same thread, not even for the message that is
///    being delivered. A call that another thread has begun may still be running.
/// 7. The last message that an observer receives is the last one that was sent. With ``Buffering/newest(_:)`` earlier
///    ones may be dropped; with ``Buffering/all`` none is.
/// 8. No closure of yours is called or released while a lock is held. You may send, subscribe, cancel and release
///    anything from anywhere.
/// 9. Sending allocates nothing, unless the message has to wait in a queue that is longer than ever before.
public final class Signal<Message: Sendable>: Sendable {
  @usableFromInline let core: DeliveryCore<MessageKind<Message>>

  /// Whether the last message is remembered for later subscribers.
  @usableFromInline let remembers: Bool

  /// Makes a signal.
  ///
  /// - Parameters:
  ///   - remembersLast: Each new observer first gets the last message, if there was one.
  ///   - pending: How many messages may wait while another one is being delivered.
  public init(remembersLast: Bool = false, pending: Buffering = .all) {
    core = DeliveryCore(memory: nil, pending: pending)
    remembers = remembersLast
  }

  /// Sends a message to all observers.
  @inlinable
  public func send(_ message: Message) {
    if remembers {
      sendRemembered(message)
    } else {
      core.send(message)
    }
  }

  @inlinable @inline(never)
  func sendRemembered(_ message: Message) { sendRemembered(message) { true } }

  /// Sends and remembers a message, if `condition` holds under the lock.
  @inlinable
  func sendRemembered(_ message: Message, if condition: () -> Bool) {
    var previous: Message? = message
    let route: DeliveryCore<MessageKind<Message>>.Route = core.withLock { guarded in
      if !condition() { return .nobody }
      unsafe swap(&previous, &core.memory)
      return core.route(message, &guarded)
    }
    core.follow(route, message)
  }

  /// Reserves the message's place in the order without delivering it; call ``deliver()`` soon after.
  ///
  /// For a caller that holds a lock of its own and wants the order of delivery to be the order in which it held that
  /// lock. Calls no observer and releases nothing of the user. Observers that subscribed before receive the message,
  /// later ones do not.
  @inlinable
  package func enqueue(_ message: Message) {
    if remembers {
      enqueueRemembered(message)
    } else {
      core.enqueue(message)
    }
  }

  @inlinable @inline(never)
  func enqueueRemembered(_ message: Message) {
    core.withLock { guarded in
      var previous: Message? = message
      unsafe swap(&previous, &core.memory)
      // Releasing the previous one here would run a foreign deinit under the caller's lock. It is queued, addressed to
      // nobody, and released by the drainer.
      if let previous { core.push(previous, target: Stamp.nobody, &guarded) }
      if !core.isUnobserved { core.push(message, target: 0, &guarded) }
    }
  }

  /// Reserves the place of a message for one observer, without delivering it; see ``enqueue(_:)``.
  func enqueue(_ message: Message, to subscription: Subscription) {
    core.withLock { guarded in
      guard let order = core.order(of: subscription) else { return }
      core.push(message, target: order, &guarded)
    }
  }

  /// Delivers what was enqueued, in order.
  ///
  /// Returns at once when another thread is delivering: that thread delivers everything that was enqueued before this
  /// call.
  @inlinable
  package func deliver() {
    core.deliver()
  }

  /// Calls `observer` with every message from now on, until the subscription is cancelled or dropped.
  ///
  /// A signal that remembers its last message first sends that one: before `subscribe` returns, unless the signal is
  /// delivering at this moment; then it is queued.
  ///
  /// - Parameters:
  ///   - once: The subscription ends with the first message, a remembered one included.
  ///   - observer: Runs on the thread of the sender.
  @inlinable
  public func subscribe(once: Bool = false, _ observer: @escaping @Sendable (Message) -> Void) -> Subscription {
    let closure = ErasedClosure(retaining: MessageCall(observer))
    let flags = once ? Stamp.endsAfterNext : 0
    return remembers ? core.subscribeFromFirst(closure, flags: flags) : core.subscribe(closure, flags: flags)
  }

  /// Sends a message to one of the observers only.
  ///
  /// - Returns: False when that subscription has ended or is one to something else.
  @discardableResult @inlinable
  public func send(_ message: Message, to subscription: Subscription) -> Bool {
    subscription.source === core && core.send(to: subscription) { _ in message }
  }

  /// Forgets the remembered message: later subscribers do not receive it.
  public func forget() { forget {} }

  /// Forgets the remembered message and runs `body` under the same lock.
  func forget(with body: () -> Void) {
    var previous: Message?
    core.withLock { _ in
      body()
      unsafe swap(&previous, &core.memory)
    }
  }

  /// The remembered message.
  var remembered: Message? { core.withLock { _ in unsafe core.memory } }

  /// Remembers a message without sending it.
  func remember(_ message: Message) {
    var previous: Message? = message
    core.withLock { _ in unsafe swap(&previous, &core.memory) }
  }

  /// The number of subscribed observers.
  ///
  /// Those whose receiver is gone do not count.
  public var observerCount: Int { core.count }

  /// The number of observers, each time it changes.
  ///
  /// There is no notification when a receiver is deallocated (``subscribe(boundTo:once:_:)``): it is detected at the
  /// next message, and before the next number is sent.
  public var observerCounts: DerivedSignal<Int, Never> { core.countSignal.readOnly }

  /// Ends all subscriptions.
  public func removeAllObservers() { core.cancelAll() }
}

extension Signal where Message == Void {
  /// Notifies all observers.
  @inlinable
  public func send() { send(()) }
}
