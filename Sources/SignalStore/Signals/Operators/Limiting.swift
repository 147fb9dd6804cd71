// SPDX-License-Identifier: MIT

// Operators that pass on part of the messages, and those that end.

extension SignalSource {
  /// A source that an operator can end itself.
  ///
  /// `make` receives closures for sending and for ending, and returns the sink for this source. After the end nothing
  /// is sent, and the subscription to this source is ended.
  func endable<NewMessage>(
    _ make:
      @escaping @Sendable (
        _ message: @escaping @Sendable (NewMessage) -> Void, _ end: @escaping @Sendable (Completion) -> Void
      ) -> Sink<Message, End>
  ) -> DerivedSignal<NewMessage, Completion> {
    DerivedSignal { sink in
      let link = Link()
      // Accessed by one message at a time.
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

  /// Skips the first messages of each subscriber.
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

  /// Skips messages until `condition` holds for one; that one and all after it are sent.
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

  /// Skips each message that `isEqual` considers equal to the previous one.
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
  /// Skips each message that is equal to the previous one.
  @inlinable
  public func distinct() -> DerivedSignal<Message, End> { distinct { $0 == $1 } }
}

extension ReadableSource {
  /// The same value, sending only those that `isEqual` does not consider equal to the previous one.
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
    // Always from the current value, the reference for the first set; a subscriber from the next one does not get it.
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
  /// The same value, sending only those that are not equal to the previous one.
  @inlinable
  public func distinct() -> DerivedProperty<Message> { distinct { $0 == $1 } }
}

extension WritableSource {
  /// The same value, neither sending nor setting values that `isEqual` considers equal to the current one.
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
  /// The same value, neither sending nor setting values that are equal to the current one.
  public func distinct() -> WritableProperty<Message> { distinct { $0 == $1 } }
}
