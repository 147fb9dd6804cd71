// SPDX-License-Identifier: MIT

import Testing

@testable import SignalAccess

@Suite("Access rules, reviewing") struct AccessReviewTests {
  private func findings(
    _ rules: AccessRule..., claims: AccessReview.Claims = .any, admin: String? = nil
  ) throws -> [String] {
    let review = try AccessReview(AccessPolicy(AccessRules(admin: admin, rules: rules)), claims: claims)
    return review.findings.map { "\($0.isError ? "error" : "warning") \($0.rule ?? 0) \($0.text)" }
  }

  private static func decided(_ name: String, by rules: String) -> String {
    "\(name): has no effect, as rule \(rules) decides that for everybody on all of its paths"
  }

  @Test func `rules of which each does something are fine`() throws {
    #expect(
      try findings(
        AccessRule(match: "public/**", conditions: ["read": "true"]),
        AccessRule(
          match: "users/{id}/**", with: ["own": "own/{id}"], conditions: ["read": "auth.sub == id", "set": "own == 1"],
          validate: "size(path) < 20"),
        AccessRule(match: "public/a", conditions: ["deny-get": "auth == null"])) == [])
  }

  @Test func `conditions that others make needless are errors`() throws {
    #expect(
      try findings(
        AccessRule(match: "a/**", conditions: ["get": "true"]), AccessRule(match: "**", conditions: ["watch": "true"]),
        AccessRule(match: "a/**", conditions: ["list": "true"]),
        AccessRule(match: "a/*", conditions: ["read": "auth.x == 1"])) == [
          "error 4 " + Self.decided("read", by: "1, 2, 3")
        ])
    // Not where only a part is covered, or what one says is no condition of the operation.
    #expect(
      try findings(
        AccessRule(match: "a/*", conditions: ["get": "true"]),
        AccessRule(match: "a/**", conditions: ["get": "auth.x == 1"]),
        AccessRule(match: "a/b", conditions: ["set": "auth.x == 1"])) == [])
    // Of two that say the same, the second.
    #expect(
      try findings(
        AccessRule(match: "a", conditions: ["get": "true"]), AccessRule(match: "a", conditions: ["get": "true"]))
        == ["error 2 " + Self.decided("get", by: "1")])
    #expect(
      try findings(
        AccessRule(match: "a", conditions: ["get": "auth.x == 1"]), AccessRule(match: "a", conditions: ["get": "true"]))
        == ["error 1 " + Self.decided("get", by: "2")])
    // What is denied to everybody is allowed to nobody, and needs not be denied again.
    #expect(
      try findings(
        AccessRule(match: "a/**", conditions: ["deny-write": "true"]),
        AccessRule(match: "a/b", conditions: ["set": "true", "deny-set": "auth.x == 1"])) == [
          "error 2 " + Self.decided("deny-set", by: "1"), "error 2 " + Self.decided("set", by: "1"),
        ])
  }

  @Test func `conditions that nobody meets are errors`() throws {
    #expect(
      try findings(AccessRule(match: "a", conditions: ["get": "false"])) == [
        "error 1 get: allows nothing, whoever asks"
      ])
    #expect(
      try findings(AccessRule(match: "a", conditions: ["write": "operation == 'get'"]))
        == ["error 1 write: allows nothing, whoever asks"])
    #expect(
      try findings(AccessRule(match: "a/{x}", conditions: ["get": "x == 'b/c'"]))
        == ["error 1 get: allows nothing, whoever asks"])
    #expect(
      try findings(AccessRule(match: "**", conditions: ["get": "path == 'a//b'"]))
        == ["error 1 get: allows nothing, whoever asks"])
    #expect(
      try findings(AccessRule(match: "a", conditions: ["deny-get": "1 / 0 == 1"]))
        == ["warning 1 deny-get: denies everything, as it always fails"])
    #expect(
      try findings(AccessRule(match: "a", conditions: ["set": "auth != null"], validate: "true"))
        == ["error 1 validate: takes every value"])
    #expect(
      try findings(AccessRule(match: "a", conditions: ["set": "auth != null"], validate: "false"))
        == ["warning 1 validate: takes no value"])
  }

  @Test func `names that mean nothing are warned of`() throws {
    let rule = AccessRule(
      match: "a/{x}/{rest=**}", with: ["one": "b/{auth.team}", "two": "c"],
      conditions: ["get": "one == 1 && auth.sbu == 'x' && auth['role'] == 'y'"])
    #expect(
      try findings(rule, claims: .named(["sub", "role"]), admin: "auth.boss") == [
        "warning 0 admin: nobody is known to have the claim auth.boss",
        "warning 1 get: nobody is known to have the claim auth.sbu",
        "warning 1 with: one: nobody is known to have the claim auth.team", "warning 1 with: no condition uses 'two'",
        "warning 1 nothing uses the capture 'x'; * matches the same",
        "warning 1 nothing uses the capture 'rest'; ** matches the same",
      ])
    let some = AccessRule(
      match: "a", conditions: ["get": "auth != null", "set": "now > timestamp('2026-01-01T00:00:00Z')"])
    #expect(
      try findings(some, claims: .nobody)
        == ["warning 1 get: auth is always null, as no setting of auth lets anybody prove who he is"])
  }

  @Test func `each condition has its cost`() throws {
    let policy = try AccessPolicy(
      AccessRules(rules: [
        AccessRule(
          match: "a", conditions: ["get": "true", "set": "value.all(x, x.exists(y, y > 0))"], validate: "value > 0")
      ]))
    let review = AccessReview(policy, claims: .any)
    #expect(review.conditions.map(\.name) == ["get", "set", "validate"])
    #expect(review.conditions[0].cost == 1 && review.conditions[1].cost > AccessPolicy.budget)
    #expect(review.findings.count == 1 && review.findings[0].text.hasPrefix("set: may cost"))
  }

  @Test func `conditions for demand that depend on what changes`() throws {
    func demand(_ condition: String, _ name: String = "demand") throws -> [String] {
      try findings(
        AccessRule(match: "rooms/{room}/**", with: ["members": "rooms/{room}/members"], conditions: [name: condition])
      ).filter { !$0.contains("no condition uses") && !$0.contains("nothing uses") }
    }
    #expect(
      try demand("value > 3") == ["error 1 demand: allows nothing, whoever asks, as it depends on 'value'"])
    #expect(
      try demand("auth.sub in members && exists")
        == ["error 1 demand: allows nothing, whoever asks, as it depends on 'exists'"])
    #expect(
      try demand("auth.sub in members") == [
        "warning 1 demand: allows numbers of watchers, and subscriptions to demand to nobody, as it depends on 'members'"
      ])
    #expect(try demand("auth.sub in members || auth.role == 'host'") == [])
    #expect(try demand("auth.sub == room") == [] && demand("value > 3 || auth.sub == 'ann'") == [])
    // It denies, and that more than it has to.
    #expect(try demand("value > 3", "deny-demand") == [])
  }
}
