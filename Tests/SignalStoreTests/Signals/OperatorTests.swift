// SPDX-License-Identifier: MIT
import Testing

@testable import Signals

private struct Refused: Error, Equatable {}

private struct Size: Equatable { var width = 1, height = 2 }
private struct Person: Equatable {
  var size = Size()
  var nick: String?
}

/// Subscribes to a source that does not end, runs `body`, and answers what was delivered.
private func recorded<Source: SignalSource>(_ source: Source, _ body: () -> Void) -> [Source.Message]
where Source.End == Never {
  let log = Log<Source.Message>()
  let subscription = source.attach(Sink { log.add($0) })
  body()
  subscription.cancel()
  return log.entries
}

/// As above, with the end as the last entry.
private func recordedToEnd<Source: SignalSource>(_ source: Source, _ body: () -> Void) -> [String] {
  let log = Log<String>()
  let subscription = source.attach(
    Sink(
      message: { log.add("\($0)") },
      end: { log.add($0.completion.error.map { "failed(\($0))" } ?? "finished") }))
  body()
  subscription.cancel()
  return log.entries
}

@Suite struct `Operators on one message` {
  @Test func `map of a property is a value that needs no observers`() {
    let property = Property(2)
    let doubled = property.map { $0 * 2 }
    #expect(doubled.value == 4)
    property.value = 5
    #expect(doubled.value == 10)
    #expect(recorded(doubled.fromCurrent) { property.value = 6 } == [10, 12])
    #expect(property.observerCount == 0)
  }

  @Test func `filters can follow each other`() {
    let signal = Signal<Int>()
    let source = signal.filter { $0 > 0 }.filter { $0 > 10 }
    #expect(recorded(source) { for n in [-1, 5, 11, 20] { signal.send(n) } } == [11, 20])
  }

  @Test func `compactMap leaves out nil and flatMap sends each element`() {
    let signal = Signal<Int>()
    let halves = signal.compactMap { $0.isMultiple(of: 2) ? $0 / 2 : nil }
    #expect(recorded(halves) { for n in 1...10 { signal.send(n) } } == [1, 2, 3, 4, 5])
    #expect(recorded(signal.flatMap { Array(1...$0) }) { signal.send(2) } == [1, 2])
  }

  @Test func `toVoid, constant, negate and toggle`() {
    let signal = Signal<Int>()
    #expect(recorded(signal.toVoid().map { "x" }) { signal.send(1) } == ["x"])
    #expect(recorded(signal.constant("c")) { signal.send(1) } == ["c"])
    let flag = Property(true)
    let opposite = flag.negate()
    #expect(opposite.value == false)
    let seen = recorded(flag.plain) { flag.toggle() }
    #expect(seen == [false])
    #expect(opposite.value == true)
  }

  @Test func `an error thrown by tryMap ends the source`() {
    let signal = Signal<Int>()
    let source = signal.tryMap { n in
      if n == 4 { throw Refused() }
      return n * 2
    }
    let log = recordedToEnd(source) { for n in 1...6 { signal.send(n) } }
    #expect(log == ["2", "4", "6", "failed(Refused())"])
    #expect(signal.observerCount == 0)
  }

  @Test func `a part of a property is written through and told once`() {
    let property = Property(Person())
    let height = property[\.size.height]
    #expect(height.value == 2)
    let parts = Log<Int>()
    let wholes = Log<Person>()
    let first = height.subscribe(from: .future) { parts.add($0) }
    let second = property.subscribe(from: .future) { wholes.add($0) }
    height.value = 3
    #expect(property.value.size == Size(width: 1, height: 3))
    #expect(parts.entries == [3])
    #expect(wholes.entries.count == 1)
    withExtendedLifetime((first, second)) {}
  }

  @Test func `a part that may be missing reads as its default`() {
    let property = Property(Person())
    let nick = property[\.nick, default: "-"]
    #expect(nick.value == "-")
    nick.value = "x"
    #expect(property.value.nick == "x")
    #expect(recorded(nick.plain) { property.value.nick = nil } == ["-"])
  }

  @Test func `start puts messages first, the last one given first of all`() {
    let signal = Signal<Int>()
    #expect(recorded(signal.start(with: 2).start(with: 1)) { signal.send(3) } == [1, 2, 3])
  }

  @Test func `tap runs once for each message of each subscriber, before what follows`() {
    let signal = Signal<Int>()
    let log = Log<String>()
    let source = signal.tap { log.add("tap \($0)") }
    let bag = SubscriptionBag()
    for name in ["a", "b"] { bag.insert(source.subscribe { log.add("\(name) \($0)") }) }
    signal.send(1)
    #expect(log.entries == ["tap 1", "a 1", "tap 1", "b 1"])
  }

