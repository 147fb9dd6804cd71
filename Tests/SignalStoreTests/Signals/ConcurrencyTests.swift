// SPDX-License-Identifier: MIT
import Foundation
import Synchronization
import Testing

@testable import Signals

/// What holds when several threads use one source.
@Suite struct `Concurrent use` {
  @Test func `2 - no message is lost or doubled and all observers see one order`() {
    for _ in 0..<Effort.runs {
      let signal = Signal<Int>()
      let logs = (0..<3).map { _ in Log<Int>() }
      let bag = SubscriptionBag()
      for log in logs { signal.subscribe { log.add($0) }.stored(in: bag) }
      onThreads(4) { thread in
        for n in 0..<10_000 { signal.send(thread * 10_000 + n) }
      }
      let first = logs[0].entries
      #expect(first.count == 40_000)
      #expect(Set(first).count == 40_000)
      #expect(logs[1].entries == first)
      #expect(logs[2].entries == first)
      for thread in 0..<4 {
        let own = first.filter { $0 / 10_000 == thread }
        #expect(own == own.sorted())
      }
    }
  }

  @Test func `3 - calls never overlap`() {
    for _ in 0..<Effort.runs {
      let signal = Signal<Int>()
      let inside = Atomic(0)
      let overlaps = Atomic(0)
      let bag = SubscriptionBag()
      for _ in 0..<3 {
        signal.subscribe { _ in
          if inside.add(1, ordering: .sequentiallyConsistent).newValue != 1 { overlaps.add(1, ordering: .relaxed) }
          inside.subtract(1, ordering: .sequentiallyConsistent)
        }.stored(in: bag)
      }
      onThreads(4) { _ in for n in 0..<10_000 { signal.send(n) } }
      #expect(overlaps.load(ordering: .relaxed) == 0)
    }
  }

  @Test func `3 - cascades of several threads are complete, never nest, and all see one sequence`() {
    for _ in 0..<Effort.runs {
      let signal = Signal<Int>()
      let logs = (0..<2).map { _ in Log<Int>() }
      let depth = Atomic(0)
      let nested = Atomic(0)
      let bag = SubscriptionBag()
      for log in logs {
        signal.subscribe { n in
          if depth.add(1, ordering: .sequentiallyConsistent).newValue != 1 { nested.add(1, ordering: .relaxed) }
          log.add(n)
          // The last digit counts down: each observer sends, so 2 becomes two of 1 and four of 0.
          if n % 10 > 0 { signal.send(n - 1) }
          depth.subtract(1, ordering: .sequentiallyConsistent)
        }.stored(in: bag)
      }
      onThreads(4) { thread in
        for n in 0..<10_000 { signal.send((thread * 10_000 + n) * 10 + 2) }
      }
      let log = logs[0].entries
      #expect(logs[1].entries == log)
      #expect(nested.load(ordering: .relaxed) == 0)
      #expect(log.count == 7 * 40_000)
      // Each cascade is whole and in order, wherever the others came between.
      var cascades = [[Int]](repeating: [], count: 40_000)
      for n in log { cascades[n / 10].append(n % 10) }
      #expect(cascades.allSatisfy { $0 == [2, 1, 1, 0, 0, 0, 0] })
    }
  }

  @Test func `11 - the last value seen is the value of the property`() {
    for _ in 0..<Effort.runs {
      var stale = 0
      for _ in 0..<2_000 {
        let property = Property(0)
        let last = Atomic(0)
        let subscription = property.subscribe { last.store($0, ordering: .relaxed) }
        onThreads(2) { thread in property.value = thread + 1 }
        if last.load(ordering: .relaxed) != property.value { stale += 1 }
        subscription.cancel()
      }
      #expect(stale == 0)
    }
  }

  @Test func `11 - two setters that meet many times never leave a stale value`() {
    let property = Property(0)
    let last = Atomic(0)
    let stale = Atomic(0)
    let barrier = Barrier(2)
    let subscription = property.subscribe { last.store($0, ordering: .relaxed) }
    onThreads(2) { thread in
      for round in 1...20_000 * Effort.runs {
        property.value = round * 2 + thread
        // Both have set, and the one that delivers has returned.
        barrier.wait()
        if thread == 0, last.load(ordering: .relaxed) != property.value { stale.add(1, ordering: .relaxed) }
        barrier.wait()
      }
    }
    #expect(stale.load(ordering: .relaxed) == 0)
    subscription.cancel()
  }

