// SPDX-License-Identifier: MIT

/// Where a subscription to a property begins.
public enum StartingPoint: Sendable, Hashable {
  /// The current value comes first, then every later one.
  case current
  /// The first message is the next set.
  case future
}

/// The observers of a ``Property``.
@usableFromInline
enum ValueKind<Value: Sendable>: ObserverKind {
  @usableFromInline typealias Message = Value

  @usableFromInline static var name: String { "Property<\(Value.self)>" }

  @inlinable
  static func first(from memory: VersionedValue<Value>) -> Value? { memory.value }
}

/// The state that a property guards with its lock.
@usableFromInline
struct VersionedValue<Value: Sendable>: Sendable {
  @usableFromInline var value: Value
  /// Counts the sets, so that a value computed outside of the lock is stored only over the one it was computed from.
  @usableFromInline var version: UInt64 = 0

  @inlinable
  init(_ value: Value) { self.value = value }
}

/// Holds a value and sends each set to its subscribers.
///
/// ```swift
/// let temperature = Property(21.5)
/// let subscription = temperature.subscribe { print($0) }   // 21.5, and every later value
/// temperature.value = 22                                    // 22.0
/// temperature.update { $0 += 0.5 }                          // 22.5
/// ```
///
/// The delivery rules are those of ``Signal``, and in addition:
///
/// 10. The value is stored before anyone is notified, and observers are notified in the order in which it was stored.
///     Inside an observer `value` is the value of the message, or a later one whose message will follow.
/// 11. The last value that an observer receives is the value of the property.
/// 12. A subscription from ``StartingPoint/current`` first receives the current value, then every value stored after
///     it: none is missing and none comes twice. That first call is made before `subscribe` returns, unless the
///     property is delivering at this moment (also when you subscribe from inside an observer of the same property);
///     then it is queued.
/// 13. Setting an equal value is a set like any other, unless the property was made with `skipsEqual`.
public final class Property<Value: Sendable>: Sendable {
  @usableFromInline let core: DeliveryCore<ValueKind<Value>>

  /// Whether a set from the first to the second value changes nothing; nil when every set is a change.
  @usableFromInline let isUnchanged: (@Sendable (Value, Value) -> Bool)?

  /// Makes a property that sends every set.
  ///
  /// - Parameters:
  ///   - value: The first value.
  ///   - pending: How many sets may wait while another one is being delivered. Observers of a property with
  ///     ``Buffering/latest`` skip values when they are slower than the setters, and still end on the last one.
  @inlinable
  public init(_ value: Value, pending: Buffering = .all) {
    core = DeliveryCore(
      memory: VersionedValue(value), pending: pending, committing: Committing(Value.self))
    isUnchanged = nil
  }

  /// Makes a property for which setting a value that `isUnchanged` considers equal to the current one has no effect.
  @inlinable
  public init(
    _ value: Value, pending: Buffering = .all, skipping isUnchanged: @escaping @Sendable (Value, Value) -> Bool
  ) {
    core = DeliveryCore(
      memory: VersionedValue(value), pending: pending, committing: Committing(Value.self))
    self.isUnchanged = isUnchanged
  }

  /// The current value.
  ///
  /// Setting it notifies all observers.
  @inlinable
  public var value: Value {
    get { core.withLock { _ in unsafe core.memory.value } }
    set { set(newValue) }
  }

  /// Stores a value and notifies all observers.
  @inlinable
  public func set(_ value: Value) {
    if let isUnchanged {
      setUnless(isUnchanged, value)
    } else {
      store(value, over: nil)
    }
  }

  @inlinable @inline(never)
  func setUnless(_ isUnchanged: @Sendable (Value, Value) -> Bool, _ value: Value) {
    while true {
      let seen = core.withLock { _ in unsafe core.memory }
      if isUnchanged(seen.value, value) || store(value, over: seen.version) { return }
    }
  }

  /// Changes the value atomically: no other set can come between.
  ///
  /// `change` runs on a copy of the value and without a lock, so it may use the property itself. When another thread
  /// has set the property meanwhile it runs again, on the newer value: it should do nothing but compute. If it throws,
  /// nothing is set.
  ///
  /// - Returns: What `change` returned in the run whose result was stored.
  @discardableResult @inlinable
  public func update<Result, Failure: Error>(_ change: (inout Value) throws(Failure) -> Result) throws(Failure)
    -> Result
  {
    while true {
      let seen = core.withLock { _ in unsafe core.memory }
      var value = seen.value
      let result = try change(&value)
      if let isUnchanged, isUnchanged(seen.value, value) { return result }
      if store(value, over: seen.version) { return result }
    }
  }

  /// Stores the value if the property still has the given version, and delivers.
  ///
  /// False if it has another one.
  @discardableResult @inlinable
  func store(_ value: Value, over version: UInt64?) -> Bool {
    if let transaction = unsafe Transaction.currentReference {
      // It is retained as long as the caller is in it.
      return unsafe transaction._withUnsafeGuaranteedRef { store(value, over: version, in: $0) }
    }
    // Carries the old value out of the lock, to be released after unlocking.
    var old = value
    let route: DeliveryCore<ValueKind<Value>>.Route? = core.withLock { guarded in
      if let version, unsafe core.memory.version != version { return nil }
      unsafe swap(&old, &core.memory.value)
      unsafe core.memory.version += 1
      return core.route(value, &guarded)
    }
    guard let route else { return false }
    core.follow(route, value)
    return true
  }

  /// Calls `observer` with each value, until the subscription is cancelled or dropped.
  ///
  /// - Parameters:
  ///   - start: Whether the current value comes first.
  ///   - once: The subscription ends with the first call, including the one with the current value.
  ///   - observer: Called with the values in the order in which they were set, on the thread of the setter.
  @inlinable
  public func subscribe(
    from start: StartingPoint = .current, once: Bool = false, _ observer: @escaping @Sendable (_ new: Value) -> Void
  ) -> Subscription {
    let closure = ErasedClosure(retaining: MessageCall(observer))
    let flags = once ? Stamp.endsAfterNext : 0
    switch start {
    case .current: return core.subscribeFromFirst(closure, flags: flags)
    case .future: return core.subscribe(closure, flags: flags)
    }
  }

  /// The number of subscribed observers.
  ///
  /// Those whose receiver is gone do not count.
  public var observerCount: Int { core.count }

  /// The number of observers, each time it changes; see ``Signal/observerCounts``.
  public var observerCounts: DerivedSignal<Int, Never> { core.countSignal.readOnly }

  /// Ends all subscriptions.
  public func removeAllObservers() { core.cancelAll() }
}

extension Property where Value: Equatable {
  /// Makes a property for which setting a value equal to the current one has no effect, when `skipsEqual` is true.
  @inlinable
  public convenience init(_ value: Value, pending: Buffering = .all, skipsEqual: Bool) {
    if skipsEqual {
      self.init(value, pending: pending, skipping: { $0 == $1 })
    } else {
      self.init(value, pending: pending)
    }
  }
}
