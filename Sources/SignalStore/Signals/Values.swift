// SPDX-License-Identifier: MIT

/// The messages of a source, for `for await`.
///
/// Each loop has its own subscription and buffer, starting when the loop starts; leaving the loop ends the
/// subscription. Whatever is dropped because the loop is slower than the source, the last message is not.
public struct MessageSequence<Element: Sendable>: AsyncSequence, Sendable {
  let source: DerivedSignal<Element, Never>
  let buffering: Buffering

  /// Begins a subscription.
  public func makeAsyncIterator() -> Iterator {
    let (stream, continuation) = AsyncStream.makeStream(of: Element.self, bufferingPolicy: buffering.policy())
    let subscription = source.attach(Sink { continuation.yield($0) })
    return Iterator(base: stream.makeAsyncIterator(), subscription: subscription)
  }

  /// One loop; dropping it ends its subscription.
  public struct Iterator: AsyncIteratorProtocol {
    var base: AsyncStream<Element>.Iterator
    let subscription: Subscription

    /// The next message; nil when the task is cancelled.
    public mutating func next() async -> Element? { await base.next() }

    /// The next message; nil when the task is cancelled.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
      await base.next(isolation: actor)
    }
  }
}

/// The messages of a source that ends, for `for try await`; an error that ends it is thrown.
public struct FiniteMessageSequence<Element: Sendable>: AsyncSequence, Sendable {
  let source: DerivedSignal<Element, Completion>
  let buffering: Buffering

  /// Begins a subscription.
  public func makeAsyncIterator() -> Iterator {
    let (stream, continuation) = AsyncThrowingStream.makeStream(
      of: Element.self, bufferingPolicy: buffering.throwingPolicy())
    let subscription = source.attach(
      Sink(message: { continuation.yield($0) }, end: { continuation.finish(throwing: $0.error) }))
    return Iterator(base: stream.makeAsyncIterator(), subscription: subscription)
  }

  /// One loop; dropping it ends its subscription.
  public struct Iterator: AsyncIteratorProtocol {
    var base: AsyncThrowingStream<Element, any Error>.Iterator
    let subscription: Subscription

    /// The next message; nil at the end, or when the task is cancelled.
    public mutating func next() async throws -> Element? { try await base.next() }
  }
}

extension Buffering {
  fileprivate func policy<Element>() -> AsyncStream<Element>.Continuation.BufferingPolicy {
    self == .all ? .unbounded : .bufferingNewest(limit)
  }

  fileprivate func throwingPolicy<Element>()
    -> AsyncThrowingStream<Element, any Error>.Continuation.BufferingPolicy
  {
    self == .all ? .unbounded : .bufferingNewest(limit)
  }
}

extension ReadableSource {
  /// The current value and each later one, for `for await`.
  ///
  /// - Parameter buffering: What a loop that is slower than the setters receives; by default the newest value only.
  public func values(buffering: Buffering = .latest) -> MessageSequence<Message> {
    MessageSequence(source: fromCurrent, buffering: buffering)
  }
}

extension SignalSource where End == Never {
  /// Every message from the start of the loop, for `for await`.
  ///
  /// - Parameter buffering: What a loop that is slower than the senders receives; by default every message.
  public func messages(buffering: Buffering = .all) -> MessageSequence<Message> {
    MessageSequence(source: erased, buffering: buffering)
  }
}

extension SignalSource where End == Completion {
  /// Every message from the start of the loop, for `for try await`.
  ///
  /// - Parameter buffering: What a loop that is slower than the senders receives; by default every message.
  public func messages(buffering: Buffering = .all) -> FiniteMessageSequence<Message> {
    FiniteMessageSequence(source: erased, buffering: buffering)
  }
}
