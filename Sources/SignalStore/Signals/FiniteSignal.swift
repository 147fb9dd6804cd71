// SPDX-License-Identifier: MIT

import Synchronization

/// Sends messages, and finally at most one end.
///
/// The delivery rules are those of ``Signal``. After the end nothing is delivered, the observers and their captures are
/// released, and later subscribers receive the end at once.
public final class FiniteSignal<Message: Sendable>: SignalSource {
  typealias Core = DeliveryCore<MessageKind<Event<Message, Completion>>>

  /// Stores nothing but the end.
  private let core: Core

  /// Makes a signal.
  public init(pending: Buffering = .all) {
    core = Core(memory: nil, pending: pending)
  }

  /// Sends a message to all observers, if the signal has not ended.
  public func send(_ message: Message) {
    let event = Event<Message, Completion>.message(message)
    let route: Core.Route = core.withLock { guarded in
      unsafe core.memory == nil ? core.route(event, &guarded) : .nobody
    }
    core.follow(route, event)
  }

  /// Ends the signal; a second end is ignored.
  public func end(_ completion: Completion = .finished) {
    let event = Event<Message, Completion>.end(completion)
    let route: Core.Route? = core.withLock { guarded in
      if unsafe core.memory != nil { return nil }
      unsafe core.memory = event
      return core.route(event, &guarded)
    }
    if let route { core.follow(route, event) }
  }

  /// Whether the signal has ended.
  public var hasEnded: Bool { core.withLock { _ in unsafe core.memory != nil } }

  var observersText: String { core.observersText }

  /// The number of subscribed observers.
  public var observerCount: Int { core.count }

  /// Sends every message from now on to `sink`, and the end, even if the signal has already ended.
  public func attach(_ sink: Sink<Message, Completion>) -> Subscription {
    let link = Link()
    let closure = ErasedClosure(
      retaining: MessageCall<Event<Message, Completion>> { event in
        switch event {
        case .message(let message): sink.message(message)
        case .end(let completion):
          link.end()
          sink.end(completion)
        }
      })
    link.hold(core.subscribeFromFirst(closure))
    return link.token()
  }
}
