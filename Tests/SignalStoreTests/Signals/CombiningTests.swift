// SPDX-License-Identifier: MIT
import Testing

@testable import Signals

private struct Refused: Error {}

@Suite struct `Combining` {
  @Test func `the tuple of properties is always there`() {
    let a = Property(1)
    let b = Property("x")
    let c = Property(true)
    let all = combineLatest(a, b, c)
    #expect(all.value == (1, "x", true))
    let log = Log<String>()
    let subscription = all.subscribe { log.add("\($0) \($1) \($2)") }
    a.value = 2
    b.value = "y"
    #expect(log.entries == ["1 x true", "2 x true", "2 y true"])
    subscription.cancel()
    #expect(a.observerCount + b.observerCount + c.observerCount == 0)
  }

  @Test func `from future nothing comes before the first change`() {
    let a = Property(1)
    let b = Property(2)
    let log = Log<[Int]>()
    let subscription = combineLatest(a, b).subscribe(from: .future) { log.add([$0, $1]) }
    #expect(log.entries == [])
    b.value = 3
    #expect(log.entries == [[1, 3]])
    subscription.cancel()
  }

  @Test func `signals begin when all have sent`() {
    let a = Signal<Int>()
    let b = Signal<String>()
    let log = Log<String>()
    let subscription = combineLatest(messages: a, b).subscribe { log.add("\($0)\($1)") }
    a.send(1)
    a.send(2)
    b.send("x")
    a.send(3)
    #expect(log.entries == ["2x", "3x"])
    subscription.cancel()
  }

  @Test func `any number of properties make an array, none make an empty one`() {
    let properties = (0..<3).map { Property($0) }
    let log = Log<[Int]>()
    let subscription = combineLatest(properties).subscribe { log.add($0) }
    properties[1].value = 7
    #expect(log.entries == [[0, 1, 2], [0, 7, 2]])
    #expect(combineLatest([Property<Int>]()).value == [])
    let empty = Log<[Int]>()
    let other = combineLatest([Property<Int>]()).subscribe { empty.add($0) }
    #expect(empty.entries == [[]])
    withExtendedLifetime((subscription, other)) {}
  }

  @Test func `the same property twice tells twice, and once in a transaction`() {
    let property = Property(1)
    let log = Log<[Int]>()
    let subscription = combineLatest(property, property).subscribe(from: .future) { log.add([$0, $1]) }
    property.value = 2
    #expect(log.entries == [[2, 1], [2, 2]])
    log.clear()
    withTransaction { property.value = 3 }
    #expect(log.entries == [[3, 3]])
    subscription.cancel()
  }

  @Test func `recursive sets inside a combination end and stay ordered`() {
    let a = Property(3)
    let b = Property(2)
    let trace = Log<String>()
    let subscription = combineLatest(a, b).subscribe { x, y in
      trace.add(" (\(x)-\(y)")
      if x > 0 { a.value = x - 1 } else if y > 0 { b.value = y - 1 }
      trace.add(")")
    }
    #expect(trace.entries.joined() == " (3-2) (2-2) (1-2) (0-2) (0-1) (0-0)")
    subscription.cancel()
  }

  @Test func `merge keeps the order of sends made inside observers`() {
    let a = Signal<Int>()
    let b = Signal<Int>()
    let log = Log<Int>()
    let first = a.subscribe { if $0 < 3 { b.send($0 * 10) } }
    let subscription = merge(a, b).subscribe { n in
      log.add(n)
      if n == 1 { a.send(2) }
    }
    a.send(1)
    #expect(log.entries == [10, 1, 20, 2])
    withExtendedLifetime((first, subscription)) {}
  }

  @Test func `merge ends with the last source or the first error`() {
    let log = Log<String>()
    for fails in [false, true] {
      let a = FiniteSignal<Int>()
      let b = FiniteSignal<Int>()
      let subscription = merge([a.erased, b.erased]).subscribe(onEnd: { log.add($0.error == nil ? "end" : "error") }) {
        log.add("\($0)")
      }
      a.send(1)
      a.end(fails ? .failed(Refused()) : .finished)
      b.send(2)
      b.end()
      subscription.cancel()
    }
    #expect(log.entries == ["1", "2", "end", "1", "error"])
  }

