// SPDX-License-Identifier: MIT

/// A property that does not retain its object.
///
/// Its value is the object while it is retained elsewhere, and nil afterwards. Observers are notified of sets; the
/// deallocation of the object is not a set, and sends nothing.
public final class WeakProperty<Object: AnyObject & Sendable>: WritableSource {
  /// The objects it sends.
  public typealias Message = Object?

  private let reference: Property<WeakReference<Object>?>

  /// Makes a property that refers to an object, or to none.
  public init(_ object: Object? = nil) { reference = Property(object.map { WeakReference($0) }) }

  /// The object; nil when it was set to nil, or the object is gone.
  public var value: Object? {
    get { reference.value?.object }
    set { reference.value = newValue.map { WeakReference($0) } }
  }

  /// Changes the object atomically: no other set can come between.
  public func modify(_ change: (inout Object?) -> Void) {
    reference.update { reference in
      var object = reference?.object
      change(&object)
      reference = object.map { WeakReference($0) }
    }
  }

  /// Sends the objects to `sink`; nil for one that is gone before it could be sent.
  public func attach(from start: StartingPoint, _ sink: Sink<Object?, Never>) -> Subscription {
    reference.subscribe(from: start) { sink.message($0?.object) }
  }

  /// The number of subscribed observers.
  public var observerCount: Int { reference.observerCount }
}
