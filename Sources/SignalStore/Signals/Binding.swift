// SPDX-License-Identifier: MIT

extension ReadableSource {
  /// Sets `target` to the value of now and to each later one.
  ///
  /// What is set there does not come back. A transaction of a property is one of the property that is bound to it.
  public func bind<Target: WritableSource>(to target: Target) -> Subscription where Target.Message == Message {
    bind(carryingTransactionsTo: target) { target.value = $0 }
  }

  /// Sets `target` to the value of now and to each later one.
  public func bind<Target: WritableSource>(to target: Target) -> Subscription where Target.Message == Message? {
    bind(carryingTransactionsTo: target) { target.value = $0 }
  }

  /// Sets a property of an object to the value of now and to each later one, as long as the object lives.
  ///
  /// The object is not kept. It must be one that may be set from any thread.
  public func bind<Target: AnyObject & Sendable>(
    to target: Target, _ path: any ReferenceWritableKeyPath<Target, Message> & Sendable
  ) -> Subscription {
    let reference = WeakReference(target)
    return attach(from: .current, boundSink { reference.object?[keyPath: path] = $0 })
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
  /// The object is not kept. It must be one that may be set from any thread.
  public func bind<Target: AnyObject & Sendable>(
    to target: Target, _ path: any ReferenceWritableKeyPath<Target, Message> & Sendable
  ) -> Subscription {
    let reference = WeakReference(target)
    return attach(boundSink { reference.object?[keyPath: path] = $0 })
  }

  /// Calls `set` with each message, in the transaction that told it.
  fileprivate func boundSink(_ set: @escaping @Sendable (Message) -> Void) -> Sink<Message, End> {
    Sink(message: { message in Transaction.following { set(message) } }, end: { _ in })
  }
}

extension Link {
  /// Lets `target` join each transaction of `source` from its beginning, if both are properties.
  fileprivate func holdTransactions(of source: Any, joinedBy target: Any) {
    guard let source = source as? any TransactionMember, let target = target as? any TransactionMember else { return }
    hold(source.subscribeToTransactions { count in if count > 0 { Transaction.current?.join(target) } })
  }
}

extension WritableSource {
  /// Keeps two sources the same: `other` takes the value of this one first, then each follows the other.
  ///
  /// A set on one side makes one set on the other, unless `isEqual` says that it has the value already; values that are not
  /// equal to themselves, as NaN, count as equal to each other. When both are set at the same time, one of the two values
  /// wins, on both sides.
  public func bindBothWays<Other: WritableSource>(
    with other: Other, _ isEqual: @escaping @Sendable (Message, Message) -> Bool
  ) -> Subscription where Other.Message == Message {
    // One order for the sets of both sides, worked off one at a time: each step can see whether what it carries is still
    // what its side holds. Without it two threads could make the values chase each other for ever.
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
    link.hold(attach(from: .current, Sink { sets.send((false, $0)) }))
    link.hold(other.attach(from: .future, Sink { sets.send((true, $0)) }))
    return link.token()
  }
}

extension WritableSource where Message: Equatable {
  /// Keeps two sources the same: `other` takes the value of this one first, then each follows the other.
  public func bindBothWays<Other: WritableSource>(with other: Other) -> Subscription where Other.Message == Message {
    bindBothWays(with: other) { $0 == $1 }
  }
}
