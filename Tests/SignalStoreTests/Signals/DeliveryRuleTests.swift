// SPDX-License-Identifier: MIT
import Synchronization
import Testing

@testable import Signals

/// The numbered delivery rules of `Signal`, one thread.
@Suite struct `Delivery rules` {
  // MARK: Rule 1

  @Test func `1 - observers are called in the order in which they subscribed`() {
    let signal = Signal<Int>()
    let log = Log<Int>()
    let bag = SubscriptionBag()
    for index in 0..<1000 { bag.insert(signal.subscribe { _ in log.add(index) }) }
    signal.send(0)
    #expect(log.entries == Array(0..<1000))
  }

  @Test(arguments: [1, 2, 3, 4, 5]) func `1 - the order holds after random cancellations and additions`(seed: UInt64) {
    var random = SplitMix(seed: seed)
    let signal = Signal<Int>()
    let log = Log<Int>()
    var model: [(id: Int, subscription: Subscription)] = []
    var next = 0
    for round in 0..<60 {
      for _ in 0..<Int.random(in: 0...40, using: &random) {
        let id = next
        model.append((id, signal.subscribe { _ in log.add(id) }))
        next += 1
      }
      for _ in 0..<Int.random(in: 0...40, using: &random) where !model.isEmpty {
        let victim = model.remove(at: Int.random(in: 0..<model.count, using: &random))
        if Bool.random(using: &random) { victim.subscription.cancel() }
      }
      log.clear()
      signal.send(round)
      #expect(log.entries == model.map(\.id))
      #expect(signal.observerCount == model.count)
    }
  }

  // MARK: Rule 2

  @Test func `2 - everyone sees the same sequence when an observer sends`() {
    let property = Property(0)
    let a = Log<Int>()
    let b = Log<Int>()
    let first = property.subscribe(from: .future) { value in
      a.add(value)
      if value == 1 { property.value = 2 }
    }
    let second = property.subscribe(from: .future) { b.add($0) }
    property.value = 1
    #expect(a.entries == [1, 2])
    #expect(b.entries == [1, 2])
    withExtendedLifetime((first, second)) {}
  }

  // MARK: Rule 3

  @Test func `3 - calls never nest`() {
    let signal = Signal<Int>()
    let trace = Log<String>()
    let subscription = signal.subscribe { n in
      trace.add(" (\(n)")
      if n > 0 { signal.send(n - 1) }
      trace.add(")")
    }
    signal.send(3)
    #expect(trace.entries.joined() == " (3) (2) (1) (0)")
    subscription.cancel()
  }

  @Test func `3 - a cascade of two senders is complete and ordered`() {
    let signal = Signal<Int>()
    let a = Log<Int>()
    let b = Log<Int>()
    let bag = SubscriptionBag()
    for log in [a, b] {
      bag.insert(
        signal.subscribe { n in
          log.add(n)
          if n > 0 { signal.send(n - 1) }
        })
    }
    signal.send(2)
    #expect(a.entries == [2, 1, 1, 0, 0, 0, 0])
    #expect(b.entries == [2, 1, 1, 0, 0, 0, 0])
  }

  @Test func `3 - a hundred thousand nested sends need no stack`() {
    let signal = Signal<Int>()
    let calls = Atomic(0)
    let subscription = signal.subscribe { n in
      calls.add(1, ordering: .relaxed)
      if n > 0 { signal.send(n - 1) }
    }
    signal.send(100_000)
    #expect(calls.load(ordering: .relaxed) == 100_001)
    subscription.cancel()
  }

  @Test func `3 - a wide burst from inside an observer keeps its order`() {
    let signal = Signal<Int>()
    let log = Log<Int>()
    let subscription = signal.subscribe { n in
      log.add(n)
      if n == 0 { for value in 1...5000 { signal.send(value) } }
    }
    signal.send(0)
    #expect(log.entries == Array(0...5000))
    subscription.cancel()
  }

  // MARK: Rule 4

  @Test func `4 - observers have run when send returns`() {
    let signal = Signal<Int>()
    let log = Log<Int>()
    let subscription = signal.subscribe { log.add($0) }
    signal.send(7)
    #expect(log.entries == [7])
    subscription.cancel()
  }

  // MARK: Rule 5

  @Test func `5 - an observer added during a message gets the next one first`() {
    let signal = Signal<Int>()
    let b = Log<Int>()
    let inner = Box<Subscription?>(nil)
    let subscription = signal.subscribe { _ in
      if inner.value == nil { inner.value = signal.subscribe { b.add($0) } }
    }
    signal.send(1)
    #expect(b.entries == [])
    signal.send(2)
    signal.send(3)
    #expect(b.entries == [2, 3])
    subscription.cancel()
  }

