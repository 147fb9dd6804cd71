// SPDX-License-Identifier: MIT

import CEL
import JSON
import Testing

/// Programs over the changes of a store: the environment, matching, and what the hub asks of a program.
@Suite struct FilterTests {
  @Test(arguments: [
    ("value > 21.0", "22.5", nil, true),
    ("value > 21.0", "21.0", nil, false),
    ("value > 21", "21.5", nil, true),
    ("value > 21.5", "22", nil, true),
    ("value.temp > 21.0 && oldValue.temp <= 21.0", #"{"temp":22}"#, #"{"temp":20.5}"#, true),
    ("value.temp > 21.0 && oldValue.temp <= 21.0", #"{"temp":22}"#, #"{"temp":21.5}"#, false),
    ("value - oldValue > 0.5", "22.5", "20", true),
    ("value == 'on'", #""on""#, nil, true),
    ("value == 'é'", #""\u00e9""#, nil, true),
    ("value == oldValue", #"{"a":[1,{"b":2.0}],"c":null}"#, #"{"c":null,"a":[1.0,{"b":2}]}"#, true),
    ("value in ['on', 'off']", #""off""#, nil, true),
    ("'a' in value", #"{"a":1}"#, nil, true),
    ("'a' in value", #"["b","a"]"#, nil, true),
    ("value[1] == 2 && size(value) == 3", "[1,2,3]", nil, true),
    ("value['a b'].c == true", #"{"a b":{"c":true}}"#, nil, true),
    ("has(value.a) && !has(value.b)", #"{"a":null}"#, nil, true),
    ("value == null", "null", nil, true),
    ("oldValue == null", "1", nil, true),
    ("value.a == 2", #"{"a":1,"a":2}"#, nil, true),
    ("size(value) == 1", #"{"a":1,"a":2}"#, nil, true),
    ("path.startsWith('kitchen/') && path.endsWith('ature') && path.contains('n/t')", "1", nil, true),
    ("size(path) == 19", "1", nil, true),
  ])
  func `a filter sees the change`(_ source: String, _ value: String, _ old: String?, _ expected: Bool) throws {
    let program = try Program(filter: source)
    #expect(program.matches(try change(value: value, oldValue: old)) == expected)
  }

  @Test(arguments: [(ChangeOperation.set, "set"), (.delete, "delete"), (.expire, "expire")])
  func `op is the name of the operation`(_ op: ChangeOperation, _ name: String) throws {
    let activation = try change(op: op)
    for other in ["set", "delete", "expire"] {
      #expect(try Program(filter: "op == '\(other)'").matches(activation) == (other == name))
    }
  }

  @Test func `an absent new or old value is null`() throws {
    let program = try Program(filter: "value == null && oldValue == null")
    #expect(program.matches(try change()))
  }

  @Test func `revision is an int`() throws {
    #expect(try Program(filter: "revision == 7 && revision > 6.5").matches(try change(revision: 7)))
  }

  @Test func `a runtime error is no match, and can be told from false`() throws {
    let program = try Program(filter: "value.temp > 21")
    let activation = try change(value: #"{"humidity":3}"#)
    #expect(!program.matches(activation))
    #expect(program.match(activation) == .failed(EvaluationError(reason: .noSuchKey, position: 5)))
    #expect(program.match(try change(value: #"{"temp":3}"#)) == .no)
    #expect(program.match(try change(value: #"{"temp":30}"#)) == .yes)
  }

  @Test func `a value that is no bool is no match, and counts as an error`() throws {
    let program = try Program(filter: "value")
    #expect(program.match(try change(value: "1")) == .failed(EvaluationError(reason: .noMatchingOverload, position: 0)))
    #expect(program.match(try change(value: "true")) == .yes)
  }

  @Test(arguments: ["value + 1 + 'a'.size() - 1.5 < 0 ? 1 : 2", "'a'", "size(path)", "[true]", "{}", "null", "1 + 2"])
  func `a filter that can never be a bool is refused`(_ source: String) throws {
    _ = try Program(compiling: source)
    do {
      _ = try Program(filter: source)
      Issue.record("\(source) is accepted")
    } catch {
      #expect(error.reason == .notABoolean)
    }
  }

  @Test(arguments: [
    ("value > 1", ["value"], true),
    ("path == 'a' && value.b", ["path", "value"], true),
    ("true", [], true),
    ("value > oldValue", ["oldValue", "value"], false),
    ("op == 'set' || value == 1", ["op", "value"], false),
    ("revision > 1", ["revision"], false),
    ("value == 1 && has(oldValue.x)", ["oldValue", "value"], false),
    ("[oldValue].exists(value, value == 1)", ["oldValue"], false),
    ("[1].exists(oldValue, oldValue == value)", ["value"], true),
  ])
  func `a filter over path and value alone is a state filter`(
    _ source: String, _ variables: [String], _ isState: Bool
  ) throws {
    let program = try Program(filter: source)
    #expect(program.variables == Set(variables))
    #expect(program.isStateFilter == isState)
  }

  @Test func `an activation that is updated is the same as a new one`() throws {
    var reused = Activation()
    reused.bind(7, to: .list([.string("left over")]))
    let programs = try [
      "value", "oldValue", "[path, string(revision), op, string(time)]", "value == oldValue", "value.size() > 2",
    ].map { try Program(compiling: $0) }
    let values: [String?] = [#""a\nb""#, #"{"a":[1]}"#, nil, "1.5", #""plain""#, #""\u00e9""#, "[1,2,3]"]
    for (number, value) in values.enumerated() {
      for old in values {
        let new = try change(path: "p\(number)", value: value, oldValue: old, revision: number, milliseconds: 5)
        try reused.update(
          path: Array("p\(number)".utf8), value: value.map(json), oldValue: old.map(json), revision: number,
          milliseconds: 5)
        for program in programs { #expect(program.evaluate(reused) == program.evaluate(new), "\(program.source)") }
      }
    }
  }

  @Test func `more trees than a change has are used in place`() throws {
    let names = (0..<16).map { "x\($0)" }
    let environment = CELEnvironment(variables: names.map { CELVariable($0) })
    var activation = Activation()
    for slot in 0..<16 { activation.bind(slot, to: try json(#"{"a":[\#(slot)],"b":"\n\#(slot)"}"#)) }
    let source = "[" + names.map { "\($0).a[0]" }.joined(separator: ", ") + "]"
    let program = try Program(compiling: source, environment: environment)
    #expect(program.evaluate(activation) == .success(.list((0..<16).map { .int($0) })))
    let text = try Program(compiling: "x15.b + x2.b", environment: environment)
    #expect(text.evaluate(activation) == .success(.string("\n15\n2")))
    // Bound again and again, what was there before is still there for the others.
    for round in 0..<20 { activation.bind(1, to: try json("[\(round)]")) }
    let both = try Program(compiling: "x1 + x15.a + x0.a", environment: environment)
    #expect(both.evaluate(activation) == .success(.list([.int(19), .int(15), .int(0)])))
  }

  @Test func `one program serves many threads`() async throws {
    let program = try Program(filter: "value.a.exists(x, x > 2) && path.startsWith('k')")
    let yes = try change(value: #"{"a":[1,2,3]}"#)
    let no = try change(value: #"{"a":[1,2]}"#)
    await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<8 {
        group.addTask {
          for _ in 0..<500 {
            guard program.matches(yes), !program.matches(no) else { return false }
          }
          return true
        }
      }
      for await correct in group { #expect(correct) }
    }
  }
}
