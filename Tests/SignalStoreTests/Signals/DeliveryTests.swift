// SPDX-License-Identifier: MIT
import Foundation
import Observation
import Synchronization
import Testing

@testable import Signals

/// Records jobs until they are run by hand.
private final class RecordingExecutor: DeliveryExecutor {
  private let jobs = Mutex<[@Sendable () -> Void]>([])
  private let here = Atomic(false)

  var isCurrent: Bool { here.load(ordering: .relaxed) }
  var count: Int { jobs.withLock { $0.count } }

  func enqueue(_ job: @escaping @Sendable () -> Void) { jobs.withLock { $0.append(job) } }

  func runAll() {
    while let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { run(job) }
  }

  func run(_ body: () -> Void) {
    here.store(true, ordering: .relaxed)
    body()
    here.store(false, ordering: .relaxed)
  }
}

@Suite struct `Delivery on executors` {
  @Test func `nothing is delivered before the executor runs, then everything in order`() {
    let executor = RecordingExecutor()
    let signal = Signal<Int>()
    let log = Log<Int>()
    let subscription = signal.subscribe(on: .executor(executor)) { log.add($0) }
    for n in 1...5 { signal.send(n) }
    #expect(log.entries == [])
    #expect(executor.count == 1)
    executor.runAll()
    #expect(log.entries == [1, 2, 3, 4, 5])
    subscription.cancel()
  }

  @Test func `there is no hop when the sender is there already`() {
    let executor = RecordingExecutor()
    let signal = Signal<Int>()
    let log = Log<Int>()
    let subscription = signal.subscribe(on: .executor(executor)) { log.add($0) }
    executor.run { signal.send(1) }
    #expect(log.entries == [1])
    signal.send(2)
    // Not before the one that waits.
    executor.run { signal.send(3) }
    #expect(log.entries == [1])
    executor.runAll()
    #expect(log.entries == [1, 2, 3])
    subscription.cancel()
  }

  @Test func `what was cancelled before the job runs is not delivered`() {
    let executor = RecordingExecutor()
    let signal = Signal<Canary>()
    let log = Log<String>()
    let subscription = signal.subscribe(on: .executor(executor)) { _ in log.add("called") }
    signal.send(Canary { log.add("released") })
    subscription.cancel()
    #expect(log.entries == ["released"])
    executor.runAll()
    #expect(log.entries == ["released"])
  }

  @Test func `the place can be changed in the middle of a chain`() {
    let a = RecordingExecutor()
    let b = RecordingExecutor()
    let signal = Signal<Int>()
    let log = Log<String>()
    let subscription = signal.delivered(on: .executor(a)).map { n in
      log.add("a \(a.isCurrent)")
      return n
    }.delivered(on: .executor(b)).map { n in
      log.add("b \(b.isCurrent)")
      return n
    }.subscribe { log.add("\($0)") }
    signal.send(1)
    b.runAll()
    #expect(log.entries == [])
    a.runAll()
    b.runAll()
    #expect(log.entries == ["a true", "b true", "1"])
    subscription.cancel()
  }

  @Test func `the place can be changed for a subscription, and the order is kept`() {
    let a = RecordingExecutor()
    let b = RecordingExecutor()
    let signal = Signal<Int>()
    let log = Log<String>()
    let subscription = signal.subscribe(on: .executor(a)) { log.add("\($0) \(a.isCurrent ? "a" : "b")") }
    signal.send(1)
    #expect(subscription.deliver(on: .executor(b)))
    signal.send(2)
    b.runAll()
    #expect(log.entries == [])
    a.runAll()
    b.runAll()
    #expect(log.entries == ["1 a", "2 b"])
    #expect(!signal.subscribe { _ in }.deliver(on: .inline))
    subscription.cancel()
  }

  @Test func `a limited wait keeps the newest`() {
    let executor = RecordingExecutor()
    let signal = Signal<Int>()
    let log = Log<Int>()
    let subscription = signal.delivered(on: .executor(executor), buffering: .newest(2)).subscribe { log.add($0) }
    for n in 1...9 { signal.send(n) }
    executor.runAll()
    #expect(log.entries == [8, 9])
    subscription.cancel()
  }

  @Test func `a queue gets every message once, in order, and at once from itself`() {
    let queue = DispatchQueue(label: "delivery")
    let signal = Signal<Int>()
    let log = Log<Int>()
    let subscription = signal.subscribe(on: .queue(queue)) { log.add($0) }
    queue.suspend()
    for n in 1...100 { signal.send(n) }
    #expect(log.entries == [])
    queue.resume()
    queue.sync {}
    #expect(log.entries == Array(1...100))
    queue.sync {
      signal.send(101)
      #expect(log.entries.last == 101)
    }
    subscription.cancel()
  }

