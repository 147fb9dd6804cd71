// SPDX-License-Identifier: MIT
import Foundation
import Synchronization
import Testing

@testable import Signals

/// Runs `actions` at their seconds, then goes on to `end`, and answers "message@second" for each delivery.
private func timeline(
  _ clock: ManualClock, _ source: some SignalSource<Int, Never>, _ actions: [(Double, @Sendable () -> Void)],
  until end: Double
) -> [String] {
  let log = Log<String>()
  let subscription = source.attach(Sink { log.add("\($0)@\(clock.now.components.seconds)") })
  for (second, action) in actions {
    clock.advance(to: .seconds(second))
    action()
  }
  clock.advance(to: .seconds(end))
  subscription.cancel()
  return log.entries
}

@Suite struct `Manual clock` {
  @Test func `jobs run at their times, in order, and not after they are cancelled`() {
    let clock = ManualClock()
    let log = Log<String>()
    let later = clock.schedule(at: .seconds(2), tolerance: .zero) { log.add("b\(clock.now)") }
    let first = clock.schedule(at: .seconds(1), tolerance: .zero) { log.add("a\(clock.now)") }
    let never = clock.schedule(at: .seconds(1), tolerance: .zero) { log.add("never") }
    never.cancel()
    clock.advance(to: .seconds(5))
    #expect(log.entries == ["a1.0 seconds", "b2.0 seconds"])
    #expect(clock.now == .seconds(5))
    withExtendedLifetime((later, first)) {}
  }
}

@Suite struct `Timers` {
  @Test func `a once-only timer fires once, is moved by a new start and stopped by cancel`() {
    let clock = ManualClock()
    let timer = OnceTimer(clock: clock)
    let log = Log<Int>()
    let subscription = timer.fired.subscribe { log.add(Int(clock.now.components.seconds)) }
    timer.start(after: .seconds(3))
    clock.advance(to: .seconds(2))
    timer.start(after: .seconds(3))
    clock.advance(to: .seconds(10))
    #expect(log.entries == [5])
    timer.start(after: .seconds(1))
    timer.cancel()
    clock.advance(to: .seconds(20))
    #expect(log.entries == [5])
    #expect(clock.scheduled == 0)
    subscription.cancel()
  }

  @Test func `a periodic timer runs only while observed`() {
    let clock = ManualClock()
    let timer = PeriodicTimer(every: .seconds(2), clock: clock)
    clock.advance(to: .seconds(5))
    #expect(clock.scheduled == 0)
    let log = Log<Int>()
    let subscription = timer.subscribe { log.add(Int(clock.now.components.seconds)) }
    #expect(clock.scheduled == 1)
    clock.advance(to: .seconds(11))
    #expect(log.entries == [7, 9, 11])
    subscription.cancel()
    #expect(clock.scheduled == 0)
    clock.advance(to: .seconds(20))
    let again = timer.subscribe { log.add(Int(clock.now.components.seconds)) }
    clock.advance(to: .seconds(22))
    #expect(log.entries == [7, 9, 11, 22])
    again.cancel()
  }

  @Test func `a slow observer makes no drift, and ticks that are late are left out`() {
    let clock = ManualClock()
    let timer = PeriodicTimer(every: .seconds(2), clock: clock)
    let log = Log<Int>()
    let subscription = timer.subscribe {
      log.add(Int(clock.now.components.seconds))
      if log.entries.count == 1 { clock.stall(until: .seconds(7)) }
    }
    clock.advance(to: .seconds(12))
    #expect(log.entries == [2, 8, 10, 12])
    subscription.cancel()
  }

  @Test func `setting the interval begins a new rhythm`() {
    let clock = ManualClock()
    let timer = PeriodicTimer(every: .seconds(2), clock: clock)
    let log = Log<Int>()
    let subscription = timer.subscribe { log.add(Int(clock.now.components.seconds)) }
    clock.advance(to: .seconds(5))
    timer.interval = .seconds(3)
    clock.advance(to: .seconds(12))
    #expect(log.entries == [2, 4, 8, 11])
    #expect(timer.interval == .seconds(3))
    subscription.cancel()
  }

  @Test func `an observer may cancel the timer from inside a tick`() {
    let clock = ManualClock()
    let timer = PeriodicTimer(every: .seconds(1), clock: clock)
    let log = Log<Int>()
    let own = Box<Subscription?>(nil)
    own.value = timer.subscribe {
      log.add(1)
      own.value?.cancel()
    }
    clock.advance(to: .seconds(5))
    #expect(log.entries == [1])
    #expect(clock.scheduled == 0)
  }