  @Test func `5 - an observer does not get what was sent before it subscribed and still waits`() {
    let signal = Signal<Int>()
    let a = Log<Int>()
    let b = Log<Int>()
    let inner = Box<Subscription?>(nil)
    let subscription = signal.subscribe { n in
      a.add(n)
      if n == 3 {
        signal.send(0)
        inner.value = signal.subscribe { b.add($0) }
      }
    }
    for n in 1...5 { signal.send(n) }
    #expect(a.entries == [1, 2, 3, 0, 4, 5])
    #expect(b.entries == [4, 5])
    subscription.cancel()
  }

  @Test func `5 - a message enqueued before a subscription is not for it, one enqueued after is`() {
    let signal = Signal<Int>()
    let early = Log<Int>()
    let late = Log<Int>()
    let first = signal.subscribe { early.add($0) }
    signal.enqueue(1)
    let second = signal.subscribe { late.add($0) }
    signal.enqueue(2)
    #expect(early.entries == [])
    signal.deliver()
    #expect(early.entries == [1, 2])
    #expect(late.entries == [2])
    withExtendedLifetime((first, second)) {}
  }

  @Test func `5 - enqueue calls nobody and deliver does`() {
    let signal = Signal<Int>()
    let log = Log<Int>()
    let subscription = signal.subscribe { log.add($0) }
    signal.enqueue(1)
    signal.enqueue(2)
    #expect(log.entries == [])
    signal.send(3)
    #expect(log.entries == [1, 2, 3])
    signal.deliver()
    #expect(log.entries == [1, 2, 3])
    subscription.cancel()
  }

  // MARK: Rule 6

  @Test func `6 - an observer cancelled by an earlier one gets nothing of that message`() {
    let signal = Signal<Int>()
    let b = Log<Int>()
    let victim = Box<Subscription?>(nil)
    let subscription = signal.subscribe { _ in victim.value?.cancel() }
    victim.value = signal.subscribe { b.add($0) }
    signal.send(1)
    signal.send(2)
    #expect(b.entries == [])
    #expect(signal.observerCount == 1)
    subscription.cancel()
  }

  @Test func `6 - an observer can cancel itself`() {
    let signal = Signal<Int>()
    let log = Log<Int>()
    let own = Box<Subscription?>(nil)
    own.value = signal.subscribe {
      log.add($0)
      own.value?.cancel()
    }
    for n in 1...3 { signal.send(n) }
    #expect(log.entries == [1])
    #expect(signal.observerCount == 0)
  }

  @Test func `6 - observers that cancel themselves do not disturb the others`() {
    let signal = Signal<Int>()
    let log = Log<Int>()
    let tokens = Box<[Subscription?]>([])
    for index in 1...5 {
      let token = signal.subscribe { _ in
        log.add(index)
        if index == 2 || index == 3 { tokens.value[index - 1]?.cancel() }
      }
      tokens.update { $0.append(token) }
    }
    signal.send(1)
    signal.send(2)
    #expect(log.entries == [1, 2, 3, 4, 5, 1, 4, 5])
  }

  @Test func `6 - two observers that hand over to each other get every second message`() {
    let signal = Signal<Int>()
    let a = Log<Int>()
    let b = Log<Int>()
    let tokens = Box<[Subscription?]>([nil, nil])
    @Sendable func join(_ index: Int) {
      let token = signal.subscribe { n in
        (index == 0 ? a : b).add(n)
        tokens.value[index]?.cancel()
        join(1 - index)
      }
      tokens.update { $0[index] = token }
    }
    join(0)
    for n in 1...6 { signal.send(n) }
    #expect(a.entries == [1, 3, 5])
    #expect(b.entries == [2, 4, 6])
    tokens.value = []
  }

  @Test func `6 - an observer that subscribes itself anew gets every message once`() {
    let signal = Signal<Int>()
    let log = Log<Int>()
    let own = Box<Subscription?>(nil)
    @Sendable func join() {
      own.value = signal.subscribe { n in
        log.add(n)
        join()
      }
    }
    join()
    for n in 1...300 { signal.send(n) }
    #expect(log.entries == Array(1...300))
    #expect(signal.observerCount == 1)
    own.value = nil
  }

  @Test func `6 - a long cascade of resubscriptions does not pile up`() {
    let signal = Signal<Int>()
    let own = Box<Subscription?>(nil)
    let largest = Box(0)
    @Sendable func join() {
      own.value = signal.subscribe { n in
        join()
        largest.update { $0 = max($0, signal.core.table.used.load(ordering: .relaxed)) }
        if n > 0 { signal.send(n - 1) }
      }
    }
    join()
    signal.send(20_000)
    #expect(largest.value < 64)
    own.value = nil
  }

