// SPDX-License-Identifier: MIT

import Testing

@testable import SignalJournal
@testable import SignalStore

@Suite("Rules of a history") struct HistoryRuleTests {
  @Test(arguments: [
    "sensors/** raw 1d, 1m 30d, 1h 2y", "a raw 1s", "** 1h 1h", "living room/* raw 1m, 1d 100y", "a,b/** 10s 1h",
  ])
  func `a rule is written as it is read`(line: String) throws {
    #expect(try HistoryRule(line).description == line)
  }

  @Test func `a rule says what is kept and for how long`() throws {
    let rule = try HistoryRule("  sensors/**   raw 24h , 1m 30d,1h   2y")
    #expect(rule.pattern == "sensors/**" && rule.raw == 86_400_000)
    #expect(rule.tiers.map(\.step) == [60_000, 3_600_000])
    #expect(rule.tiers.map(\.retention) == [30 * 86_400_000, 730 * 86_400_000])
  }

  @Test(arguments: [
    ("", "'' should be what is kept"), ("sensors/**", "'sensors/**' should be what is kept"),
    ("raw 24h", "a pattern should come first"), ("1m 30d, 1h 2y", "a pattern should come first"),
    ("** 7d", "'** 7d' does not say what is kept for 7d: all changes, '** raw 7d', or buckets"),
    ("a/b 7d, 1h 30d", "'a/b 7d' does not say what is kept for 7d"), ("a/ raw 24h", "the pattern 'a/'"),
    ("a raw 24", "'24' is no time"), ("a raw 0s", "'0s' is no time"),
    ("a raw 101y", "'101y' is no time"), ("a raw 24h, 1x 30d", "'1x' is neither raw nor a length"),
    ("a raw 24h, 1m", "'1m' should be what is kept"), ("a 1m 30d, raw 24h", "is kept for less time"),
    ("a 1m 30d, raw 30d", "'raw' comes first"), ("a raw 24h, 1h 30d, 1m 30d", "'1m' should be longer"),
    ("a raw 24h, 1m 1h", "is kept for less time than what is finer"), ("a 1h 1m", "for less time than it takes"),
    ("a 367d 2y", "neither raw nor a length"), ("a 1m 99999999999999999999s", "is no time"),
    ("a 1s 1y, 2s 1y, 3s 1y, 4s 1y, 5s 1y, 6s 1y, 7s 1y, 8s 1y, 9s 1y, 10s 1y", "more than 8 lengths"),
  ])
  func `a line that is no rule is refused, with what is wrong about it`(line: String, reason: String) {
    do throws(RuleFault) {
      Issue.record("\(try HistoryRule(line))")
    } catch {
      #expect(error.reason.contains(reason), "\(error.reason)")
    }
  }

  @Test func `the first rule that matches counts`() throws {
    let configuration = try historyConfiguration(["a/b raw 1h", "a/** raw 2h"])
    #expect(configuration.rule(for: "a/b") == 0 && configuration.rule(for: "a/c") == 1)
    #expect(configuration.rule(for: "b") == nil)
  }
}
