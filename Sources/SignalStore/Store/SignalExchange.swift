// SPDX-License-Identifier: MIT

public import JSON
import Synchronization

/// A message that was sent through a signal of a store: something that has happened, and has no value afterwards.
public struct SignalMessage: Sendable, Equatable {
  /// The path of the signal.
  public let path: PropertyPath
  /// What was sent.
  public let message: JSONText
  /// When.
  public let time: Timestamp
  /// 1 for the first message of the exchange, and one more for each after it.
  public let number: UInt64
}

/// The signals of a store: messages under paths, told to those who listen at that moment.
///
///     let subscription = store.signals.messages.subscribe { print($0.path, $0.message) }
///     try store.signals.send("doorbell", JSONText("front"))        // doorbell "front"
///
/// A signal has no value and no history, and sending takes no revision; a signal and a property may have the same path.
/// Only when a message asks for it is it kept, as the last one of its signal, for those who come later.
///
/// It may be used from any thread. ``messages`` sends each message once, in the order of the numbers.
public final class SignalExchange: Sendable {
  private struct State: Sendable {
    var number: UInt64 = 0
    var time = Timestamp(milliseconds: .min)
    var remembered: [PropertyPath: SignalMessage] = [:]
    var bytes = 0

    mutating func forget(_ path: PropertyPath) -> SignalMessage? {
      guard let old = remembered.removeValue(forKey: path) else { return nil }
      bytes -= State.cost(of: old)
      return old
    }

    static func cost(of message: SignalMessage) -> Int { message.message.bytes.count + message.path.bytes.count + 128 }
  }

  /// Sends every message.
  public let messages = Signal<SignalMessage>()
  private let limits: StoreLimits
  private let clock: @Sendable () -> Timestamp
  private let state = Mutex(State())

  init(limits: StoreLimits, clock: @escaping @Sendable () -> Timestamp) {
    self.limits = limits
    self.clock = clock
  }

  /// Sends a message to everyone who listens.
  ///
  /// - Parameter remember: Keeps it as the last message of the signal, until another one is sent. One that is sent
  ///   without takes the place of the one that is kept, and is not kept itself.
  /// - Throws: ``StoreError/tooManyRemembered(limit:)`` when there is no room to keep it; nothing is sent then.
  @discardableResult
  public func send(
    _ path: PropertyPath, _ message: JSONText, remember: Bool = false
  ) throws(StoreError) -> SignalMessage {
    let now = clock()
    let (sent, old) = try state.withLock { state throws(StoreError) in
      let time = max(state.time, now)
      let sent = SignalMessage(path: path, message: message, time: time, number: state.number + 1)
      let old: SignalMessage?
      if remember {
        let known = state.remembered[path]
        let bytes = state.bytes - (known.map(State.cost) ?? 0) + State.cost(of: sent)
        guard known != nil || state.remembered.count < limits.rememberedSignals, bytes <= limits.rememberedBytes else {
          throw .tooManyRemembered(limit: limits.rememberedSignals)
        }
        old = state.remembered.updateValue(sent, forKey: path)
        state.bytes = bytes
      } else {
        old = state.remembered.isEmpty ? nil : state.forget(path)
      }
      state.number += 1
      state.time = time
      // Under the lock, so that messages are delivered in the order of their numbers.
      messages.enqueue(sent)
      return (sent, old)
    }
    messages.deliver()
    // Released without the lock.
    withExtendedLifetime(old) {}
    return sent
  }

  /// The messages that are kept, in path order, and the number of the last one that was sent.
  ///
  /// Whoever subscribes to ``messages`` first gets every message after that number, and ignores others.
  public func remembered(match patterns: [PathPattern]) -> (messages: [SignalMessage], through: UInt64) {
    let (all, number) = state.withLock { ($0.remembered, $0.number) }
    let matching = all.values.filter { message in patterns.contains { $0.matches(message.path) } }
    return (matching.sorted { $0.path < $1.path }, number)
  }

  /// The last message of a signal, if it is kept.
  public func last(_ path: PropertyPath) -> SignalMessage? { state.withLock { $0.remembered[path] } }
}
