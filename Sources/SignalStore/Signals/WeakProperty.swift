// SPDX-License-Identifier: MIT

/// A property that does not keep its object.
///
/// Its value is the object as long as somebody else keeps it, and nil afterwards. Observers are told of sets; that the object
/// has gone is no set, and nobody is told.
public final class WeakProperty<Object: AnyObject & Sendable>: WritableSource {
  /// What is sent: the objects.
  public typealias Message = Object?

  private let reference: Property<WeakReference<Object>?>

  /// Makes a property that refers to an object, or to none.
  public init(_ object: Object? = nil) { reference = Property(object.map { WeakReference($0) }) }

  /// The object; nil when it was set to nil, or the object is gone.
  public var value: Object? {
    get { reference.value?.object }
    set { reference.value = newValue.map { WeakReference($0) } }
  }

  /// Changes the object as one step that no other set can come between.
  public func modify(_ change: (inout Object?) -> Void) {
    reference.update { reference in
      var object = reference?.object
      change(&object)
      reference = object.map { WeakReference($0) }
    }
  }

  /// Puts the objects into `sink`; nil for one that is gone before it could be told.
  public func attach(from start: StartingPoint, _ sink: Sink<Object?, Never>) -> Subscription {
    reference.subscribe(from: start) { sink.message($0?.object) }
  }

  /// How many observers are subscribed.
  public var observerCount: Int { reference.observerCount }
}
