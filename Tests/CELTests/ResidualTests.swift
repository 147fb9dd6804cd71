// SPDX-License-Identifier: MIT

import JSON
import Testing

@testable import CEL

@Suite("Partial evaluation") struct ResidualTests {
  private static let environment = CELEnvironment(variables: [
    CELVariable("path", .string), CELVariable("value"), CELVariable("auth"), CELVariable("id", .string),
  ])
  private static let ann = CELValue(
    JSONTree(try! JSONText(validating: #"{"sub":"ann","role":"cook","teams":["a","b"],"level":3}"#)))

  private func residual(_ source: String, _ auth: CELValue = ann) throws -> CheckedExpression.Residual {
    try CheckedExpression(condition: source, environment: Self.environment).residual(knowing: [2: auth])
  }

  /// What is left, in words.
  private func kind(_ source: String, _ auth: CELValue = ann) throws -> String {
    switch try residual(source, auth) {
    case .value(let value): value.isTrue ? "true" : value == .bool(false) ? "false" : "another value"
    case .failed: "failed"
    case .program(let program, _): program.variables.sorted().joined(separator: " ")
    }
  }

  @Test(arguments: [
    ("auth.sub == 'ann'", "true"), ("auth.role in ['cook', 'maid']", "true"), ("auth.level > 3", "false"),
    ("auth.role == 'cook' || value > 3", "true"), ("value > 3 || auth.role == 'cook'", "true"),
    ("auth.role == 'maid' && value > 3", "false"), ("value > 3 && auth.role == 'maid'", "false"),
    ("auth.nothing == 1", "failed"), ("auth.nothing == 1 && value > 3", "value"),
    ("auth.nothing == 1 && false", "false"), ("auth.nothing == 1 || auth.level == 3", "true"),
    ("auth.level == 3 ? value > 3 : path == ''", "value"), ("auth.level != 3 ? value > 3 : path == ''", "path"),
    ("!(auth.role == 'maid')", "true"), ("!(auth.role == 'maid' && value)", "true"),
    ("auth.teams.exists(t, t == 'b')", "true"), ("auth.teams.exists(t, t == value)", "value"),
    ("auth.teams.all(t, t != 'c') && path != ''", "path"), ("size(auth.teams) == 2 && id == 'x'", "id"),
    ("id in auth.teams", "id"), ("auth.sub == id && value == 1", "id value"), ("has(auth.sub)", "true"),
    ("cel.bind(s, auth.sub, s == 'ann')", "true"), ("cel.bind(s, auth.sub, s == path)", "path"),
    ("auth != null && auth.sub == 'ann'", "true"),
  ])
  func `what depends on known variables is calculated`(source: String, expected: String) throws {
    #expect(try kind(source) == expected)
  }

  @Test func `nobody is null`() throws {
    #expect(try kind("auth != null && auth.sub == 'ann'", .null) == "false")
    #expect(try kind("auth == null || auth.sub == id", .null) == "true")
    #expect(try kind("auth.sub == id", .null) == "failed")
  }

  @Test func `what is left has equal keys where it means the same`() throws {
    func key(_ source: String, _ auth: String) throws -> [UInt8] {
      let auth = CELValue(JSONTree(try JSONText(validating: auth)))
      guard case .program(_, let key) = try residual(source, auth) else { return [] }
      return key
    }
    let rule = "auth.role == 'cook' && value.zone in auth.zones"
    let one = try key(rule, #"{"sub":"ann","role":"cook","zones":["a"]}"#)
    #expect(one.count > 0)
    #expect(try key(rule, #"{"sub":"bob","role":"cook","zones":["a"]}"#) == one)
    #expect(try key(rule, #"{"sub":"bob","role":"cook","zones":["b"]}"#) != one)
    // What fails does so for everybody alike.
    let failing = "auth.name == value || value == 1"
    #expect(try key(failing, #"{"sub":"ann"}"#) == key(failing, #"{"sub":"bob"}"#))
    #expect(try key("value == auth.sub", #"{"sub":"1"}"#) != key("value == auth.sub", #"{"sub":1}"#))
    #expect(try key("value == auth.x", #"{"x":1}"#) != key("value == auth.x", #"{"x":1.0}"#))
  }

  @Test func `a residual gives what the whole expression gives`() throws {
    let sources = [
      "auth.role == 'cook' && value.n > auth.level", "value.n == auth.level || path.startsWith(auth.sub)",
      "auth.teams.exists(t, t == value.team) && !(value.n > 5 && auth.level > 2)",
      "auth.level > 2 ? value.n < 5 : value.missing", "value.flag && auth.level == 3", "auth.level == 3 && value.n",
      "(value.n > 2 || auth.nothing) && auth.sub != ''", "auth.nothing || value.flag",
      "[value.n, auth.level].exists(x, x == 3)", "{'a': auth.level, 'b': value.n}.b == 3",
      "value.n + auth.level > 6 && auth.teams[0] == 'a'", "auth.teams.map(t, t + value.team).exists(t, t == 'ab')",
    ]
    let values = [
      #"{"n":1,"team":"a","flag":true}"#, #"{"n":3,"team":"b","flag":false}"#, #"{"n":6,"team":"c"}"#, "5", "null",
      #"{"n":"x","flag":1}"#,
    ]
    for source in sources {
      let expression = try CheckedExpression(condition: source, environment: Self.environment)
      let program = expression.program
      for auth in [Self.ann, .null, CELValue(JSONTree(try JSONText(validating: #"{"level":1,"sub":"p","teams":[]}"#)))]
      {
        let residual = expression.residual(knowing: [2: auth])
        for value in values {
          var activation = Activation()
          activation.bind(0, to: .string("p/q"))
          activation.bind(1, to: JSONTree(try JSONText(validating: value)))
          activation.bind(2, to: auth)
          activation.bind(3, to: .string("x"))
          let whole = program.matches(activation)
          let left =
            switch residual {
            case .value(let value): value.isTrue
            case .failed: false
            case .program(let program, _): program.matches(activation)
            }
          #expect(whole == left, "\(source) with \(value)")
        }
      }
    }
  }

  @Test(arguments: [
    ("value > 3", false), ("auth.level > 3", true), ("auth.level > 3 && value > 3", false),
    ("auth.level > 3 || value > 3", true), ("value > 3 || value < 1", false), ("!(value > 3)", false),
    ("!(auth.level > 3 && value > 3)", true), ("auth.level > 3 ? value > 3 : true", true),
    ("auth.teams.all(t, t == value)", true), ("auth.sub in value", false), ("has(value.n)", false), ("true", true),
    ("[value].size() == 1", false), ("value.n == 1 && (auth.level > 3 || value > 3)", false),
  ])
  func `what needs a variable cannot hold without it`(source: String, canHold: Bool) throws {
    let expression = try CheckedExpression(condition: source, environment: Self.environment)
    #expect(expression.canHold(without: [1]) == canHold)
    #expect(expression.canHold(without: []))
  }
}
