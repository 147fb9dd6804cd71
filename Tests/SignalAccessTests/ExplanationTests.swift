// SPDX-License-Identifier: MIT

import JSON
import SignalStore
import Testing

@testable import SignalAccess

extension Scene {
  /// The explanation of a decision, as JSON.
  ///
  /// - Parameter open: The properties that may be told; nil when all may.
  func explain(
    _ claims: String?, _ operation: AccessOperation, _ path: PropertyPath, _ value: String? = nil,
    stored: AccessSubject.StoredPart = .none, telling open: Set<PropertyPath>? = nil
  ) throws -> AccessExplanation {
    let value = try value.map { try JSONText(validating: $0) }
    let subject = AccessSubject(operation, path, value, found: properties[path], at: Timestamp(milliseconds: -1))
    return try rights(claims).explain(
      operation, subject, stored: stored, mayTell: open.map { open in { open.contains($0) } }
    ) { properties[$0] }
  }

  /// What of a pattern is visible, in words.
  func visibility(_ claims: String?, _ pattern: PathPattern) throws -> String {
    switch try rights(claims).explain(.watch, of: pattern, read: { properties[$0] }).visibility {
    case .whole?: "all"
    case .part(let patterns)?: "part: \(patterns.map(\.description).sorted().joined(separator: " "))"
    case .nothing?: "nothing"
    case nil: "not said"
    }
  }
}

private func json(_ text: String) throws -> JSONText { try JSONText(validating: text) }

/// Numbers that are the same in each run (SplitMix64).
private struct Seeded: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = (state ^ state >> 30) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ z >> 27) &* 0x94D0_49BB_1331_11EB
    return z ^ z >> 31
  }
}

@Suite("Access rules, explaining") struct ExplanationTests {
  private let ann = #"{"sub":"ann"}"#
  private let users = AccessRule(
    match: "users/{id}/**", conditions: ["read": "auth.sub == id", "write": "auth.sub == id"],
    validate: "size(path) < 20")

