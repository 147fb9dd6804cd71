// SPDX-License-Identifier: MIT
import Testing

@testable import Signals

@Suite struct `A subscription` {
  @Test func `after cancel nothing is delivered and cancelling again is fine`() {
    let signal = Signal<Int>()
    let log = Log<Int>()
    let subscription = signal.subscribe { log.add($0) }
    #expect(subscription.isActive)
    subscription.cancel()
    subscription.cancel()
    signal.send(1)
    #expect(log.entries == [])
    #expect(!subscription.isActive)
  }

  @Test func `dropping the last reference cancels`() {
    let signal = Signal<Int>()
    let log = Log<Int>()
    var subscription: Subscription? = signal.subscribe { log.add($0) }
    signal.send(1)
    #expect(subscription != nil)
    subscription = nil
    signal.send(2)
    #expect(log.entries == [1])
    #expect(signal.observerCount == 0)
  }

  @Test func `a subscription outlives the last other reference to its source`() {
    let log = Log<String>()
    var subscription: Subscription?
    do {
      let canary = Canary { log.add("closure released") }
      let signal = Signal<Int>()
      subscription = signal.subscribe { _ in canary.touch() }
    }
    #expect(log.entries == [])
    subscription?.cancel()
    #expect(log.entries == ["closure released"])
    subscription = nil
  }

  @Test func `a subscription given to its source lives as long as that`() {
    let log = Log<String>()
    var signal: Signal<Int>? = Signal<Int>()
    do {
      let canary = Canary { log.add("released") }
      signal!.subscribe { n in
        canary.touch()
        log.add("\(n)")
      }.keepWhileSourceLives()
    }
    signal!.send(1)
    #expect(signal!.observerCount == 1)
    signal = nil
    #expect(log.entries == ["1", "released"])
  }

  @Test func `a detached subscription can still be cancelled, also after it moved`() {
    let signal = Signal<Int>()
    let log = Log<Int>()
    let before = (0..<200).map { _ in signal.subscribe { _ in } }
    let detached = signal.subscribe { log.add($0) }
    detached.keepWhileSourceLives()
    for subscription in before { subscription.cancel() }
    signal.send(1)
    detached.cancel()
    signal.send(2)
    #expect(log.entries == [1])
  }
}

@Suite struct `A subscription bag` {
  @Test func `cancelling stops everything and the bag can be used again`() {
    let signal = Signal<Int>()
    let log = Log<Int>()
    let bag = SubscriptionBag()
    bag.insert(signal.subscribe { log.add($0) })
    bag.insert(signal.subscribe { log.add($0) })
    signal.send(1)
    bag.cancel()
    signal.send(2)
    #expect(log.entries == [1, 1])
    bag.insert(signal.subscribe { log.add($0) })
    signal.send(3)
    #expect(log.entries == [1, 1, 3])
  }

  @Test func `dropping the bag stops everything`() {
    let signal = Signal<Int>()
    var bag: SubscriptionBag? = SubscriptionBag()
    bag?.insert(signal.subscribe { _ in })
    bag?.insert(signal.subscribe { _ in })
    #expect(signal.observerCount == 2)
    bag = nil
    #expect(signal.observerCount == 0)
  }

  @Test func `cancel inside cancel is safe`() {
    let bag = SubscriptionBag()
    let log = Log<Int>()
    bag.onCancel {
      log.add(1)
      bag.cancel()
    }
    bag.onCancel { log.add(2) }
    bag.cancel()
    bag.cancel()
    #expect(log.entries == [1, 2])
  }

  @Test func `an inner bag goes with the outer one`() {
    let signal = Signal<Int>()
    let outer = SubscriptionBag()
    let inner = SubscriptionBag()
    inner.insert(signal.subscribe { _ in })
    outer.insert(inner)
    outer.cancel()
    #expect(signal.observerCount == 0)
  }

  @Test func `held objects live as long as the bag keeps them`() {
    let log = Log<String>()
    let bag = SubscriptionBag()
    bag.hold(Canary { log.add("released") })
    #expect(log.entries == [])
    bag.cancel()
    #expect(log.entries == ["released"])
  }

  @Test func `a clean-up runs once when two threads cancel`() {
    for _ in 0..<500 {
      let bag = SubscriptionBag()
      let log = Log<Int>()
      bag.onCancel { log.add(1) }
      onThreads(2) { _ in bag.cancel() }
      #expect(log.entries == [1])
    }
  }

  @Test func `subscriptions that ended do not pile up`() {
    let signal = Signal<Int>()
    let bag = SubscriptionBag()
    for _ in 0..<1000 {
      let subscription = signal.subscribe { _ in }
      bag.insert(subscription)
      subscription.cancel()
    }
    #expect(bag.count < 100)
  }
}
