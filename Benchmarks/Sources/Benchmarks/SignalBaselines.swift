// SPDX-License-Identifier: MIT

import Synchronization

/// The least that can be cancelled: an array of objects, each with what it calls.
///
/// The array keeps the objects alive, and they are called in place: counting references around each call would cost
/// more than all the rest. So no observer may cancel while it is called: unsafe, and fast.
@unsafe
final class ObjectList {
  final class Observer {
    let receive: @Sendable (Int) -> Void

    init(_ receive: @escaping @Sendable (Int) -> Void) { self.receive = receive }
  }

  /// Unmanaged, so that no count is touched by a call; each was retained when it was added.
  ///
  /// Nor is it checked that nobody else uses the array meanwhile: that would be half of a call's cost.
  @exclusivity(unchecked) private var observers: [Unmanaged<Observer>] = unsafe []

  // Each object is released once, here or when it is cancelled.
  deinit {
    for index in unsafe observers.indices { unsafe observers[index].release() }
  }

  var count: Int { unsafe observers.count }

  // No observer of these measurements cancels, so all of them live as long as the call.
  @inline(never)
  func send(_ message: Int) {
    unsafe observers.withUnsafeBufferPointer { all in
      unsafe all.forEach { unsafe $0._withUnsafeGuaranteedRef { $0.receive(message) } }
    }
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
final class ClosureList {
  private var observers: [@Sendable (Int) -> Void] = []

  @inline(never)
  func send(_ message: Int) {
    for receive in observers { receive(message) }
  }

  func subscribe(_ receive: @escaping @Sendable (Int) -> Void) { observers.append(receive) }
}

/// The usual way to be safe: closures under a lock, copied out and called after it.
///
/// Calls may overlap and come in another order on each thread.
final class LockedList: Sendable {
  private let observers = Mutex<[@Sendable (Int) -> Void]>([])

  @inline(never)
  func send(_ message: Int) {
    let snapshot = observers.withLock { $0 }
    for receive in snapshot { receive(message) }
  }

  func subscribe(_ receive: @escaping @Sendable (Int) -> Void) { observers.withLock { $0.append(receive) } }
}

/// A stream for each observer, as one fans out to `for await`; nobody reads, and the newest message is kept.
///
/// So this is the cost of sending alone.
final class StreamList {
  private var streams: [(stream: AsyncStream<Int>, continuation: AsyncStream<Int>.Continuation)] = []

  @inline(never)
  func send(_ message: Int) {
    for (_, continuation) in streams { continuation.yield(message) }
  }

  func subscribe() { streams.append(AsyncStream.makeStream(of: Int.self, bufferingPolicy: .bufferingNewest(1))) }
}

/// What one observer adds to: a load, an addition and a store, as with a plain variable.
///
/// Each observer has its own, so that no call waits for the one before it.
final class Counter: Sendable {
  private let value = Atomic(0)

  var sum: Int { value.load(ordering: .relaxed) }

  @inline(__always)
  func add(_ number: Int) {
    value.store(value.load(ordering: .relaxed) &+ number, ordering: .relaxed)
  }
}

extension [Counter] {
  var sum: Int { reduce(0) { $0 &+ $1.sum } }
}
