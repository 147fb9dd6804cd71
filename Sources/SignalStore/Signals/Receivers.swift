// SPDX-License-Identifier: MIT

import Synchronization

/// Subscriptions bound to the lifetime of an object, without a token.
///
/// The source does not retain the object. Each call receives it as an argument, so nothing has to be captured, and it
/// is alive until the call returns. When it is gone, the next message ends the subscription. A subscription to an
/// operator also ends when its source is gone: for one that shares its subscription (`share`, `buffered`, `readable`,
/// `connecting`), when it is no longer retained.
///
/// An isolated closure, such as one written on the main actor, runs on its actor, and may use state isolated to it,
/// above all the receiver. Others run on the thread of the sender.
extension Signal {
  /// Calls `observer` with `receiver` and every message, as long as the receiver lives.
  ///
  /// - Returns: A token to end the subscription earlier; dropping it does not end it.
  @discardableResult
  public func subscribe<Receiver: AnyObject & Sendable>(
    boundTo receiver: Receiver, once: Bool = false,
    @_inheritActorContext _ observer: @escaping @isolated(any) @Sendable (Receiver, Message) -> Void
  ) -> Subscription {
    let closure = withoutIsolation(observer)
    if let actor = observer.isolation {
      return subscribeBound(receiver, once: once, on: actor, { closure($0, $1.message) }) { sink, link in
        core.adding(receiver, to: attach(sink), endingWith: link)
      }
    }
    return core.subscribe(boundTo: receiver) { dead in
      subscribe(once: once, dead.guarding(closure))
    }
  }

  /// Calls a method of `receiver` with every message, as long as it lives: `subscribe(boundTo: self, call: Self.show)`.
  @discardableResult
  public func subscribe<Receiver: AnyObject & Sendable>(
    boundTo receiver: Receiver, once: Bool = false,
    call method: @escaping @Sendable (Receiver) -> @Sendable (Message) -> Void
  ) -> Subscription {
    subscribe(boundTo: receiver, once: once, { @Sendable in method($0)($1) })
  }

  /// Ends all subscriptions that belong to `receiver`.
  public func removeObservers(of receiver: AnyObject) { core.cancelAll(of: receiver) }

  /// Whether a subscription belongs to `receiver`.
  public func isObserved(by receiver: AnyObject) -> Bool { core.hasObserver(of: receiver) }
}

extension Property {
  /// Calls `observer` with `receiver` and each value, as long as the receiver lives.
  ///
  /// - Returns: A token to end the subscription earlier; dropping it does not end it.
  @discardableResult
  public func subscribe<Receiver: AnyObject & Sendable>(
    boundTo receiver: Receiver, from start: StartingPoint = .current, once: Bool = false,
    @_inheritActorContext _ observer: @escaping @isolated(any) @Sendable (Receiver, Value) -> Void
  ) -> Subscription {
    let closure = withoutIsolation(observer)
    if let actor = observer.isolation {
      return subscribeBound(receiver, once: once, on: actor, { closure($0, $1.message) }) { sink, link in
        core.adding(receiver, to: attach(from: start, sink), endingWith: link)
      }
    }
    return core.subscribe(boundTo: receiver) { dead in
      subscribe(from: start, once: once, dead.guarding(closure))
    }
  }

  /// Calls a method of `receiver` with each value, as long as it lives: `subscribe(boundTo: self, call: Self.show)`.
  @discardableResult
  public func subscribe<Receiver: AnyObject & Sendable>(
    boundTo receiver: Receiver, from start: StartingPoint = .current, once: Bool = false,
    call method: @escaping @Sendable (Receiver) -> @Sendable (Value) -> Void
  ) -> Subscription {
    subscribe(boundTo: receiver, from: start, once: once, { @Sendable in method($0)($1) })
  }

  /// Ends all subscriptions that belong to `receiver`.
  public func removeObservers(of receiver: AnyObject) { core.cancelAll(of: receiver) }

  /// Whether a subscription belongs to `receiver`.
  public func isObserved(by receiver: AnyObject) -> Bool { core.hasObserver(of: receiver) }
}

extension SignalSource where End == Never {
  /// Calls `observer` with `receiver` and every message, as long as the receiver lives.
  ///
  /// - Returns: A token to end the subscription earlier; dropping it does not end it.
  @discardableResult
  public func subscribe<Receiver: AnyObject & Sendable>(
    boundTo receiver: Receiver, once: Bool = false,
    @_inheritActorContext _ observer: @escaping @isolated(any) @Sendable (Receiver, Message) -> Void
  ) -> Subscription {
    let closure = withoutIsolation(observer)
    return subscribeBound(receiver, once: once, on: observer.isolation, { closure($0, $1.message) }) { sink, _ in
      attach(sink)
    }
  }

  /// Calls a method of `receiver` with every message, as long as it lives: `subscribe(boundTo: self, call: Self.show)`.
  @discardableResult
  public func subscribe<Receiver: AnyObject & Sendable>(
    boundTo receiver: Receiver, once: Bool = false,
    call method: @escaping @Sendable (Receiver) -> @Sendable (Message) -> Void
  ) -> Subscription {
    subscribe(boundTo: receiver, once: once, { @Sendable in method($0)($1) })
  }
}

