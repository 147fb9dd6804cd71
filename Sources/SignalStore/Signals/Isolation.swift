// SPDX-License-Identifier: MIT

import Dispatch

/// Runs jobs on an actor, without retaining it: once the actor is gone, jobs run in place and call nothing.
struct ActorExecutor: DeliveryExecutor {
  /// Unchecked: a weak reference that is written only at initialization.
  private final class Reference: @unchecked Sendable {
    private(set) weak var actor: (any Actor)?
    init(_ actor: any Actor) { self.actor = actor }
  }

  private let reference: Reference
  private let isMain: Bool

  init(_ actor: any Actor) {
    reference = Reference(actor)
    isMain = actor === MainActor.shared
  }

  var isGone: Bool { reference.actor == nil }

  /// Only the main actor can be checked without a trap.
  var isCurrent: Bool { isMain && Delivery.main.executor?.isCurrent == true }

  func enqueue(_ job: @escaping @Sendable () -> Void) {
    // The main queue is the executor of the main actor.
    if isMain { return DispatchQueue.main.async(execute: job) }
    guard let actor = reference.actor else { return job() }
    Task { await Self.run(job, on: actor) }
  }

  private static func run(_ job: @Sendable () -> Void, on actor: isolated any Actor) { job() }
}

/// A closure isolated to an actor: it is called and released there, wherever this object is released.
///
/// Unchecked: only jobs of the executor access the closure.
final class IsolatedClosure<Message>: @unchecked Sendable {
  /// In an object of its own, because the job that clears it may itself be released anywhere.
  private final class Holder: @unchecked Sendable {
    var closure: ((Message) -> Void)?
    init(_ closure: @escaping (Message) -> Void) { self.closure = closure }
  }

  private let holder: Holder
  private let executor: ActorExecutor

  init(_ executor: ActorExecutor, _ closure: @escaping (Message) -> Void) {
    self.executor = executor
    holder = Holder(closure)
  }

  /// To be called by a job of the executor; does nothing when the actor is gone.
  func call(_ message: Message) {
    if executor.isGone { return }
    holder.closure?(message)
  }

  deinit {
    if executor.isCurrent { return }
    let holder = holder
    executor.enqueue { holder.closure = nil }
  }
}

/// Subscribes a closure isolated to an actor; the token refuses to move it elsewhere.
func subscribeIsolated<Message, End: Ending>(
  to actor: any Actor, _ observer: @escaping (Event<Message, End>) -> Void, attach: (Sink<Message, End>) -> Subscription
) -> Subscription {
  let link = Link()
  holdIsolated(in: link, to: actor, observer, attach: attach)
  return link.token()
}

/// As above, for a link of the caller.
func holdIsolated<Message, End: Ending>(
  in link: Link, to actor: any Actor, _ observer: @escaping (Event<Message, End>) -> Void,
  attach: (Sink<Message, End>) -> Subscription
) {
  let executor = ActorExecutor(actor)
  let isolated = IsolatedClosure(executor, observer)
  let sink = Sink<Message, End>(message: { isolated.call(.message($0)) }, end: { isolated.call(.end($0)) })
  let deferred = DeferredDelivery(sink, on: .executor(executor), buffering: .all, movable: false, link: link)
  link.hold(attach(deferred.entrance))
}

/// The main actor as the context of an observer: `subscribe(on: .main) { … }`.
///
/// A separate type, so that the observer may be isolated to the main actor.
public struct MainDelivery: Sendable {
  /// On the main actor; synchronously when the sender is there.
  public static let main = MainDelivery()
}

extension SignalSource where End == Never {
  /// Calls `observer` with every message on the actor that the caller is isolated to: `subscribe(isolation:
  /// #isolation)`.
  ///
  /// The closure need not be `Sendable` and may use state isolated to the actor. It is also released there, wherever
  /// the subscription is cancelled or dropped, and ``Subscription/deliver(on:)`` refuses to move it. The actor is not
  /// retained: once it is gone, the closure is not called. On the main actor it is called synchronously when the sender
  /// is there as well.
  public func subscribe(
    isolation: isolated any Actor, _ observer: @escaping (Message) -> Void
  ) -> Subscription {
    subscribeIsolated(to: isolation, { observer($0.message) }, attach: { attach($0) })
  }

  /// Calls `observer` with every message on the main actor: synchronously when the sender is there.
  public func subscribe(
    on main: MainDelivery, _ observer: @escaping @MainActor (Message) -> Void
  ) -> Subscription {
    subscribeIsolated(to: MainActor.shared, onMain(observer), attach: { attach($0) })
  }
}

extension ReadableSource {
  /// Calls `observer` with each value on the actor that the caller is isolated to.
  ///
  /// The closure need not be `Sendable` and may use state isolated to the actor. It is also released there, wherever
  /// the subscription is cancelled or dropped, and ``Subscription/deliver(on:)`` refuses to move it. The actor is not
  /// retained: once it is gone, the closure is not called. On the main actor it is called synchronously when the sender
  /// is there as well.
  public func subscribe(
    from start: StartingPoint = .current, isolation: isolated any Actor, _ observer: @escaping (Message) -> Void
  ) -> Subscription {
    subscribeIsolated(to: isolation, { observer($0.message) }, attach: { attach(from: start, $0) })
  }

  /// Calls `observer` with each value on the main actor: synchronously when the sender is there.
  public func subscribe(
    from start: StartingPoint = .current, on main: MainDelivery, _ observer: @escaping @MainActor (Message) -> Void
  ) -> Subscription {
    subscribeIsolated(to: MainActor.shared, onMain(observer), attach: { attach(from: start, $0) })
  }
}

/// The closure for ``subscribeIsolated(to:_:attach:)``, as the compiler cannot prove that it is called on the main
/// actor.
private func onMain<Message>(
  _ observer: @escaping @MainActor (Message) -> Void
) -> (Event<Message, Never>) -> Void where Message: Sendable {
  { event in
    let message = event.message
    MainActor.assumeIsolated { observer(message) }
  }
}

extension Event where End == Never {
  /// The message, the only possible case.
  var message: Message {
    switch self {
    case .message(let message): message
    }
  }
}