  @Test func `update is atomic and its values are told in order`() {
    for _ in 0..<Effort.runs {
      let property = Property(0)
      let log = Log<Int>()
      let subscription = property.subscribe(from: .future) { log.add($0) }
      onThreads(4) { _ in for _ in 0..<10_000 { property.update { $0 += 1 } } }
      #expect(property.value == 40_000)
      #expect(log.entries == Array(1...40_000))
      subscription.cancel()
    }
  }

  @Test func `12 - a subscriber that joins while others set misses nothing and sees nothing twice`() {
    for _ in 0..<Effort.runs {
      let property = Property(0)
      let done = Atomic(false)
      let broken = Atomic(0)
      onThreads(3) { thread in
        if thread == 0 {
          for n in 1...20_000 { property.value = n }
          done.store(true, ordering: .sequentiallyConsistent)
          return
        }
        while !done.load(ordering: .sequentiallyConsistent) {
          let last = Box<Int?>(nil)
          let subscription = property.subscribe { value in
            if let before = last.value, value != before + 1 { broken.add(1, ordering: .relaxed) }
            last.value = value
          }
          subscription.cancel()
        }
      }
      #expect(broken.load(ordering: .relaxed) == 0)
    }
  }

  @Test func `subscribing, cancelling, dropping and sending may meet`() {
    for _ in 0..<Effort.runs {
      let signal = Signal<Int>()
      let released = Atomic(0)
      let created = Atomic(0)
      let kept = Log<Int>()
      let steady = signal.subscribe { kept.add($0) }
      onThreads(4) { thread in
        if thread < 2 {
          for n in 0..<10_000 { signal.send(n) }
          return
        }
        var tokens: [Subscription] = []
        for n in 0..<5_000 {
          let canary = Canary { released.add(1, ordering: .relaxed) }
          created.add(1, ordering: .relaxed)
          tokens.append(signal.subscribe { _ in canary.touch() })
          if n % 3 == 0 { tokens[n % tokens.count].cancel() }
          if tokens.count > 20 { tokens.removeFirst(10) }
        }
      }
      #expect(kept.entries.count == 20_000)
      #expect(signal.observerCount == 1)
      #expect(created.load(ordering: .relaxed) == 10_000)
      #expect(released.load(ordering: .relaxed) == 10_000)
      steady.cancel()
    }
  }

  @Test func `a two-phase send keeps the order of the caller's lock and loses nothing`() {
    for _ in 0..<Effort.runs {
      let signal = Signal<Int>()
      let log = Log<Int>()
      let counter = Mutex(0)
      let subscription = signal.subscribe { log.add($0) }
      onThreads(4) { _ in
        for _ in 0..<10_000 {
          counter.withLock { value in
            value += 1
            signal.enqueue(value)
          }
          signal.deliver()
        }
      }
      #expect(log.entries == Array(1...40_000))
      subscription.cancel()
    }
  }

  @Test func `a two-phase send is never left lying when others cancel and subscribe`() {
    for _ in 0..<Effort.runs {
      let signal = Signal<Int>()
      let calls = Atomic(0)
      let subscription = signal.subscribe { _ in calls.add(1, ordering: .relaxed) }
      onThreads(4) { thread in
        for n in 0..<10_000 {
          if thread < 2 {
            signal.enqueue(n)
            signal.deliver()
          } else {
            signal.subscribe { _ in }.cancel()
          }
        }
      }
      #expect(calls.load(ordering: .relaxed) == 20_000)
      #expect(signal.core.state.load(ordering: .relaxed) == 0)
      subscription.cancel()
    }
  }

  @Test func `7 - while an observer is blocked at most the newest waits`() {
    let property = Property(0, pending: .latest)
    let log = Log<Int>()
    let entered = DispatchSemaphore(value: 0)
    let resume = DispatchSemaphore(value: 0)
    let subscription = property.subscribe(from: .future) { value in
      log.add(value)
      if value == 1 {
        entered.signal()
        resume.wait()
      }
    }
    onThreads(2) { thread in
      if thread == 0 {
        property.value = 1
      } else {
        entered.wait()
        for value in 2...1001 { property.value = value }
        resume.signal()
      }
    }
    #expect(log.entries == [1, 1001])
    subscription.cancel()
  }
}
