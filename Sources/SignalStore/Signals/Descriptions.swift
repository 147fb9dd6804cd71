// SPDX-License-Identifier: MIT

// Descriptions for a debugger and `print`. Reading them ends no subscription and calls no observer.

extension ObserverList {
  /// "2 observers"; including those whose receiver is gone but not yet detected.
  final var observersText: String {
    let count = withLock { $0.live }
    return count == 1 ? "1 observer" : "\(count) observers"
  }
}

extension Signal: CustomStringConvertible, CustomReflectable {
  /// Such as `Signal<Int>, 2 observers`.
  public var description: String { "Signal<\(Message.self)>, \(core.observersText)" }

  /// The last message, if it is remembered, and the observers.
  public var customMirror: Mirror {
    let last = core.withLock { _ in unsafe core.memory }
    return Mirror(self, children: ["last": last as Any, "observers": core.observersText])
  }
}

extension Property: CustomStringConvertible, CustomReflectable {
  /// Such as `Property<Int>(3), 1 observer`.
  public var description: String { "Property<\(Value.self)>(\(value)), \(core.observersText)" }

  /// The value and the observers.
  public var customMirror: Mirror { Mirror(self, children: ["value": value, "observers": core.observersText]) }
}

extension FiniteSignal: CustomStringConvertible {
  /// Such as `FiniteSignal<Int>, 1 observer`, and whether it has ended.
  public var description: String {
    "FiniteSignal<\(Message.self)>, \(hasEnded ? "ended" : observersText)"
  }
}

extension DerivedSignal: CustomStringConvertible {
  /// Such as `DerivedSignal<Int>`; with the ending, where there is one.
  public var description: String {
    End.self == Never.self ? "DerivedSignal<\(Message.self)>" : "DerivedSignal<\(Message.self), \(End.self)>"
  }
}

extension DerivedProperty: CustomStringConvertible {
  /// Such as `DerivedProperty<Int>(3)`, with the value computed now.
  public var description: String { "DerivedProperty<\(Value.self)>(\(value))" }
}

extension WritableProperty: CustomStringConvertible {
  /// Such as `WritableProperty<Int>(3)`, with the value computed now.
  public var description: String { "WritableProperty<\(Value.self)>(\(value))" }
}

extension LiteralProperty: CustomStringConvertible {
  /// The description of the property.
  public var description: String { property.description }
}

extension WeakProperty: CustomStringConvertible {
  /// Such as `WeakProperty<Window>(nil)`.
  public var description: String { "WeakProperty<\(Object.self)>(\(value.map { "\($0)" } ?? "nil"))" }
}

extension Topic: CustomStringConvertible {
  /// Such as `Topic<Network, Int>, 1 observer`.
  public var description: String { "Topic<\(Owner.self), \(Message.self)>, \(observersText)" }
}

extension Subscription: CustomStringConvertible, CustomReflectable {
  /// Such as `Subscription to Property<Int>, active`; sources upstream of operators are not named.
  public var description: String {
    let source = (source as? any NamedSource).map { " to \($0.name)" } ?? ""
    return "Subscription\(source), \(isActive ? "active" : "ended")"
  }

  /// Whether it has ended.
  public var customMirror: Mirror { Mirror(self, children: ["isActive": isActive]) }
}

extension SubscriptionBag: CustomStringConvertible {
  /// Such as `SubscriptionBag of 3`.
  public var description: String { "SubscriptionBag of \(count)" }
}

/// A source that subscriptions can name.
private protocol NamedSource {
  var name: String { get }
}

extension DeliveryCore: NamedSource {
  fileprivate var name: String { Kind.name }
}
