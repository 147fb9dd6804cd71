// SPDX-License-Identifier: MIT
import Testing

@testable import SignalStore

@Suite struct `Delegates and ordered callbacks` {
  @Test func `the newest answers, and an older token does not remove it`() {
    let delegate = Delegate<Int, Int>()
    #expect(delegate.call(5) == nil)
    let first = delegate.set { $0 + 1 }
    #expect(delegate.call(5) == 6)
    let second = delegate.set { $0 * 2 }
    first.cancel()
    #expect(delegate.call(5) == 10)
    second.cancel()
    #expect(delegate.call(5) == nil)
  }

  @Test func `callbacks run in the order of their keys, each after the one before has finished`() async {
    let callbacks = OrderedCallbacks<Int, Int>()
    let log = Log<Int>()
    let running = Box(0)
    let bag = SubscriptionBag()
    var random = SplitMix(seed: 7)
    for key in (0...1000).shuffled(using: &random) {
      bag.insert(
        callbacks.add(at: key) { _ in
          #expect(
            running.update {
              $0 += 1; return $0
            } == 1)
          await Task.yield()
          log.add(key)
          running.update { $0 -= 1 }
        })
    }
    await callbacks.call(1)
    #expect(log.entries == Array(0...1000))
    bag.cancel()
    await callbacks.call(2)
    #expect(log.entries.count == 1001)
  }

  @Test func `a value set for a time comes back`() {
    let isEnabled = Property(true)
    let log = Log<Bool>()
    let subscription = isEnabled.subscribe(from: .future) { log.add($0) }
    let token = isEnabled.override(with: false)
    #expect(!isEnabled.value)
    token.cancel()
    token.cancel()
    #expect(isEnabled.value)
    #expect(log.entries == [false, true])
    subscription.cancel()
  }
}
