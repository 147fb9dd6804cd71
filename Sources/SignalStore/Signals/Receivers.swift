// SPDX-License-Identifier: MIT

import Synchronization

/// Subscriptions that belong to an object: they last as long as it does, without a token.
///
/// The source does not keep the object. Each call gets it as an argument, so nothing has to be captured, and it is alive
/// until the call returns. When it is gone, the next message ends the subscription.
extension Signal {
  /// Calls `observer` with `receiver` and every message, as long as the receiver lives.
  ///
  /// - Returns: A token with which the subscription can be ended before; dropping it ends nothing.
  @discardableResult
  public func subscribe<Receiver: AnyObject & Sendable>(
    boundTo receiver: Receiver, once: Bool = false, _ observer: @escaping @Sendable (Receiver, Message) -> Void
  ) -> Subscription {
    core.subscribe(boundTo: receiver) { dead in
      subscribe(once: once, dead.guarding(observer))
    }
  }

  /// Calls a method of `receiver` with every message, as long as it lives: `subscribe(boundTo: self, call: Self.show)`.
  @discardableResult
  public func subscribe<Receiver: AnyObject & Sendable>(
    boundTo receiver: Receiver, once: Bool = false,
    call method: @escaping @Sendable (Receiver) -> @Sendable (Message) -> Void
  ) -> Subscription {
    subscribe(boundTo: receiver, once: once) { method($0)($1) }
  }

  /// Ends all subscriptions that belong to `receiver`.
  public func removeObservers(of receiver: AnyObject) { core.cancelAll(of: receiver) }

  /// Whether a subscription belongs to `receiver`.
  public func isObserved(by receiver: AnyObject) -> Bool { core.hasObserver(of: receiver) }
}

extension Property {
  /// Calls `observer` with `receiver` and each value, as long as the receiver lives.
  ///
  /// - Returns: A token with which the subscription can be ended before; dropping it ends nothing.
  @discardableResult
  public func subscribe<Receiver: AnyObject & Sendable>(
    boundTo receiver: Receiver, from start: StartingPoint = .current, once: Bool = false,
    _ observer: @escaping @Sendable (Receiver, Value) -> Void
  ) -> Subscription {
    core.subscribe(boundTo: receiver) { dead in
      subscribe(from: start, once: once, dead.guarding(observer))
    }
  }

  /// Calls a method of `receiver` with each value, as long as it lives: `subscribe(boundTo: self, call: Self.show)`.
  @discardableResult
  public func subscribe<Receiver: AnyObject & Sendable>(
    boundTo receiver: Receiver, from start: StartingPoint = .current, once: Bool = false,
    call method: @escaping @Sendable (Receiver) -> @Sendable (Value) -> Void
  ) -> Subscription {
    subscribe(boundTo: receiver, from: start, once: once) { method($0)($1) }
  }

  /// Ends all subscriptions that belong to `receiver`.
  public func removeObservers(of receiver: AnyObject) { core.cancelAll(of: receiver) }

  /// Whether a subscription belongs to `receiver`.
  public func isObserved(by receiver: AnyObject) -> Bool { core.hasObserver(of: receiver) }
}

/// Makes closures that look for their receiver first, and end the subscription when it is gone.
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
    // Weak, or the core would keep itself through the closure.
    let token = make(
      ReceiverGuard(
        object: WeakReference(object), receiver: receiver,
        end: { [weak self] order in self?.cancel(order: order) }))
    add(receiver, for: token)
    change(token, set: Stamp.detached)
    return token
  }
}