  @Test func `bracketed says hello and goodbye to each subscriber`() {
    let signal = Signal<String>()
    let source = signal.bracketed(hello: "hello", goodbye: "goodbye")
    let log = Log<String>()
    let subscription = source.subscribe { log.add($0) }
    signal.send("x")
    subscription.cancel()
    #expect(log.entries == ["hello", "x", "goodbye"])
  }

  @Test func `a goodbye is said behind the message that is being told, and not behind an end`() {
    let signal = Signal<String>()
    let log = Log<String>()
    let bag = SubscriptionBag()
    signal.bracketed(goodbye: "goodbye").subscribe { message in
      log.add(message)
      bag.cancel()
      log.add("left")
    }.stored(in: bag)
    signal.send("x")
    #expect(log.entries == ["x", "left", "goodbye", "left"])

    let finite = FiniteSignal<String>()
    let last = Log<String>()
    let subscription = finite.bracketed(goodbye: "goodbye").subscribe(onEnd: { _ in last.add("end") }) { last.add($0) }
    finite.end()
    subscription.cancel()
    #expect(last.entries == ["end"])

    let leaving = FiniteSignal<String>()
    leaving.onEvent { if case .end = $0 { bag.cancel() } }.bracketed(goodbye: "goodbye")
      .subscribe(onEnd: { _ in last.add("end") }) { last.add($0) }.stored(in: bag)
    leaving.end()
    #expect(last.entries == ["end", "goodbye"])
  }

  @Test func `debug tells of everything with its place`() {
    let signal = FiniteSignal<Int>()
    let lines = Log<String>()
    let subscription = signal.debug("here", print: { lines.add($0) }).subscribe { _ in }
    signal.send(4)
    signal.end()
    subscription.cancel()
    let texts = lines.entries.map { $0.split(separator: " here: ").last ?? "" }
    #expect(texts == ["subscribed", "message(4)", "end(finished)", "cancelled"])
    #expect(lines.entries.allSatisfy { $0.contains("OperatorTests.swift:") })
  }

  @Test func `the ends can be tapped`() {
    let log = Log<String>()
    for completion in [Completion.finished, .failed(Refused())] {
      let signal = FiniteSignal<Int>()
      let source = signal.atEnd { log.add("end") }.atError { _ in log.add("error") }
        .onEvent { if case .end = $0 { log.add("event") } }
      let subscription = source.subscribe { _ in }
      signal.end(completion)
      subscription.cancel()
    }
    #expect(log.entries == ["end", "event", "error", "event"])
  }

  @Test func `an operator of one's own may send none, one or many`() {
    let signal = Signal<Int>()
    let source: DerivedSignal<Int, Never> = signal.transform { sink in
      Sink { for n in 0..<$0 { sink.message(n) } }
    }
    #expect(recorded(source) { for n in [0, 1, 3] { signal.send(n) } } == [0, 0, 1, 2])
  }

  @Test func `a type of one's own has all operators`() {
    struct Field: SignalSource {
      let text = Property("a")
      func attach(_ sink: Sink<String, Never>) -> Subscription { text.attach(sink) }
    }
    let field = Field()
    #expect(recorded(field.map { $0.count }) { field.text.value = "abc" } == [1, 3])
  }

  @Test func `a chain is kept alive by its subscription alone`() {
    let log = Log<Int>()
    var property: Property<Int>? = Property(1)
    let setter = property!.map { $0 + 1 }.filter { $0 > 0 }
    let subscription = setter.subscribe { log.add($0) }
    weak let gone = property
    property = nil
    gone?.value = 5
    #expect(gone != nil)
    #expect(log.entries == [2, 6])
    subscription.cancel()
  }
}

@Suite struct `Operators that limit` {
  @Test func `distinct on a signal lets the first message pass`() {
    let signal = Signal<Int>()
    #expect(recorded(signal.distinct()) { for n in [1, 1, 2, 2, 1] { signal.send(n) } } == [1, 2, 1])
  }

  @Test func `distinct on a property compares with the value of now`() {
    let property = Property(1)
    let source = property.readOnly.distinct()
    #expect(recorded(source.plain) { for n in [1, 2, 2, 3] { property.value = n } } == [2, 3])
    #expect(recorded(source) { property.value = 3 } == [3])
  }

  @Test func `distinct on something writable drops the equal write too`() {
    let property = Property(1)
    let source: WritableProperty<Int> = property.distinct()
    let writes = recorded(property.plain) { for n in [1, 2, 2, 3] { source.value = n } }
    #expect(writes == [2, 3])
  }

