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
  try measurePropertySets(&harness)
  measureAsyncLoops(&harness)
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
    Candidate("array of closures") { times in
      for message in 0..<times { closures.send(message) }
      return counters.sum
    },
    Candidate("Mutex and snapshot of closures") { times in
      for message in 0..<times { locked.send(message) }
      return counters.sum
    },
    Candidate("OpenCombine PassthroughSubject") { times in
      for message in 0..<times { subject.send(message) }
      return counters.sum
    },
    Candidate("AsyncStream for each observer") { times in
      for message in 0..<times { streams.send(message) }
      return counters.sum
    })
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
    Candidate("OpenCombine CurrentValueSubject") { times in
      for message in 0..<times { current.send(message) }
      return counters.sum
    })
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
  harness.compare(
    what, unit: "bytes",
    Sample(what) {
      let signal = Signal<Int>()
      return bytes { $0.append(signal.subscribe { counter.add($0) }) }
    },
    beside: Sample("array of class observers") {
      // Nothing is sent to them.
      let objects = unsafe ObjectList()
      return bytes { _ in unsafe objects.subscribe { counter.add($0) } }
    },
    Sample("OpenCombine PassthroughSubject") {
      let subject = PassthroughSubject<Int, Never>()
      return bytes { $0.append(subject.sink { counter.add($0) }) }
    })
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
  func sample(_ name: String, _ setAll: @escaping @Sendable () -> Void) -> Sample {
    Sample(name) {
      let start = ContinuousClock.now
      onThreads(4, setAll)
      return (ContinuousClock.now - start) / .nanoseconds(4 * sets)
    }
  }
  harness.compare(
    what, unit: "ns",
    sample(what) { for n in 0..<sets { property.value = n } },
    beside: sample("OpenCombine CurrentValueSubject") { for n in 0..<sets { unsafe subject.send(n) } },
    sample("Mutex and snapshot of closures") { for n in 0..<sets { locked.send(n) } })
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
