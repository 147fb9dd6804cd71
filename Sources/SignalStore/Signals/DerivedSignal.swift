// SPDX-License-Identifier: MIT

/// A source derived from others, as returned by operators.
///
/// It is a recipe for subscribing, and holds nothing but its sources. It also serves to hide the type of a source: see
/// ``SignalSource/erased``.
public struct DerivedSignal<Message: Sendable, End: Ending>: SignalSource {
  @usableFromInline let recipe: @Sendable (Sink<Message, End>) -> Subscription

  /// Makes a source that subscribes with `attach`.
  @inlinable
  public init(_ attach: @escaping @Sendable (Sink<Message, End>) -> Subscription) { recipe = attach }

  /// Subscribes `sink` with the closure.
  @inlinable
  public func attach(_ sink: Sink<Message, End>) -> Subscription { recipe(sink) }
}

/// A readable source derived from others.
///
/// Its value is computed from theirs each time it is read, so it is correct without any observer.
public struct DerivedProperty<Value: Sendable>: ReadableSource {
  /// The values it sends.
  public typealias Message = Value

  @usableFromInline let read: @Sendable () -> Value
  @usableFromInline let recipe: @Sendable (StartingPoint, Sink<Value, Never>) -> Subscription

  /// Makes a source from closures for reading and attaching.
  @inlinable
  public init(
    value read: @escaping @Sendable () -> Value,
    _ attach: @escaping @Sendable (StartingPoint, Sink<Value, Never>) -> Subscription
  ) {
    self.read = read
    recipe = attach
  }

  /// A source whose value never changes.
  public init(constant value: Value) {
    self.init(value: { value }) { start, sink in
      if start == .current { sink.message(value) }
      return Subscription { withExtendedLifetime(sink) {} }
    }
  }

  /// The current value, computed now.
  @inlinable
  public var value: Value { read() }

  /// Sends the values to `sink`.
  @inlinable
  public func attach(from start: StartingPoint, _ sink: Sink<Value, Never>) -> Subscription { recipe(start, sink) }
}

/// A writable source derived from others: setting it sets them.
public struct WritableProperty<Value: Sendable>: WritableSource {
  /// The values it sends.
  public typealias Message = Value

  @usableFromInline let base: DerivedProperty<Value>
  @usableFromInline let change: @Sendable ((inout Value) -> Void) -> Void
  /// Where its overrides are stored, for a part of a property.
  @usableFromInline package let overridePlace: OverridePlace?

  /// Makes a source from closures for reading, changing and attaching.
  @inlinable
  public init(
    value read: @escaping @Sendable () -> Value, modify change: @escaping @Sendable ((inout Value) -> Void) -> Void,
    _ attach: @escaping @Sendable (StartingPoint, Sink<Value, Never>) -> Subscription
  ) {
    self.init(overridePlace: nil, value: read, modify: change, attach)
  }

  @inlinable
  init(
    overridePlace: OverridePlace?, value read: @escaping @Sendable () -> Value,
    modify change: @escaping @Sendable ((inout Value) -> Void) -> Void,
    _ attach: @escaping @Sendable (StartingPoint, Sink<Value, Never>) -> Subscription
  ) {
    self.overridePlace = overridePlace
    base = DerivedProperty(value: read, attach)
    self.change = change
  }

  /// The current value.
  ///
  /// Setting it sets the sources.
  @inlinable
  public var value: Value {
    get { base.value }
    nonmutating set { change { $0 = newValue } }
  }

  /// Changes the value atomically: no other set can come between.
  @inlinable
  public func modify(_ change: (inout Value) -> Void) { self.change(change) }

  /// Sends the values to `sink`.
  @inlinable
  public func attach(from start: StartingPoint, _ sink: Sink<Value, Never>) -> Subscription {
    base.attach(from: start, sink)
  }
}

extension WritableProperty: Overridable {}

extension SignalSource {
  /// This source with its type erased, reduced to its messages and its end.
  @inlinable
  public var erased: DerivedSignal<Message, End> { DerivedSignal { attach($0) } }

  /// A source made by a custom operator.
  ///
  /// `transform` is called for each subscriber with its sink, and returns the sink for this source: it receives each
  /// message and may send none, one or many to its own.
  ///
  /// State that belongs to one subscriber is created inside `transform`; see ``OperatorState``.
  @inlinable
  public func transform<NewMessage, NewEnd>(
    _ transform: @escaping @Sendable (Sink<NewMessage, NewEnd>) -> Sink<Message, End>
  ) -> DerivedSignal<NewMessage, NewEnd> {
    DerivedSignal { attach(transform($0)) }
  }
}

extension ReadableSource {
  /// A read-only view of this source, for reading and observing.
  @inlinable
  public var readOnly: DerivedProperty<Message> {
    DerivedProperty(value: { value }) { attach(from: $0, $1) }
  }

  /// The messages alone, starting with the current value.
  @inlinable
  public var fromCurrent: DerivedSignal<Message, Never> { DerivedSignal { attach(from: .current, $0) } }

  /// The messages alone, starting with the next one.
  @inlinable
  public var plain: DerivedSignal<Message, Never> { DerivedSignal { attach(from: .future, $0) } }
}

extension Signal {
  /// A read-only view of this signal, for observing.
  @inlinable
  public var readOnly: DerivedSignal<Message, Never> { erased }
}

/// The state of an operator for one subscriber.
///
/// Unchecked: the messages of one subscription come one at a time, each after the other (delivery rule 3), so no lock
/// is needed; a source that breaks that rule breaks its operators.
public final class OperatorState<Value>: @unchecked Sendable {
  /// The state.
  public var value: Value

  /// Makes it with an initial value.
  @inlinable
  public init(_ value: Value) { self.value = value }
}
