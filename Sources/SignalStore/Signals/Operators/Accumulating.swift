// SPDX-License-Identifier: MIT

// Operators that keep state about earlier messages, separately for each subscriber.

extension SignalSource {
  /// Sends, for each message, what `combine` makes of the previous result, at first `initial`, and the message.
  @inlinable
  public func scan<Result: Sendable>(
    _ initial: Result, _ combine: @escaping @Sendable (Result, Message) -> Result
  ) -> DerivedSignal<Result, End> {
    transform { sink in
      let result = OperatorState(initial)
      return Sink(
        message: {
          let next = combine(result.value, $0)
          result.value = next
          sink.message(next)
        }, end: sink.end)
    }
  }

  /// Sends the number of messages so far.
  @inlinable
  public func count() -> DerivedSignal<Int, End> { scan(0) { count, _ in count + 1 } }

  /// Sends each message with its number, from 0.
  @inlinable
  public func enumerated() -> DerivedSignal<(offset: Int, message: Message), End> {
    transform { sink in
      let next = OperatorState(0)
      return Sink(
        message: {
          let offset = next.value
          next.value += 1
          sink.message((offset, $0))
        }, end: sink.end)
    }
  }

  /// Sends the messages in groups of `count`; what is left at the end is sent before the end.
  @inlinable
  public func buffer(count: Int) -> DerivedSignal<[Message], End> {
    precondition(count > 0, "a buffer holds at least one message")
    return transform { sink in
      let messages = OperatorState<[Message]>([])
      return Sink(
        message: {
          messages.value.append($0)
          if messages.value.count < count { return }
          let full = messages.value
          messages.value = []
          sink.message(full)
        },
        end: {
          if !messages.value.isEmpty { sink.message(messages.value) }
          sink.end($0)
        })
    }
  }

  /// Sends each message together with the previous one, from the second on; the first pair of a property is the current
  /// value and the next one.
  @inlinable
  public func pairwise() -> DerivedSignal<(previous: Message, current: Message), End> {
    transform { sink in
      let last = OperatorState<Message?>(nil)
      return Sink(
        message: { message in
          let previous = last.value
          last.value = message
          if let previous { sink.message((previous, message)) }
        }, end: sink.end)
    }
  }

  /// Sends, for each message, whether `condition` has held for any so far.
  @inlinable
  public func contains(where condition: @escaping @Sendable (Message) -> Bool) -> DerivedSignal<Bool, End> {
    scan(false) { $0 || condition($1) }
  }

  /// Sends, for each message, whether `condition` has held for all so far.
  @inlinable
  public func allSatisfy(_ condition: @escaping @Sendable (Message) -> Bool) -> DerivedSignal<Bool, End> {
    scan(true) { $0 && condition($1) }
  }
}

extension SignalSource where End == Completion {
  /// Sends all messages as one array when the source ends, also after an error, and then the end.
  @inlinable
  public func collect() -> DerivedSignal<[Message], Completion> {
    transform { sink in
      let messages = OperatorState<[Message]>([])
      return Sink(
        message: { messages.value.append($0) },
        end: {
          sink.message(messages.value)
          sink.end($0)
        })
    }
  }
}
