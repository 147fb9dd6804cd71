// SPDX-License-Identifier: MIT
import Foundation
import Synchronization
import Testing

@testable import Signals

/// The lock of a source, and the queue that it guards.
@Suite struct `Short lock` {
  /// A lock with what it guards.
  ///
  /// Unchecked: the lock is what makes it safe, and what is tested.
  private final class Guarded: @unchecked Sendable {
    let lock = ShortLock()
    var number = 0
    var isInside = false
    var overlaps = 0

    /// Counts, in steps that another thread would disturb.
    func step() {
      lock.lock()
      if isInside { overlaps += 1 }
      isInside = true
      number += 1
      isInside = false
      lock.unlock()
    }

    /// Threads that sleep until the lock is free.
    var sleepers: UInt { lock.word.load(ordering: .relaxed) / 4 }
  }

  @Test func `one thread at a time is inside, and all get in`() {
    for _ in 0..<Effort.runs {
      let guarded = Guarded()
      onThreads(4) { _ in for _ in 0..<20_000 { guarded.step() } }
      #expect(guarded.number == 80_000)
      #expect(guarded.overlaps == 0)
      #expect(guarded.lock.word.load(ordering: .relaxed) == 0)
    }
  }

  @Test func `who slept while the lock was held is woken when it is free`() {
    for _ in 0..<Effort.runs {
      let guarded = Guarded()
      guarded.lock.lock()
      onThreads(4) { thread in
        if thread > 0 { return guarded.step() }
        // The last of the four lets the others in, when all of them sleep.
        while guarded.sleepers < 3 { Thread.sleep(forTimeInterval: 0.0001) }
        guarded.lock.unlock()
      }
      #expect(guarded.number == 3)
      #expect(guarded.overlaps == 0)
      #expect(guarded.lock.word.load(ordering: .relaxed) == 0)
    }
  }

  @Test func `a queue keeps its order while it grows and wraps around`() {
    var queue = PendingQueue<Int>()
    var model: [Int] = []
    for number in 0..<5000 {
      queue.append(Pending(number: 0, target: 0, message: number))
      model.append(number)
      for _ in 0..<(number * 7 / 5) % 3 {
        #expect(queue.popFirst()?.message == (model.isEmpty ? nil : model.removeFirst()))
      }
    }
    while !model.isEmpty { #expect(queue.popFirst()?.message == model.removeFirst()) }
    let isEmpty = queue.count == 0 && queue.broadcasts == 0
    #expect(isEmpty)
  }

  @Test func `a queue lets go of what was taken, and of what waits when it goes away`() {
    let gone = Log<Int>()
    func fill() {
      var queue = PendingQueue<Canary>()
      for number in 0..<6 {
        queue.append(Pending(number: 0, target: 0, message: Canary { gone.add(number) }))
        if number == 3 { _ = queue.popFirst() }
      }
      #expect(gone.entries == [0])
    }
    fill()
    #expect(gone.entries == [0, 1, 2, 3, 4, 5])
  }
}