  @Test func `each condition that matches is told, with what it used`() throws {
    let scene = try Scene(users, AccessRule(match: "users/*/x", conditions: ["deny-set": "value > 5"]))
    #expect(
      try "\(scene.explain(ann, .set, "users/bob/x", "1").json)" == """
        {"allowed":false,"reason":"No rule allows it.","entries":[\
        {"rule":1,"match":"users/{id}/**","captures":{"id":"bob"},"condition":"write","because":"auth.sub == id",\
        "result":"nothing","values":{"auth.sub":"ann","id":"bob"}},\
        {"rule":1,"match":"users/{id}/**","captures":{"id":"bob"},"condition":"validate","because":"size(path) < 20",\
        "result":"valid","values":{"path":"users/bob/x"}},\
        {"rule":2,"match":"users/*/x","captures":{},"condition":"deny-set","because":"value > 5","result":"nothing",\
        "values":{"value":1}}]}
        """)
    #expect(try scene.explain(ann, .set, "users/ann/x", "1").reason == "Rule 1 allows it.")
    #expect(try scene.explain(ann, .set, "users/ann/x", "9").reason == "Rule 2 denies it.")
    #expect(try scene.explain(ann, .set, "users/ann/x", #""a""#).reason == "Rule 2 denies it, as its condition fails.")
    #expect(
      try scene.explain(ann, .set, "users/ann/and/so/on/and/on", "1").reason == "Rule 1 does not take this value.")
    #expect(try scene.explain(ann, .get, "rooms/1").reason == "No rule is about this operation on this path.")
  }

  @Test func `what fails says why`() throws {
    let scene = try Scene(
      AccessRule(
        match: "a", with: ["own": "users/{auth.sub}/a"], conditions: ["get": "own == 1", "set": "auth.role == 'x'"]))
    let failed = try scene.explain(ann, .set, "a", "1").entries[0]
    #expect(failed.result == .nothing && failed.failure == "no such key, at byte 4" && failed.values.isEmpty)
    // As everywhere: without the claim there is no property.
    let unnamed = try scene.explain("{}", .get, "a").entries[0]
    #expect(unnamed.failure?.hasPrefix("a property of 'with' has no path, as the caller lacks a claim") == true)
    #expect(try scene.decide("{}", .get, "a") == "no")
    #expect(try scene.explain(ann, .get, "a").entries[0].failure == nil)
  }

  @Test func `long values and many entries are left out`() throws {
    let rules = (0..<150).map { _ in AccessRule(match: "**", conditions: ["get": "value == 'x'"]) }
    let policy = try AccessPolicy(AccessRules(rules: rules))
    let value = JSONTree(JSONText(String(repeating: "x", count: AccessExplanation.valueBytes)))
    let subject = AccessSubject(reading: "a", value, at: .now)
    let explanation = Rights(RuleIndex(policy), nil).explain(.get, subject) { _ in nil }
    #expect(explanation.entries.count == AccessExplanation.mostEntries && explanation.more == 50)
    #expect(explanation.entries[0].values.isEmpty && explanation.entries[0].withheld == ["value"])
    #expect("\(explanation.json)".hasSuffix(#"],"more":50}"#))
  }

  @Test func `administrators, and where nothing is known of them`() throws {
    let scene = try Scene(admin: "auth.role == 'admin'", users)
    let administrator = try scene.explain(#"{"role":"admin"}"#, .set, "x", "1")
    #expect(administrator.isAllowed == true && administrator.isAdministrator && administrator.entries.isEmpty)
    #expect(try scene.visibility(#"{"role":"admin"}"#, "**") == "all")
    #expect("\(AccessExplanation.unruled.json)".hasPrefix(#"{"allowed":true,"reason":"There are no rules"#))
  }

  // MARK: Withholding

  @Test func `what may not be told decides, and nothing tells how`() throws {
    var scene = try Scene(
      AccessRule(
        match: "a/{x}", with: ["m": "m/{x}"],
        conditions: [
          "get": "auth.sub in m", "set": "!exists || oldValue == value", "delete": "auth.sub == x || m == 1",
        ]))
    scene.properties = ["a/1": try json("7"), "m/1": try json(#"["bob"]"#)]
    let set = try scene.explain(ann, .set, "a/1", "7", stored: .oldValue, telling: [])
    #expect(set.isAllowed == nil && set.reason == "It depends on what may not be told.")
    #expect(set.entries[0].result == .unknown && set.entries[0].withheld == ["exists", "oldValue"])
    #expect(set.entries[0].values.map(\.name) == ["value"])
    // Asking for it tells as much, but not why.
    let get = try scene.explain(ann, .get, "a/1", stored: .value, telling: [])
    #expect(get.isAllowed == false && get.entries[0].result == .unknown && get.entries[0].withheld == ["m"])
    // What is known decides.
    let delete = try scene.explain(#"{"sub":"1"}"#, .delete, "a/1", stored: .oldValue, telling: [])
    #expect(delete.isAllowed == true && delete.entries[0].result == .allows)
    #expect(try scene.explain(ann, .delete, "a/1", stored: .oldValue, telling: []).isAllowed == nil)
    #expect(try scene.explain(ann, .delete, "a/1", stored: .oldValue, telling: ["m/1"]).isAllowed == false)
  }

  @Test func `an explanation is the same whatever there is that may not be told`() throws {
    var generator = Seeded(state: 7)
    let terms = [
      "auth.sub == x", "value == 1", "oldValue == 1", "exists", "m == 1", "auth.sub in m", "oldValue.a == 1",
      "!exists || value == oldValue", "value == null", "true", "false", "auth.nothing", "size(path) > 3",
    ]
    let names = ["read", "get", "list", "watch", "set", "write", "delete", "deny-set", "deny-read", "send", "timer"]
    let values: [JSONText?] = [nil] + (try ["1", "2", #"{"a":1}"#, #"["ann"]"#].map { try json($0) })
    let operations: [AccessOperation] = [.get, .list, .watch, .set, .delete, .send, .timer, .define]
    var decided = 0
    for _ in 0..<2000 {
      func condition() -> String {
        let (a, b) = (terms.randomElement(using: &generator)!, terms.randomElement(using: &generator)!)
        return ["(\(a)) && (\(b))", "(\(a)) || (\(b))", a].randomElement(using: &generator)!
      }
      var rules: [AccessRule] = []
      for _ in 0..<Int.random(in: 1...3, using: &generator) {
        var rule = AccessRule(match: ["a/{x}", "{x}/*", "{x}/**"].randomElement(using: &generator)!)
        for _ in 0..<3 { rule.conditions[names.randomElement(using: &generator)!] = condition() }
        rule.with["m"] = "m/{x}"
        if Bool.random(using: &generator) { rule.validate = condition() }
        rules.append(rule)
      }
      let policy = try AccessPolicy(AccessRules(rules: rules))
      let rights = Rights(RuleIndex(policy), try Scene.identity(#"{"sub":"ann"}"#))
      let operation = operations.randomElement(using: &generator)!
      let given = operation == .set || operation == .send ? try json("1") : nil
      let stored: AccessSubject.StoredPart =
        [.get, .list, .watch].contains(operation) ? .value : [.send, .timer].contains(operation) ? .none : .oldValue
      var told: Set<String> = []
      for (there, member) in zip(values + values, values.reversed() + values) {
        let properties: [PropertyPath: JSONText?] = ["a/1": there, "m/1": member, "m/a": member]
        func read(_ path: PropertyPath) -> JSONText? { properties[path] ?? nil }
        let subject = AccessSubject(operation, "a/1", given, found: there, at: .now)
        let decision = rights.decide(operation, subject, read: read)
        // Who may know everything is told what is decided, and each condition agrees with that.
        let whole = rights.explain(operation, subject, stored: stored, read: read)
        #expect(whole.isAllowed == (decision == .allowed))
        let results = whole.entries.map(\.result)
        #expect(!results.contains(.unknown))
        let isAllowed =
          results.contains(.allows) && !results.contains(.denies) && !results.contains(.invalid)
        #expect(isAllowed == (decision == .allowed), "\(rules) \(operation) \(properties)")
        // Who may know nothing of it is told the same in all cases, but for what asking would tell.
        var own = rights.explain(operation, subject, stored: stored, mayTell: { _ in false }, read: read)
        if own.isAllowed != nil { #expect(own.isAllowed == (decision == .allowed) || !subject.exists) }
        if stored == .value {
          own.isAllowed = nil
          own.reason = ""
        } else {
          decided += own.isAllowed == nil ? 0 : 1
        }
        told.insert("\(own.json)")
      }
      #expect(told.count == 1, "\(rules) \(operation) \(told)")
    }
    #expect(decided > 1000)
  }

  @Test func `a list says of what is hidden what it says of what is not there`() throws {
    var scene = try Scene(AccessRule(match: "a", conditions: ["list": "value == null || value == 1"]))
    func told() throws -> String { try "\(scene.explain(ann, .list, "a", stored: .value, telling: []).json)" }
    let missing = try told()
    #expect(missing.hasPrefix(#"{"allowed":false"#))
    scene.properties["a"] = try json("2")
    #expect(try told() == missing)
    scene.properties["a"] = try json("1")
    #expect(try told().hasPrefix(#"{"allowed":true"#))
  }

  // MARK: Patterns

  @Test func `of a pattern all is visible, or a part, or nothing`() throws {
    var scene = try Scene(
      users, AccessRule(match: "public/**", conditions: ["read": "true"]),
      AccessRule(match: "open/*", conditions: ["watch": "value.open"]),
      AccessRule(
        match: "rooms/{room}/**", with: ["members": "rooms/{room}/members"], conditions: ["read": "auth.sub in members"]
      ),
      AccessRule(match: "rooms/*/secret", conditions: ["deny-read": "auth.role != 'host'"]))
    #expect(try scene.visibility(ann, "users/ann/**") == "all")
    #expect(try scene.visibility(ann, "users/ann/mail/*") == "all")
    #expect(try scene.visibility(ann, "users/bob/**") == "nothing")
    #expect(try scene.visibility(ann, "users/**") == "part: users/ann/**")
    #expect(try scene.visibility(nil, "users/**") == "nothing")
    #expect(try scene.visibility(nil, "public/**") == "all")
    #expect(try scene.visibility(nil, "open/*") == "part: open/*")
    #expect(try scene.visibility(ann, "rooms/1/*") == "nothing")
    scene.properties["rooms/1/members"] = try json(#"["ann"]"#)
    #expect(try scene.visibility(ann, "rooms/1/topic/*") == "all")
    #expect(try scene.visibility(ann, "rooms/1/*") == "part: rooms/1/*")
    #expect(try scene.visibility(#"{"sub":"ann","role":"host"}"#, "rooms/1/*") == "all")
    #expect(try scene.visibility(ann, "rooms/2/*") == "nothing")
    #expect(try scene.visibility(ann, "rooms/*/topic").hasPrefix("part"))
    #expect(try scene.visibility(ann, "nowhere/**") == "nothing")
    // Where other properties may not be told, it depends.
    let own = try scene.rights(ann).explain(.watch, of: "rooms/2/*", read: nil)
    #expect(own.visibility == .part(["rooms/2/*"]) && own.isAllowed == true)
    #expect(own.entries.map(\.result) == [.unknown, .denies])
  }

  @Test func `demand is allowed for all of a pattern, or not`() throws {
    let scene = try Scene(AccessRule(match: "users/{id}/**", conditions: ["demand": "auth.sub == id"]))
    func demand(_ pattern: PathPattern) throws -> AccessExplanation {
      try scene.rights(ann).explain(.demand, of: pattern, read: nil)
    }
    #expect(try demand("users/ann/**").isAllowed == true && demand("users/ann/**").visibility == nil)
    #expect(try demand("users/**").isAllowed == false)
  }

  @Test func `a subscription to demand is not explained by what other properties are now`() throws {
    var scene = try Scene(
      AccessRule(
        match: "rooms/{room}/**", with: ["members": "rooms/{room}/members"],
        conditions: ["demand": "auth.sub in members"])
    )
    scene.properties["rooms/1/members"] = try JSONText(validating: #"["ann"]"#)
    let explanation = try scene.rights(ann).explain(.demand, of: "rooms/1/topic") { scene.properties[$0] }
    #expect(explanation.isAllowed == false && explanation.entries.map(\.result) == [.unknown])
    #expect(explanation.reason.contains("number of watchers") && explanation.entries[0].withheld == ["members"])
  }
}

/// Who somebody is said to be.
@Suite("Identities that are assumed") struct AssumedIdentityTests {
  private func identity(_ text: String) throws -> Identity? {
    Identity(assuming: JSONTree(try JSONText(validating: text)))
  }

  @Test func `claims are those of a JSON Web Token unless they say otherwise`() throws {
    let ann = try #require(try identity(#"{"sub":"ann","role":"cook"}"#))
    #expect("\(ann.auth.text(of: .root))" == #"{"sub":"ann","role":"cook","kind":"jwt","id":"ann"}"#)
    let press = try #require(
      try identity(#"{"kind":"certificate","id":"press-1","names":["p"],"expires":"2026-01-02T03:04:05Z"}"#))
    #expect(press.kind == .certificate && press.id == "press-1" && press.expires != nil)
  }

  @Test(arguments: ["[]", "1", #"{"kind":"ghost"}"#, #"{"kind":1}"#, #"{"id":1}"#, #"{"expires":"soon"}"#])
  func `what nobody can be is nobody`(text: String) throws { #expect(try identity(text) == nil) }
}
