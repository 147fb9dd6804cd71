// SPDX-License-Identifier: MIT

import SignalStore
import Synchronization

/// Measures sending, and subscribing with cancelling, beside arrays without a lock and without any of the promises.
func measureSignals(_ harness: inout Harness) throws {
  for count in [1, 10, 1000] { try measureSend(&harness, observers: count) }
  for count in [1, 10_000] { try measureChurn(&harness, observers: count) }
}

private func measureSend(_ harness: inout Harness, observers count: Int) throws {
  let signal = Signal<Int>()
  // No observer here cancels while it is called.
  let objects = unsafe ObjectList()
  let closures = ClosureList()
  let counters = (0..<count).map { _ in Counter() }
  let subscriptions = counters.map { counter in signal.subscribe { counter.add($0) } }
  for counter in counters {
    unsafe objects.subscribe { counter.add($0) }
    closures.subscribe { counter.add($0) }
  }
  try harness.compare(
    "Signal send, \(count) \(count == 1 ? "observer" : "observers")",
    { times in
      for message in 0..<times { signal.send(message) }
      return counters.sum
    },
    beside: Candidate("array of class observers") { times in
      for message in 0..<times { unsafe objects.send(message) }
      return counters.sum
    },
    Candidate("array of closures") { times in
      for message in 0..<times { closures.send(message) }
      return counters.sum
    })
  for subscription in subscriptions { subscription.cancel() }
}

/// Cancels the oldest observer and subscribes a new one.
private func measureChurn(_ harness: inout Harness, observers count: Int) throws {
  let signal = Signal<Int>()
  // No observer here cancels while it is called.
  let objects = unsafe ObjectList()
  let counter = Counter()
  var subscriptions = (0..<count).map { _ in signal.subscribe { counter.add($0) } }
  // Each is in the list until it is cancelled, and replaced at once.
  var observers = unsafe (0..<count).map { _ in unsafe objects.subscribe { counter.add($0) } }
  var oldest = 0
  var oldestObject = 0
  try harness.compare(
    "Signal subscribe and cancel among \(count)",
    { times in
      for _ in 0..<times {
        subscriptions[oldest].cancel()
        subscriptions[oldest] = signal.subscribe { counter.add($0) }
        oldest = oldest + 1 == count ? 0 : oldest + 1
      }
      return signal.observerCount
    },
    beside: Candidate("array of class observers") { times in
      for _ in 0..<times {
        unsafe objects.cancel(observers[oldestObject])
        unsafe observers[oldestObject] = objects.subscribe { counter.add($0) }
        oldestObject = oldestObject + 1 == count ? 0 : oldestObject + 1
      }
      return unsafe objects.count
    })
}

/// What one observer adds to: a load, an addition and a store, as with a plain variable.
///
/// Each observer has its own, so that no call waits for the one before it.
private final class Counter: Sendable {
  private let value = Atomic(0)

  var sum: Int { value.load(ordering: .relaxed) }

  @inline(__always)
  func add(_ number: Int) {
    value.store(value.load(ordering: .relaxed) &+ number, ordering: .relaxed)
  }
}

extension [Counter] {
  fileprivate var sum: Int { reduce(0) { $0 &+ $1.sum } }
}

/// The least that can be cancelled: an array of objects, each with what it calls.
///
/// The array keeps the objects alive, and they are called in place: counting references around each call would cost
/// more than all the rest. So no observer may cancel while it is called: unsafe, and fast.
@unsafe
private final class ObjectList {
  final class Observer {
    let receive: @Sendable (Int) -> Void

    init(_ receive: @escaping @Sendable (Int) -> Void) { self.receive = receive }
  }

  /// Unmanaged, so that no count is touched by a call; each was retained when it was added.
  private var observers: [Unmanaged<Observer>] = unsafe []

  // Each object is released once, here or when it is cancelled.
  deinit {
    for index in unsafe observers.indices { unsafe observers[index].release() }
  }

  var count: Int { unsafe observers.count }

  // No observer of these measurements cancels, so all of them live as long as the call.
  @inline(never)
  func send(_ message: Int) {
    unsafe observers.forEach { unsafe $0._withUnsafeGuaranteedRef { $0.receive(message) } }
  }

  // The caller uses what it gets for nothing but to cancel once.
  @inline(never) @discardableResult
  func subscribe(_ receive: @escaping @Sendable (Int) -> Void) -> Unmanaged<Observer> {
    let observer = unsafe Unmanaged.passRetained(Observer(receive))
    unsafe observers.append(observer)
    return unsafe observer
  }

  // Only addresses are compared, and what is in the array is alive.
  @inline(never)
  func cancel(_ observer: Unmanaged<Observer>) {
    let index = unsafe observers.firstIndex { unsafe $0.toOpaque() == observer.toOpaque() }
    guard let index else { return }
    unsafe observers.remove(at: index)
    unsafe observer.release()
  }
}

/// The least that can be sent to: an array of closures, as one would write it.
private final class ClosureList {
  private var observers: [@Sendable (Int) -> Void] = []

  @inline(never)
  func send(_ message: Int) {
    for receive in observers { receive(message) }
  }

  func subscribe(_ receive: @escaping @Sendable (Int) -> Void) { observers.append(receive) }
}
