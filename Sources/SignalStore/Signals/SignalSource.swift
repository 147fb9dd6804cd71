// SPDX-License-Identifier: MIT

/// How a source ends: ``Completion``, or `Never` for a source that does not end.
public protocol Ending: Sendable {
  /// The ending as a completion.
  var completion: Completion { get }
}

extension Never: Ending {
  /// Cannot be called: there is no value of this type.
  public var completion: Completion { switch self {} }
}

/// The end of a finite source.
public enum Completion: Ending {
  /// The source came to its regular end.
  case finished
  /// The source ended because of an error.
  case failed(any Error)

  /// This completion.
  public var completion: Completion { self }

  /// The error, if that was the reason.
  public var error: (any Error)? {
    switch self {
    case .finished: nil
    case .failed(let error): error
    }
  }
}

/// An event of a source: a message, or its end, which comes once at most and last.
public enum Event<Message: Sendable, End: Ending>: Sendable {
  /// A message.
  case message(Message)
  /// The end. Nothing follows.
  case end(End)
}

/// A source of messages; everything that can be subscribed to is one.
///
/// The type of a source says what it supports:
///
/// | | messages | a value to read | a value to set | an end |
/// |---|---|---|---|---|
/// | ``SignalSource`` with `End == Never`: ``Signal``, ``DerivedSignal`` | ✓ | | | |
/// | ``SignalSource`` with `End == Completion`: ``FiniteSignal``, ``DerivedSignal`` | ✓ | | | ✓ |
/// | ``ReadableSource``: ``DerivedProperty`` | ✓ | ✓ | | |
/// | ``WritableSource``: ``Property``, ``WritableProperty`` | ✓ | ✓ | ✓ | |
///
/// The result of an operator supports what is left: `map` of a writable source is readable, `filter` of it has messages
/// only, `take` makes it finite, `distinct` keeps everything. Operators are recipes: nothing runs until there is a
/// subscriber, and each subscriber has its own state. The closures of a chain are composed once, when it is subscribed
/// to, and called on the thread of the sender; the source sees a single observer. Consecutive `map`, `filter` and
/// `compactMap` become one function where the compiler sees the whole chain and their closures capture nothing.
///
/// An operator on a source with a current value begins with its result for that value, as `subscribe` does; one on
/// ``ReadableSource/plain`` begins with the next.
///
/// A type of your own becomes a source, with all operators, by `attach`:
///
/// ```swift
/// struct Field: SignalSource {
///   let text: Property<String>
///   func attach(_ sink: Sink<String, Never>) -> Subscription { text.attach(sink) }
/// }
/// ```
public protocol SignalSource<Message, End>: Sendable {
  /// What is sent.
  associatedtype Message: Sendable
  /// The type of its end.
  associatedtype End: Ending = Never

  /// Sends every message from now on to `sink`, one at a time, until the subscription is cancelled or dropped.
  ///
  /// A source with a current value begins with that. Operators are built on this method: so each of them receives the
  /// current value first, and passes on its result (delivery rule 14).
  func attach(_ sink: Sink<Message, End>) -> Subscription
}

/// A source with a current value: its messages are that value and all later ones.
public protocol ReadableSource<Message>: SignalSource where End == Never {
  /// The current value.
  var value: Message { get }

  /// Sends the values to `sink`, from the current or from the next one.
  func attach(from start: StartingPoint, _ sink: Sink<Message, Never>) -> Subscription
}

extension ReadableSource {
  /// Sends the current value and every later one to `sink`.
  @inlinable
  public func attach(_ sink: Sink<Message, Never>) -> Subscription { attach(from: .current, sink) }
}

/// A source whose value can be set.
public protocol WritableSource<Message>: ReadableSource {
  /// The current value. Setting it notifies all observers.
  var value: Message { get nonmutating set }

  /// Changes the value atomically: no other set can come between; `change` may run again, on a newer value.
  func modify(_ change: (inout Message) -> Void)
}

extension SignalSource where End == Never {
  /// Calls `observer` with every message from now on, until the subscription is cancelled or dropped.
  @inlinable
  public func subscribe(_ observer: @escaping @Sendable (Message) -> Void) -> Subscription { attach(Sink(observer)) }
}

extension SignalSource where End == Completion {
  /// Calls `observer` with every message, and `onEnd` once when the source ends.
  @inlinable
  public func subscribe(
    onEnd: @escaping @Sendable (Completion) -> Void = { _ in }, _ observer: @escaping @Sendable (Message) -> Void
  ) -> Subscription {
    attach(Sink(message: observer, end: onEnd))
  }
}

extension ReadableSource {
  /// Calls `observer` with each value, until the subscription is cancelled or dropped.
  @inlinable
  public func subscribe(
    from start: StartingPoint = .current, _ observer: @escaping @Sendable (Message) -> Void
  ) -> Subscription {
    attach(from: start, Sink(observer))
  }
}

extension Signal: SignalSource {
  /// Sends every message from now on to `sink`.
  @inlinable
  public func attach(_ sink: Sink<Message, Never>) -> Subscription {
    let observer = sink.retained()
    return remembers
      ? core.subscribeFromFirst(observer.closure, flags: observer.flags)
      : core.subscribe(observer.closure, flags: observer.flags)
  }
}

extension Property: WritableSource {
  /// The values it sends.
  public typealias Message = Value

  /// Sends the values to `sink`.
  @inlinable
  public func attach(from start: StartingPoint, _ sink: Sink<Value, Never>) -> Subscription {
    let observer = sink.retained()
    switch start {
    case .current: return core.subscribeFromFirst(observer.closure, flags: observer.flags)
    case .future: return core.subscribe(observer.closure, flags: observer.flags)
    }
  }

  /// Changes the value atomically: no other set can come between; see ``update(_:)``, which can also throw and return.
  @inlinable
  public func modify(_ change: (inout Value) -> Void) { update(change) }
}
