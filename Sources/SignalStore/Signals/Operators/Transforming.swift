// SPDX-License-Identifier: MIT

import Synchronization

// Operators that look at one message at a time.

extension SignalSource {
  /// Sends what `transform` makes of each message.
  @inlinable
  public func map<NewMessage>(
    _ transform: @escaping @Sendable (Message) -> NewMessage
  ) -> DerivedSignal<NewMessage, End> {
    self.transform { sink in
      guard let next = sink.stages?.closure else { return sink.behind { unsafe $1.call(transform($0)) } }
      return sink.behind { next(transform($0), $1) }
    }
  }

  /// Sends what `transform` makes of each message; an error that it throws ends the source.
  public func tryMap<NewMessage>(
    _ transform: @escaping @Sendable (Message) throws -> NewMessage
  ) -> DerivedSignal<NewMessage, Completion> {
    endable { sink, end in
      Sink(
        message: { message in
          do { sink(try transform(message)) } catch { end(.failed(error)) }
        }, end: { end($0.completion) })
    }
  }

  /// Sends the messages for which `isIncluded` holds.
  @inlinable
  public func filter(_ isIncluded: @escaping @Sendable (Message) -> Bool) -> DerivedSignal<Message, End> {
    transform { sink in
      guard let next = sink.stages?.closure else {
        return sink.behind { if isIncluded($0) { unsafe $1.call($0) } }
      }
      return sink.behind { if isIncluded($0) { next($0, $1) } }
    }
  }

  /// Sends what `transform` makes of each message, where it is not nil.
  @inlinable
  public func compactMap<NewMessage>(
    _ transform: @escaping @Sendable (Message) -> NewMessage?
  ) -> DerivedSignal<NewMessage, End> {
    self.transform { sink in
      guard let next = sink.stages?.closure else {
        return sink.behind { if let new = transform($0) { unsafe $1.call(new) } }
      }
      return sink.behind { if let new = transform($0) { next(new, $1) } }
    }
  }

  /// Sends each element of what `transform` makes of each message.
  @inlinable
  public func flatMap<Elements: Sequence & SendableMetatype>(
    _ transform: @escaping @Sendable (Message) -> Elements
  ) -> DerivedSignal<Elements.Element, End> where Elements.Element: Sendable, Elements.Iterator: SendableMetatype {
    sendingSeveral { sink, isOver in
      Sink(
        message: {
          for element in transform($0) {
            if isOver() { return }
            sink.message(element)
          }
        }, end: sink.end)
    }
  }

  /// A source that may send several messages for one of this source.
  ///
  /// `make` receives its sink and a closure that says whether the subscription is over, to be called before each
  /// message: the observer may cancel during one of them, and does not receive the others then (delivery rule 6).
  @usableFromInline
  func sendingSeveral<NewMessage>(
    _ make:
      @escaping @Sendable (
        _ sink: Sink<NewMessage, End>, _ isOver: @escaping @Sendable () -> Bool
      ) -> Sink<Message, End>
  ) -> DerivedSignal<NewMessage, End> {
    DerivedSignal { sink in
      let link = Link()
      let over = OverFlag()
      link.onEnd { over.value.store(true, ordering: .relaxed) }
      link.hold(attach(make(sink) { over.value.load(ordering: .relaxed) }))
      return link.token()
    }
  }

  /// Sends `Void` for each message.
  @inlinable
  public func toVoid() -> DerivedSignal<Void, End> { map { _ in } }

  /// Sends the same value for each message.
  @inlinable
  public func constant<NewMessage: Sendable>(_ message: NewMessage) -> DerivedSignal<NewMessage, End> {
    map { _ in message }
  }

  /// Runs `action` for each message of each subscriber, before the next stage receives it.
  @inlinable
  public func tap(_ action: @escaping @Sendable (Message) -> Void) -> DerivedSignal<Message, End> {
    transform { sink in
      Sink(
        message: {
          action($0)
          sink.message($0)
        }, end: sink.end)
    }
  }

  /// Runs `action` for each message and for the end, before the next stage receives it.
  @inlinable
  public func onEvent(_ action: @escaping @Sendable (Event<Message, End>) -> Void) -> DerivedSignal<Message, End> {
    transform { sink in
      Sink(
        message: {
          action(.message($0))
          sink.message($0)
        },
        end: {
          action(.end($0))
          sink.end($0)
        })
    }
  }

  /// Sends nothing but the end.
  @inlinable
  public func discard() -> DerivedSignal<Message, End> { filter { _ in false } }

  /// Sends `message` to each subscriber first.
  ///
  /// What is sent meanwhile, also from inside the observer, comes afterwards.
  @inlinable
  public func start(with message: Message) -> DerivedSignal<Message, End> {
    DerivedSignal { sink in
      let beginning = Beginning(sink)
      let token = attach(beginning.entrance)
      beginning.begin { sink.message(message) }
      return token
    }
  }

