// SPDX-License-Identifier: MIT
import Synchronization
import Testing

@testable import Signals

/// A receiver that notes what it got.
private final class Screen: Sendable {
  let log: Log<String>
  init(_ log: Log<String>) { self.log = log }
  @Sendable func show(_ number: Int) { log.add("\(number)") }
  deinit { log.add("gone") }
}

@Suite struct `A subscription bound to a receiver` {
  @Test func `ends with the first message after the receiver is gone`() {
    let signal = Signal<Int>()
    let log = Log<String>()
    var screen: Screen? = Screen(log)
    signal.subscribe(boundTo: screen!) { screen, n in screen.show(n) }
    signal.send(1)
    signal.send(2)
    #expect(signal.observerCount == 1)
    screen = nil
    #expect(log.entries == ["1", "2", "gone"])
    signal.send(3)
    #expect(log.entries == ["1", "2", "gone"])
    let unobserved = signal.core.isUnobserved
    #expect(unobserved)
  }

  @Test func `does not count any more once the receiver is gone`() {
    let property = Property(0)
    var screen: Screen? = Screen(Log())
    property.subscribe(boundTo: screen!) { screen, n in screen.show(n) }
    #expect(property.observerCount == 1)
    screen = nil
    #expect(property.observerCount == 0)
  }

  @Test func `keeps the receiver until the call returns`() {
    let signal = Signal<Int>()
    let log = Log<String>()
    let holder = Box<Screen?>(Screen(log))
    signal.subscribe(boundTo: holder.value!) { _, _ in
      holder.value = nil
      log.add("returning")
    }
    signal.send(1)
    #expect(log.entries == ["returning", "gone"])
  }

  @Test func `is skipped or called alive when an earlier observer drops the receiver`() {
    let signal = Signal<Int>()
    let log = Log<String>()
    let holder = Box<Screen?>(Screen(log))
    let first = signal.subscribe { _ in holder.value = nil }
    signal.subscribe(boundTo: holder.value!) { screen, n in screen.show(n) }
    signal.send(1)
    signal.send(2)
    #expect(log.entries == ["gone"])
    first.cancel()
  }

  @Test func `can name a method`() {
    let property = Property(5)
    let log = Log<String>()
    let screen = Screen(log)
    property.subscribe(boundTo: screen, call: { screen in { screen.show($0) } })
    property.value = 6
    #expect(log.entries == ["5", "6"])
  }

  @Test func `can be ended for one receiver at a time`() {
    let signal = Signal<Int>()
    let log = Log<String>()
    let other = Log<String>()
    let screen = Screen(log)
    let second = Screen(other)
    signal.subscribe(boundTo: screen) { screen, n in screen.show(n) }
    signal.subscribe(boundTo: screen) { screen, n in screen.show(n * 10) }
    signal.subscribe(boundTo: second) { screen, n in screen.show(n) }
    signal.send(1)
    #expect(signal.isObserved(by: screen))
    signal.removeObservers(of: screen)
    #expect(!signal.isObserved(by: screen))
    #expect(signal.isObserved(by: second))
    signal.send(2)
    #expect(log.entries == ["1", "10"])
    #expect(other.entries == ["1", "2"])
  }

  @Test func `can be cancelled by its token, and dropping the token ends nothing`() {
    let signal = Signal<Int>()
    let log = Log<String>()
    let screen = Screen(log)
    var token: Subscription? = signal.subscribe(boundTo: screen) { screen, n in screen.show(n) }
    #expect(token?.isActive == true)
    token = nil
    signal.send(1)
    token = signal.subscribe(boundTo: screen) { screen, n in screen.show(n * 10) }
    token?.cancel()
    signal.send(2)
    #expect(log.entries == ["1", "2"])
  }

  @Test func `leaves nothing behind when thousands come and go`() {
    let signal = Signal<Int>()
    let screen = Screen(Log())
    for _ in 0..<2000 { signal.subscribe(boundTo: screen) { _, _ in }.cancel() }
    #expect(signal.observerCount == 0)
    let left = signal.core.withLock { $0.extras?.receivers.count ?? 0 }
    #expect(left <= 16)
  }
}

@Suite struct `Observers of a source` {
  @Test func `removing all stops all`() {
    let signal = Signal<Int>()
    let log = Log<Int>()
    let tokens = (0..<5).map { index in signal.subscribe { _ in log.add(index) } }
    signal.removeAllObservers()
    signal.send(1)
    #expect(log.entries == [])
    #expect(signal.observerCount == 0)
    #expect(tokens.allSatisfy { !$0.isActive })
  }

