// SPDX-License-Identifier: MIT

import Testing

@testable import SignalStore

@Suite("Rules of what is kept over a restart") struct PersistenceRuleTests {
  @Test(arguments: [
    ("presence/** volatile", "presence/** volatile"), ("sensors/** every 1s", "sensors/** every 1s"),
    ("a every 1000ms", "a every 1s"), ("a every 90s", "a every 90s"), ("a every 120s", "a every 2m"),
    ("a every 10ms", "a every 10ms"), ("  a  b  every 1h ", "a  b every 1h"),
    ("volatile volatile", "volatile volatile"),
  ])
  func `a rule is a pattern and what is kept`(line: String, text: String) throws {
    let rule = try PersistenceRule(line)
    #expect(rule.description == text)
    #expect(try PersistenceRule(text) == rule)
  }

  @Test(arguments: [
    ("", "behind the pattern should stand 'volatile', or how often it is kept, such as 'every 1s'"),
    ("a/**", "behind the pattern should stand 'volatile', or how often it is kept, such as 'every 1s'"),
    ("a every", "behind the pattern should stand 'volatile', or how often it is kept, such as 'every 1s'"),
    ("volatile", "a pattern should come first, such as 'presence/** volatile'"),
    ("every 1s", "a pattern should come first, such as 'presence/** volatile'"),
    ("a every 9ms", "'9ms' is no time from 10ms to 1h, such as 1s"),
    ("a every 61m", "'61m' is no time from 10ms to 1h, such as 1s"),
    ("a every 1d", "'1d' is no time from 10ms to 1h, such as 1s"),
    ("a every 99999999999999999999s", "'99999999999999999999s' is no time from 10ms to 1h, such as 1s"),
  ])
  func `what is none is refused`(line: String, reason: String) {
    #expect(throws: RuleFault(reason: reason)) { try PersistenceRule(line) }
  }

  @Test func `the pattern has to be one`() {
    #expect {
      try PersistenceRule("/a volatile")
    } throws: { error in
      (error as? RuleFault)?.reason.hasPrefix("the pattern '/a': ") == true
    }
  }
}
