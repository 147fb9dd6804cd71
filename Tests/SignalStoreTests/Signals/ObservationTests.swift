// SPDX-License-Identifier: MIT
import Observation
import Testing

@testable import Signals

@Suite struct `Swift Observation` {
  @Test func `a value that is set before Observation listens is told later`() {
    let clock = ManualClock()
    let source = Property(1)
    let observed = ObservedProperty(source, clock: clock)
    let told = Log<Int>()
    withObservationTracking {
      _ = observed.value
      // Observation listens only when this closure has returned.
      source.value = 2
    } onChange: {
      told.add(source.value)
    }
    #expect(told.entries == [])
    clock.advance(to: .milliseconds(20))
    #expect(told.entries == [2])
    clock.advance(to: .seconds(1))
    #expect(told.entries == [2] && clock.scheduled == 0)
  }

  @Test func `a value that everyone has read again is told once`() {
    let clock = ManualClock()
    let source = Property(1)
    let observed = ObservedProperty(source, clock: clock)
    let told = Log<String>()
    @Sendable func observe(_ name: String) {
      withObservationTracking {
        _ = observed.value
      } onChange: {
        told.add("\(name)\(source.value)")
        observe(name)
      }
    }
    observe("a")
    observe("b")
    for n in 2...4 {
      source.value = n
      clock.advance(to: clock.now + .milliseconds(n == 3 ? 5 : 50))
    }
    clock.advance(to: .seconds(1))
    #expect(told.entries.sorted() == ["a2", "a3", "a4", "b2", "b3", "b4"])
    #expect(clock.scheduled == 0)
  }

  @Test func `a sequence of observations ends on the last value`() async {
    for _ in 0..<50 * Effort.runs {
      let source = Property(0)
      let observed = ObservedProperty(source)
      let reader = Task { for await value in Observations({ observed.value }) where value == 100 { return } }
      let writer = Task.detached { for n in 1...100 { source.value = n } }
      await writer.value
      await reader.value
    }
  }
}
