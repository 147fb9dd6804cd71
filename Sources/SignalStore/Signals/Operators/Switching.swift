// SPDX-License-Identifier: MIT

// Operators whose sources come and go.

extension SignalSource where End == Never {
  /// Sends the messages of the source that `transform` made of the last message: of one with a current value that first.
  ///
  /// The subscription to the one before is ended before the next one is made, and that is made when the message of this
  /// source is delivered.
  public func flatMapLatest<Inner: SignalSource>(
    _ transform: @escaping @Sendable (Message) -> Inner
  ) -> DerivedSignal<Inner.Message, Never> where Inner.End == Never {
    DerivedSignal { sink in
      switching(sink, attachOuter: { attach($0) }) { message, _, inner in transform(message).attach(inner) }
    }
  }
}

extension ReadableSource {
  /// The value of the source that `transform` makes of the value of this one, following both.
  public func flatMapLatest<Inner: ReadableSource>(
    _ transform: @escaping @Sendable (Message) -> Inner
  ) -> DerivedProperty<Inner.Message> {
    DerivedProperty(value: { transform(value).value }) { start, sink in
      switching(sink, attachOuter: { attach(from: .current, $0) }) { message, isFirst, inner in
        transform(message).attach(from: isFirst ? start : .current, inner)
      }
    }
  }

  /// The value of the source that `transform` makes of the value of this one; setting it sets that source.
  public func flatMapLatest<Inner: WritableSource>(
    writable transform: @escaping @Sendable (Message) -> Inner
  ) -> WritableProperty<Inner.Message> {
    let reading: DerivedProperty<Inner.Message> = flatMapLatest(transform)
    return WritableProperty(
      value: { reading.value }, modify: { change in transform(value).modify(change) }
    ) { start, sink in reading.attach(from: start, sink) }
  }
}

extension SignalSource where End == Never, Message: SignalSource, Message.End == Never {
  /// Sends the messages of the source that was sent last: of one with a current value that first.
  public func switchToLatest() -> DerivedSignal<Message.Message, Never> { flatMapLatest { $0 } }
}

extension ReadableSource where Message: ReadableSource {
  /// The value of the source that is the value of this one, following both.
  public func switchToLatest() -> DerivedProperty<Message.Message> { flatMapLatest { $0 } }
}

/// Subscribes to the inner source of each outer message, and to no other one.
private func switching<Outer, Inner>(
  _ sink: Sink<Inner, Never>,
  attachOuter: (Sink<Outer, Never>) -> Subscription,
  attachInner: @escaping @Sendable (Outer, _ isFirst: Bool, Sink<Inner, Never>) -> Subscription
) -> Subscription {
  // Which of the inner sources is the one of now: a call of an earlier one may still be running on another thread.
  let relay = Relay<Int, Inner, Never>(0, into: sink)
  let current = OperatorState<(generation: Int, token: Subscription?)>((0, nil))
  relay.hold(
    attachOuter(
      Sink { [link = relay.link] message in
        let generation = current.value.generation + 1
        let previous = current.value.token
        current.value = (generation, nil)
        relay.change {
          $0 = generation
          return nil
        }
        link.replace(previous, with: nil)
        let token = attachInner(
          message, generation == 1,
          Sink { inner in relay.change { $0 == generation ? .message(inner) : nil } })
        current.value.token = token
        link.replace(nil, with: token)
      }))
  return relay.token()
}
