// SPDX-License-Identifier: MIT

import Synchronization

/// An update of a property, or the beginning or end of a transaction it takes part in.
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
  /// A set outside of a transaction is `begin`, `change`, `end`. In a transaction `begin` comes before the first set,
  /// synchronously and inside the transaction; `change`, unless nothing has changed, and `end` come when it is over.
  /// When several threads have overlapping transactions on the same property, everything between the first beginning
  /// and the last end is one.
  ///
  /// A subscriber that joins while a transaction is open receives its `begin` first and a change from the value at that
  /// time; when a subscription ends while one is open, it receives the change so far, if there is one, and an `end`
  /// last. They are sent from `cancel`, or, while the observer is being called, after that call; an observer that is
  /// called elsewhere (`delivered(on:)`) does not receive them.
  public var updates: DerivedSignal<ValueUpdate<Value>, Never> {
    DerivedSignal { [self] sink in
      let told = Told<Value>()
      let final = FinalDelivery()
      let relay = Relay<UpdateState<Value>, [ValueUpdate<Value>], Never>(
        UpdateState(),
        into: Sink { updates in
          for update in updates {
            final.call {
              told.note(update)
              sink.message(update)
            }
          }
        })
      // Does not capture the relay, which retains the link.
      relay.link.onEnd { [weak core] in
        let core = core
        final.leave {
          guard told.isOpen else { return }
          if let new = Self.untoldValue(of: core), let old = told.value {
            sink.message(.change(ValueChange(new: new, old: old)))
          }
          sink.message(.end)
        }
      }
      relay.hold(subscribeToTransactions { count in relay.change { $0.transactions(count) } })
      relay.hold(
        subscribe(from: .current) { value in
          told.begin(with: value)
          relay.change { $0.set(value) }
        })
      return relay.token()
    }
  }

  /// The changes of this property: the new value with the previous one.
  ///
  /// A transaction is one change. For an observer that skipped some values the old one is the last it received; for one
  /// that subscribed while a transaction was open it is the value at that time. A subscription that ends while one is
  /// open receives the change so far last, as with ``updates``.
  public var changes: DerivedSignal<ValueChange<Value>, Never> {
    DerivedSignal { [self] sink in
      let last = OperatorState<Value?>(nil)
      // Also serializes the accesses to `last`.
      let final = FinalDelivery()
      let link = Link()
      link.onEnd { [weak core] in
        let core = core
        final.leave {
          if let new = Self.untoldValue(of: core), let old = last.value {
            sink.message(ValueChange(new: new, old: old))
          }
        }
      }
      link.hold(
        subscribe(from: .current) { new in
          final.call {
            let old = last.value
            last.value = new
            if let old { sink.message(ValueChange(new: new, old: old)) }
          }
        })
      return link.token()
    }
  }
}

/// The last value sent to a subscriber, for its final message.
private final class Told<Value: Sendable>: Sendable {
  private let state = Mutex<(isOpen: Bool, value: Value?)>((false, nil))

  /// Whether it has received a beginning without its end.
  var isOpen: Bool { state.withLock { $0.isOpen } }

  /// The value that it received last.
  var value: Value? { state.withLock { $0.value } }

  func begin(with value: Value) {
    state.withLock { if $0.value == nil { $0.value = value } }
  }

  func note(_ update: ValueUpdate<Value>) {
    // What is replaced is released after unlocking.
    var value: Value?
    if case .change(let change) = update { value = change.new }
    state.withLock { state in
      if case .end = update { state.isOpen = false } else { state.isOpen = true }
      if value != nil { swap(&value, &state.value) }
    }
  }
}

/// What one subscriber to ``Property/updates`` has received.
struct UpdateState<Value: Sendable>: Sendable {
  private var last: Value?
  private var isOpen = false

  /// Handles the number of open transactions.
  mutating func transactions(_ count: Int) -> Event<[ValueUpdate<Value>], Never>? {
    if isOpen == (count > 0) { return nil }
    isOpen = count > 0
    return .message([isOpen ? .begin : .end])
  }

  /// Handles a value; the first one is the current value.
  mutating func set(_ value: Value) -> Event<[ValueUpdate<Value>], Never>? {
    let previous = last
    last = value
    guard let previous else { return nil }
    let change = ValueUpdate.change(ValueChange(new: value, old: previous))
    return .message(isOpen ? [change] : [.begin, change, .end])
  }
}