extension SignalSource where End == Completion {
  /// Calls `observer` with `receiver` and every message, and `onEnd` when the source ends, as long as the receiver
  /// lives.
  ///
  /// - Returns: A token to end the subscription earlier; dropping it does not end it.
  @discardableResult
  public func subscribe<Receiver: AnyObject & Sendable>(
    boundTo receiver: Receiver, onEnd: @escaping @Sendable (Receiver, Completion) -> Void = { _, _ in },
    @_inheritActorContext _ observer: @escaping @isolated(any) @Sendable (Receiver, Message) -> Void
  ) -> Subscription {
    let closure = withoutIsolation(observer)
    return subscribeBound(
      receiver, once: false, on: observer.isolation,
      { receiver, event in
        switch event {
        case .message(let message): closure(receiver, message)
        case .end(let completion): onEnd(receiver, completion)
        }
      }
    ) { sink, _ in attach(sink) }
  }
}

extension ReadableSource {
  /// Calls `observer` with `receiver` and each value, as long as the receiver lives.
  ///
  /// - Returns: A token to end the subscription earlier; dropping it does not end it.
  @discardableResult
  public func subscribe<Receiver: AnyObject & Sendable>(
    boundTo receiver: Receiver, from start: StartingPoint = .current, once: Bool = false,
    @_inheritActorContext _ observer: @escaping @isolated(any) @Sendable (Receiver, Message) -> Void
  ) -> Subscription {
    let closure = withoutIsolation(observer)
    return subscribeBound(receiver, once: once, on: observer.isolation, { closure($0, $1.message) }) { sink, _ in
      attach(from: start, sink)
    }
  }

  /// Calls a method of `receiver` with each value, as long as it lives: `subscribe(boundTo: self, call: Self.show)`.
  @discardableResult
  public func subscribe<Receiver: AnyObject & Sendable>(
    boundTo receiver: Receiver, from start: StartingPoint = .current, once: Bool = false,
    call method: @escaping @Sendable (Receiver) -> @Sendable (Message) -> Void
  ) -> Subscription {
    subscribe(boundTo: receiver, from: start, once: once, { @Sendable in method($0)($1) })
  }
}

/// Subscribes, through `attach`, as long as `object` lives; on `actor`, if there is one.
private func subscribeBound<Object: AnyObject & Sendable, Message, End: Ending>(
  _ object: Object, once: Bool, on actor: (any Actor)?,
  _ observer: @escaping @Sendable (Object, Event<Message, End>) -> Void,
  _ attach: (Sink<Message, End>, Link) -> Subscription
) -> Subscription {
  let reference = WeakReference(object)
  let link = Link()
  // Accessed by one message at a time.
  let isOver = OperatorState(false)
  let call: @Sendable (Event<Message, End>) -> Void = { event in
    if isOver.value { return }
    let object = reference.object
    if once || object == nil || event.isEnd {
      isOver.value = true
      link.end()
    }
    if let object { observer(object, event) }
  }
  if let actor {
    holdIsolated(in: link, to: actor, call) { attach($0, link) }
  } else {
    link.hold(attach(Sink(message: { call(.message($0)) }, end: { call(.end($0)) }), link))
  }
  let token = link.token()
  token.keepWhileSourceLives()
  return token
}

extension Event {
  fileprivate var isEnd: Bool { if case .end = self { true } else { false } }
}

/// Makes closures that check their receiver first, and end the subscription when it is gone.
struct ReceiverGuard<Object: AnyObject & Sendable>: Sendable {
  fileprivate let object: WeakReference<Object>
  fileprivate let receiver: Receiver
  fileprivate let end: @Sendable (UInt64) -> Void

  func guarding<Message>(
    _ observer: @escaping @Sendable (Object, Message) -> Void
  ) -> @Sendable (Message) -> Void {
    { message in
      guard let object = object.object else {
        end(receiver.order.load(ordering: .relaxed))
        return
      }
      observer(object, message)
    }
  }
}

extension DeliveryCore {
  /// Makes a subscription with `make` that belongs to an object.
  func subscribe<Object: AnyObject & Sendable>(
    boundTo object: Object, _ make: (ReceiverGuard<Object>) -> Subscription
  ) -> Subscription {
    let receiver = Receiver(object)
    // Weak, or the core would retain itself through the closure.
    let token = make(
      ReceiverGuard(
        object: WeakReference(object), receiver: receiver,
        end: { [weak self] order in self?.cancel(order: order) }))
    add(receiver, for: token)
    change(token, set: Stamp.detached)
    return token
  }

  /// Records that the observer of `token`, one of this source, belongs to an object, and ends with `link`.
  func adding(_ object: AnyObject, to token: Subscription, endingWith link: Link) -> Subscription {
    add(Receiver(object) { [weak link] in _ = link?.end() }, for: token)
    return token
  }
}
