// SPDX-License-Identifier: MIT

import CHeap
import Foundation
import OpenCombine
import SignalStore
import Synchronization

/// Measures sending, subscribing with cancelling, chains, memory and threads, beside what gives fewer promises.
func measureSignals(_ harness: inout Harness) throws {
  for count in [1, 10, 1000] { try measureSend(&harness, observers: count) }
  for count in [1, 1000, 10_000] { try measureChurn(&harness, observers: count) }
  try measureChain(&harness)
  measureMemory(&harness)
  measureThreads(&harness)
}

private func measureSend(_ harness: inout Harness, observers count: Int) throws {
  let what = "Signal send, \(count) \(count == 1 ? "observer" : "observers")"
  guard harness.wants(what) else { return }
  let signal = Signal<Int>()
  let property = Property(0)
  // No observer here cancels while it is called.
  let objects = unsafe ObjectList()
  let closures = ClosureList()
  let locked = LockedList()
  let subject = PassthroughSubject<Int, Never>()
  let current = CurrentValueSubject<Int, Never>(0)
  let streams = StreamList()
  let counters = (0..<count).map { _ in Counter() }
  var kept: [Any] = []
  for counter in counters {
    kept.append(signal.subscribe { counter.add($0) })
    kept.append(property.subscribe { counter.add($0) })
    kept.append(subject.sink { counter.add($0) })
    kept.append(current.sink { counter.add($0) })
    unsafe objects.subscribe { counter.add($0) }
    closures.subscribe { counter.add($0) }
    locked.subscribe { counter.add($0) }
    streams.subscribe()
  }
  func candidate(_ name: String, _ send: @escaping (Int) -> Void) -> Candidate {
    Candidate(name) { times in
      for message in 0..<times { send(message) }
      return counters.sum
    }
  }
  try harness.compare(
    what,
    { times in
      for message in 0..<times { signal.send(message) }
      return counters.sum
    },
    beside: Candidate("array of class observers") { times in
      for message in 0..<times { unsafe objects.send(message) }
      return counters.sum
    },
    candidate("array of closures") { closures.send($0) },
    candidate("Mutex and snapshot of closures") { locked.send($0) },
    candidate("OpenCombine PassthroughSubject") { subject.send($0) },
    candidate("AsyncStream for each observer") { streams.send($0) })
  try harness.compare(
    what.replacing("Signal send", with: "Property set"),
    { times in
      for message in 0..<times { property.value = message }
      return counters.sum
    },
    beside: Candidate("array of class observers") { times in
      for message in 0..<times { unsafe objects.send(message) }
      return counters.sum
    },
    candidate("OpenCombine CurrentValueSubject") { current.send($0) })
  withExtendedLifetime(kept) {}
}

/// Cancels the oldest observer and subscribes a new one.
private func measureChurn(_ harness: inout Harness, observers count: Int) throws {
  let what = "Signal subscribe and cancel among \(count)"
  guard harness.wants(what) else { return }
  let signal = Signal<Int>()
  // No observer here cancels while it is called.
  let objects = unsafe ObjectList()
  let subject = PassthroughSubject<Int, Never>()
  let counter = Counter()
  var subscriptions = (0..<count).map { _ in signal.subscribe { counter.add($0) } }
  // Each is in the list until it is cancelled, and replaced at once.
  var observers = unsafe (0..<count).map { _ in unsafe objects.subscribe { counter.add($0) } }
  var sinks = (0..<count).map { _ in subject.sink { counter.add($0) } }
  var oldest = 0
  func next() -> Int {
    oldest = oldest + 1 >= count ? 0 : oldest + 1
    return oldest
  }
  try harness.compare(
    what,
    { times in
      for _ in 0..<times {
        let index = next()
        subscriptions[index].cancel()
        subscriptions[index] = signal.subscribe { counter.add($0) }
      }
      return signal.observerCount
    },
    beside: Candidate("array of class observers") { times in
      for _ in 0..<times {
        let index = next()
        unsafe objects.cancel(observers[index])
        unsafe observers[index] = objects.subscribe { counter.add($0) }
      }
      return unsafe objects.count
    },
    Candidate("OpenCombine PassthroughSubject") { times in
      for _ in 0..<times {
        let index = next()
        sinks[index].cancel()
        sinks[index] = subject.sink { counter.add($0) }
      }
      return sinks.count
    })
}

