// SPDX-License-Identifier: MIT
import Foundation
import JSON
import SignalAccess
import SignalHTTP
import SignalStore
import Testing

@testable import signal_server

/// `Config/recipes`: whole configurations, each with a table that needs every line of its rules.
@Suite("Recipes for access") struct RecipeTests {
  private static let root = URL(filePath: #filePath).appending(path: "../../..").standardized
  static let names = ["ci-tokens", "factory-floor", "family-dashboard", "public-read", "rooms", "tenants"]

  private static func file(_ name: String, _ file: String) -> String {
    root.appending(path: "Config/recipes/\(name)/\(file)").path
  }

  private func settings(_ name: String) throws -> ResolvedSettings {
    try ResolvedSettings.load(file: Self.file(name, "signal-server.yaml"), environment: [:], flags: [])
  }

  private func table(_ name: String) throws -> AccessTable {
    try AccessTable(String(contentsOfFile: Self.file(name, "access-tests.yaml"), encoding: .utf8))
  }

  @Test func `there are these, and each is explained`() throws {
    let found = try FileManager.default.contentsOfDirectory(
      atPath: Self.root.appending(path: "Config/recipes").path)
    #expect(found.sorted() == Self.names)
    let document = try String(contentsOf: Self.root.appending(path: "docs/access.md"), encoding: .utf8)
    for name in Self.names { #expect(document.contains("(../Config/recipes/\(name)/)"), "\(name)") }
  }

  @Test(arguments: names) func `its rules do what its table says`(name: String) throws {
    let resolved = try settings(name)
    try resolved.checkServing()
    let failures = try table(name).failures(#require(resolved.settings.live.policy))
    #expect(failures.isEmpty, "\(failures.map { "\($0.line): \($0.text)" }.joined(separator: "\n"))")
  }

  @Test(arguments: names) func `so says the program, and finds nothing amiss`(name: String) throws {
    let config = Self.file(name, "signal-server.yaml")
    let test = try Program.run(["access", "test", Self.file(name, "access-tests.yaml"), "--config", config])
    #expect(test.status == 0 && test.output.hasSuffix(" operations as the table says\n"), "\(test)")
    let check = try Program.run(["access", "check", "--config", config])
    #expect(check.status == 0, "\(check)")
    // The file of tokens is not there, so claims cannot be checked; that is all.
    let told = check.output.split(separator: "\n").filter { $0.hasPrefix("warning") || $0.hasPrefix("error") }
    #expect(told.allSatisfy { $0.hasPrefix("warning: claims are not checked") }, "\(told)")
  }

  /// Without any condition of the rules, or any rule, the table has rows that fail: each line is needed, and tested.
  @Test(arguments: names) func `its table fails when anything is left out of its rules`(name: String) throws {
    let table = try table(name)
    let rules = try #require(settings(name).settings.access.given)
    func expectFailure(_ rules: AccessRules, _ part: String) throws {
      let failures = try table.failures(AccessPolicy(rules))
      #expect(!failures.isEmpty, "\(name): nothing fails without \(part)")
    }
    var left = 0
    for index in rules.rules.indices {
      let rule = rules.rules[index]
      var others = rules
      others.rules.remove(at: index)
      try expectFailure(others, "the rule on \(rule.match)")
      for condition in rule.conditions.keys where rule.conditions.count > 1 || rule.validate != nil {
        var others = rules
        others.rules[index].conditions[condition] = nil
        try expectFailure(others, "\(condition) on \(rule.match)")
        left += 1
      }
      if rule.validate != nil, !rule.conditions.isEmpty {
        var others = rules
        others.rules[index].validate = nil
        try expectFailure(others, "validate on \(rule.match)")
        left += 1
      }
    }
    if rules.admin != nil {
      var others = rules
      others.admin = nil
      try expectFailure(others, "admin")
    }
    #expect(left > 3)
  }

  /// Conditions of several parts: each part alone decides somewhere.
  @Test(arguments: names) func `its table fails when a part of a condition is left out`(name: String) throws {
    let table = try table(name)
    let rules = try #require(settings(name).settings.access.given)
    for index in rules.rules.indices {
      let rule = rules.rules[index]
      for (condition, text) in rule.conditions.merging(
        rule.validate.map { ["validate": $0] } ?? [:], uniquingKeysWith: { $1 })
      {
        // Parts in parentheses stay as they are: no recipe has && inside of any.
        let parts = text.components(separatedBy: " && ")
        for left in parts.indices where parts.count > 1 {
          var others = rules
          let rest = parts.indices.filter { $0 != left }.map { parts[$0] }.joined(separator: " && ")
          if condition == "validate" {
            others.rules[index].validate = rest
          } else {
            others.rules[index].conditions[condition] = rest
          }
          let failures = try table.failures(AccessPolicy(others))
          #expect(!failures.isEmpty, "\(name): nothing fails without \(parts[left]) of \(condition) on \(rule.match)")
        }
      }
    }
  }
}