  /// Sends `hello` to each subscriber first, and `goodbye` when its subscription is cancelled, unless the source has
  /// ended before.
  ///
  /// `goodbye` is sent from `cancel`, or, while the observer is being called, after that call.
  public func bracketed(hello: Message? = nil, goodbye: Message? = nil) -> DerivedSignal<Message, End> {
    if let hello { return bracketed(goodbye: goodbye).start(with: hello) }
    guard let goodbye else { return erased }
    return DerivedSignal { sink in
      let final = FinalDelivery()
      let link = Link()
      link.hold(
        attach(
          Sink(
            message: { message in final.call { sink.message(message) } },
            end: { end in final.leave { sink.end(end) } })))
      link.onEnd { final.leave { sink.message(goodbye) } }
      return link.token()
    }
  }

  /// Logs, through `print`, each subscription, message, end, and end of a subscription.
  public func debug(
    _ name: String = "", file: StaticString = #fileID, line: UInt = #line,
    print: @escaping @Sendable (String) -> Void = { Swift.print($0) }
  ) -> DerivedSignal<Message, End> {
    let place = name.isEmpty ? "\(file):\(line)" : "\(file):\(line) \(name)"
    return DerivedSignal { sink in
      print("\(place): subscribed")
      let link = Link()
      let upstream = attach(
        Sink(
          message: {
            print("\(place): message(\($0))")
            sink.message($0)
          },
          end: {
            print("\(place): end(\($0.completion))")
            sink.end($0)
          }))
      link.hold(upstream)
      link.onEnd { print("\(place): cancelled") }
      return link.token()
    }
  }
}

/// Whether a subscription is over.
private final class OverFlag: Sendable {
  let value = Atomic(false)
}

extension SignalSource where End == Completion {
  /// Runs `action` when the source ends without an error.
  public func atEnd(_ action: @escaping @Sendable () -> Void) -> DerivedSignal<Message, End> {
    onEvent { if case .end(.finished) = $0 { action() } }
  }

  /// Runs `action` with the error when the source ends with one.
  public func atError(_ action: @escaping @Sendable (any Error) -> Void) -> DerivedSignal<Message, End> {
    onEvent { if case .end(.failed(let error)) = $0 { action(error) } }
  }
}

extension ReadableSource {
  /// A readable source whose value is made from the value of this one.
  @inlinable
  public func map<NewValue>(_ transform: @escaping @Sendable (Message) -> NewValue) -> DerivedProperty<NewValue> {
    DerivedProperty(value: { transform(value) }) { start, sink in
      guard let next = sink.stages?.closure else {
        return attach(from: start, sink.behind { unsafe $1.call(transform($0)) })
      }
      return attach(from: start, sink.behind { next(transform($0), $1) })
    }
  }
}

extension ReadableSource where Message == Bool {
  /// The opposite.
  @inlinable
  public func negate() -> DerivedProperty<Bool> { map { !$0 } }
}

extension WritableSource where Message == Bool {
  /// Sets the opposite.
  public func toggle() { modify { $0.toggle() } }
}

extension WritableSource {
  /// A part of the value, as a writable source: setting it sets the whole.
  @inlinable
  public subscript<Part: Sendable>(path: any WritableKeyPath<Message, Part> & Sendable) -> WritableProperty<Part> {
    part(path, overridePlace: nil)
  }

  @inlinable
  func part<Part: Sendable>(
    _ path: any WritableKeyPath<Message, Part> & Sendable, overridePlace: OverridePlace?
  ) -> WritableProperty<Part> {
    WritableProperty(
      overridePlace: overridePlace,
      value: { value[keyPath: path] },
      modify: { change in modify { change(&$0[keyPath: path]) } }
    ) { start, sink in
      attach(from: start, Sink { sink.message($0[keyPath: path]) })
    }
  }

  /// A part of the value that may be missing, as a writable source: reads as `missing` while it is nil.
  @inlinable
  public subscript<Part: Sendable>(
    path: any WritableKeyPath<Message, Part?> & Sendable, default missing: Part
  ) -> WritableProperty<Part> {
    WritableProperty(
      value: { value[keyPath: path] ?? missing },
      modify: { change in
        modify { whole in
          var part = whole[keyPath: path] ?? missing
          change(&part)
          whole[keyPath: path] = part
        }
      }
    ) { start, sink in
      attach(from: start, Sink { sink.message($0[keyPath: path] ?? missing) })
    }
  }
}

extension Property {
  /// A part of the value, as a writable source: setting it sets the whole.
  @inlinable
  public subscript<Part: Sendable>(path: any WritableKeyPath<Value, Part> & Sendable) -> WritableProperty<Part> {
    part(path, overridePlace: OverridePlace(core, path))
  }
}

extension ReadableSource {
  /// A part of the value, as a readable source.
  @inlinable
  public subscript<Part: Sendable>(path: any KeyPath<Message, Part> & Sendable) -> DerivedProperty<Part> {
    map { $0[keyPath: path] }
  }
}
