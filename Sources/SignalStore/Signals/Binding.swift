// SPDX-License-Identifier: MIT

extension ReadableSource {
  /// Sets `target` to the current value and to each later one.
  ///
  /// Sets of `target` do not propagate back. A transaction of this property is also one of a property bound to it.
  public func bind<Target: WritableSource>(to target: Target) -> Subscription where Target.Message == Message {
    bind(carryingTransactionsTo: target) { target.value = $0 }
  }

  /// Sets `target` to the current value and to each later one.
  public func bind<Target: WritableSource>(to target: Target) -> Subscription where Target.Message == Message? {
    bind(carryingTransactionsTo: target) { target.value = $0 }
  }

  /// Sets a property of an object to the current value and to each later one, as long as the object lives.
  ///
  /// The object is not retained. Called on an actor, the property is set on that actor, so it may be isolated to it; on
  /// the main actor synchronously when the sender is there. Elsewhere it is set on the thread of the sender.
  ///
  /// - Parameter isolation: Where the property is set; by default the actor that the caller is on.
  public func bind<Target: AnyObject & Sendable>(
    to target: Target, _ path: sending ReferenceWritableKeyPath<Target, Message>,
    isolation: isolated (any Actor)? = #isolation
  ) -> Subscription {
    let setter = PropertySetter(target, path)
    guard let isolation else { return attach(from: .current, boundSink { setter.set($0) }) }
    return subscribeIsolated(to: isolation, { setter.set($0.message) }, attach: { attach(from: .current, $0) })
  }

  private func bind(
    carryingTransactionsTo target: Any, _ set: @escaping @Sendable (Message) -> Void
  ) -> Subscription {
    let link = Link()
    link.holdTransactions(of: self, joinedBy: target)
    link.hold(attach(from: .current, boundSink(set)))
    return link.token()
  }
}

extension SignalSource {
  /// Sets `target` to each message.
  public func bind<Target: WritableSource>(to target: Target) -> Subscription where Target.Message == Message {
    attach(boundSink { target.value = $0 })
  }

  /// Sets `target` to each message.
  public func bind<Target: WritableSource>(to target: Target) -> Subscription where Target.Message == Message? {
    attach(boundSink { target.value = $0 })
  }

  /// Sets a property of an object to each message, as long as the object lives.
  ///
  /// The object is not retained. Called on an actor, the property is set on that actor, so it may be isolated to it; on
  /// the main actor synchronously when the sender is there. Elsewhere it is set on the thread of the sender.
  ///
  /// - Parameter isolation: Where the property is set; by default the actor that the caller is on.
  public func bind<Target: AnyObject & Sendable>(
    to target: Target, _ path: sending ReferenceWritableKeyPath<Target, Message>,
    isolation: isolated (any Actor)? = #isolation
  ) -> Subscription {
    let setter = PropertySetter(target, path)
    guard let isolation else { return attach(boundSink { setter.set($0) }) }
    return subscribeIsolated(
      to: isolation, { event in if case .message(let message) = event { setter.set(message) } },
      attach: { attach($0) })
  }

  /// Calls `set` with each message, in the transaction that sent it.
  fileprivate func boundSink(_ set: @escaping @Sendable (Message) -> Void) -> Sink<Message, End> {
    Sink(message: { message in Transaction.following { set(message) } }, end: { _ in })
  }
}

extension Link {
  /// Makes `target` join each transaction of `source` from its beginning, if both are properties.
  fileprivate func holdTransactions(of source: Any, joinedBy target: Any) {
    guard let source = source as? any TransactionMember, let target = target as? any TransactionMember else { return }
    hold(
      source.subscribeToTransactions { count in
        if count > 0, let transaction = Transaction.current { target.join(transaction) }
      })
  }
}

/// Sets a property of an object that it does not retain.
///
/// Unchecked: the key path is used only where the property may be set, one value at a time, and by nobody else, as it
/// was sent here.
private final class PropertySetter<Target: AnyObject & Sendable, Value>: @unchecked Sendable {
  private let target: WeakReference<Target>
  private let path: ReferenceWritableKeyPath<Target, Value>

  init(_ target: Target, _ path: ReferenceWritableKeyPath<Target, Value>) {
    self.target = WeakReference(target)
    self.path = path
  }

  func set(_ value: Value) { target.object?[keyPath: path] = value }
}

extension WritableSource {
  /// Keeps two sources equal: `other` takes the value of this one first, then each follows the other.
  ///
  /// A set on one side makes one set on the other, unless `isEqual` says that it already has the value; values that are
  /// not equal to themselves, such as NaN, count as equal to each other. When both are set concurrently, one of the two
  /// values wins, on both sides.
  public func bindBothWays<Other: WritableSource>(
    with other: Other, _ isEqual: @escaping @Sendable (Message, Message) -> Bool
  ) -> Subscription where Other.Message == Message {
    // One queue for the sets of both sides, processed one at a time: each step can check whether its value is still
    // what its side holds. Without it two threads could make the values alternate forever.
    let sets = Signal<(fromOther: Bool, value: Message)>()
    let link = Link()
    let isSame: @Sendable (Message, Message) -> Bool = { isEqual($0, $1) || !isEqual($0, $0) && !isEqual($1, $1) }
    link.hold(
      sets.subscribe { set in
        Transaction.following {
          if set.fromOther {
            if isSame(other.value, set.value), !isSame(value, set.value) { value = set.value }
          } else {
            if isSame(value, set.value), !isSame(other.value, set.value) { other.value = set.value }
          }
        }
      })
    link.holdTransactions(of: self, joinedBy: other)
    link.holdTransactions(of: other, joinedBy: self)
    // Attaches to `other` first: its observer may change the value set here, and that has to propagate back.
    link.hold(other.attach(from: .future, Sink { sets.send((true, $0)) }))
    link.hold(attach(from: .current, Sink { sets.send((false, $0)) }))
    return link.token()
  }
}

extension WritableSource where Message: Equatable {
  /// Keeps two sources equal: `other` takes the value of this one first, then each follows the other.
  public func bindBothWays<Other: WritableSource>(with other: Other) -> Subscription where Other.Message == Message {
    bindBothWays(with: other) { $0 == $1 }
  }
}
