// SPDX-License-Identifier: MIT

/// One step of a property from a value to the next.
public struct ValueChange<Value: Sendable>: Sendable {
  /// The value after the change.
  public var new: Value

  /// The value before it.
  ///
  /// For an observer that skipped some steps, the last value it received.
  public var old: Value

  /// Makes a change from `old` to `new`.
  @inlinable
  public init(new: Value, old: Value) {
    self.new = new
    self.old = old
  }

  /// The change that undoes this one.
  public var reversed: ValueChange { ValueChange(new: old, old: new) }

  /// This change and the one that followed it as one step.
  public func merged(with next: ValueChange) -> ValueChange { ValueChange(new: next.new, old: old) }
}

extension ValueChange: Equatable where Value: Equatable {}
extension ValueChange: Hashable where Value: Hashable {}
