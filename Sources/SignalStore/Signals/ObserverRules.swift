// SPDX-License-Identifier: MIT

import Synchronization

/// The identifier of a unique observer.
///
/// A name, a number or the identity of an object: comparing them runs no foreign code, so it can be done under the lock
/// of a source.
public struct ObserverID: Hashable, Sendable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral {
  private enum Kind: Hashable, Sendable {
    case name(String)
    case number(Int)
    case object(ObjectIdentifier)
  }

  private let kind: Kind

  /// A name.
  public init(_ name: String) { kind = .name(name) }

  /// A number.
  public init(_ number: Int) { kind = .number(number) }

  /// The identity of an object, which is not retained.
  public init(_ object: AnyObject) { kind = .object(ObjectIdentifier(object)) }

  /// A name.
  public init(stringLiteral name: String) { self.init(name) }

  /// A number.
  public init(integerLiteral number: Int) { self.init(number) }
}

/// The error for a source that already has as many observers as its limit allows.
public struct ObserverLimitError: Error, Equatable, CustomStringConvertible {
  /// The limit.
  public let limit: Int

  /// One sentence.
  public var description: String { "No more than \(limit) observers are allowed." }
}

extension Signal {
  /// Calls `observer` with every message from now on, unless there is an observer with this identifier already.
  ///
  /// - Returns: The token of the observer with this identifier: a new one, or the existing one, unchanged.
  public func subscribe(unique id: ObserverID, _ observer: @escaping @Sendable (Message) -> Void) -> Subscription {
    core.subscribe(ErasedClosure(retaining: MessageCall(observer)), fromFirst: remembers, unique: id)
  }

  /// Calls `observer` with every message from now on, if ``observerLimit`` permits one more.
  ///
  /// - Throws: ``ObserverLimitError``; ``subscribe(once:_:)`` traps instead.
  public func trySubscribe(
    _ observer: @escaping @Sendable (Message) -> Void
  ) throws(ObserverLimitError) -> Subscription {
    try core.trySubscribe(ErasedClosure(retaining: MessageCall(observer)), fromFirst: remembers)
  }

  /// The maximum number of observers; nil for no limit.
  public var observerLimit: Int? { core.observerLimit }

  /// Sets the maximum number of observers.
  ///
  /// - Throws: ``ObserverLimitError`` with this limit, and nothing is changed, when there are more already.
  public func setObserverLimit(_ limit: Int?) throws(ObserverLimitError) { try core.setObserverLimit(limit) }
}

extension Property {
  /// Calls `observer` with each value, unless there is an observer with this identifier already.
  ///
  /// - Returns: The token of the observer with this identifier: a new one, or the existing one, unchanged.
  public func subscribe(
    unique id: ObserverID, from start: StartingPoint = .current, _ observer: @escaping @Sendable (Value) -> Void
  ) -> Subscription {
    core.subscribe(ErasedClosure(retaining: MessageCall(observer)), fromFirst: start == .current, unique: id)
  }

  /// Calls `observer` with each value, if ``observerLimit`` permits one more.
  ///
  /// - Throws: ``ObserverLimitError``; ``subscribe(from:once:_:)`` traps instead.
  public func trySubscribe(
    from start: StartingPoint = .current, _ observer: @escaping @Sendable (Value) -> Void
  ) throws(ObserverLimitError) -> Subscription {
    try core.trySubscribe(ErasedClosure(retaining: MessageCall(observer)), fromFirst: start == .current)
  }

  /// The maximum number of observers; nil for no limit.
  public var observerLimit: Int? { core.observerLimit }

  /// Sets the maximum number of observers.
  ///
  /// - Throws: ``ObserverLimitError`` with this limit, and nothing is changed, when there are more already.
  public func setObserverLimit(_ limit: Int?) throws(ObserverLimitError) { try core.setObserverLimit(limit) }
}

extension ObserverList {
  final var observerLimit: Int? { withLock { $0.extras?.limit } }

  final func setObserverLimit(_ limit: Int?) throws(ObserverLimitError) {
    // Ends those whose receiver is gone, which do not count.
    _ = count
    let isSet = withLock { guarded in
      if let limit, guarded.live > limit { return false }
      extras(&guarded).limit = limit
      return true
    }
    if !isSet, let limit { throw ObserverLimitError(limit: limit) }
  }
}

extension DeliveryCore {
  /// The decision, made under the lock, about a new observer.
  private enum Admission {
    case new(first: Message?)
    case existing(Subscription)
    case refused(limit: Int)
  }

  fileprivate func subscribe(_ closure: ErasedClosure, fromFirst: Bool, unique id: ObserverID) -> Subscription {
    noticeGoneReceivers()
    let token = Subscription(source: self)
    // Released after unlocking: this may become the last reference to it.
    var known: Subscription?
    let admission: Admission = withLock { guarded in
      let extras = extras(&guarded)
      if let (order, reference) = extras.uniques[id] {
        known = reference.object
        if let known, unsafe known.slot != nil { return .existing(known) }
        // Owned by its source, its token dropped: the new token takes over.
        if known == nil, adopt(token, order: order) {
          extras.uniques[id] = (order, WeakReference(token))
          return .existing(token)
        }
      }
      let first = add(closure, token, fromFirst, &guarded)
      if let order = order(of: token) { extras.uniques[id] = (order, WeakReference(token)) }
      extras.sweepUniques { unsafe table.slot(withOrder: $0) != nil }
      return .new(first: first)
    }
    switch admission {
    case .existing(let existing):
      closure.release()
      return existing
    case .new(let first): start(token, first)
    case .refused: break
    }
    return token
  }

  fileprivate func trySubscribe(
    _ closure: ErasedClosure, fromFirst: Bool
  ) throws(ObserverLimitError) -> Subscription {
    _ = count
    let token = Subscription(source: self)
    let admission: Admission = withLock { guarded in
      if let limit = guarded.extras?.limit, guarded.live >= limit { return .refused(limit: limit) }
      return .new(first: add(closure, token, fromFirst, &guarded))
    }
    switch admission {
    case .refused(let limit):
      closure.release()
      throw ObserverLimitError(limit: limit)
    case .new(let first): start(token, first)
    case .existing: break
    }
    return token
  }

  /// Adds an observer; returns its first message when this thread may deliver it at once, otherwise that is queued.
  ///
  /// Needs the lock.
  private func add(
    _ closure: ErasedClosure, _ token: Subscription, _ fromFirst: Bool, _ guarded: inout ObserverList.Guarded
  ) -> Message? {
    let order = append(closure, flags: 0, token: token, &guarded)
    guard fromFirst, let message = unsafe Kind.first(from: memory) else { return nil }
    if begin() { return message }
    push(message, target: order, &guarded)
    return nil
  }

  /// Delivers the first message of a new observer.
  private func start(_ token: Subscription, _ first: Message?) {
    watcher?.deliver()
    if let first {
      callAlone(token, first)
      finish()
    } else {
      deliver()
    }
  }
}
