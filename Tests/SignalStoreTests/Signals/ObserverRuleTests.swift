// SPDX-License-Identifier: MIT
import Synchronization
import Testing

@testable import Signals

@Suite struct `Observers that there may be only one of` {
  @Test func `the first callback stays and its token is returned`() {
    let signal = Signal<Int>()
    let log = Log<String>()
    let first = signal.subscribe(unique: "logger") { log.add("first \($0)") }
    let second = signal.subscribe(unique: "logger") { log.add("second \($0)") }
    #expect(first === second)
    signal.send(1)
    #expect(log.entries == ["first 1"])
    #expect(signal.observerCount == 1)
  }

  @Test func `without a name two subscriptions are two calls`() {
    let signal = Signal<Int>()
    let log = Log<Int>()
    let observer: @Sendable (Int) -> Void = { log.add($0) }
    let tokens = [signal.subscribe(observer), signal.subscribe(observer)]
    signal.send(1)
    #expect(log.entries == [1, 1])
    withExtendedLifetime(tokens) {}
  }

  @Test func `names, numbers and objects do not stand for each other`() {
    let signal = Signal<Int>()
    let object = Canary {}
    let tokens = [
      signal.subscribe(unique: "1") { _ in }, signal.subscribe(unique: 1) { _ in },
      signal.subscribe(unique: ObserverID(object)) { _ in }, signal.subscribe(unique: 2) { _ in },
    ]
    #expect(signal.observerCount == 4)
    withExtendedLifetime(tokens) {}
  }

  @Test func `the name is free again when the subscription has ended`() {
    let property = Property(5)
    let log = Log<String>()
    var token: Subscription? = property.subscribe(unique: "x") { log.add("a\($0)") }
    token?.cancel()
    token = property.subscribe(unique: "x") { log.add("b\($0)") }
    #expect(token?.isActive == true)
    token = nil
    token = property.subscribe(unique: "x", from: .future) { log.add("c\($0)") }
    property.value = 6
    #expect(log.entries == ["a5", "b5", "c6"])
    #expect(property.observerCount == 1)
  }

  @Test func `a subscription given to its source is found by its name and can be ended`() {
    let signal = Signal<Int>()
    let log = Log<Int>()
    signal.subscribe(unique: "kept") { log.add($0) }.keepWhileSourceLives()
    signal.send(1)
    let found = signal.subscribe(unique: "kept") { _ in log.add(-1) }
    signal.send(2)
    found.cancel()
    signal.send(3)
    #expect(log.entries == [1, 2])
    #expect(signal.observerCount == 0)
  }

  @Test func `names of ended subscriptions do not pile up`() {
    let signal = Signal<Int>()
    for number in 0..<1000 { signal.subscribe(unique: ObserverID(number)) { _ in }.cancel() }
    let left = signal.core.withLock { $0.extras?.uniques.count ?? 0 }
    #expect(left < 100)
  }

  @Test func `one of two threads makes the subscription`() {
    for _ in 0..<200 {
      let property = Property(0)
      let log = Log<Int>()
      let tokens = Log<Subscription>()
      onThreads(2) { thread in tokens.add(property.subscribe(unique: "x") { _ in log.add(thread) }) }
      #expect(tokens.entries[0] === tokens.entries[1])
      #expect(property.observerCount == 1)
      #expect(log.entries.count == 1)
    }
  }
}

@Suite struct `A limit of observers` {
  @Test func `one more than allowed is refused and nothing is changed`() throws {
    let signal = Signal<Int>()
    try signal.setObserverLimit(2)
    #expect(signal.observerLimit == 2)
    let log = Log<String>()
    let first = try signal.trySubscribe { log.add("a\($0)") }
    let second = signal.subscribe { log.add("b\($0)") }
    let canary = Log<String>()
    do {
      let captured = Canary { canary.add("released") }
      #expect(throws: ObserverLimitError(limit: 2)) { _ = try signal.trySubscribe { _ in captured.touch() } }
    }
    #expect(canary.entries == ["released"])
    signal.send(1)
    #expect(log.entries == ["a1", "b1"])
    second.cancel()
    let third = try signal.trySubscribe { log.add("c\($0)") }
    signal.send(2)
    #expect(log.entries == ["a1", "b1", "a2", "c2"])
    withExtendedLifetime((first, third)) {}
  }

  @Test func `lowering it under the count fails`() throws {
    let property = Property(1)
    let tokens = (0..<3).map { _ in property.subscribe { _ in } }
    #expect(throws: ObserverLimitError(limit: 2)) { try property.setObserverLimit(2) }
    #expect(property.observerLimit == nil)
    try property.setObserverLimit(3)
    #expect(throws: ObserverLimitError(limit: 3)) { _ = try property.trySubscribe { _ in } }
    try property.setObserverLimit(nil)
    #expect(try property.trySubscribe { _ in }.isActive)
    withExtendedLifetime(tokens) {}
  }

  @Test func `receivers that are gone do not count`() throws {
    let property = Property(1)
    try property.setObserverLimit(1)
    do {
      let receiver = Canary {}
      property.subscribe(boundTo: receiver) { _, _ in }
      withExtendedLifetime(receiver) {}
    }
    #expect(try property.trySubscribe { _ in }.isActive)
  }

  @Test func `the plain form stops the program`() async {
    await #expect(processExitsWith: .failure) {
      let signal = Signal<Int>()
      try? signal.setObserverLimit(1)
      let first = signal.subscribe { _ in }
      let second = signal.subscribe { _ in }
      withExtendedLifetime((first, second)) {}
    }
  }
}
