// SPDX-License-Identifier: MIT

import Synchronization

/// What happens to a property, with the transactions it takes part in.
public enum ValueUpdate<Value: Sendable>: Sendable {
  /// A transaction has begun, or a set outside of any.
  case begin
  /// The value has changed; in a transaction once, for all its sets together.
  case change(ValueChange<Value>)
  /// The transaction is over.
  case end
}

extension ValueUpdate: Equatable where Value: Equatable {}

extension Property {
  /// The sets of this property with their beginnings and ends.
  ///
  /// A set outside of a transaction is `begin`, `change`, `end`. In a transaction `begin` comes before the first set, at once
  /// and inside the transaction; `change`, unless nothing has changed, and `end` come when it is over. When several threads
  /// have transactions on the same property at a time, all that lies between the first beginning and the last end is one.
  ///
  /// Who subscribes while a transaction is open gets its `begin` first and a change from the value of then; whose
  /// subscription ends while one is open gets an `end` last. That comes from `cancel`, or, while the observer is being
  /// called, behind that call; one that is called elsewhere (`delivered(on:)`) is called no more.
  public var updates: DerivedSignal<ValueUpdate<Value>, Never> {
    DerivedSignal { [self] sink in
      let isOpen = OpenFlag()
      let lastWord = LastWord()
      let relay = Relay<UpdateState<Value>, [ValueUpdate<Value>], Never>(
        UpdateState(),
        into: Sink { updates in
          for update in updates {
            lastWord.call {
              isOpen.value.store(update.isOpen, ordering: .relaxed)
              sink.message(update)
            }
          }
        })
      // Captures not the relay, which keeps the link.
      relay.link.onEnd { lastWord.leave { if isOpen.value.load(ordering: .relaxed) { sink.message(.end) } } }
      relay.hold(subscribeToTransactions { count in relay.change { $0.transactions(count) } })
      relay.hold(subscribe(from: .current) { value in relay.change { $0.set(value) } })
      return relay.token()
    }
  }

  /// Calls `observer` with the number of open transactions that this property takes part in, now and each time it changes.
  private func subscribeToTransactions(_ observer: @escaping @Sendable (Int) -> Void) -> Subscription {
    let new = Signal<Int>()
    let (signal, token) = core.withLock { guarded in
      let extras = core.extras(&guarded)
      let signal = extras.transactions ?? new
      extras.transactions = signal
      // Under the lock under which the number changes, so that none is missed and none comes twice.
      let token = signal.subscribe(observer)
      signal.enqueue(guarded.openTransactions, to: token)
      return (signal, token)
    }
    signal.deliver()
    return token
  }
}

/// Whether a subscriber has been told of a beginning whose end is still to come.
private final class OpenFlag: Sendable {
  let value = Atomic(false)
}

extension ValueUpdate {
  fileprivate var isOpen: Bool { if case .end = self { false } else { true } }
}

/// What one subscriber to ``Property/updates`` has been told.
struct UpdateState<Value: Sendable>: Sendable {
  private var last: Value?
  private var isOpen = false

  /// Takes the number of open transactions.
  mutating func transactions(_ count: Int) -> Event<[ValueUpdate<Value>], Never>? {
    if isOpen == (count > 0) { return nil }
    isOpen = count > 0
    return .message([isOpen ? .begin : .end])
  }

  /// Takes a value; the first one is that of now.
  mutating func set(_ value: Value) -> Event<[ValueUpdate<Value>], Never>? {
    let previous = last
    last = value
    guard let previous else { return nil }
    let change = ValueUpdate.change(ValueChange(new: value, old: previous))
    return .message(isOpen ? [change] : [.begin, change, .end])
  }
}
