// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Signals

private struct Broken: Error {}

/// What a source that ends tells: the messages, and "end" or "error" last.
private func following<Message>(
  _ source: DerivedSignal<Message, Completion>
) -> (log: Log<String>, token: Subscription) {
  let log = Log<String>()
  let token = source.subscribe(onEnd: { log.add($0.error == nil ? "end" : "error") }) { log.add("\($0)") }
  return (log, token)
}

@Suite struct `Sources that end, and time` {
  @Test(arguments: [Completion.finished, .failed(Broken())])
  func `debounce sends what waits before the end`(completion: Completion) {
    let clock = ManualClock()
    let source = FiniteSignal<Int>()
    let (log, token) = following(source.debounce(for: .seconds(2), clock: clock))
    source.send(1)
    clock.advance(to: .seconds(1))
    source.send(2)
    clock.advance(to: .seconds(3))
    #expect(log.entries == ["2"])
    source.send(3)
    source.end(completion)
    #expect(log.entries == ["2", "3", completion.error == nil ? "end" : "error"])
    #expect(clock.scheduled == 0)
    #expect(source.observerCount == 0)
    token.cancel()
  }

  @Test func `throttle sends what waits before the end`() {
    let clock = ManualClock()
    let source = FiniteSignal<Int>()
    let (log, token) = following(source.throttle(for: .seconds(10), clock: clock))
    for n in 1...3 { source.send(n) }
    clock.advance(to: .seconds(10))
    source.send(4)
    source.end()
    #expect(log.entries == ["1", "3", "4", "end"])
    #expect(clock.scheduled == 0)
    token.cancel()
  }

  @Test func `delay shifts the end as well`() {
    let clock = ManualClock()
    let source = FiniteSignal<Int>()
    let (log, token) = following(source.delay(by: .seconds(5), clock: clock))
    source.send(1)
    clock.advance(to: .seconds(1))
    source.send(2)
    source.end()
    clock.advance(to: .seconds(5))
    #expect(log.entries == ["1"])
    clock.advance(to: .seconds(6))
    #expect(log.entries == ["1", "2", "end"])
    token.cancel()
    let (each, second) = following([3, 1].signal.delay(clock: clock, by: { .seconds($0) }))
    clock.advance(to: .seconds(8))
    #expect(each.entries == [])
    clock.advance(to: .seconds(9))
    #expect(each.entries == ["3", "1", "end"])
    second.cancel()
  }

  @Test func `what waits is dropped when the subscription is cancelled`() {
    let clock = ManualClock()
    let source = FiniteSignal<Int>()
    for make in [
      { $0.debounce(for: .seconds(1), clock: clock) }, { $0.throttle(for: .seconds(1), clock: clock) },
      { $0.delay(by: .seconds(1), clock: clock) },
    ] as [(FiniteSignal<Int>) -> DerivedSignal<Int, Completion>] {
      let (log, token) = following(make(source))
      source.send(1)
      source.send(2)
      let told = log.entries
      token.cancel()
      clock.advance(to: clock.now + .seconds(5))
      #expect(log.entries == told)
      #expect(clock.scheduled == 0 && source.observerCount == 0)
    }
  }
}

@Suite struct `Sources that end, and others` {
  @Test func `switching ends when both have ended`() {
    let outer = FiniteSignal<Int>()
    let inner = [FiniteSignal<String>(), FiniteSignal<String>()]
    let (log, token) = following(outer.flatMapLatest { inner[$0] })
    outer.send(0)
    inner[0].send("a")
    inner[0].end()
    outer.send(1)
    inner[0].send("unheard")
    inner[1].send("b")
    outer.end()
    inner[1].send("c")
    #expect(log.entries == ["a", "b", "c"])
    inner[1].end()
    #expect(log.entries == ["a", "b", "c", "end"])
    token.cancel()
    let (empty, second) = following(([] as [Int]).signal.flatMapLatest { _ in inner[0] })
    #expect(empty.entries == ["end"])
    second.cancel()
  }

