// SPDX-License-Identifier: MIT

/// A property that can be written as a literal: `let count: IntProperty = 1`.
///
/// A separate type, because a generic type that takes literals needs its parameter spelled out in every `Property(1)`.
/// It has everything that a source has; ``property`` is the property itself.
public struct LiteralProperty<Value: Sendable>: WritableSource {
  /// The values it sends.
  public typealias Message = Value

  /// The property.
  public let property: Property<Value>

  /// Makes a property that sends every set.
  public init(_ value: Value) { property = Property(value) }

  /// The current value.
  @inlinable
  public var value: Value {
    get { property.value }
    nonmutating set { property.value = newValue }
  }

  /// Changes the value atomically: no other set can come between.
  @inlinable
  public func modify(_ change: (inout Value) -> Void) { property.modify(change) }

  /// Sends the values to `sink`.
  public func attach(from start: StartingPoint, _ sink: Sink<Value, Never>) -> Subscription {
    property.attach(from: start, sink)
  }
}

/// A property of an integer that can be written as a literal.
public typealias IntProperty = LiteralProperty<Int>
/// A property of a floating-point number that can be written as a literal.
public typealias DoubleProperty = LiteralProperty<Double>
/// A Boolean property that can be written as a literal.
public typealias BoolProperty = LiteralProperty<Bool>
/// A property of a string that can be written as a literal.
public typealias StringProperty = LiteralProperty<String>

extension LiteralProperty: ExpressibleByIntegerLiteral where Value: ExpressibleByIntegerLiteral {
  /// Makes a property that sends every set.
  public init(integerLiteral value: Value.IntegerLiteralType) { self.init(Value(integerLiteral: value)) }
}

extension LiteralProperty: ExpressibleByFloatLiteral where Value: ExpressibleByFloatLiteral {
  /// Makes a property that sends every set.
  public init(floatLiteral value: Value.FloatLiteralType) { self.init(Value(floatLiteral: value)) }
}

extension LiteralProperty: ExpressibleByBooleanLiteral where Value: ExpressibleByBooleanLiteral {
  /// Makes a property that sends every set.
  public init(booleanLiteral value: Value.BooleanLiteralType) { self.init(Value(booleanLiteral: value)) }
}

extension LiteralProperty: ExpressibleByUnicodeScalarLiteral where Value: ExpressibleByUnicodeScalarLiteral {
  /// Makes a property that sends every set.
  public init(unicodeScalarLiteral value: Value.UnicodeScalarLiteralType) {
    self.init(Value(unicodeScalarLiteral: value))
  }
}

extension LiteralProperty: ExpressibleByExtendedGraphemeClusterLiteral
where Value: ExpressibleByExtendedGraphemeClusterLiteral {
  /// Makes a property that sends every set.
  public init(extendedGraphemeClusterLiteral value: Value.ExtendedGraphemeClusterLiteralType) {
    self.init(Value(extendedGraphemeClusterLiteral: value))
  }
}

extension LiteralProperty: ExpressibleByStringLiteral where Value: ExpressibleByStringLiteral {
  /// Makes a property that sends every set.
  public init(stringLiteral value: Value.StringLiteralType) { self.init(Value(stringLiteral: value)) }
}

extension LiteralProperty: ExpressibleByNilLiteral where Value: ExpressibleByNilLiteral {
  /// Makes a property that sends every set.
  public init(nilLiteral: ()) { self.init(Value(nilLiteral: ())) }
}