  @Test func `the count is told each time it changes`() {
    let signal = Signal<Int>()
    let counts = Log<Int>()
    let watch = signal.observerCounts.subscribe { counts.add($0) }
    let a = signal.subscribe { _ in }
    var b: Subscription? = signal.subscribe(once: true) { _ in }
    #expect(b?.isActive == true)
    signal.send(1)
    #expect(b?.isActive == false)
    b = signal.subscribe { _ in }
    b = nil
    a.cancel()
    #expect(counts.entries == [1, 2, 1, 2, 1, 0])
    watch.cancel()
  }

  @Test func `the count is told when a receiver died`() {
    let signal = Signal<Int>()
    let counts = Log<Int>()
    let watch = signal.observerCounts.subscribe { counts.add($0) }
    var screen: Screen? = Screen(Log())
    signal.subscribe(boundTo: screen!) { _, _ in }
    screen = nil
    signal.send(1)
    signal.send(2)
    #expect(counts.entries == [1, 0])
    watch.cancel()
  }

  @Test func `the count that is told leaves out receivers that have gone`() {
    let signal = Signal<Int>()
    let property = Property(0)
    let counts = Log<Int>()
    let bag = SubscriptionBag()
    signal.observerCounts.subscribe { counts.add($0) }.stored(in: bag)
    property.observerCounts.subscribe { counts.add($0 + 10) }.stored(in: bag)
    var screen: Screen? = Screen(Log())
    signal.subscribe(boundTo: screen!) { _, _ in }
    property.subscribe(boundTo: screen!) { _, _ in }
    #expect(counts.entries == [1, 11])
    screen = Screen(Log())
    signal.subscribe(boundTo: screen!) { _, _ in }
    property.subscribe(boundTo: screen!) { _, _ in }
    #expect(counts.entries == [1, 11, 0, 1, 10, 11])
    screen = nil
    let token = signal.subscribe(unique: "x") { _ in }
    token.cancel()
    #expect(counts.entries == [1, 11, 0, 1, 10, 11, 0, 1, 0])
  }

  @Test func `a message can be sent to one of them`() {
    let signal = Signal<Int>()
    let a = Log<Int>()
    let b = Log<Int>()
    let first = signal.subscribe { a.add($0) }
    let second = signal.subscribe { b.add($0) }
    #expect(signal.send(7, to: first))
    #expect(a.entries == [7])
    #expect(b.entries == [])
    first.cancel()
    #expect(!signal.send(8, to: first))
    #expect(!Signal<Int>().send(9, to: second))
    #expect(b.entries == [])
  }

  @Test func `a message for one waits for its turn like any other`() {
    let signal = Signal<Int>()
    let log = Log<Int>()
    let target = Box<Subscription?>(nil)
    let first = signal.subscribe { n in
      if n == 1 {
        signal.send(2)
        signal.send(3, to: target.value!)
        signal.send(4)
      }
    }
    target.value = signal.subscribe { log.add($0) }
    signal.send(1)
    #expect(log.entries == [1, 2, 3, 4])
    first.cancel()
    target.value = nil
  }

  @Test func `the last message can be replayed to one`() {
    let signal = Signal<Int>(remembersLast: true)
    let log = Log<Int>()
    let token = signal.subscribe { log.add($0) }
    #expect(!token.replay())
    signal.send(4)
    #expect(token.replay())
    #expect(log.entries == [4, 4])
    #expect(!Signal<Int>().subscribe { _ in }.replay())
    let property = Property(9)
    let other = property.subscribe(from: .future) { log.add($0) }
    #expect(other.replay())
    #expect(log.entries == [4, 4, 9])
  }

  @Test func `once gets one message, also when it sends itself`() {
    let signal = Signal<Int>()
    let log = Log<Int>()
    let token = signal.subscribe(once: true) { n in
      log.add(n)
      signal.send(n + 1)
    }
    signal.send(1)
    signal.send(2)
    #expect(log.entries == [1])
    #expect(!token.isActive)
  }

  @Test func `the first value counts as the one of once`() {
    let property = Property(1)
    let log = Log<Int>()
    let token = property.subscribe(once: true) { log.add($0) }
    property.value = 2
    #expect(log.entries == [1])
    #expect(!token.isActive)
  }

  @Test func `once can be decided later`() {
    let signal = Signal<Int>()
    let log = Log<Int>()
    let token = signal.subscribe { log.add($0) }
    signal.send(1)
    token.endAfterNext()
    signal.send(2)
    signal.send(3)
    #expect(log.entries == [1, 2])
  }

  @Test func `a once observer that drops its token in the call runs to its end`() {
    let signal = Signal<Int>()
    let log = Log<String>()
    let own = Box<Subscription?>(nil)
    do {
      let canary = Canary { log.add("released") }
      own.value = signal.subscribe(once: true) { _ in
        own.value = nil
        canary.touch()
        log.add("done")
      }
    }
    signal.send(1)
    #expect(log.entries == ["done", "released"])
  }
}
