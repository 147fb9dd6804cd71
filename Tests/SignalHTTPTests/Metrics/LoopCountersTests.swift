// SPDX-License-Identifier: MIT
import SignalStore
import Testing

@testable import SignalHTTP

@Suite("What a loop counts") struct LoopCountersTests {
  @Test func `a duration is in the first bucket whose bound it does not exceed`() {
    for nanoseconds: UInt64 in [
      0, 1, 3999, 4000, 4001, 8000, 8001, 16_000, 16_001, 1_000_000, 16_777_216_000, 16_777_216_001, .max,
    ] {
      let index = DurationBuckets.index(of: nanoseconds)
      if let bound = DurationBuckets.bound(of: index) { #expect(nanoseconds <= bound * 1000) }
      if index > 0, let below = DurationBuckets.bound(of: index - 1) { #expect(nanoseconds > below * 1000) }
    }
    #expect(DurationBuckets.bound(of: DurationBuckets.count - 1) == nil)
    #expect(DurationBuckets.bound(of: DurationBuckets.count - 2) == 16_777_216)
  }

  @Test func `each status has a number of its own`() {
    #expect(StatusNumber.statuses.count == StatusNumber.count)
    for (number, status) in StatusNumber.statuses.enumerated() { #expect(StatusNumber.number(of: status) == number) }
    #expect(StatusNumber.number(of: 299) == 0)
  }

  @Test func `requests of a turn get the time of the turn, when it ends`() {
    let table = CounterTable()
    let counters = table.counters
    let (get, put) = (RequestKind(route: 1, method: 0), RequestKind(route: 31, method: 7))
    counters.countRequest(get, status: 200, isTimed: true)
    counters.countRequest(get, status: 404, isTimed: true)
    counters.countRequest(put, status: 204, isTimed: true)
    counters.countRequest(put, status: 101, isTimed: false)
    #expect(counters.requestDurations(get) == DurationCounts())
    counters.endTurn(taking: 5000)
    counters.endTurn(taking: 9000)
    #expect(counters.requestDurations(get).buckets[1] == 2 && counters.requestDurations(get).nanoseconds == 10_000)
    #expect(counters.requestDurations(put).buckets.reduce(0, +) == 1)
    #expect(counters.requests(get, status: StatusNumber.number(of: 404)) == 1)
    #expect(counters.requests(put, status: StatusNumber.number(of: 101)) == 1)
    #expect(counters.turns.buckets.reduce(0, +) == 2 && counters.busyTime == 14_000)
    withExtendedLifetime(table) {}
  }

  @Test func `counters do not overlap`() {
    let table = CounterTable()
    let counters = table.counters
    for counter in Counter.allCases { counters.add(counter, counter.rawValue + 1) }
    counters.recordDeliveries(3, after: .max / 1_000_000)
    counters.recordRequest(RequestKind(route: 31, method: 7), taking: 1)
    counters.countRefusal(table.number(of: "a"))
    counters.countRefusal(CounterTable.mostCodes - 1)
    for counter in Counter.allCases { #expect(counters[counter] == counter.rawValue + 1) }
    #expect(counters.deliveries.buckets.last == 3)
    #expect(counters.turns == DurationCounts())
    #expect(table.refusals.map(\.code) == ["a", "other"] && table.refusals.map(\.number) == [1, 1])
  }

  @Test func `a code keeps its number, and those beyond the limit are counted together`() {
    let table = CounterTable()
    let numbers = (0..<CounterTable.mostCodes + 5).map { table.number(of: "c\($0)") }
    #expect(Set(numbers.prefix(CounterTable.mostCodes - 1)).count == CounterTable.mostCodes - 1)
    #expect(numbers.suffix(6).allSatisfy { $0 == CounterTable.mostCodes - 1 })
    #expect(table.number(of: "c7") == 7)
  }
}

@Suite("The text of metrics") struct MetricsTextTests {
  private func text(isOpenMetrics: Bool) -> String {
    var text = MetricsText(isOpenMetrics: isOpenMetrics)
    text.begin("a_bytes_total", .counter, "What.")
    text.sample(7, ["name": "x\"\\\n"])
    text.begin("b_seconds", .gauge, "When.")
    text.sample(nanoseconds: 1_000_500_000)
    text.sample(-1)
    text.begin("c_info", .info, "Who.")
    text.sample(1)
    text.end()
    return String(decoding: text.bytes, as: UTF8.self)
  }

  @Test func `Prometheus gets names with their suffixes`() {
    #expect(
      text(isOpenMetrics: false) == """
        # HELP a_bytes_total What.
        # TYPE a_bytes_total counter
        a_bytes_total{name="x\\"\\\\\\n"} 7
        # HELP b_seconds When.
        # TYPE b_seconds gauge
        b_seconds 1.0005
        b_seconds 0
        # HELP c_info Who.
        # TYPE c_info gauge
        c_info 1

        """)
  }

  @Test func `OpenMetrics gets families, units and an end`() {
    #expect(
      text(isOpenMetrics: true) == """
        # HELP a_bytes What.
        # TYPE a_bytes counter
        # UNIT a_bytes bytes
        a_bytes_total{name="x\\"\\\\\\n"} 7
        # HELP b_seconds When.
        # TYPE b_seconds gauge
        # UNIT b_seconds seconds
        b_seconds 1.0005
        b_seconds 0
        # HELP c Who.
        # TYPE c info
        c_info 1
        # EOF

        """)
  }

  @Test func `a histogram is cumulative`() {
    var counts = DurationCounts()
    counts.record(4000)
    counts.record(4001)
    counts.record(.max / 4)
    var text = MetricsText(isOpenMetrics: false)
    text.begin("h_seconds", .histogram, "How long.")
    text.sample(counts, ["k": "v"])
    let lines = String(decoding: text.bytes, as: UTF8.self).split(separator: "\n").dropFirst(2)
    #expect(lines.count == DurationBuckets.count + 2)
    #expect(lines.first == #"h_seconds_bucket{k="v",le="0.000004"} 1"#)
    #expect(lines.dropFirst().first == #"h_seconds_bucket{k="v",le="0.000008"} 2"#)
    #expect(lines.contains(#"h_seconds_bucket{k="v",le="16.777216"} 2"#))
    #expect(lines.contains(#"h_seconds_bucket{k="v",le="+Inf"} 3"#) && lines.last == #"h_seconds_count{k="v"} 3"#)
  }
}