  @Test func `a closure gives the next time, nil pauses and start asks again`() {
    let clock = ManualClock()
    let next = Box<Duration?>(.seconds(1))
    let asked = Atomic(0)
    let source = TimerSource(clock: clock) { _ in
      asked.add(1, ordering: .relaxed)
      return next.value
    }
    source.start()
    #expect(asked.load(ordering: .relaxed) == 0)
    let log = Log<Int>()
    let subscription = source.subscribe {
      log.add(Int(clock.now.components.seconds))
      next.value = log.entries.count == 1 ? .seconds(4) : nil
    }
    clock.advance(to: .seconds(10))
    #expect(log.entries == [1, 4])
    #expect(clock.scheduled == 0)
    next.value = .seconds(12)
    source.start()
    clock.advance(to: .seconds(20))
    #expect(log.entries == [1, 4, 12])
    subscription.cancel()
  }

  @Test func `the tolerance reaches the clock`() {
    let clock = ManualClock()
    let timer = PeriodicTimer(every: .seconds(1), clock: clock, tolerance: .milliseconds(50))
    let subscription = timer.subscribe {}
    #expect(clock.tolerances == [.milliseconds(50)])
    subscription.cancel()
  }

  @Test func `the clocks of the system run jobs`() async {
    let clocks: [any TimerClock] = [DispatchClock(), ClockAdapter(ContinuousClock())]
    for clock in clocks {
      let start = clock.now
      await withCheckedContinuation { continuation in
        let token = clock.schedule(at: start + .milliseconds(5), tolerance: .zero) { continuation.resume() }
        token.keepForTest()
      }
      #expect(clock.now - start >= .milliseconds(5))
    }
  }

  @Test func `a job that was cancelled before its queue came to it does not run`() {
    let queue = DispatchQueue(label: "timers")
    let clock = DispatchClock(queue: queue)
    let log = Log<Int>()
    queue.suspend()
    let token = clock.schedule(at: clock.now, tolerance: .zero) { log.add(1) }
    token.cancel()
    queue.resume()
    queue.sync {}
    #expect(log.entries == [])
  }
}

@Suite struct `Operators that know time` {
  @Test func `delay shifts, keeps the order and drops what waits when cancelled`() {
    let clock = ManualClock()
    let signal = Signal<Int>()
    let log = timeline(
      clock, signal.delay(by: .seconds(1), clock: clock),
      [(0, { signal.send(1) }), (0.5, { signal.send(2) }), (3, { signal.send(3) })], until: 3)
    #expect(log == ["1@1", "2@1"])
    #expect(clock.scheduled == 0)
    let second = ManualClock()
    let varying = timeline(
      second, signal.delay(clock: second) { .seconds($0) },
      [(0, { signal.send(5) }), (1, { signal.send(1) }), (2, { signal.send(4) })], until: 20)
    #expect(varying == ["5@5", "1@5", "4@6"])
  }

  @Test func `the value of now is not delayed`() {
    let clock = ManualClock()
    let property = Property(1)
    let log = timeline(clock, property.delay(by: .seconds(2), clock: clock), [(1, { property.value = 2 })], until: 9)
    #expect(log == ["1@0", "2@3"])
  }

  @Test func `debounce waits for a pause`() {
    let clock = ManualClock()
    let property = Property(1)
    func set(_ value: Int) -> @Sendable () -> Void { { property.value = value } }
    let log = timeline(
      clock, property.debounce(for: .seconds(2), clock: clock),
      [(0, set(2)), (1, set(3)), (2, set(4)), (5, set(5)), (6, set(6)), (7, set(7)), (10, set(8))], until: 20)
    #expect(log == ["1@0", "4@4", "7@9", "8@12"])
  }

  @Test func `throttle sends the first at once and the last of each interval at its end`() {
    let clock = ManualClock()
    let signal = Signal<Int>()
    func send(_ value: Int) -> @Sendable () -> Void { { signal.send(value) } }
    let sends: [(Double, @Sendable () -> Void)] = [
      (0, send(2)), (1, send(3)), (12, send(4)), (22, send(5)), (26, send(6)), (45, send(7)), (50, send(8)),
    ]
    let both = timeline(clock, signal.throttle(for: .seconds(10), clock: clock), sends, until: 100)
    #expect(both == ["2@0", "3@10", "4@20", "6@30", "7@45", "8@55"])
    let second = ManualClock()
    let leading = timeline(
      second, signal.throttle(for: .seconds(10), trailing: false, clock: second), sends, until: 100)
    #expect(leading == ["2@0", "4@12", "5@22", "7@45"])
  }
}

extension Subscription {
  /// Keeps the token until its job has run, in tests that wait for that.
  fileprivate func keepForTest() { kept.withLock { $0.append(self) } }
}

private let kept = Mutex<[Subscription]>([])
