// SPDX-License-Identifier: MIT

/// All operators between a source and an observer, composed into one closure.
///
/// Its second argument is the closure of the observer, a ``MessageCall`` for the results of the last operator; it is
/// passed along and not captured. A closure that captures nothing but such closures is a constant for the compiler,
/// which then makes one function of all of them: a captured observer would prevent that at the first operator.
@usableFromInline
struct Stages<Message>: Sendable {
  @usableFromInline let closure: @Sendable (Message, ErasedClosure) -> Void

  @inlinable @inline(__always)
  init(_ closure: @escaping @Sendable (Message, ErasedClosure) -> Void) { self.closure = closure }
}

/// The destination of the messages and the end of a source.
public struct Sink<Message: Sendable, End: Ending>: Sendable {
  /// The stages that a message passes on its way to the observer; nil for none.
  @usableFromInline let stages: Stages<Message>?
  /// Receives the results of the stages.
  @usableFromInline let observer: OwnedClosure
  /// Receives the end.
  public let end: @Sendable (End) -> Void

  @inlinable @inline(__always)
  init(stages: Stages<Message>?, observer: OwnedClosure, end: @escaping @Sendable (End) -> Void) {
    self.stages = stages
    self.observer = observer
    self.end = end
  }

  /// Makes a sink from two closures.
  @inlinable @inline(__always)
  public init(message: @escaping @Sendable (Message) -> Void, end: @escaping @Sendable (End) -> Void) {
    self.init(stages: nil, observer: OwnedClosure(MessageCall(message)), end: end)
  }

  /// Receives a message.
  @inlinable
  public func message(_ message: Message) {
    // The erased closure retains nothing.
    withExtendedLifetime(observer) {
      if let stages {
        stages.closure(message, observer.closure)
      } else {
        unsafe observer.closure.call(message)
      }
    }
  }

  /// The sink for a source whose messages go through `stages`, which includes those of this sink, to the same observer.
  ///
  /// An operator writes its closure twice, for a sink with stages and for one without: which of them is needed is known
  /// only at subscription, and a closure that handles both would not be a constant.
  @inlinable @inline(__always)
  func behind<Earlier>(_ stages: @escaping @Sendable (Earlier, ErasedClosure) -> Void) -> Sink<Earlier, End> {
    Sink<Earlier, End>(stages: Stages(stages), observer: observer, end: end)
  }

  /// What a table of observers stores for this sink: a closure that has been retained, and its flags.
  @inlinable @inline(__always)
  func retained() -> (closure: ErasedClosure, flags: UInt64) {
    if let stages { return (ErasedClosure(retaining: StagedObserver(stages, observer)), Stamp.staged) }
    return (observer.retained(), 0)
  }
}

extension Sink where End == Never {
  /// Makes a sink for a source that does not end.
  @inlinable @inline(__always)
  public init(_ message: @escaping @Sendable (Message) -> Void) {
    self.init(message: message, end: { _ in })
  }
}
