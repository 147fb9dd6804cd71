// SPDX-License-Identifier: MIT

// Operators that let a part of the messages through, and those that end.

extension SignalSource {
  /// A source that an operator can end from inside.
  ///
  /// `make` gets where to put messages and how to end, and gives the sink for this source. After the end nothing is
  /// sent, and this source is not subscribed to any more.
  func endable<NewMessage>(
    _ make:
      @escaping @Sendable (
        _ message: @escaping @Sendable (NewMessage) -> Void, _ end: @escaping @Sendable (Completion) -> Void
      ) -> Sink<Message, End>
  ) -> DerivedSignal<NewMessage, Completion> {
    DerivedSignal { sink in
      let link = Link()
      // Read and written by one message at a time.
      let ended = OperatorState(false)
      let inner = make(
        { if !ended.value { sink.message($0) } },
        { completion in
          if ended.value { return }
          ended.value = true
          link.end()
          sink.end(completion)
        })
      link.hold(
        attach(
          Sink(
            message: { if !ended.value { inner.message($0) } },
            end: { if !ended.value { inner.end($0) } })))
      return link.token()
    }
  }

  /// Ends after this many messages; at once for 0.
  public func take(first count: Int) -> DerivedSignal<Message, Completion> {
    if count <= 0 {
      return DerivedSignal { sink in
        sink.end(.finished)
        return Subscription {}
      }
    }
    return endable { message, end in
      let left = OperatorState(count)
      return Sink(
        message: {
          left.value -= 1
          let isLast = left.value == 0
          message($0)
          if isLast { end(.finished) }
        }, end: { end($0.completion) })
    }
  }

  /// Ends before the first message for which `isIncluded` does not hold.
  public func take(while isIncluded: @escaping @Sendable (Message) -> Bool) -> DerivedSignal<Message, Completion> {
    endable { message, end in
      Sink(message: { isIncluded($0) ? message($0) : end(.finished) }, end: { end($0.completion) })
    }
  }

  /// The same source, as one that may end.
  public func finite() -> DerivedSignal<Message, Completion> {
    endable { message, end in Sink(message: message, end: { end($0.completion) }) }
  }

  /// Leaves out the first messages of each subscriber.
  @inlinable
  public func skip(first count: Int) -> DerivedSignal<Message, End> {
    transform { sink in
      let left = OperatorState(count)
      return Sink(
        message: {
          if left.value > 0 { left.value -= 1 } else { sink.message($0) }
        }, end: sink.end)
    }
  }

  /// Leaves out messages until `condition` holds for one; that one and all after it are sent.
  @inlinable
  public func skip(until condition: @escaping @Sendable (Message) -> Bool) -> DerivedSignal<Message, End> {
    transform { sink in
      let open = OperatorState(false)
      return Sink(
        message: {
          if !open.value { open.value = condition($0) }
          if open.value { sink.message($0) }
        }, end: sink.end)
    }
  }

  /// Leaves out each message that `isEqual` calls the same as the one before it.
  @inlinable
  public func distinct(_ isEqual: @escaping @Sendable (Message, Message) -> Bool) -> DerivedSignal<Message, End> {
    transform { sink in
      let last = OperatorState<Message?>(nil)
      return Sink(
        message: { message in
          let previous = last.value
          last.value = message
          if let previous, isEqual(previous, message) { return }
          sink.message(message)
        }, end: sink.end)
    }
  }
}

extension SignalSource where Message: Equatable {
  /// Leaves out each message that is equal to the one before it.
  @inlinable
  public func distinct() -> DerivedSignal<Message, End> { distinct { $0 == $1 } }
}

extension ReadableSource {
  /// The same value, telling only of those that `isEqual` does not call the same as the one before.
  @inlinable
  public func distinct(_ isEqual: @escaping @Sendable (Message, Message) -> Bool) -> DerivedProperty<Message> {
    DerivedProperty(value: { value }) { start, sink in distinct(isEqual, from: start, into: sink) }
  }

  @inlinable
  func distinct(
    _ isEqual: @escaping @Sendable (Message, Message) -> Bool, from start: StartingPoint,
    into sink: Sink<Message, Never>
  ) -> Subscription {
    let last = OperatorState<Message?>(nil)
    // Always from the current value, which is the reference for the first set; who starts later does not get it.
    return attach(
      from: .current,
      Sink { message in
        let previous = last.value
        last.value = message
        if let previous {
          if !isEqual(previous, message) { sink.message(message) }
        } else if start == .current {
          sink.message(message)
        }
      })
  }
}

extension ReadableSource where Message: Equatable {
  /// The same value, telling only of those that are not equal to the one before.
  @inlinable
  public func distinct() -> DerivedProperty<Message> { distinct { $0 == $1 } }
}

extension WritableSource {
  /// The same value, neither telling of nor setting what `isEqual` calls the same as the current one.
  public func distinct(_ isEqual: @escaping @Sendable (Message, Message) -> Bool) -> WritableProperty<Message> {
    WritableProperty(
      value: { value },
      modify: { change in
        var new = value
        let old = new
        change(&new)
        if !isEqual(old, new) { modify(change) }
      }
    ) { start, sink in distinct(isEqual, from: start, into: sink) }
  }
}

extension WritableSource where Message: Equatable {
  /// The same value, neither telling of nor setting what is equal to the current one.
  public func distinct() -> WritableProperty<Message> { distinct { $0 == $1 } }
}