  @Test func `withLatest and driven`() {
    let letters = Signal<String>()
    let numbers = Property(0)
    let log = Log<String>()
    let first = letters.withLatest(from: numbers).subscribe { log.add("\($0)\($1)") }
    letters.send("a")
    numbers.value = 1
    letters.send("b")
    let driven = Log<Int>()
    let second = numbers.driven(by: letters).subscribe { driven.add($0) }
    letters.send("c")
    numbers.value = 2
    letters.send("d")
    #expect(log.entries == ["a0", "b1", "c1", "d2"])
    #expect(driven.entries == [1, 2])
    let ticks = Signal<Int>()
    let pairs = Log<String>()
    let third = letters.withLatest(fromMessagesOf: ticks).subscribe { pairs.add("\($0)\($1)") }
    letters.send("a")
    ticks.send(1)
    letters.send("b")
    ticks.send(2)
    letters.send("c")
    letters.send("d")
    #expect(pairs.entries == ["b1", "c2", "d2"])
    withExtendedLifetime((first, second, third)) {}
  }

  @Test func `two writable sources make one that sets both at once`() {
    let a = Property(1)
    let b = Property("x")
    let both = combine(a, b)
    let log = Log<String>()
    let subscription = both.subscribe(from: .future) { log.add("\($0.0)\($0.1)") }
    both.value = (2, "y")
    #expect(a.value == 2)
    #expect(b.value == "y")
    #expect(log.entries == ["2y"])
    subscription.cancel()
  }

  @Test func `with a weak object ends when it is gone`() {
    let signal = Signal<Int>()
    let log = Log<String>()
    var object: Canary? = Canary {}
    let subscription = signal.with(weak: object!).subscribe(onEnd: { _ in log.add("end") }) { log.add("\($0.1)") }
    signal.send(1)
    object = nil
    signal.send(2)
    #expect(log.entries == ["1", "end"])
    #expect(signal.observerCount == 0)
    subscription.cancel()
  }

  @Test func `wait keeps the last message until the gate opens`() {
    let signal = Signal<Int>()
    let gate = Property(false)
    let log = Log<Int>()
    let subscription = signal.wait(until: gate).subscribe { log.add($0) }
    for n in 1...3 { signal.send(n) }
    gate.value = true
    gate.value = true
    signal.send(4)
    #expect(log.entries == [3, 4])
    subscription.cancel()
  }

  @Test func `switching leaves the old source before it takes the new one`() {
    let log = Log<String>()
    let sources = (0..<2).map { index in
      DerivedSignal<Int, Never>.connecting { sink in
        log.add("in \(index)")
        sink.message(index)
        return { log.add("out \(index)") }
      }
    }
    let outer = Signal<Int>()
    let subscription = outer.flatMapLatest { sources[$0] }.subscribe { log.add("\($0)") }
    outer.send(0)
    outer.send(1)
    subscription.cancel()
    #expect(log.entries == ["in 0", "0", "out 0", "in 1", "1", "out 1"])
    #expect(outer.observerCount == 0)
  }

  @Test func `a switched property has a value and can be written through`() {
    let inner = [Property("a"), Property("b")]
    let index = Property(0)
    let name: WritableProperty<String> = index.flatMapLatest(writable: { inner[$0] })
    let log = Log<String>()
    let subscription = name.subscribe { log.add($0) }
    index.value = 1
    inner[0].value = "unheard"
    name.value = "c"
    #expect(inner[1].value == "c")
    #expect(name.value == "c")
    #expect(log.entries == ["a", "b", "c"])
    subscription.cancel()
    #expect(inner[1].observerCount == 0)
  }
}

@Suite struct `Bindings of what is not equal to itself` {
  @Test func `both ways carry NaN, and come to rest`() {
    let (left, right) = (Property(1.0), Property(2.0))
    let sets = Log<Double>()
    let bag = SubscriptionBag()
    left.bindBothWays(with: right).stored(in: bag)
    right.subscribe(from: .future) { sets.add($0) }.stored(in: bag)
    left.value = .nan
    #expect(right.value.isNaN)
    right.value = 3
    #expect(left.value == 3)
    right.value = .nan
    #expect(left.value.isNaN)
    left.value = 4
    #expect(right.value == 4)
    #expect(sets.entries.count == 4)
  }
}

