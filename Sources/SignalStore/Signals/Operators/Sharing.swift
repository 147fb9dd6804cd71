// SPDX-License-Identifier: MIT

// Operators that share one subscription, and sources made from other things.

extension SignalSource {
  /// The same messages for any number of subscribers, from one subscription to this source.
  ///
  /// It is made for the first subscriber and ended after the last; a subscriber that joins while another thread does
  /// one or the other waits for that. What a source sends while it is being subscribed to is for the first subscriber
  /// alone; of a source with a current value every subscriber gets that first. When the source has ended, the next
  /// subscriber subscribes to it again.
  public func share() -> DerivedSignal<Message, End> {
    let shared = SharedSource<Message, End> { attach($0) }
    return DerivedSignal { shared.attach($0) }
  }
}

extension ReadableSource {
  /// The same messages for any number of subscribers, each starting with the current value, from one subscription.
  public func share() -> DerivedSignal<Message, Never> { buffered().fromCurrent }

  /// The same value, stored while there are subscribers.
  ///
  /// All subscribers share one subscription to this source, and reading the value reads this source only while there
  /// are none.
  public func buffered() -> DerivedProperty<Message> {
    let shared = SharedSource<Message, Never>(remembers: true) { attach(from: .current, $0) }
    return DerivedProperty(value: { shared.last ?? value }) { shared.attach(from: $0, $1) }
  }
}

extension SignalSource where End == Never {
  /// A readable source whose value is the last message while there are subscribers, and `initial` otherwise.
  ///
  /// What a source sends while it is being subscribed to is the current value for its first subscriber.
  public func readable(initial: Message) -> DerivedProperty<Message> {
    let shared = SharedSource<Message, Never>(remembers: true, initial: initial) { attach($0) }
    return DerivedProperty(value: { shared.last ?? initial }) { shared.attach(from: $0, $1) }
  }

  /// A readable source whose value is what `read` returns; each message of this source reports a change.
  public func readable<Value>(_ read: @escaping @Sendable () -> Value) -> DerivedProperty<Value> {
    DerivedProperty(value: read) { start, sink in
      // Read after subscribing, the first value includes what this source reports while it is subscribed to.
      let beginning = Beginning<Message, Never>(Sink { _ in sink.message(read()) }, supersedes: true)
      let token = attach(beginning.entrance)
      beginning.begin { if start == .current { sink.message(read()) } }
      return token
    }
  }

  /// A writable source over external storage: each message of this source reports a change, `write` sets it.
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
  /// `setUp` runs for the first subscriber and receives the sink for messages; what it returns runs after the last
  /// subscriber has left. Then it may start again.
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
