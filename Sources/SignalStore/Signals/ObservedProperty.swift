// SPDX-License-Identifier: MIT

public import Observation

/// A readable source for code that works with Swift Observation (`withObservationTracking`, user interfaces).
///
/// Whoever reads `value` under observation is told when it has changed. Observation tells once and before most types have
/// stored their new value; here the value is stored already, so reading it in `onChange` gives the new one.
public final class ObservedProperty<Value: Sendable>: Observable, Sendable {
  private let registrar = ObservationRegistrar()
  private let source: DerivedProperty<Value>
  private let bag = SubscriptionBag()

  /// Observes a source.
  public init<Source: ReadableSource>(_ source: Source) where Source.Message == Value {
    self.source = source.readOnly
    bag.insert(
      source.attach(
        from: .future,
        Sink { [weak self] _ in
          guard let self else { return }
          registrar.withMutation(of: self, keyPath: \.value) {}
        }))
  }

  /// The current value.
  public var value: Value {
    registrar.access(self, keyPath: \.value)
    return source.value
  }
}