/// A map and a filter between the source and one observer.
private func measureChain(_ harness: inout Harness) throws {
  let what = "Signal send through map and filter"
  guard harness.wants(what) else { return }
  let counter = Counter()
  let signal = Signal<Int>()
  let bare = Signal<Int>()
  let subject = PassthroughSubject<Int, Never>()
  let subscription = signal.map { $0 &+ 1 }.filter { $0 >= 0 }.subscribe { counter.add($0) }
  let direct = bare.subscribe { counter.add($0) }
  let sink = subject.map { $0 &+ 1 }.filter { $0 >= 0 }.sink { counter.add($0) }
  try harness.compare(
    what,
    { times in
      for message in 0..<times { signal.send(message) }
      return counter.sum
    },
    beside: Candidate("Signal send, 1 observer") { times in
      for message in 0..<times { bare.send(message) }
      return counter.sum
    },
    Candidate("OpenCombine PassthroughSubject") { times in
      for message in 0..<times { subject.send(message) }
      return counter.sum
    })
  withExtendedLifetime((subscription, direct, sink)) {}
}

/// Bytes for each of many observers, with a closure that captures one object.
private func measureMemory(_ harness: inout Harness) {
  let what = "Signal bytes per observer, of 10000"
  guard harness.wants(what) else { return }
  let count = 10_000
  let counter = Counter()
  func bytes(_ subscribe: (inout [Any]) -> Void) -> Double {
    var kept: [Any] = []
    kept.reserveCapacity(count)
    let before = heap_bytes()
    for _ in 0..<count { subscribe(&kept) }
    let after = heap_bytes()
    withExtendedLifetime(kept) {}
    return Double(after - before) / Double(count)
  }
  let signal = Signal<Int>()
  let subject = PassthroughSubject<Int, Never>()
  let objects = unsafe ObjectList()
  let ours = bytes { $0.append(signal.subscribe { counter.add($0) }) }
  let list = bytes { _ in unsafe objects.subscribe { counter.add($0) } }
  let combine = bytes { $0.append(subject.sink { counter.add($0) }) }
  harness.report(
    what, unit: "bytes", ours,
    beside: [("array of class observers", list), ("OpenCombine PassthroughSubject", combine)])
}

/// Four threads that set one property, with one observer: nanoseconds of the clock for each set.
private func measureThreads(_ harness: inout Harness) {
  let what = "Property set, 4 threads, 1 observer"
  guard harness.wants(what) else { return }
  let sets = 100_000
  let counter = Counter()
  let property = Property(0)
  let current = CurrentValueSubject<Int, Never>(0)
  let locked = LockedList()
  let subscription = property.subscribe { counter.add($0) }
  let sink = current.sink { counter.add($0) }
  locked.subscribe { counter.add($0) }
  // Unchecked: a subject may be sent to on any thread, its type does not say so.
  nonisolated(unsafe) let subject = current
  func time(_ set: @escaping @Sendable (Int) -> Void) -> Double {
    let samples = (0..<5).map { _ in
      let start = ContinuousClock.now
      onThreads(4) { for n in 0..<sets { set(n) } }
      return (ContinuousClock.now - start) / .nanoseconds(4 * sets)
    }
    return samples.sorted()[2]
  }
  let ours = time { property.value = $0 }
  let combine = time { unsafe subject.send($0) }
  let mutex = time { locked.send($0) }
  harness.report(
    what, unit: "ns", ours,
    beside: [("OpenCombine CurrentValueSubject", combine), ("Mutex and snapshot of closures", mutex)])
  withExtendedLifetime((subscription, sink)) {}
}

/// Runs `body` on so many threads of their own, and waits for all of them.
private func onThreads(_ count: Int, _ body: @escaping @Sendable () -> Void) {
  let done = DispatchGroup()
  for _ in 0..<count {
    done.enter()
    Thread.detachNewThread {
      body()
      done.leave()
    }
  }
  done.wait()
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
