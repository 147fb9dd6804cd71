// SPDX-License-Identifier: MIT

import SignalStore
import Testing

@testable import SignalAccess

/// Finding rules gives what comparing each of them gives.
struct RuleIndexTests {
  private static let patterns = [
    "**", "*", "a", "a/*", "a/**", "a/b", "*/b", "**/b", "b/**", "b/*/c", "*/*", "**/c/**", "a/**/c", "c",
  ]

  private let index: RuleIndex

  init() throws {
    let rules = Self.patterns.map { AccessRule(match: $0, conditions: ["read": "true"]) }
    index = RuleIndex(try AccessPolicy(AccessRules(rules: rules)))
  }

  @Test(arguments: patterns)
  func `a pattern's rules are those that overlap it, in their order`(text: String) throws {
    let pattern = try PathPattern(text)
    let expected = try Self.patterns.indices.filter { try PathPattern(Self.patterns[$0]).overlaps(pattern) }
    #expect(index.rules(within: [pattern]) == expected)
  }

  @Test(arguments: patterns, patterns)
  func `the rules of several patterns are there once`(first: String, second: String) throws {
    let patterns = [try PathPattern(first), try PathPattern(second)]
    let expected = try Self.patterns.indices.filter { number in
      let rule = try PathPattern(Self.patterns[number])
      return patterns.contains { rule.overlaps($0) }
    }
    #expect(index.rules(within: patterns) == expected)
  }

  @Test(arguments: ["a", "b", "a/b", "a/c", "b/x/c", "x/y/c", "x"])
  func `a path's rules are those that match it, in their order`(text: String) throws {
    let path = try PropertyPath(text)
    let expected = try Self.patterns.indices.filter { try PathPattern(Self.patterns[$0]).matches(path) }
    #expect(index.rules(matching: path) == expected)
    #expect(index.rules(within: [PathPattern(path)]) == expected)
  }
}