  @Test func `switching ends at once with an error`() {
    let outer = Signal<Int>()
    let inner = FiniteSignal<String>()
    let (log, token) = following(outer.flatMapLatest { _ in inner })
    outer.send(0)
    inner.end(.failed(Broken()))
    outer.send(1)
    #expect(log.entries == ["error"])
    #expect(outer.observerCount == 0)
    token.cancel()
    let failing = FiniteSignal<Property<Int>>()
    let property = Property(1)
    let (second, other) = following(failing.switchToLatest())
    failing.send(property)
    property.value = 2
    failing.end(.failed(Broken()))
    property.value = 3
    #expect(second.entries == ["1", "2", "error"])
    #expect(property.observerCount == 0)
    other.cancel()
  }

  @Test func `a combination ends when all have ended`() {
    let a = FiniteSignal<Int>()
    let b = FiniteSignal<String>()
    let c = Signal<Int>()
    let (log, token) = following(combineLatest(messages: a, b, c.finite().take(first: 1)))
    a.send(1)
    b.send("x")
    c.send(5)
    a.end()
    b.send("y")
    b.end()
    #expect(log.entries == ["(1, \"x\", 5)", "(1, \"y\", 5)", "end"])
    token.cancel()
  }

  @Test func `a combination ends at once with an error, and when there can be no message`() {
    let a = FiniteSignal<Int>()
    let b = FiniteSignal<Int>()
    let (failed, first) = following(combineLatest(messages: a, b))
    let (empty, second) = following(combineLatest(messages: ([] as [Int]).signal, b))
    a.send(1)
    a.end(.failed(Broken()))
    #expect(failed.entries == ["error"])
    #expect(empty.entries == ["end"])
    #expect(b.observerCount == 0)
    withExtendedLifetime((first, second)) {}
  }

  @Test func `messages together with the latest of another source, and the end`() {
    let a = FiniteSignal<Int>()
    let other = Signal<String>()
    let (log, token) = following(a.withLatest(fromMessagesOf: other))
    a.send(1)
    other.send("x")
    a.send(2)
    a.end()
    #expect(log.entries == ["(2, \"x\")", "end"])
    #expect(other.observerCount == 0)
    token.cancel()
  }

  @Test func `a property can be bound to one, and to a signal`() {
    let finite = FiniteSignal<Int>()
    let signal = Signal<Int>()
    let target = Property(0)
    let optional = Property<Int?>(nil)
    let bag = SubscriptionBag()
    finite.bind(to: target).stored(in: bag)
    signal.bind(to: optional).stored(in: bag)
    finite.send(1)
    signal.send(2)
    #expect(target.value == 1 && optional.value == 2)
    finite.end()
    bag.cancel()
    signal.send(3)
    #expect(optional.value == 2)
  }
}

@Suite struct `Sources that end, and places` {
  @Test func `a queue gets every message and then the end`() {
    let queue = DispatchQueue(label: "finite")
    let source = FiniteSignal<Int>()
    let log = Log<String>()
    let done = DispatchSemaphore(value: 0)
    let token = source.subscribe(
      on: .queue(queue),
      onEnd: { _ in
        dispatchPrecondition(condition: .onQueue(queue))
        log.add("end")
        done.signal()
      }
    ) {
      dispatchPrecondition(condition: .onQueue(queue))
      log.add("\($0)")
    }
    for n in 1...3 { source.send(n) }
    source.end()
    done.wait()
    #expect(log.entries == ["1", "2", "3", "end"])
    token.cancel()
  }

  @Test func `closures of an actor get every message and the end there`() async {
    await Recorder().record()
  }

  private actor Recorder {
    var entries: [String] = []

    func record() async {
      let source = FiniteSignal<Int>()
      let done = Signal<Void>(remembersLast: true)
      let token = source.subscribe(
        isolation: self,
        onEnd: { _ in
          self.entries.append("end")
          done.send()
        }
      ) { self.entries.append("\($0)") }
      for n in 1...3 { source.send(n) }
      source.end()
      for await _ in done.messages() { break }
      #expect(entries == ["1", "2", "3", "end"])
      token.cancel()
    }
  }
}
