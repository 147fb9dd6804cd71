// SPDX-License-Identifier: MIT
import CAllocations
import Synchronization
import Testing

@testable import Signals

/// How often `body` takes memory, after it ran once before; nil where that is not counted.
private func allocations(_ body: () -> Void) -> Int? {
  body()
  let before = allocations_of_this_thread()
  body()
  return before < 0 ? nil : allocations_of_this_thread() - before
}

@Suite struct `Memory taken` {
  @Test func `the counter counts`() {
    let boxes = Log<Canary>()
    if let count = allocations({ for _ in 0..<10 { boxes.add(Canary {}) } }) { #expect(count >= 10) }
  }

  @Test(arguments: [1, 10, 1000])
  func `9 - sending takes none`(observers: Int) {
    let signal = Signal<Int>()
    let remembering = Signal<Int>(remembersLast: true)
    let property = Property(0)
    let calls = Atomic(0)
    let bag = SubscriptionBag()
    for _ in 0..<observers {
      signal.subscribe { _ in calls.add(1, ordering: .relaxed) }.stored(in: bag)
      remembering.subscribe { _ in calls.add(1, ordering: .relaxed) }.stored(in: bag)
      property.subscribe { _ in calls.add(1, ordering: .relaxed) }.stored(in: bag)
    }
    for send in [{ signal.send($0) }, { remembering.send($0) }, { property.value = $0 }] as [(Int) -> Void] {
      let count = allocations { for n in 0..<100 { send(n) } }
      #expect(count == nil || count == 0)
    }
    #expect(calls.load(ordering: .relaxed) >= observers * 600)
  }

  @Test func `9 - a chain of operators takes none`() {
    let signal = Signal<Int>()
    let sum = Atomic(0)
    let token = signal.map { $0 + 1 }.filter { $0 > 0 }.distinct().scan(0, +).subscribe {
      sum.add($0, ordering: .relaxed)
    }
    let count = allocations { for n in 0..<100 { signal.send(n) } }
    #expect(count == nil || count == 0)
    token.cancel()
  }

  @Test func `9 - messages sent inside observers take none once the queue has been as long`() {
    let signal = Signal<Int>()
    let token = signal.subscribe { if $0 > 0 { signal.send($0 - 1) } }
    let count = allocations { signal.send(100) }
    #expect(count == nil || count == 0)
    token.cancel()
  }

  @Test(arguments: [1, 1000])
  func `subscribing and cancelling take the token and the closure, whatever the number of observers`(observers: Int) {
    let signal = Signal<Int>()
    let bag = SubscriptionBag()
    let calls = Atomic(0)
    for _ in 0..<observers { signal.subscribe { _ in }.stored(in: bag) }
    let count = allocations {
      for _ in 0..<1000 { signal.subscribe { _ in calls.add(1, ordering: .relaxed) }.cancel() }
    }
    #expect(count == nil || count! <= 2100)
  }
}
