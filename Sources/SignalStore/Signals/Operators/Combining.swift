// SPDX-License-Identifier: MIT

import Synchronization

// Operators over several sources.

/// The last message of one of several sources.
///
/// Read and written under the lock of its relay.
///
/// Unchecked for that reason.
private final class Latest<Message: Sendable>: @unchecked Sendable {
  var message: Message?
}

/// Has no state of its own: the state of the relay is in ``Latest``.
private struct Kept<each Message: Sendable>: Sendable {
  let latest: (repeat Latest<each Message>)

  init() { latest = (repeat Latest<each Message>()) }

  /// All messages, when each source has sent one.
  var all: (repeat each Message)? {
    for one in repeat each latest {
      if one.message == nil { return nil }
    }
    // Checked above; a forced unwrapping is not accepted inside a pack expansion.
    return unsafe (repeat (each latest).message.unsafelyUnwrapped)
  }
}

/// The values of any number of readable sources as one tuple.
///
/// Its value is always available. Observers receive a tuple after each change of a part; for a ``withTransaction(_:)``
/// they receive one for all changes together, also when the same source is given twice. Outside of a transaction a
/// source that is given twice sends two tuples for each change.
public func combineLatest<each Source: ReadableSource>(
  _ source: repeat each Source
) -> DerivedProperty<(repeat (each Source).Message)> {
  latest(of: repeat each source)
}

func latest<each Source: ReadableSource>(
  of source: repeat each Source
) -> DerivedProperty<(repeat (each Source).Message)> {
  DerivedProperty(value: { (repeat (each source).value) }) { start, sink in
    let parts = CombinationParts<repeat (each Source).Message>()
    let combination = Combination<(repeat (each Source).Message)>(start, into: sink) { parts.all }
    func attach<One: ReadableSource>(_ source: One, _ part: CombinationPart<One.Message>) {
      combination.attach(source, part)
    }
    combination.attachingAll { repeat attach(each source, each parts.parts) }
    return combination.token()
  }
}

/// The last messages of any number of sources as one tuple, each time one sends, once all have sent.
///
/// With sources that end, the combination ends when all have ended, or at once when one ends with an error, or without
/// having sent anything. A source that does not end can be combined with them as ``SignalSource/finite()``.
public func combineLatest<End: Ending, each Message: Sendable>(
  messages source: repeat any SignalSource<each Message, End>
) -> DerivedSignal<(repeat each Message), End> {
  latest(ofMessages: repeat each source)
}

func latest<End: Ending, each Message: Sendable>(
  ofMessages source: repeat any SignalSource<each Message, End>
) -> DerivedSignal<(repeat each Message), End> {
  DerivedSignal { sink in
    let kept = Kept<repeat each Message>()
    var count = 0
    for _ in repeat each kept.latest { count += 1 }
    let relay = Relay<Int, (repeat each Message), End>(count, into: sink)
    func attach<One>(_ source: any SignalSource<One, End>, _ latest: Latest<One>) {
      relay.hold(
        source.attach(
          Sink(
            message: { message in
              var message: One? = message
              relay.change { _ in
                swap(&message, &latest.message)
                return kept.all.map { .message($0) }
              }
            },
            end: { end in
              relay.change { open in
                open -= 1
                return open == 0 || latest.message == nil || end.completion.error != nil ? .end(end) : nil
              }
            })))
    }
    relay.attachingAll { FirstValue.atOnce { repeat attach(each source, each kept.latest) } }
    return relay.token()
  }
}

/// Any number of writable sources as one with a tuple as its value: setting it sets all parts in one transaction.
///
/// `modify` reads all parts and sets all parts; another thread may set one of them between the two, which is then
/// overwritten.
public func combine<each Source: WritableSource>(
  _ source: repeat each Source
) -> WritableProperty<(repeat (each Source).Message)> {
  writable(of: repeat each source)
}

func writable<each Source: WritableSource>(
  of source: repeat each Source
) -> WritableProperty<(repeat (each Source).Message)> {
  let all = latest(of: repeat each source)
  return WritableProperty(
    value: { all.value },
    modify: { change in
      var new = all.value
      change(&new)
      withTransaction { repeat set(each source, to: each new) }
    }
  ) { start, sink in all.attach(from: start, sink) }
}

private func set<Source: WritableSource>(_ source: Source, to value: Source.Message) { source.value = value }

