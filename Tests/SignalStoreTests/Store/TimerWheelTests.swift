// SPDX-License-Identifier: MIT

import Testing

@testable import SignalStore

@Suite struct TimerWheelTests {
  /// Everything that is due at a tick.
  private func take(_ wheel: inout TimerWheel<Int>, through now: UInt64) -> [Int] {
    var taken: [Int] = []
    var budget = Int.max
    while let item = wheel.takeNext(through: now, budget: &budget) { taken.append(item) }
    return taken
  }

  @Test(arguments: [1, 2, 63, 64, 65, 127, 4095, 4096, 4097, 262_144, 1 << 24, 1 << 30, 1 << 36, (1 << 42) - 1])
  func `an item is taken at its tick, not before`(tick: UInt64) {
    var wheel = TimerWheel<Int>()
    _ = wheel.insert(7, at: tick, now: 0)
    #expect(take(&wheel, through: tick - 1).isEmpty)
    #expect(wheel.count == 1)
    #expect(take(&wheel, through: tick) == [7])
    #expect(wheel.count == 0)
    #expect(wheel.next == nil)
  }

  @Test func `what is due already is taken at the next tick`() {
    var wheel = TimerWheel<Int>()
    _ = wheel.insert(1, at: 1000, now: 1000)
    #expect(take(&wheel, through: 1000).isEmpty)
    _ = wheel.insert(2, at: 5, now: 1000)
    #expect(wheel.next == 1001)
    #expect(take(&wheel, through: 1001).sorted() == [1, 2])
  }

  @Test func `the tick after which nothing is reckoned is still a tick`() {
    var wheel = TimerWheel<Int>()
    _ = wheel.insert(1, at: .max, now: 3)
    _ = wheel.insert(2, at: .max, now: .max)
    #expect(take(&wheel, through: TimerWheel<Int>.horizon - 1).isEmpty)
    #expect(take(&wheel, through: .max).sorted() == [1, 2])
  }

  @Test func `the next tick is never after the one at which an item is due`() {
    var generator = StoreGenerator(seed: 11)
    for _ in 0..<200 {
      var wheel = TimerWheel<Int>()
      let now = generator.next() >> UInt64(24 + generator.number(below: 40))
      var ticks: [UInt64] = []
      for item in 0..<8 {
        let tick = now + 1 + (generator.next() >> UInt64(30 + generator.number(below: 34)))
        ticks.append(min(tick, TimerWheel<Int>.horizon))
        _ = wheel.insert(item, at: tick, now: now)
      }
      var budget = Int.max
      while let next = wheel.next {
        let due = ticks.min() ?? 0
        #expect(next <= due)
        guard let item = wheel.takeNext(through: next, budget: &budget) else { continue }
        #expect(ticks[item] == next)
        ticks[item] = .max
      }
      #expect(ticks.allSatisfy { $0 == .max })
    }
  }

  @Test func `a budget ends the work in the midst of a slot, and nothing is lost or early`() {
    var wheel = TimerWheel<Int>()
    for item in 0..<1000 { _ = wheel.insert(item, at: 4096 + UInt64(item % 500), now: 0) }
    var taken: Set<Int> = []
    var rounds = 0
    while wheel.count > 500 {
      var budget = 7
      while let item = wheel.takeNext(through: 4096 + 249, budget: &budget) {
        #expect(item % 500 <= 249)
        #expect(taken.insert(item).inserted)
      }
      // Put in and taken out while a slot is open.
      let place = wheel.insert(-1, at: 4096 + 300, now: 4096 + 249)
      #expect(wheel.remove(place) == -1)
      rounds += 1
    }
    #expect(rounds > 100)
    #expect(taken.count == 500)
    #expect(take(&wheel, through: 4096 + 499).count == 500)
  }

  @Test(arguments: 1...8 as ClosedRange<UInt64>)
  func `a wheel does what a dictionary of ticks does`(seed: UInt64) {
    var generator = StoreGenerator(seed: seed)
    var wheel = TimerWheel<Int>()
    var model: [Int: UInt64] = [:]
    var places: [Int: Int32] = [:]
    var now: UInt64 = generator.next() >> 30
    for item in 0..<20_000 {
      switch generator.number(below: 10) {
      case 0..<5:
        let tick = now + (generator.next() >> UInt64(40 + generator.number(below: 24)))
        places[item] = wheel.insert(item, at: tick, now: now)
        model[item] = max(tick, now + 1)
      case 5, 6:
        guard let (chosen, place) = places.first else { continue }
        #expect(wheel.remove(place) == chosen)
        places[chosen] = nil
        model[chosen] = nil
      case 7:
        guard let (chosen, place) = places.first else { continue }
        let tick = now + (generator.next() >> UInt64(40 + generator.number(below: 24)))
        wheel.move(place, to: tick)
        model[chosen] = max(tick, now + 1)
      default:
        now += generator.next() >> UInt64(44 + generator.number(below: 20))
        let taken = Set(take(&wheel, through: now))
        #expect(taken == Set(model.filter { $0.value <= now }.keys))
        for item in taken {
          model[item] = nil
          places[item] = nil
        }
      }
      #expect(wheel.count == model.count)
    }
  }
}
