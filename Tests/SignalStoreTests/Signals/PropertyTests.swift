// SPDX-License-Identifier: MIT
import Synchronization
import Testing

@testable import Signals

@Suite struct `A property` {
  @Test func `a set stores the value before anyone is told`() {
    let property = Property(1)
    let log = Log<[Int]>()
    let subscription = property.subscribe(from: .future) { log.add([$0, property.value]) }
    #expect(property.value == 1)
    property.value = 2
    #expect(log.entries == [[2, 2]])
    subscription.cancel()
  }

  @Test func `12 - a subscription from current gets the value before subscribe returns`() {
    let property = Property(5)
    let log = Log<Int>()
    let subscription = property.subscribe { log.add($0) }
    #expect(log.entries == [5])
    property.value = 6
    #expect(log.entries == [5, 6])
    subscription.cancel()
  }

  @Test func `a subscription from future gets nothing until the next set`() {
    let property = Property(5)
    let log = Log<Int>()
    let subscription = property.subscribe(from: .future) { log.add($0) }
    #expect(log.entries == [])
    property.value = 6
    #expect(log.entries == [6])
    subscription.cancel()
  }

  @Test func `12 - a value set during the first call comes after it`() {
    let property = Property(1, skipsEqual: true)
    let log = Log<Int>()
    let subscription = property.subscribe {
      log.add($0)
      property.value = 2
    }
    #expect(log.entries == [1, 2])
    subscription.cancel()
  }

  @Test func `12 - a subscription made inside an observer gets the value once`() {
    let property = Property(0)
    let b = Log<Int>()
    let inner = Box<Subscription?>(nil)
    let subscription = property.subscribe(from: .future) { _ in
      if inner.value == nil { inner.value = property.subscribe { b.add($0) } }
    }
    property.value = 1
    property.value = 2
    #expect(b.entries == [1, 2])
    subscription.cancel()
  }

  @Test func `12 - a subscription made after a set that still waits starts with that value`() {
    let property = Property(0)
    let b = Log<Int>()
    let inner = Box<Subscription?>(nil)
    let subscription = property.subscribe(from: .future) { value in
      if value == 1 {
        property.value = 2
        inner.value = property.subscribe { b.add($0) }
        property.value = 3
      }
    }
    property.value = 1
    #expect(b.entries == [2, 3])
    subscription.cancel()
  }

  @Test func `12 - a cancelled subscription does not get its waiting first value`() {
    let property = Property(0)
    let b = Log<Int>()
    let subscription = property.subscribe(from: .future) { _ in
      let token = property.subscribe { b.add($0) }
      token.cancel()
    }
    property.value = 1
    #expect(b.entries == [])
    subscription.cancel()
  }

  @Test func `observers can have the new and the old value`() {
    let property = Property("a")
    let log = Log<String>()
    let subscription = property.changes.subscribe { log.add("\($0.old)->\($0.new)") }
    property.value = "b"
    property.value = "c"
    #expect(log.entries == ["a->b", "b->c"])
    subscription.cancel()
  }

  @Test func `13 - setting an equal value is a set`() {
    let property = Property(3)
    let log = Log<Int>()
    let subscription = property.subscribe(from: .future) { log.add($0) }
    property.value = 3
    property.value = 3
    #expect(log.entries == [3, 3])
    subscription.cancel()
  }

  @Test func `13 - with skipsEqual an equal value is no set`() {
    let property = Property(3, skipsEqual: true)
    let log = Log<Int>()
    let subscription = property.subscribe(from: .future) { log.add($0) }
    property.value = 3
    property.update { $0 = 3 }
    #expect(log.entries == [])
    property.value = 4
    #expect(log.entries == [4])
    subscription.cancel()
  }

  @Test func `13 - what counts as unchanged can be given`() {
    let property = Property("a", skipping: { $0.lowercased() == $1.lowercased() })
    property.value = "A"
    #expect(property.value == "a")
    property.value = "b"
    #expect(property.value == "b")
  }

  @Test func `update returns what its closure returned and may use the property`() {
    let property = Property(3)
    let doubled = property.update { value in
      value += property.value
      return value * 2
    }
    #expect(doubled == 12)
    #expect(property.value == 6)
  }

  @Test func `an update that throws sets nothing`() {
    struct Refused: Error {}
    let property = Property(3)
    let log = Log<Int>()
    let subscription = property.subscribe(from: .future) { log.add($0) }
    #expect(throws: Refused.self) {
      try property.update { value in
        value = 9
        throw Refused()
      }
    }
    #expect(property.value == 3)
    #expect(log.entries == [])
    subscription.cancel()
  }

  @Test func `an update repeats on the value that another set put under it`() {
    let property = Property(1)
    let runs = Log<Int>()
    property.update { value in
      runs.add(value)
      if value == 1 { property.value = 10 }
      value += 1
    }
    #expect(runs.entries == [1, 10])
    #expect(property.value == 11)
  }
}

@Suite struct `A signal` {
  @Test func `sending without observers does nothing and keeps nothing`() {
    let signal = Signal<Canary>()
    let log = Log<String>()
    signal.send(Canary { log.add("released") })
    #expect(log.entries == ["released"])
    let subscription = signal.subscribe { _ in log.add("called") }
    #expect(log.entries == ["released"])
    subscription.cancel()
  }

  @Test func `each of three observers gets the message once`() {
    let signal = Signal<Int>()
    let log = Log<[Int]>()
    let bag = SubscriptionBag()
    for index in 0..<3 { signal.subscribe { log.add([index, $0]) }.stored(in: bag) }
    signal.send(42)
    #expect(log.entries == [[0, 42], [1, 42], [2, 42]])
  }

  @Test func `a signal without payload is sent without one`() {
    let signal = Signal<Void>()
    let calls = Log<Int>()
    let subscription = signal.subscribe { calls.add(1) }
    signal.send()
    #expect(calls.entries == [1])
    subscription.cancel()
  }

  @Test func `a payload can be several named values`() {
    let signal = Signal<(data: [UInt8]?, code: Int?)>()
    let log = Log<String>()
    let subscription = signal.subscribe { log.add("\(String(describing: $0.data)) \(String(describing: $0.code))") }
    signal.send((nil, 5))
    #expect(log.entries == ["nil Optional(5)"])
    subscription.cancel()
  }

  @Test func `the last message is remembered on request`() {
    let signal = Signal<Int>(remembersLast: true)
    let log = Log<Int>()
    let early = signal.subscribe { log.add($0) }
    #expect(log.entries == [])
    signal.send(1)
    signal.send(2)
    let late = Log<Int>()
    let subscription = signal.subscribe { late.add($0) }
    #expect(late.entries == [2])
    #expect(log.entries == [1, 2])
    withExtendedLifetime((early, subscription)) {}
  }

  @Test func `forget releases the remembered message`() {
    let signal = Signal<Canary>(remembersLast: true)
    let log = Log<String>()
    signal.send(Canary { log.add("released") })
    #expect(log.entries == [])
    signal.forget()
    #expect(log.entries == ["released"])
    let subscription = signal.subscribe { _ in log.add("called") }
    #expect(log.entries == ["released"])
    subscription.cancel()
  }

  @Test func `a remembering signal releases nothing while it enqueues`() {
    let signal = Signal<Canary>(remembersLast: true)
    let log = Log<String>()
    signal.send(Canary { log.add("first released") })
    signal.enqueue(Canary { log.add("second released") })
    #expect(log.entries == [])
    signal.deliver()
    #expect(log.entries == ["first released"])
  }
}