/// The values of any number of readable sources of one type, as an array.
public func combineLatest<Source: ReadableSource>(_ sources: [Source]) -> DerivedProperty<[Source.Message]> {
  DerivedProperty(value: { sources.map(\.value) }) { start, sink in
    if sources.isEmpty {
      if start == .current { sink.message([]) }
      return Subscription {}
    }
    let parts = sources.map { _ in CombinationPart<Source.Message>() }
    let combination = Combination<[Source.Message]>(start, into: sink) {
      let all = parts.compactMap(\.current)
      return all.count == parts.count ? all : nil
    }
    combination.attachingAll {
      for (source, part) in zip(sources, parts) { combination.attach(source, part) }
    }
    return combination.token()
  }
}

/// The messages of several sources of one type.
///
/// Ends when all have ended, or at once when one ends with an error.
public func merge<Message, End: Ending>(
  _ sources: [DerivedSignal<Message, End>]
) -> DerivedSignal<Message, Completion> {
  DerivedSignal { sink in
    if sources.isEmpty {
      sink.end(.finished)
      return Subscription {}
    }
    let relay = Relay<Int, Message, Completion>(sources.count, into: sink)
    relay.attachingAll {
      for source in sources {
        relay.hold(
          source.attach(
            Sink(
              message: { message in relay.change { _ in .message(message) } },
              end: { end in
                relay.change { open in
                  open -= 1
                  let completion = end.completion
                  return completion.error != nil || open == 0 ? .end(completion) : nil
                }
              })))
      }
    }
    return relay.token()
  }
}

/// The messages of several sources that do not end.
public func merge<Message>(_ sources: any SignalSource<Message, Never>...) -> DerivedSignal<Message, Never> {
  DerivedSignal { sink in
    let relay = Relay<Void, Message, Never>((), into: sink)
    relay.attachingAll {
      for source in sources {
        relay.hold(source.attach(Sink { message in relay.change { _ in .message(message) } }))
      }
    }
    return relay.token()
  }
}

extension SignalSource {
  /// Sends each message together with the value of `other` at that time.
  public func withLatest<Other: ReadableSource>(
    from other: Other
  ) -> DerivedSignal<(Message, Other.Message), End> {
    map { ($0, other.value) }
  }

  /// Sends each message together with the last value of `other`, which always has one.
  public func withLatest<Other: ReadableSource>(
    fromMessagesOf other: Other
  ) -> DerivedSignal<(Message, Other.Message), End> {
    withLatest(from: other)
  }

  /// Sends each message together with the last one of `other`, and nothing before there is one.
  public func withLatest<Other: SignalSource>(
    fromMessagesOf other: Other
  ) -> DerivedSignal<(Message, Other.Message), End> where Other.End == Never {
    DerivedSignal { sink in
      let relay = Relay<Other.Message?, (Message, Other.Message), End>(nil, into: sink)
      let sink = Sink<Other.Message, Never> { latest in
        relay.change {
          $0 = latest
          return nil
        }
      }
      relay.hold(FirstValue.atOnce { other.attach(sink) })
      relay.hold(
        attach(
          Sink(
            message: { message in relay.change { latest in latest.map { .message((message, $0)) } } },
            end: { end in relay.change { _ in .end(end) } })))
      return relay.token()
    }
  }
}

extension SignalSource where End == Never {
  /// Sends each message together with a live object, and ends when the object is gone.
  public func with<Object: AnyObject & Sendable>(
    weak object: Object
  ) -> DerivedSignal<(Object, Message), Completion> {
    let reference = WeakReference(object)
    return endable { message, end in
      Sink {
        if let object = reference.object { message((object, $0)) } else { end(.finished) }
      }
    }
  }

  /// While `gate` is false only the last message is kept; it is sent when the gate becomes true.
  public func wait<Gate: ReadableSource>(until gate: Gate) -> DerivedSignal<Message, Never>
  where Gate.Message == Bool {
    DerivedSignal { sink in
      let relay = Relay<(open: Bool?, kept: Message?), Message, Never>((nil, nil), into: sink)
      relay.hold(
        gate.attach(
          from: .current,
          Sink { isOpen in
            relay.change { state in
              state.open = isOpen
              guard isOpen, let kept = state.kept else { return nil }
              state.kept = nil
              return .message(kept)
            }
          }))
      // The gate may not have sent its value if another thread is delivering it; no message may be dropped for that.
      let isOpen = gate.value
      relay.change { state in
        if state.open == nil { state.open = isOpen }
        return nil
      }
      relay.hold(
        attach(
          Sink { message in
            relay.change { state in
              if state.open == true { return .message(message) }
              state.kept = message
              return nil
            }
          }))
      return relay.token()
    }
  }
}

extension ReadableSource {
  /// Sends the current value each time `trigger` sends.
  public func driven<Trigger: SignalSource>(
    by trigger: Trigger
  ) -> DerivedSignal<Message, Trigger.End> {
    trigger.map { _ in value }
  }
}