  // MARK: Rule 7

  @Test func `7 - with newest only the newest waits and it is the last`() {
    let signal = Signal<Int>(pending: .latest)
    let log = Log<Int>()
    let subscription = signal.subscribe { n in
      log.add(n)
      if n == 0 { for value in 1...1000 { signal.send(value) } }
    }
    signal.send(0)
    #expect(log.entries == [0, 1000])
    subscription.cancel()
  }

  @Test func `7 - a bounded queue keeps the newest in order`() {
    let signal = Signal<Int>(pending: .newest(3))
    let log = Log<Int>()
    let subscription = signal.subscribe { n in
      log.add(n)
      if n == 0 { for value in 1...10 { signal.send(value) } }
    }
    signal.send(0)
    #expect(log.entries == [0, 8, 9, 10])
    subscription.cancel()
  }

  @Test func `7 - the bound holds for enqueued messages too`() {
    let signal = Signal<Int>(pending: .latest)
    let log = Log<Int>()
    let subscription = signal.subscribe { log.add($0) }
    for n in 1...100 { signal.enqueue(n) }
    signal.deliver()
    #expect(log.entries == [100])
    subscription.cancel()
  }

  @Test func `7 - a change that stands for several names the value before the first`() {
    let property = Property(0, pending: .latest)
    let log = Log<String>()
    let subscription = property.changes.subscribe { change in
      log.add("\(change.old)->\(change.new)")
      if change.new == 1 { for value in 2...9 { property.value = value } }
    }
    property.value = 1
    #expect(log.entries == ["0->1", "1->9"])
    subscription.cancel()
  }

  // MARK: Rule 8

  @Test func `8 - a closure that owns a subscription of the same signal is released without deadlock`() {
    let signal = Signal<Int>()
    let other = Box<Subscription?>(signal.subscribe { _ in })
    let outer = signal.subscribe { [token = other.value] _ in withExtendedLifetime(token) {} }
    other.value = nil
    #expect(signal.observerCount == 2)
    outer.cancel()
    #expect(signal.observerCount == 0)
  }

  @Test func `8 - captured objects may use the signal while they are released`() {
    let signal = Signal<Int>()
    let log = Log<Int>()
    let listener = signal.subscribe { log.add($0) }
    do {
      let canary = Canary { signal.send(99) }
      let token = signal.subscribe { _ in canary.touch() }
      token.cancel()
    }
    #expect(log.entries == [99])
    listener.cancel()
  }

  @Test func `8 - messages given up by a bounded queue are released without the lock`() {
    let signal = Signal<Canary>(pending: .latest)
    let dropped = Log<Int>()
    let subscription = signal.subscribe { _ in
      if dropped.entries.isEmpty {
        for index in 1...3 { signal.send(Canary { dropped.add(index + signal.observerCount * 100) }) }
        dropped.add(0)
      }
    }
    signal.send(Canary {})
    #expect(dropped.entries == [101, 102, 0, 103])
    subscription.cancel()
  }

  @Test func `8 - a value replaced in a property is released without the lock`() {
    let log = Log<Int>()
    let property = Box<Property<Canary?>?>(nil)
    property.value = Property(Canary { log.add(property.value?.observerCount ?? -1) })
    property.value?.value = nil
    #expect(log.entries == [0])
    property.value = nil
  }

  // MARK: Lifetime during delivery

  @Test func `a signal that its observer drops finishes the message`() {
    let holder = Box<Signal<Int>?>(Signal<Int>())
    let log = Log<String>()
    let tokens = Box<[Subscription]>([])
    let first = holder.value!.subscribe { _ in
      log.add("a")
      holder.value = nil
      tokens.value = []
    }
    let second = holder.value!.subscribe { _ in log.add("b") }
    tokens.value = [first, second]
    holder.value?.send(1)
    #expect(log.entries == ["a", "b"])
    withExtendedLifetime((first, second)) {}
  }

  @Test func `an observer that drops its own last subscription is alive until it returns`() {
    let signal = Signal<Int>()
    let log = Log<String>()
    let own = Box<Subscription?>(nil)
    do {
      let canary = Canary { log.add("released") }
      own.value = signal.subscribe { _ in
        own.value = nil
        canary.touch()
        log.add("returned")
      }
    }
    signal.send(1)
    #expect(log.entries == ["returned", "released"])
    signal.send(2)
    #expect(log.entries == ["returned", "released"])
  }
}

/// A small generator with a seed, for tests that must repeat.
struct SplitMix: RandomNumberGenerator {
  private var state: UInt64
  init(seed: UInt64) { state = seed }
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}