  @Test func `a value set during the first call of distinct comes after it`() {
    let property = Property(1)
    let log = Log<Int>()
    let source: WritableProperty<Int> = property.distinct()
    let subscription = source.subscribe {
      log.add($0)
      property.value = 2
    }
    property.value = 2
    #expect(log.entries == [1, 2])
    subscription.cancel()
  }

  @Test func `skip counts for each subscriber and opens for good`() {
    let signal = Signal<Int>()
    let source = signal.skip(first: 2)
    #expect(recorded(source) { for n in 1...4 { signal.send(n) } } == [3, 4])
    #expect(recorded(source) { for n in 1...3 { signal.send(n) } } == [3])
    let open = signal.skip { $0 >= 3 }
    #expect(recorded(open) { for n in [1, 2, 3, 1, 4] { signal.send(n) } } == [3, 1, 4])
  }

  @Test func `take ends after its count and leaves the source`() {
    let signal = Signal<Int>()
    #expect(recordedToEnd(signal.take(first: 2)) { for n in 1...4 { signal.send(n) } } == ["1", "2", "finished"])
    #expect(recordedToEnd(signal.take(first: 0)) { signal.send(1) } == ["finished"])
    #expect(
      recordedToEnd(signal.take { $0 < 3 }) { for n in [1, 2, 3, 1] { signal.send(n) } } == ["1", "2", "finished"])
    #expect(signal.observerCount == 0)
  }

  @Test func `a sender inside the observer cannot exceed take`() {
    let signal = Signal<Int>()
    let log = Log<Int>()
    let subscription = signal.take(first: 2).subscribe { n in
      log.add(n)
      signal.send(n + 1)
    }
    signal.send(1)
    #expect(log.entries == [1, 2])
    subscription.cancel()
  }

  @Test func `take of what is sent while subscribing leaves nothing behind`() {
    let property = Property(1)
    #expect(recordedToEnd(property.fromCurrent.take(first: 1)) { property.value = 2 } == ["1", "finished"])
    #expect(property.observerCount == 0)
  }

  @Test func `dropping the token of take releases what it captured`() {
    let signal = Signal<Int>()
    let log = Log<String>()
    do {
      let canary = Canary { log.add("released") }
      let token = signal.take(first: 5).subscribe { _ in canary.touch() }
      signal.send(1)
      token.cancel()
    }
    #expect(log.entries == ["released"])
    #expect(signal.observerCount == 0)
  }
}

@Suite struct `Operators that remember` {
  @Test func `pairwise begins with the second message, on a property with the first set`() {
    let signal = Signal<Int>()
    let pairs = recorded(signal.pairwise().map { [$0.previous, $0.current] }) { for n in 1...3 { signal.send(n) } }
    #expect(pairs == [[1, 2], [2, 3]])
    let property = Property(0)
    let changes = recorded(property.pairwise().map { [$0.previous, $0.current] }) { property.value = 7 }
    #expect(changes == [[0, 7]])
  }

  @Test func `scan, count, enumerated, contains, allSatisfy`() {
    let signal = Signal<Int>()
    func send() { for n in [3, 4, 5] { signal.send(n) } }
    #expect(recorded(signal.scan(10, +), send) == [13, 17, 22])
    #expect(recorded(signal.count(), send) == [1, 2, 3])
    #expect(recorded(signal.enumerated().map { [$0.offset, $0.message] }, send) == [[0, 3], [1, 4], [2, 5]])
    #expect(recorded(signal.contains { $0 == 4 }, send) == [false, true, true])
    #expect(recorded(signal.allSatisfy { $0 < 5 }, send) == [true, true, false])
  }

  @Test func `scan of a property begins with the value of now`() {
    let property = Property(2)
    #expect(recorded(property.scan(10, +)) { property.value = 3 } == [12, 15])
  }

  @Test func `buffer sends full groups and what is left at the end`() {
    let signal = FiniteSignal<Int>()
    let log = recordedToEnd(signal.buffer(count: 2)) {
      for n in 1...3 { signal.send(n) }
      signal.end()
    }
    #expect(log == ["[1, 2]", "[3]", "finished"])
  }

  @Test func `collect delivers everything before the end, also before an error`() {
    for (completion, last) in [(Completion.finished, "finished"), (.failed(Refused()), "failed(Refused())")] {
      let signal = FiniteSignal<Int>()
      let log = recordedToEnd(signal.collect()) {
        for n in 1...3 { signal.send(n) }
        signal.end(completion)
      }
      #expect(log == ["[1, 2, 3]", last])
    }
  }
}

