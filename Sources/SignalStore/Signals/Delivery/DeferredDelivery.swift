// SPDX-License-Identifier: MIT

import Synchronization

/// Carries the messages of one subscription to an executor, in order and one at a time.
final class DeferredDelivery<Message: Sendable, End: Ending>: Sendable {
  private struct Item {
    let event: Event<Message, End>
    let delivery: Delivery
    /// The generation of the delivery context that it is for.
    let generation: Int
  }

  private struct State {
    /// The queued items; those before `head` are taken and nil.
    var items: [Item?] = []
    var head = 0
    var delivery: Delivery
    var generation = 0
    /// Whether a job is scheduled or running, or a call is made without one.
    var isBusy = false

    var first: Item? { head < items.count ? items[head] : nil }

    mutating func takeFirst() -> Item? {
      guard head < items.count else { return nil }
      var item: Item?
      swap(&item, &items[head])
      head += 1
      if head == items.count {
        items.removeAll(keepingCapacity: head <= 64)
        head = 0
      } else if head > 32, head * 2 > items.count {
        items.removeFirst(head)
        head = 0
      }
      return item
    }
  }

  let link: Link
  private let state: Mutex<State>
  private let sink: Sink<Message, End>
  private let limit: Int

  /// - Parameter movable: Whether ``Subscription/deliver(on:)`` may change the context.
  init(
    _ sink: Sink<Message, End>, on delivery: Delivery, buffering: Buffering, movable: Bool = true, link: Link = Link()
  ) {
    self.sink = sink
    self.link = link
    limit = buffering.limit
    state = Mutex(State(delivery: delivery))
    link.onEnd { [weak self] in self?.clear() }
    if movable { link.onMove { [weak self] in self?.move(to: $0) } }
  }

  /// The sink that the source sends to.
  var entrance: Sink<Message, End> {
    Sink(message: { self.receive(.message($0)) }, end: { self.receive(.end($0)) })
  }

  private func receive(_ event: Event<Message, End>) {
    let delivery = state.withLock { $0.delivery }
    // Evaluated outside of the lock, because an executor may be foreign code.
    let isHere = delivery.executor?.isCurrent ?? true
    let (start, dropped): (Item?, Item?) = state.withLock { state in
      let item = Item(event: event, delivery: state.delivery, generation: state.generation)
      state.items.append(item)
      // The end is the last item, so it is never dropped as the oldest.
      let dropped = state.items.count - state.head > limit ? state.takeFirst() : nil
      if state.isBusy { return (nil, dropped) }
      state.isBusy = true
      return (item, dropped)
    }
    withExtendedLifetime(dropped) {}
    guard let start else { return }
    if isHere { work(start.generation) } else { schedule(start) }
  }

  private func schedule(_ item: Item) {
    guard let executor = item.delivery.executor else { return work(item.generation) }
    // Does not capture the item: what is dropped on cancellation must not stay alive in a job.
    let generation = item.generation
    executor.enqueue { self.work(generation) }
  }

  /// Delivers the items of this generation, and hands over to the next.
  private func work(_ generation: Int) {
    while true {
      let (item, elsewhere): (Item?, Item?) = state.withLock { state in
        guard let first = state.first else {
          state.isBusy = false
          return (nil, nil)
        }
        if first.generation != generation { return (nil, first) }
        return (state.takeFirst(), nil)
      }
      if let elsewhere { return schedule(elsewhere) }
      guard let item else { return }
      if link.hasEnded { continue }
      switch item.event {
      case .message(let message): sink.message(message)
      case .end(let end):
        link.end()
        sink.end(end)
      }
    }
  }

  private func clear() {
    let dropped = state.withLock { state in
      let dropped = state.items
      state.items = []
      state.head = 0
      return dropped
    }
    withExtendedLifetime(dropped) {}
  }

  private func move(to delivery: Delivery) {
    let old = state.withLock { state in
      let old = state.delivery
      state.delivery = delivery
      state.generation += 1
      return old
    }
    withExtendedLifetime(old) {}
  }
}
