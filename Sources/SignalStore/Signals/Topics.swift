// SPDX-License-Identifier: MIT

import Synchronization

extension Signal {
  /// Sends a message together with its sender.
  ///
  /// ```swift
  /// let renamed = Signal<(sender: any Named, message: String)>()
  /// let subscription = renamed.subscribe { sender, name in print(sender.name, name) }
  /// renamed.send("new", from: person)
  /// ```
  public func send<Sender, Content>(
    _ content: Content, from sender: Sender
  ) where Message == (sender: Sender, message: Content) {
    send((sender, content))
  }
}

/// A signal that belongs to a type: anyone may subscribe, but only its owner can send.
///
/// ```swift
/// final class Network: TopicOwner {
///   let wasLost = Topic<Network, Int>()
/// }
/// network.wasLost.subscribe { print($0) }
/// network.send(\.wasLost, 3)
/// ```
public final class Topic<Owner: TopicOwner, Message: Sendable>: SignalSource {
  fileprivate let signal = Signal<Message>()

  var observersText: String { signal.core.observersText }

  /// Makes a topic without observers.
  public init() {}

  /// The number of subscribed observers.
  public var observerCount: Int { signal.observerCount }

  /// Sends every message from now on to `sink`.
  public func attach(_ sink: Sink<Message, Never>) -> Subscription { signal.attach(sink) }

  /// Calls `observer` with `receiver` and every message, as long as the receiver lives; see
  /// ``Signal/subscribe(boundTo:once:_:)``.
  @discardableResult
  public func subscribe<Receiver: AnyObject & Sendable>(
    boundTo receiver: Receiver, once: Bool = false,
    @_inheritActorContext _ observer: @escaping @isolated(any) @Sendable (Receiver, Message) -> Void
  ) -> Subscription {
    signal.subscribe(boundTo: receiver, once: once, observer)
  }

  /// Ends all subscriptions that belong to `receiver`.
  public func removeObservers(of receiver: AnyObject) { signal.removeObservers(of: receiver) }

  /// Ends all subscriptions.
  public func removeAllObservers() { signal.removeAllObservers() }

  /// Whether a subscription belongs to `receiver`.
  public func isObserved(by receiver: AnyObject) -> Bool { signal.isObserved(by: receiver) }
}

/// A type that owns topics.
public protocol TopicOwner: Sendable {}

extension TopicOwner {
  /// Sends a message to the observers of one of its topics.
  public func send<Message>(_ topic: KeyPath<Self, Topic<Self, Message>>, _ message: Message) {
    self[keyPath: topic].signal.send(message)
  }

  /// Notifies the observers of one of its topics.
  public func send(_ topic: KeyPath<Self, Topic<Self, Void>>) { self[keyPath: topic].signal.send() }

  /// Sends a message to the observers of one of its topics, together with its sender.
  public func send<Sender, Content>(
    _ topic: KeyPath<Self, Topic<Self, (sender: Sender, message: Content)>>, _ content: Content, from sender: Sender
  ) {
    self[keyPath: topic].signal.send((sender, content))
  }
}

/// The name of a signal in a ``SignalRegistry``: a type, so that each name has one message type.
///
/// ```swift
/// enum TemperatureChanged: SignalName { typealias Message = Double }
/// ```
public protocol SignalName: SendableMetatype {
  /// What is sent under this name.
  associatedtype Message: Sendable
}

/// Signals that are looked up by name, for parts of a program that are otherwise decoupled.
///
/// A signal is created on first use, and kept.
public final class SignalRegistry: Sendable {
  private let signals = Mutex<[ObjectIdentifier: any Sendable]>([:])

  /// Makes an empty registry.
  public init() {}

  /// The signal with this name.
  public subscript<Name: SignalName>(name name: Name.Type) -> Signal<Name.Message> {
    signals.withLock { signals in
      // The key is the type, so what is found under it has its message.
      if let known = signals[ObjectIdentifier(name)] as? Signal<Name.Message> { return known }
      let new = Signal<Name.Message>()
      signals[ObjectIdentifier(name)] = new
      return new
    }
  }
}