@Suite struct `Transactions` {
  @Test func `observers get the last value once, readers see each`() {
    let property = Property(0)
    let values = Log<Int>()
    let changes = Log<String>()
    let first = property.subscribe(from: .future) { values.add($0) }
    let second = property.changes.subscribe { changes.add("\($0.old)->\($0.new)") }
    let read = withTransaction {
      property.value = 1
      withTransaction { property.value = 2 }
      #expect(values.entries == [])
      let read = property.value
      property.update { $0 += 1 }
      return read
    }
    #expect(read == 2)
    #expect(values.entries == [3])
    #expect(changes.entries == ["0->3"])
    withTransaction {}
    #expect(values.entries == [3])
    withExtendedLifetime((first, second)) {}
  }

  @Test func `a combination of two properties is told once`() {
    let a = Property(1)
    let b = Property(1)
    let log = Log<[Int]>()
    let sum = combineLatest(a, b).subscribe(from: .future) { log.add([$0, $1]) }
    withTransaction {
      a.value = 2
      b.value = 3
    }
    #expect(log.entries == [[2, 3]])
    let nested = Log<Int>()
    let chain = combineLatest(combineLatest(a, b).map { $0 + $1 }, a).subscribe(from: .future) { nested.add($0 * $1) }
    withTransaction {
      a.value = 10
      b.value = 20
    }
    #expect(nested.entries == [300])
    withExtendedLifetime((sum, chain)) {}
  }

  @Test func `a property that skips equal values tells nothing when it comes back`() {
    let property = Property(0, skipsEqual: true)
    let log = Log<Int>()
    let subscription = property.subscribe(from: .future) { log.add($0) }
    withTransaction {
      property.value = 1
      property.value = 0
    }
    #expect(log.entries == [])
    subscription.cancel()
  }

  @Test func `what is set before an error is told`() {
    let property = Property(0)
    let log = Log<Int>()
    let subscription = property.subscribe(from: .future) { log.add($0) }
    #expect(throws: Refused.self) {
      try withTransaction {
        property.value = 1
        throw Refused()
      }
    }
    #expect(log.entries == [1])
    subscription.cancel()
  }

  @Test func `changes can be merged and undone`() {
    let merged = ValueChange(new: 1, old: 0).merged(with: ValueChange(new: 2, old: 1))
    #expect(merged == ValueChange(new: 2, old: 0))
    #expect(merged.reversed == ValueChange(new: 0, old: 2))
  }
}

@Suite struct `Bindings` {
  /// Unchecked: the tests use it on one thread.
  private final class Label: @unchecked Sendable { var text = "" }

  @Test func `one way does not write back`() {
    let master = Property(1)
    let slave = Property(0)
    let binding = master.bind(to: slave)
    #expect(slave.value == 1)
    slave.value = 200
    #expect(master.value == 1)
    master.value = 2
    #expect(slave.value == 2)
    binding.cancel()
    master.value = 3
    #expect(slave.value == 2)
  }

  @Test func `to an optional and to a property of an object`() {
    let master = Property("a")
    let optional = Property<String?>(nil)
    var label: Label? = Label()
    let bag = SubscriptionBag()
    bag.insert(master.bind(to: optional))
    bag.insert(master.bind(to: label!, \.text))
    master.value = "b"
    #expect(optional.value == "b")
    #expect(label?.text == "b")
    weak let gone = label
    label = nil
    #expect(gone == nil)
    master.value = "c"
  }

  @Test func `both ways starts from the source and tells each side once`() {
    let a = Property(1)
    let b = Property(9)
    let binding = a.bindBothWays(with: b)
    #expect(b.value == 1)
    let aLog = Log<Int>()
    let bLog = Log<Int>()
    let first = a.subscribe(from: .future) { aLog.add($0) }
    let second = b.subscribe(from: .future) { bLog.add($0) }
    a.value = 2
    b.value = 3
    #expect(aLog.entries == [2, 3])
    #expect(bLog.entries == [2, 3])
    binding.cancel()
    a.value = 4
    #expect(b.value == 3)
    withExtendedLifetime((first, second)) {}
  }

  @Test func `both ways agree after two threads have set both sides`() {
    for _ in 0..<200 {
      let a = Property(0)
      let b = Property(0)
      let binding = a.bindBothWays(with: b)
      onThreads(2) { thread in
        for n in 1...20 { if thread == 0 { a.value = n } else { b.value = -n } }
      }
      #expect(a.value == b.value)
      binding.cancel()
    }
  }
}
