// SPDX-License-Identifier: MIT

public import Dispatch

/// An execution context in which observers can be called.
public protocol DeliveryExecutor: Sendable {
  /// Runs `job` later, exactly once.
  func enqueue(_ job: @escaping @Sendable () -> Void)

  /// Whether the caller already runs on it, so that an observer may be called synchronously.
  var isCurrent: Bool { get }
}

/// Where the observer of a subscription runs.
public struct Delivery: Sendable {
  /// The executor; nil for the thread of the sender.
  let executor: (any DeliveryExecutor)?

  /// On the thread of the sender, before `send` returns.
  public static let inline = Delivery(executor: nil)

  /// On the main queue, which is also the executor of the main actor; synchronously when the sender is there.
  public static let main = Delivery(executor: QueueExecutor(.main))

  /// On a serial queue; synchronously when the sender is there.
  public static func queue(_ queue: DispatchQueue) -> Delivery { Delivery(executor: QueueExecutor(queue)) }

  /// On a thread of the system's pool of this quality of service, one call at a time.
  public static func background(_ quality: DispatchQoS.QoSClass) -> Delivery {
    Delivery(executor: PoolExecutor(quality: quality))
  }

  /// On the given executor.
  public static func executor(_ executor: any DeliveryExecutor) -> Delivery { Delivery(executor: executor) }
}

private struct QueueExecutor: DeliveryExecutor {
  private static let key = DispatchSpecificKey<ObjectIdentifier>()
  private let queue: DispatchQueue

  init(_ queue: DispatchQueue) {
    self.queue = queue
    queue.setSpecific(key: Self.key, value: ObjectIdentifier(queue))
  }

  var isCurrent: Bool { DispatchQueue.getSpecific(key: Self.key) == ObjectIdentifier(queue) }

  func enqueue(_ job: @escaping @Sendable () -> Void) { queue.async(execute: job) }
}

private struct PoolExecutor: DeliveryExecutor {
  let quality: DispatchQoS.QoSClass
  var isCurrent: Bool { false }
  func enqueue(_ job: @escaping @Sendable () -> Void) { DispatchQueue.global(qos: quality).async(execute: job) }
}

extension SignalSource {
  /// The same messages, with all later stages and observers of the chain called in another context.
  ///
  /// The order is kept, and calls of one subscription do not overlap, whatever the executor does. A message that has
  /// not been delivered when the subscription is cancelled is dropped. ``Subscription/deliver(on:)`` changes the
  /// context later.
  ///
  /// - Parameters:
  ///   - delivery: The context.
  ///   - buffering: How many messages may wait for it.
  public func delivered(on delivery: Delivery, buffering: Buffering = .all) -> DerivedSignal<Message, End> {
    DerivedSignal { sink in
      let deferred = DeferredDelivery(sink, on: delivery, buffering: buffering)
      deferred.link.hold(attach(deferred.entrance))
      return deferred.link.token()
    }
  }
}

extension ReadableSource {
  /// The same value, with all later stages and observers of the chain called in another context.
  public func delivered(on delivery: Delivery, buffering: Buffering = .all) -> DerivedProperty<Message> {
    DerivedProperty(value: { value }) { start, sink in
      let deferred = DeferredDelivery(sink, on: delivery, buffering: buffering)
      deferred.link.hold(attach(from: start, deferred.entrance))
      return deferred.link.token()
    }
  }

  /// Calls `observer` with each value in the given context.
  ///
  /// `on: .main` takes a closure of the main actor, see ``MainDelivery``.
  @_disfavoredOverload
  public func subscribe(
    from start: StartingPoint = .current, on delivery: Delivery, _ observer: @escaping @Sendable (Message) -> Void
  ) -> Subscription {
    delivered(on: delivery).subscribe(from: start, observer)
  }
}

extension SignalSource where End == Never {
  /// Calls `observer` with every message in the given context.
  ///
  /// `on: .main` takes a closure of the main actor, see ``MainDelivery``.
  @_disfavoredOverload
  public func subscribe(on delivery: Delivery, _ observer: @escaping @Sendable (Message) -> Void) -> Subscription {
    delivered(on: delivery).subscribe(observer)
  }
}

extension SignalSource where End == Completion {
  /// Calls `observer` with every message, and `onEnd` with the end, in the given context.
  public func subscribe(
    on delivery: Delivery, onEnd: @escaping @Sendable (Completion) -> Void = { _ in },
    _ observer: @escaping @Sendable (Message) -> Void
  ) -> Subscription {
    delivered(on: delivery).subscribe(onEnd: onEnd, observer)
  }

  /// Calls `observer` with every message, and `onEnd` with the end, on the actor that the caller is isolated to; both
  /// are also released there.
  public func subscribe(
    isolation: isolated any Actor, onEnd: @escaping (Completion) -> Void = { _ in },
    _ observer: @escaping (Message) -> Void
  ) -> Subscription {
    subscribeIsolated(
      to: isolation,
      { event in
        switch event {
        case .message(let message): observer(message)
        case .end(let completion): onEnd(completion)
        }
      }, attach: { attach($0) })
  }
}

extension Subscription {
  /// Changes where the observer is called, from the next message on.
  ///
  /// What was sent before still goes to the old context, and comes first.
  ///
  /// - Returns: False, and nothing is changed, when the subscription was made without a context (`on:`,
  ///   ``SignalSource/delivered(on:buffering:)``), or when its observer is isolated to an actor and may run nowhere
  ///   else (`isolation:`, `on: .main`, `boundTo:` with an isolated closure).
  @discardableResult
  public func deliver(on delivery: Delivery) -> Bool { source.setDelivery(delivery, of: self) }
}
