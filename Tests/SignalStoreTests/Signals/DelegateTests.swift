// SPDX-License-Identifier: MIT
import Testing

@testable import Signals

private struct Size: Equatable { var width: Int, height: Int }

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

  @Test func `of values set for a time the newest that is kept counts, in whatever order they end`() {
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
      let property = Property(0)
      var tokens = (1...3).map { Optional(property.override(with: $0)) }
      #expect(property.value == 3)
      for index in order {
        tokens[index] = nil
        let newest = (0..<3).last { tokens[$0] != nil }
        #expect(property.value == newest.map { $0 + 1 } ?? 0, "\(order)")
      }
    }
  }

  @Test func `parts that are set for a time know each other, whoever asks for them`() {
    let size = Property(Size(width: 1, height: 1))
    let first = size[\.width].override(with: 2)
    let second = size[\.width].override(with: 3)
    let height = size[\.height].override(with: 9)
    first.cancel()
    #expect(size.value == Size(width: 3, height: 9))
    second.cancel()
    #expect(size.value == Size(width: 1, height: 9))
    height.cancel()
    #expect(size.value == Size(width: 1, height: 1))
  }

  @Test func `threads that set values for a time leave the value that was there before`() {
    for _ in 0..<50 * Effort.runs {
      let property = Property(-1)
      onThreads(4) { thread in
        for n in 0..<20 {
          let token = property.override(with: thread * 100 + n)
          token.cancel()
        }
      }
      #expect(property.value == -1)
    }
  }
}