@Suite struct `Finite and other sources` {
  @Test func `nothing follows the end, and who comes late gets it at once`() {
    let signal = FiniteSignal<Int>()
    let log = recordedToEnd(signal) {
      signal.send(1)
      signal.end()
      signal.send(2)
      signal.end(.failed(Refused()))
    }
    #expect(log == ["1", "finished"])
    #expect(recordedToEnd(signal) {} == ["finished"])
  }

  @Test func `the end lets go of the observers`() {
    let signal = FiniteSignal<Int>()
    let log = Log<String>()
    var subscription: Subscription?
    do {
      let canary = Canary { log.add("released") }
      subscription = signal.subscribe { _ in canary.touch() }
    }
    signal.end()
    #expect(log.entries == ["released"])
    #expect(signal.observerCount == 0)
    #expect(subscription?.isActive == false)
  }

  @Test func `a sequence is sent while one subscribes`() {
    #expect(recordedToEnd([1, 2, 3].signal) {} == ["1", "2", "3", "finished"])
    #expect(recordedToEnd(DerivedSignal<Int, Completion>.just(4)) {} == ["4", "finished"])
    #expect(recorded(DerivedSignal<Int, Never>.never) {} == [])
  }

  @Test func `a constant can be read and observed`() {
    let constant = DerivedProperty(constant: 5)
    #expect(constant.value == 5)
    #expect(recorded(constant) {} == [5])
    #expect(recorded(constant.plain) {} == [])
  }

  @Test func `a callback interface is set up for the first and cleaned up after the last`() {
    let log = Log<String>()
    let callback = Box<(@Sendable (Int) -> Void)?>(nil)
    let source = DerivedSignal<Int, Never>.connecting { sink in
      log.add("set up")
      callback.value = sink.message
      return {
        log.add("clean up")
        callback.value = nil
      }
    }
    #expect(log.entries == [])
    for _ in 0..<2 {
      let first = source.subscribe { log.add("a\($0)") }
      let second = source.subscribe { log.add("b\($0)") }
      callback.value?(1)
      first.cancel()
      callback.value?(2)
      second.cancel()
    }
    #expect(log.entries == ["set up", "a1", "b1", "b2", "clean up", "set up", "a1", "b1", "b2", "clean up"])
  }

  @Test func `share has one subscription for all`() {
    let signal = Signal<Int>()
    let runs = Log<Int>()
    let shared = signal.tap { runs.add($0) }.share()
    let log = Log<Int>()
    let tokens = (0..<3).map { _ in shared.subscribe { log.add($0) } }
    #expect(signal.observerCount == 1)
    signal.send(1)
    #expect(log.entries == [1, 1, 1])
    #expect(runs.entries == [1])
    for token in tokens { token.cancel() }
    #expect(signal.observerCount == 0)
  }

  @Test func `a signal made readable follows while observed and falls back after`() {
    let signal = Signal<Int>()
    let source = signal.readable(initial: 0)
    #expect(source.value == 0)
    let log = Log<Int>()
    let subscription = source.subscribe { log.add($0) }
    signal.send(4)
    #expect(source.value == 4)
    subscription.cancel()
    #expect(source.value == 0)
    #expect(log.entries == [0, 4])
  }

  @Test func `storage elsewhere becomes writable with a signal that tells`() {
    let storage = Box(1)
    let sets = Log<Int>()
    let changed = Signal<Void>()
    let source = changed.writable({ storage.value }) { value in
      sets.add(value)
      storage.value = value
      changed.send()
    }
    #expect(recorded(source.fromCurrent) { source.value = 2 } == [1, 2])
    #expect(sets.entries == [2])
  }
}

@Suite struct `Kinds` {
  /// Compiles only when the operators give these types.
  @Test func `operators give what is left`() {
    let property = Property(1)
    let signal = Signal<Int>()
    let _: DerivedProperty<Int> = property.map { $0 }
    let _: DerivedSignal<Int, Never> = property.filter { _ in true }
    let _: DerivedSignal<Int, Completion> = property.take(first: 1)
    let _: WritableProperty<Int> = property.distinct()
    let _: DerivedProperty<Int> = property.readOnly.distinct()
    let _: DerivedSignal<Int, Never> = signal.distinct()
    let _: DerivedSignal<Int, Never> = signal.map { $0 }
    let _: DerivedSignal<Int, Completion> = signal.take(first: 1).map { $0 }
    let _: DerivedSignal<Int, Completion> = signal.finite()
    let _: DerivedProperty<Int> = property.readOnly
    let _: any SignalSource<Int, Never> = property
    let views: [any Sendable] = [property.readOnly, property.filter { _ in true }, signal.readOnly]
    #expect(views.map { $0 is any ReadableSource } == [true, false, false])
    #expect(!views.contains { $0 is any WritableSource })
    #expect(!views.contains { $0 is Signal<Int> })
  }
}
