// SPDX-License-Identifier: MIT

import JSON
import SignalStore
import Testing

@testable import SignalAccess

/// Rules, somebody, and properties that decide.
struct Scene {
  let policy: AccessPolicy
  var properties: [PropertyPath: JSONText] = [:]

  init(admin: String? = nil, _ rules: AccessRule...) throws {
    policy = try AccessPolicy(AccessRules(admin: admin, rules: rules))
  }

  static func identity(_ claims: String) throws -> Identity {
    let claims = JSONTree(try JSONText(validating: claims))
    return Identity(.token, id: claims.member("sub", of: .root).flatMap { claims.string($0) } ?? "t", claims: claims)
  }

  func rights(_ claims: String?) throws -> Rights { Rights(RuleIndex(policy), try claims.map(Self.identity)) }

  /// Whether something is allowed: the decision in a word.
  func decide(
    _ claims: String?, _ operation: AccessOperation, _ path: PropertyPath, _ value: String? = nil,
    was old: String? = nil
  ) throws -> String {
    let value = try value.map { JSONTree(try JSONText(validating: $0)) }
    let old = try old.map { JSONTree(try JSONText(validating: $0)) }
    let time = Timestamp(milliseconds: 0)
    let subject =
      operation.isReading
      ? AccessSubject(reading: path, value, at: time) : AccessSubject(writing: path, value, replacing: old, at: time)
    return switch try rights(claims).decide(operation, subject, read: { properties[$0] }) {
    case .allowed: "yes"
    case .denied: "no"
    case .invalid(let match): "invalid by \(match)"
    }
  }

  /// What is visible of patterns, in words.
  func scope(_ claims: String?, _ patterns: PathPattern...) throws -> String {
    guard let scope = try rights(claims).scope(.watch, of: patterns) else { return "nothing" }
    let all = scope.patterns.map(\.description).sorted().joined(separator: " ")
    return scope.audience == nil ? all : all + " judged"
  }
}

@Suite("Access rules, deciding") struct DecisionTests {
  private let ann = #"{"sub":"ann"}"#

