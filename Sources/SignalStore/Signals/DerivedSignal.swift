// SPDX-License-Identifier: MIT

/// A source made from others: what operators give.
///
/// It is a value that knows how to subscribe, and holds nothing but its sources. With it the type of a source can also be
/// hidden: ``SignalSource/erased`` of anything.
public struct DerivedSignal<Message: Sendable, End: Ending>: SignalSource {
  @usableFromInline let recipe: @Sendable (Sink<Message, End>) -> Subscription

  /// Makes a source from what `attach` does.
  @inlinable
  public init(_ attach: @escaping @Sendable (Sink<Message, End>) -> Subscription) { recipe = attach }

  /// Puts what the recipe says into `sink`.
  @inlinable
  public func attach(_ sink: Sink<Message, End>) -> Subscription { recipe(sink) }
}

/// A readable source made from others.
///
/// Its value is computed from theirs each time it is read, so it is right without any observer.
public struct DerivedProperty<Value: Sendable>: ReadableSource {
  /// What is sent: the values.
  public typealias Message = Value

  @usableFromInline let read: @Sendable () -> Value
  @usableFromInline let recipe: @Sendable (StartingPoint, Sink<Value, Never>) -> Subscription

  /// Makes a source from what reading and attaching do.
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

  /// Puts the values into `sink`.
  @inlinable
  public func attach(from start: StartingPoint, _ sink: Sink<Value, Never>) -> Subscription { recipe(start, sink) }
}

/// A writable source made from others: setting it sets them.
public struct WritableProperty<Value: Sendable>: WritableSource {
  /// What is sent: the values.
  public typealias Message = Value

  @usableFromInline let base: DerivedProperty<Value>
  @usableFromInline let change: @Sendable ((inout Value) -> Void) -> Void
  /// Where its overrides are kept, for a part of a property.
  @usableFromInline package let overridePlace: OverridePlace?

  /// Makes a source from what reading, changing and attaching do.
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

  /// Changes the value as one step that no other set can come between.
  @inlinable
  public func modify(_ change: (inout Value) -> Void) { self.change(change) }

  /// Puts the values into `sink`.
  @inlinable
  public func attach(from start: StartingPoint, _ sink: Sink<Value, Never>) -> Subscription {
    base.attach(from: start, sink)
  }
}

extension WritableProperty: Overridable {}

extension SignalSource {
  /// This source without its type, and without more than its messages and its end.
  @inlinable
  public var erased: DerivedSignal<Message, End> { DerivedSignal { attach($0) } }

  /// A source made by a rule of your own.
  ///
  /// `transform` is called for each subscriber with its sink, and gives the sink for this source: it sees each message
  /// and may put none, one or many into its own.
  ///
  /// State that belongs to one subscriber is made inside `transform`; see ``OperatorState``.
  @inlinable
  public func transform<NewMessage, NewEnd>(
    _ transform: @escaping @Sendable (Sink<NewMessage, NewEnd>) -> Sink<Message, End>
  ) -> DerivedSignal<NewMessage, NewEnd> {
    DerivedSignal { attach(transform($0)) }
  }
}

extension ReadableSource {
  /// This source as something that can only be read and observed.
  @inlinable
  public var readOnly: DerivedProperty<Message> {
    DerivedProperty(value: { value }) { attach(from: $0, $1) }
  }

  /// The messages alone, the value of now first.
  @inlinable
  public var fromCurrent: DerivedSignal<Message, Never> { DerivedSignal { attach(from: .current, $0) } }

  /// The messages alone, from the next one on.
  @inlinable
  public var plain: DerivedSignal<Message, Never> { DerivedSignal { attach(from: .future, $0) } }
}

extension Signal {
  /// This signal as something that can only be observed.
  @inlinable
  public var readOnly: DerivedSignal<Message, Never> { erased }
}

/// What an operator remembers for one subscriber.
///
/// Unchecked: the messages of one subscription come one at a time, each after the other (delivery rule 3), so no lock is
/// needed; a source that breaks that rule breaks its operators.
public final class OperatorState<Value>: @unchecked Sendable {
  /// What is remembered.
  public var value: Value

  /// Starts with a value.
  @inlinable
  public init(_ value: Value) { self.value = value }
}
