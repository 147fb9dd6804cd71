// SPDX-License-Identifier: MIT
import TestSupport
import Testing

@testable import SignalHTTP

@Suite struct LatencyHistogramTests {
  @Test func `nothing has no latency`() {
    #expect(LatencyHistogram().percentile(99) == 0 && LatencyHistogram().count == 0)
  }

  @Test func `short lengths are exact`() {
    var histogram = LatencyHistogram()
    for value in 0...127 as ClosedRange<UInt64> { histogram.record(value) }
    #expect(histogram.percentile(50) == 63)
    #expect(histogram.percentile(100) == 127)
    #expect(histogram.longest == 127 && histogram.count == 128)
  }

  @Test(arguments: [128, 129, 1000, 65_535, 65_536, 1_000_000_007, UInt64(Int64.max), .max] as [UInt64])
  func `every length is told to within 1.6 percent, and never as shorter`(_ value: UInt64) {
    var histogram = LatencyHistogram()
    histogram.record(value)
    // With a longer one beside it, so that the bucket's bound is told and not the exact longest.
    histogram.record(.max)
    let told = histogram.percentile(50)
    #expect(told >= value)
    #expect(Double(told - value) <= Double(value) * 0.016)
  }

  @Test func `percentiles agree with a sorted list`() {
    var random = SplitMix(state: 7)
    var histogram = LatencyHistogram()
    var half = LatencyHistogram()
    var list: [UInt64] = []
    for index in 0..<10_000 {
      let value = UInt64.random(in: 0...(1 << UInt64.random(in: 1...40, using: &random)), using: &random)
      list.append(value)
      if index < 5000 { histogram.record(value) } else { half.record(value) }
    }
    histogram.add(half)
    list.sort()
    for percent in [1.0, 10, 50, 90, 99, 99.9, 100] {
      let exact = list[max(1, Int((Double(list.count) * percent / 100).rounded(.up))) - 1]
      let told = histogram.percentile(percent)
      #expect(told >= exact && Double(told - exact) <= Double(exact) * 0.016, "\(percent)")
    }
  }
}