  @Test(
    arguments: [
      (["get": "auth.sub in members"], true),
      (["get": "auth.sub in members && now < timestamp('2000-01-01T00:00:00Z')"], true),
      (["get": "!(auth.sub in members)"], false), (["get": "auth.sub in members && value != 1"], false),
      (["get": "value != 1"], false), (["get": "exists"], false), (["get": "path == 'rooms/1/topic'"], true),
      (["get": "auth.sub in members", "deny-get": "value == 1"], false),
      (["get": "true", "deny-get": "exists"], false),
      (["get": "true", "deny-get": "auth.sub in members"], false), (["get": "true", "deny-get": "members.x"], false),
      (["get": "true", "deny-get": "!(auth.sub in members)"], true), (["list": "true"], false),
    ] as [([String: String], Bool)])
  func `what holds now whatever the value is`(conditions: [String: String], isAllowed: Bool) throws {
    var scene = try Scene(
      AccessRule(match: "rooms/{room}/**", with: ["members": "rooms/{room}/members"], conditions: conditions))
    scene.properties["rooms/1/members"] = try JSONText(validating: #"["ann"]"#)
    let found = try scene.rights(ann).allowsAnyValue(.get, "rooms/1/topic", at: Timestamp(milliseconds: 0)) {
      scene.properties[$0]
    }
    #expect(found == isAllowed)
  }

  @Test func `what no rule allows is denied`() throws {
    let scene = try Scene(AccessRule(match: "public/**", conditions: ["read": "true"]))
    #expect(try scene.decide(nil, .get, "public/a", "1") == "yes")
    #expect(try scene.decide(nil, .list, "public/a", "1") == "yes")
    #expect(try scene.decide(nil, .watch, "public/a", "1") == "yes")
    #expect(try scene.decide(nil, .set, "public/a", "1") == "no")
    #expect(try scene.decide(nil, .delete, "public/a") == "no")
    #expect(try scene.decide(nil, .get, "private/a", "1") == "no")
    #expect(try scene.decide(nil, .listen, "public/a", "1") == "no")
    #expect(try scene.decide(nil, .send, "public/a", "1") == "no")
    #expect(try scene.decide(nil, .define, "public/a") == "no")
    #expect(try scene.decide(nil, .timer, "public/a") == "no")
    #expect(try scene.decide(nil, .demand, "public/a") == "no")
  }

  @Test func `a capture is what stands in the path`() throws {
    let scene = try Scene(
      AccessRule(match: "users/{id}/**", conditions: ["read": "auth.sub == id", "write": "auth.sub == id"]),
      AccessRule(match: "files/{rest=**}/{name}", conditions: ["get": "rest == 'a/b' && name == 'c'"]))
    #expect(try scene.decide(ann, .get, "users/ann/mail/1", "1") == "yes")
    #expect(try scene.decide(ann, .get, "users/bob/mail/1", "1") == "no")
    #expect(try scene.decide(ann, .set, "users/ann/x", "1") == "yes")
    #expect(try scene.decide(ann, .get, "users", "1") == "no")
    #expect(try scene.decide(nil, .get, "users/ann/x", "1") == "no")
    #expect(try scene.decide(nil, .get, "files/a/b/c", "1") == "yes")
    #expect(try scene.decide(nil, .get, "files/a/c/c", "1") == "no")
    #expect(try scene.decide(nil, .get, "files/a/b/d", "1") == "no")
  }

  @Test func `one rule that denies is enough, and so is one that fails to say`() throws {
    let scene = try Scene(
      AccessRule(match: "**", conditions: ["read": "true"]),
      AccessRule(match: "**/secret", conditions: ["deny-read": "auth.role != 'auditor'"]))
    #expect(try scene.decide(#"{"role":"auditor"}"#, .get, "a/secret", "1") == "yes")
    #expect(try scene.decide(#"{"role":"cook"}"#, .get, "a/secret", "1") == "no")
    #expect(try scene.decide(ann, .get, "a/secret", "1") == "no")
    #expect(try scene.decide(nil, .get, "a/secret", "1") == "no")
    #expect(try scene.decide(nil, .get, "a/open", "1") == "yes")
  }

  @Test func `a condition that fails allows nothing`() throws {
    let scene = try Scene(AccessRule(match: "**", conditions: ["get": "value.owner == auth.sub"]))
    #expect(try scene.decide(ann, .get, "a", #"{"owner":"ann"}"#) == "yes")
    #expect(try scene.decide(ann, .get, "a", "7") == "no")
    // The refusal is the same for what is not there.
    #expect(try scene.decide(ann, .get, "a") == "no")
  }

  @Test func `writes are judged by what they replace, and values by what they are`() throws {
    let scene = try Scene(
      AccessRule(
        match: "doors/{door}", conditions: ["set": "!exists || oldValue.owner == auth.sub", "delete": "exists"],
        validate: "value.owner == auth.sub && size(path) < 20"))
    #expect(try scene.decide(ann, .set, "doors/1", #"{"owner":"ann"}"#) == "yes")
    #expect(try scene.decide(ann, .set, "doors/1", #"{"owner":"ann"}"#, was: #"{"owner":"ann"}"#) == "yes")
    #expect(try scene.decide(ann, .set, "doors/1", #"{"owner":"ann"}"#, was: #"{"owner":"bob"}"#) == "no")
    #expect(try scene.decide(ann, .set, "doors/1", #"{"owner":"bob"}"#) == "invalid by doors/{door}")
    #expect(try scene.decide(ann, .set, "doors/1", "1") == "invalid by doors/{door}")
    #expect(try scene.decide(ann, .delete, "doors/1", was: "1") == "yes")
    #expect(try scene.rights(ann).dependsOnOld(.set, "doors/1"))
    #expect(try !scene.rights(ann).dependsOnOld(.set, "windows/1"))
  }

  @Test func `another property decides`() throws {
    var scene = try Scene(
      AccessRule(
        match: "rooms/{room}/**", with: ["members": "rooms/{room}/members", "own": "users/{auth.sub}/rooms"],
        conditions: ["read": "auth.sub in members", "write": "room in own"]))
    #expect(try scene.decide(ann, .get, "rooms/1/topic", "1") == "no")
    scene.properties["rooms/1/members"] = try JSONText(validating: #"["bob","ann"]"#)
    #expect(try scene.decide(ann, .get, "rooms/1/topic", "1") == "yes")
    #expect(try scene.decide(ann, .get, "rooms/2/topic", "1") == "no")
    #expect(try scene.decide(ann, .set, "rooms/1/topic", "1") == "no")
    scene.properties["users/ann/rooms"] = try JSONText(validating: #"["1"]"#)
    #expect(try scene.decide(ann, .set, "rooms/1/topic", "1") == "yes")
    // Without the claim there is no such property.
    #expect(try scene.decide(nil, .set, "rooms/1/topic", "1") == "no")
  }

  @Test func `administrators may do everything`() throws {
    let scene = try Scene(admin: "auth.role == 'admin'", AccessRule(match: "a", conditions: ["get": "false"]))
    #expect(try scene.decide(#"{"role":"admin"}"#, .define, "x") == "yes")
    #expect(try scene.decide(ann, .define, "x") == "no")
    #expect(try scene.decide(nil, .get, "a", "1") == "no")
  }
}

@Suite("Access rules, seeing") struct ScopeTests {
  private let ann = #"{"sub":"ann","teams":["red","blue"]}"#

  @Test func `a condition on a capture becomes a pattern`() throws {
    let scene = try Scene(
      AccessRule(match: "users/{id}/**", conditions: ["read": "auth.sub == id"]),
      AccessRule(match: "teams/{team}/board", conditions: ["read": "team in auth.teams"]),
      AccessRule(match: "public/**", conditions: ["read": "true"]))
    #expect(try scene.scope(ann, "**") == "public/** teams/blue/board teams/red/board users/ann/**")
    #expect(try scene.scope(ann, "users/**") == "users/ann/**")
    // Neither contains the other.
    #expect(try scene.scope(ann, "users/*/mail") == "users/*/mail judged")
    #expect(try scene.scope(ann, "users/ann/mail") == "users/ann/mail")
    #expect(try scene.scope(ann, "users/bob/**") == "nothing")
    #expect(try scene.scope(nil, "**") == "public/**")
    #expect(try scene.scope(nil, "users/**") == "nothing")
    // A name that cannot be in a path.
    #expect(try scene.scope(#"{"sub":"a/b","teams":["*",""]}"#, "**") == "public/**")
  }

  @Test func `what denies is judged`() throws {
    let scene = try Scene(
      AccessRule(match: "**", conditions: ["read": "true"]),
      AccessRule(match: "**/secret", conditions: ["deny-read": "auth.sub != 'root'"]))
    #expect(try scene.scope(ann, "**") == "** judged")
    #expect(try scene.scope(ann, "a/open") == "a/open")
    #expect(try scene.scope(#"{"sub":"root"}"#, "**") == "**")
  }

  @Test func `those who see the same are one audience`() throws {
    let scene = try Scene(
      AccessRule(match: "m/{zone}/**", conditions: ["read": "auth.level > 3 || value.zone == auth.zone"]))
    func audience(_ claims: String) throws -> Audience? {
      try scene.rights(claims).scope(.watch, of: ["m/**"])?.audience
    }
    let one = try audience(#"{"sub":"ann","level":1,"zone":"a"}"#)
    #expect(one != nil)
    #expect(try audience(#"{"sub":"bob","level":2,"zone":"a"}"#) == one)
    #expect(try audience(#"{"sub":"bob","level":2,"zone":"b"}"#) != one)
    #expect(try audience(#"{"sub":"bob","level":4,"zone":"b"}"#) == nil)
    #expect(try audience(#"{"sub":"ann","level":1,"zone":"a"}"#)?.hashValue == one?.hashValue)
  }

  @Test func `properties that decide are known before`() throws {
    let scene = try Scene(
      AccessRule(
        match: "rooms/{room}/**", with: ["members": "rooms/{room}/members", "mine": "users/{auth.sub}/rooms"],
        conditions: ["read": "auth.sub in members || room in mine"]))
    let audience = try scene.rights(ann).scope(.watch, of: ["rooms/**"])?.audience
    #expect(audience?.dependencies.map(\.description).sorted() == ["rooms/*/members", "users/ann/rooms"])
  }

  @Test(arguments: [
    ("value.by == auth.sub && x != 'c'", true), ("path != 'a/1' && value.n > 1", true),
    ("now < timestamp('2030-01-01T00:00:00Z') && value.n > 1", false), ("auth.sub in others && value.n > 1", false),
  ])
  func `a judgement lasts unless the time or another property decides`(condition: String, isLasting: Bool) throws {
    let scene = try Scene(
      AccessRule(match: "a/{x}", with: ["others": "others/{x}"], conditions: ["read": condition]),
      AccessRule(match: "a/b", conditions: ["read": "value.isPublic"]))
    let audience = try #require(try scene.rights(ann).scope(.watch, of: ["**"])?.audience)
    #expect(audience.isLasting == isLasting)
  }

  @Test func `an audience admits what the rules allow`() throws {
    let scene = try Scene(
      AccessRule(match: "a/{x}/{y}", conditions: ["read": "value.by == auth.sub && x != y"]),
      AccessRule(match: "a/**", conditions: ["deny-read": "value.hidden"]))
    let audience = try #require(try scene.rights(ann).scope(.watch, of: ["**"])?.audience)
    func admits(_ path: PropertyPath, _ value: String) throws -> Bool {
      var work = 10_000
      let value = JSONTree(try JSONText(validating: value))
      return audience.admits(
        AccessSubject(reading: path, value, at: Timestamp(milliseconds: 0)), work: &work, read: { _ in nil })
    }
    #expect(try admits("a/1/2", #"{"by":"ann","hidden":false}"#))
    #expect(try !admits("a/1/1", #"{"by":"ann","hidden":false}"#))
    #expect(try !admits("a/1/2", #"{"by":"bob","hidden":false}"#))
    #expect(try !admits("a/1/2", #"{"by":"ann","hidden":true}"#))
    // The rule that denies fails, as there is no such member.
    #expect(try !admits("a/1/2", #"{"by":"ann"}"#))
    #expect(try !admits("b/1/2", #"{"by":"ann","hidden":false}"#))
  }
}

@Suite("Access rules, refused") struct RuleFaultTests {
  @Test(arguments: [
    (AccessRule(match: "a/**", conditions: ["read": "auth.sub =="]), "read: the expression ends"),
    (AccessRule(match: "a/**", conditions: ["read": "1 + 1"]), "read: a condition is true or false, and this is int"),
    (AccessRule(match: "a/**", conditions: ["raed": "true"]), "nothing to allow or deny that is called 'raed'"),
    (AccessRule(match: "a/**"), "it allows and denies nothing"),
    (AccessRule(match: "a//b", conditions: ["read": "true"]), "it is no pattern"),
    (AccessRule(match: "a/{}/b", conditions: ["read": "true"]), "'{}' is no capture"),
    (AccessRule(match: "a/{1x}", conditions: ["read": "true"]), "'{1x}' is no capture"),
    (AccessRule(match: "{a}/{a}", conditions: ["read": "true"]), "the capture 'a' stands in it twice"),
    (AccessRule(match: "{a=**}/x/**", conditions: ["read": "true"]), "one '**' at most"),
    (AccessRule(match: "{path}", conditions: ["read": "true"]), "'path' is the name of a variable"),
    (AccessRule(match: "{a}", with: ["a": "b"], conditions: ["read": "true"]), "'a' is the name of a capture"),
    (AccessRule(match: "{a}", with: ["b": "x/{c}"], conditions: ["read": "true"]), "with: b: '{c}' is neither"),
    (AccessRule(match: "{a=**}", with: ["b": "x/{a}"], conditions: ["read": "true"]), "with: b: '{a}' is neither"),
    (AccessRule(match: "{a}", with: ["b": "x//y"], conditions: ["read": "true"]), "with: b: 'x//y' is no path"),
    (AccessRule(match: "a", conditions: ["read": "value.matches('(')"]), "read:"),
    (
      AccessRule(match: "{a}/{b}/{c}/{d}/{e}/{f}/{g}/{h}", conditions: ["read": "true"]),
      "more than 7 captures and names"
    ),
  ])
  func `a rule that cannot be used is named, with the reason`(rule: AccessRule, reason: String) throws {
    let good = AccessRule(match: "x", conditions: ["read": "true"])
    do throws(AccessFault) {
      _ = try AccessPolicy(AccessRules(rules: [good, rule]))
      Issue.record("accepted")
    } catch {
      #expect(error.description.hasPrefix("rule 2, '\(rule.match)': "), "\(error)")
      #expect(error.description.contains(reason), "\(error)")
    }
  }

  @Test func `the condition of administrators is checked`() throws {
    #expect(throws: AccessFault.self) { try AccessPolicy(AccessRules(admin: "value == 1")) }
    #expect(throws: AccessFault.self) {
      try AccessPolicy(AccessRules(rules: Array(repeating: AccessRule(match: "a"), count: 1001)))
    }
  }
}