  @Test(arguments: [DispatchQoS.QoSClass.background, .utility, .userInitiated])
  func `the pool keeps the order too`(quality: DispatchQoS.QoSClass) {
    let signal = Signal<Int>()
    let log = Log<Int>()
    let done = DispatchSemaphore(value: 0)
    let subscription = signal.subscribe(on: .background(quality)) { n in
      log.add(n)
      if n == 1000 { done.signal() }
    }
    for n in 1...1000 { signal.send(n) }
    done.wait()
    #expect(log.entries == Array(1...1000))
    subscription.cancel()
  }

  @Test @MainActor func `on the main actor delivery is at once from there and later from elsewhere`() async {
    let signal = Signal<Int>()
    let log = Log<Int>()
    let subscription = signal.subscribe(on: .main) { n in
      MainActor.preconditionIsolated()
      log.add(n)
    }
    signal.send(1)
    #expect(log.entries == [1])
    await Task.detached { signal.send(2) }.value
    await withCheckedContinuation { continuation in DispatchQueue.main.async { continuation.resume() } }
    #expect(log.entries == [1, 2])
    subscription.cancel()
  }

  @Test @MainActor func `an isolated closure may use what belongs to its actor`() async {
    var seen: [Int] = []
    let property = Property(0)
    let arrived = Box<CheckedContinuation<Void, Never>?>(nil)
    let subscription = property.subscribe(isolation: #isolation) { value in
      seen.append(value)
      if value == 2 { arrived.value?.resume() }
    }
    #expect(seen == [0])
    property.value = 1
    #expect(seen == [0, 1])
    await withCheckedContinuation { continuation in
      arrived.value = continuation
      Task.detached { property.value = 2 }
    }
    #expect(seen == [0, 1, 2])
    subscription.cancel()
  }

  @Test func `an actor of one's own gets every message in order`() async {
    actor Collector {
      var seen: [Int] = []
      var subscription: Subscription?
      var waiting: CheckedContinuation<Void, Never>?
      func collect(_ signal: Signal<Int>) {
        subscription = signal.subscribe(isolation: self) { n in
          self.preconditionIsolated()
          self.seen.append(n)
          if n == 500 { self.waiting?.resume() }
        }
      }
      func wait() async {
        if seen.last == 500 { return }
        await withCheckedContinuation { waiting = $0 }
      }
    }
    let signal = Signal<Int>()
    let collector = Collector()
    await collector.collect(signal)
    for n in 1...500 { signal.send(n) }
    await collector.wait()
    #expect(await collector.seen == Array(1...500))
  }
}

@Suite struct `Asynchronous sequences` {
  @Test func `values begin with the value of now and end with the last`() async {
    for _ in 0..<50 {
      let property = Property(0)
      let reader = Task {
        var last = -1
        for await value in property.values() {
          #expect(value > last)
          last = value
          if value == 100 { break }
        }
        return last
      }
      for n in 1...100 { property.value = n }
      #expect(await reader.value == 100)
      #expect(property.observerCount == 0)
    }
  }

  @Test func `each loop has its own place`() async {
    let signal = Signal<Int>()
    let sequence = signal.messages()
    var first = sequence.makeAsyncIterator()
    signal.send(1)
    var second = sequence.makeAsyncIterator()
    signal.send(2)
    #expect(await first.next() == 1)
    #expect(await second.next() == 2)
    #expect(await first.next() == 2)
    #expect(signal.observerCount == 2)
  }

  @Test func `buffering says what a slow loop gets`() async {
    let signal = Signal<Int>()
    var all = signal.messages().makeAsyncIterator()
    var latest = signal.messages(buffering: .latest).makeAsyncIterator()
    var three = signal.messages(buffering: .newest(3)).makeAsyncIterator()
    for n in 1...5 { signal.send(n) }
    #expect(await all.next() == 1)
    #expect(await latest.next() == 5)
    #expect(await three.next() == 3)
  }

  @Test func `cancelling the task ends the loop and the subscription`() async {
    let property = Property(0)
    let started = Signal<Void>(remembersLast: true)
    let reader = Task {
      var count = 0
      for await _ in property.values() {
        count += 1
        started.send()
      }
      return count
    }
    for await _ in started.messages() { break }
    reader.cancel()
    #expect(await reader.value >= 1)
    #expect(property.observerCount == 0)
  }

  @Test func `a finite signal ends its loop, and an error is thrown`() async throws {
    struct Refused: Error {}
    let signal = FiniteSignal<Int>()
    var iterator = signal.messages().makeAsyncIterator()
    signal.send(1)
    signal.end(.failed(Refused()))
    #expect(try await iterator.next() == 1)
    await #expect(throws: Refused.self) { _ = try await iterator.next() }
  }
}

@Suite struct `Observation` {
  @Test func `a reader is told after the value is stored`() {
    let property = Property(1)
    let observed = ObservedProperty(property)
    let log = Log<Int>()
    withObservationTracking {
      #expect(observed.value == 1)
    } onChange: {
      log.add(observed.value)
    }
    property.value = 2
    property.value = 3
    #expect(log.entries == [2])
    withObservationTracking {
      _ = observed.value
    } onChange: {
      log.add(observed.value)
    }
    property.value = 4
    #expect(log.entries == [2, 4])
  }
}
