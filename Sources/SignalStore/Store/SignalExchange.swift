// SPDX-License-Identifier: MIT

public import JSON
import Synchronization

/// A message that was sent through a signal of a store: an event that leaves no value.
public struct SignalMessage: Sendable, Equatable {
  /// The path of the signal.
  public let path: PropertyPath
  /// What was sent.
  public let message: JSONText
  /// The time at which it was sent.
  public let time: Timestamp
  /// 1 for the first message of the exchange, then consecutive.
  public let number: UInt64

  package init(path: PropertyPath, message: JSONText, time: Timestamp, number: UInt64) {
    self.path = path
    self.message = message
    self.time = time
    self.number = number
  }
}

/// The signals of a store: messages under paths, sent to the current subscribers.
///
///     let subscription = store.signals.messages.subscribe { print($0.path, $0.message) }
///     try store.signals.send("doorbell", JSONText("front"))        // doorbell "front"
///
/// A signal has no value and no history, and sending takes no revision; a signal and a property may have the same path.
/// A message is kept only on request, as the last one of its signal, for later subscribers.
///
/// It may be used from any thread. ``messages`` sends each message once, in the order of the numbers.
public final class SignalExchange: Sendable {
  /// Sends every message.
  public let messages = Signal<SignalMessage>()
  private let shared: SharedState
  private let clock: @Sendable () -> Timestamp

  init(_ shared: SharedState, clock: @escaping @Sendable () -> Timestamp) {
    self.shared = shared
    self.clock = clock
  }

  /// Sends a message to all subscribers.
  ///
  /// - Parameter remember: Keeps it as the last message of the signal, until another one is sent. A message sent
  ///   without it removes the kept one, and is not kept itself.
  /// - Throws: ``StoreError/tooManyRemembered(limit:)`` when there is no room to keep it; nothing is sent then.
  @discardableResult
  public func send(
    _ path: PropertyPath, _ message: JSONText, remember: Bool = false
  ) throws(StoreError) -> SignalMessage {
    let now = clock()
    let (sent, old) = try shared.state.withLock { state throws(StoreError) in
      try state.send(path, message, isKept: remember, at: now, messages)
    }
    messages.deliver()
    // Released without the lock.
    withExtendedLifetime(old) {}
    return sent
  }

  /// The messages that are kept, in path order, and the number of the last one that was sent.
  ///
  /// A caller that subscribes to ``messages`` first receives every message after that number, and ignores others.
  public func remembered(match patterns: [PathPattern]) -> (messages: [SignalMessage], through: UInt64) {
    let (kept, last) = shared.state.withLock { ($0.replica.signals.messages, $0.lastMessage.number) }
    let matching = kept.values.filter { message in patterns.contains { $0.matches(message.path) } }
    return (matching.sorted { $0.path < $1.path }, last)
  }

  /// The last message of a signal, if it is kept.
  public func last(_ path: PropertyPath) -> SignalMessage? {
    shared.state.withLock { $0.replica.signals.messages[path] }
  }
}
