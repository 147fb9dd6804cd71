// SPDX-License-Identifier: MIT

import Synchronization

/// Subscribes upstream once for all its subscribers, and only while there are any.
private final class SharedSource<Message: Sendable, End: Ending>: Sendable {
  let hub: Signal<Event<Message, End>>
  private let upstream = Mutex<Subscription?>(nil)
  private let watch = Mutex<Subscription?>(nil)
  /// What the last subscriber leaves behind, called after it left.
  private let onIdle: @Sendable () -> Void

  init(
    onIdle: @escaping @Sendable () -> Void = {},
    _ attach: @escaping @Sendable (Sink<Message, End>) -> Subscription
  ) {
    let hub = Signal<Event<Message, End>>()
    self.hub = hub
    self.onIdle = onIdle
    // The counts come one at a time and in order, so there is never more than one upstream subscription.
    let token = hub.observerCounts.subscribe { [weak self] count in
      guard let self else { return }
      if count == 0 {
        set(nil)
        onIdle()
      } else if count == 1, upstream.withLock({ $0 == nil }) {
        set(attach(Sink(message: { hub.send(.message($0)) }, end: { hub.send(.end($0)) })))
      }
    }
    watch.withLock { $0 = token }
  }

  private func set(_ new: Subscription?) {
    let old = upstream.withLock { upstream in
      let old = upstream
      upstream = new
      return old
    }
    old?.cancel()
  }

  func attach(_ sink: Sink<Message, End>) -> Subscription {
    let link = Link()
    link.hold(
      hub.subscribe { event in
        switch event {
        case .message(let message): sink.message(message)
        case .end(let end): sink.end(end)
        }
      })
    // Keeps this object, and with it the upstream subscription, for as long as there are subscribers.
    link.onEnd { withExtendedLifetime(self) {} }
    return link.token()
  }
}

extension SignalSource {
  /// The same messages for any number of subscribers from one subscription to this source.
  ///
  /// It is made for the first subscriber and ended after the last. What a source sends while it is being subscribed to is
  /// for the first subscriber alone.
  public func share() -> DerivedSignal<Message, End> {
    let shared = SharedSource<Message, End> { attach($0) }
    return DerivedSignal { shared.attach($0) }
  }
}

extension ReadableSource {
  /// The same value, kept while anybody is subscribed.
  ///
  /// All subscribers have one subscription to this source, and reading the value asks this source only while there are none.
  public func buffered() -> DerivedProperty<Message> {
    let kept = Property<Message?>(nil)
    let shared = SharedSource<Message, Never>(onIdle: { kept.value = nil }) { _ in
      attach(from: .current, Sink { kept.value = $0 })
    }
    return DerivedProperty(value: { kept.value ?? value }) { start, sink in
      let link = Link()
      // First, so that there is a value when this returns, unless another thread is just about to put it there.
      link.hold(shared.attach(Sink { _ in }))
      let skips = OperatorState(start == .future)
      link.hold(
        kept.attach(
          from: .current,
          Sink { message in
            guard let message else { return }
            if skips.value { skips.value = false } else { sink.message(message) }
          }))
      return link.token()
    }
  }
}

extension SignalSource where End == Never {
  /// A readable source whose value is the last message while anybody is subscribed, and `initial` otherwise.
  public func readable(initial: Message) -> DerivedProperty<Message> {
    let kept = Property(initial)
    let shared = SharedSource<Message, Never>(onIdle: { kept.value = initial }) { sink in
      attach(
        Sink { message in
          kept.value = message
          sink.message(message)
        })
    }
    return DerivedProperty(value: { kept.value }) { start, sink in
      let link = Link()
      // In this order, so that the end of the subscription comes before the value falls back.
      link.hold(kept.attach(from: start, sink))
      link.hold(shared.attach(Sink { _ in }))
      return link.token()
    }
  }

  /// A readable source whose value is what `read` answers; this source tells when it has changed.
  public func readable<Value>(_ read: @escaping @Sendable () -> Value) -> DerivedProperty<Value> {
    DerivedProperty(value: read) { start, sink in
      if start == .current { sink.message(read()) }
      return attach(Sink { _ in sink.message(read()) })
    }
  }

  /// A writable source over storage elsewhere: this source tells when it has changed, `write` sets it.
  public func writable<Value>(
    _ read: @escaping @Sendable () -> Value, set write: @escaping @Sendable (Value) -> Void
  ) -> WritableProperty<Value> {
    let reading = readable(read)
    return WritableProperty(
      value: read,
      modify: { change in
        var value = read()
        change(&value)
        write(value)
      }
    ) { start, sink in reading.attach(from: start, sink) }
  }
}

extension Sequence where Element: Sendable, Self: Sendable {
  /// A source that sends the elements to each subscriber while it subscribes, and then ends.
  public var signal: DerivedSignal<Element, Completion> {
    DerivedSignal { sink in
      for element in self { sink.message(element) }
      sink.end(.finished)
      return Subscription {}
    }
  }
}

extension DerivedSignal {
  /// A source that sends nothing and does not end.
  public static var never: DerivedSignal { DerivedSignal { _ in Subscription {} } }

  /// A source made from a callback interface.
  ///
  /// `setUp` runs for the first subscriber and gets where to put messages; what it returns runs after the last
  /// subscriber has left. Then it may begin again.
  public static func connecting(
    _ setUp: @escaping @Sendable (_ sink: Sink<Message, End>) -> @Sendable () -> Void
  ) -> DerivedSignal {
    DerivedSignal { Subscription(setUp($0)) }.share()
  }
}

extension DerivedSignal where End == Completion {
  /// A source that sends one message to each subscriber and ends.
  public static func just(_ message: Message) -> DerivedSignal { CollectionOfOne(message).signal }
}
