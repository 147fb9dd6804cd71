// SPDX-License-Identifier: MIT

// Operators that switch between sources.

extension SignalSource where End == Never {
  /// Sends the messages of the source that `transform` made from the last message, starting with its current value, if
  /// it has one.
  ///
  /// The previous subscription is ended before the next one is made, and that is made when the message of this source
  /// is delivered.
  public func flatMapLatest<Inner: SignalSource>(
    _ transform: @escaping @Sendable (Message) -> Inner
  ) -> DerivedSignal<Inner.Message, Never> where Inner.End == Never {
    DerivedSignal { sink in
      Switch(sink, from: nil, end: nil).subscription(toOuter: { attach($0) }) { message, _, inner in
        transform(message).attach(inner)
      }
    }
  }
}

extension SignalSource {
  /// Sends the messages of the source that `transform` made from the last message, where either may end.
  ///
  /// Ends when both have ended, or at once when one ends with an error.
  public func flatMapLatest<Inner: SignalSource>(
    _ transform: @escaping @Sendable (Message) -> Inner
  ) -> DerivedSignal<Inner.Message, Completion> {
    DerivedSignal { sink in
      Switch(sink, from: nil, end: { $0 }).subscription(toOuter: { attach($0) }) { message, _, inner in
        transform(message).attach(inner)
      }
    }
  }
}

extension ReadableSource {
  /// The value of the source that `transform` makes from the value of this one, following both.
  public func flatMapLatest<Inner: ReadableSource>(
    _ transform: @escaping @Sendable (Message) -> Inner
  ) -> DerivedProperty<Inner.Message> {
    DerivedProperty(value: { transform(value).value }) { start, sink in
      Switch(sink, from: start, end: nil).subscription(toOuter: { attach(from: .current, $0) }) {
        message, isFirst, inner in
        transform(message).attach(from: isFirst ? start : .current, inner)
      }
    }
  }

  /// The value of the source that `transform` makes from the value of this one; setting it sets that source.
  public func flatMapLatest<Inner: WritableSource>(
    writable transform: @escaping @Sendable (Message) -> Inner
  ) -> WritableProperty<Inner.Message> {
    let reading: DerivedProperty<Inner.Message> = flatMapLatest(transform)
    return WritableProperty(
      value: { reading.value }, modify: { change in transform(value).modify(change) }
    ) { start, sink in reading.attach(from: start, sink) }
  }
}

extension SignalSource where Message: SignalSource {
  /// Sends the messages of the source that was sent last, and ends as ``flatMapLatest(_:)`` does.
  public func switchToLatest() -> DerivedSignal<Message.Message, Completion> { flatMapLatest { $0 } }
}

extension SignalSource where End == Never, Message: SignalSource, Message.End == Never {
  /// Sends the messages of the source that was sent last, starting with its current value, if it has one.
  public func switchToLatest() -> DerivedSignal<Message.Message, Never> { flatMapLatest { $0 } }
}

extension ReadableSource where Message: ReadableSource {
  /// The value of the source that is the value of this one, following both.
  public func switchToLatest() -> DerivedProperty<Message.Message> { flatMapLatest { $0 } }
}

/// One subscription to the source made from the last message of another one.
///
/// With readable sources, the changes of a transaction are sent once, when all its messages have been delivered: then
/// the inner source is the last one, and has its last value.
private final class Switch<Inner: Sendable, End: Ending>: Sendable {
  struct State: Sendable {
    /// The generation of the current inner source: a call of an earlier one may still be running on another thread.
    var generation = 0
    /// Whether the first value has been sent; it does not wait for the end of a transaction.
    var hasBegun: Bool
    /// What is sent at the end of a transaction.
    var staged: Inner?
    var outerHasEnded = false
    var innerHasEnded = true
  }

  private let relay: Relay<State, Inner, End>
  private let height = CombinationHeight()
  private let joinsTransactions: Bool
  private let end: (@Sendable (Completion) -> End)?

  /// - Parameters:
  ///   - start: Where the subscriber of readable sources begins. Nil for others, each message of which is sent.
  ///   - end: Makes the end of the result; nil when neither source ends.
  init(_ sink: Sink<Inner, End>, from start: StartingPoint?, end: (@Sendable (Completion) -> End)?) {
    relay = Relay(State(hasBegun: start != .current), into: sink)
    joinsTransactions = start != nil
    self.end = end
  }

  func subscription<Outer, OuterEnd: Ending, InnerEnd: Ending>(
    toOuter attachOuter: (Sink<Outer, OuterEnd>) -> Subscription,
    toInner attachInner: @escaping @Sendable (Outer, _ isFirst: Bool, Sink<Inner, InnerEnd>) -> Subscription
  ) -> Subscription {
    // Retained by the outer subscription alone: the inner one would retain itself.
    let current = OperatorState<(generation: Int, inner: Subscription?)>((0, nil))
    let sink = Sink<Outer, OuterEnd>(
      message: { self.replace(current, with: $0, attachInner) },
      end: { end in
        self.finish(end.completion) {
          $0.outerHasEnded = true
          return $0.innerHasEnded
        }
      })
    relay.attachingAll { relay.hold(height.measure { FirstValue.atOnce { attachOuter(sink) } }) }
    return relay.token()
  }

  private func replace<Outer, InnerEnd: Ending>(
    _ current: OperatorState<(generation: Int, inner: Subscription?)>, with message: Outer,
    _ attachInner: (Outer, Bool, Sink<Inner, InnerEnd>) -> Subscription
  ) {
    let generation = current.value.generation + 1
    let previous = current.value.inner
    current.value = (generation, nil)
    relay.change {
      $0.generation = generation
      $0.staged = nil
      $0.innerHasEnded = false
      return nil
    }
    relay.link.replace(previous, with: nil)
    let sink = Sink<Inner, InnerEnd>(
      message: { self.receive($0, generation) },
      end: { end in
        self.finish(end.completion) {
          guard $0.generation == generation else { return nil }
          $0.innerHasEnded = true
          return $0.outerHasEnded
        }
      })
    let inner = height.measure { attachInner(message, generation == 1, sink) }
    current.value.inner = inner
    relay.link.replace(nil, with: inner)
  }

  private func receive(_ inner: Inner, _ generation: Int) {
    let postpones =
      joinsTransactions && Transaction.postpone(self, height: height.current) { $0.sendStaged() }
    relay.change { state in
      guard state.generation == generation else { return nil }
      if state.hasBegun, postpones || state.staged != nil {
        state.staged = inner
        return nil
      }
      state.hasBegun = true
      return .message(inner)
    }
  }

  private func sendStaged() {
    relay.change { state in
      defer { state.staged = nil }
      return state.staged.map { .message($0) }
    }
  }

  /// Ends with an error, or when `note` returns true because the other source has ended as well; nil means that this
  /// source is no longer current.
  private func finish(_ completion: Completion, _ note: @Sendable (inout State) -> Bool?) {
    guard let end else { return }
    relay.change { state in
      guard let isLast = note(&state) else { return nil }
      return isLast || completion.error != nil ? .end(end(completion)) : nil
    }
  }
}
