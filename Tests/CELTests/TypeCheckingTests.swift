// SPDX-License-Identifier: MIT

import CEL
import Testing

/// langdef "Gradual Type Checking".
@Suite struct TypeCheckingTests {
  @Test(arguments: [
    ("path > 3", 5), ("'a' + 1", 4), ("path == 3", 5), ("revision == 'a'", 9), ("!path", 0), ("-path", 0),
    ("path && true", 5), ("true || revision", 5), ("path ? 1 : 2", 5), ("path.a", 4), ("path[0]", 4),
    ("revision.size()", 9), ("size(revision)", 0), ("path.startsWith(1)", 5), ("1 in path", 2), ("'a' in [1, 2]", 4),
    ("[1, 2]['a']", 6), ("{'a': 1}[1]", 8), ("{1: 2}.a", 6), ("{[]: 1}", 1), ("path - 'a'", 5), ("revision % 2.0", 9),
    ("[1].map(x, x + 'a')", 13), ("[1].all(x, x)", 11), ("revision.all(x, true)", 9), ("time > 1", 5),
    ("time + time", 5),
    ("op * 2", 3), ("path.matches(1)", 5), ("math.bitAnd(1, 2.0)", 0), ("path.substring('a')", 5),
    ("path.optMap(x, x)", 5),
    ("[[1]] == [['a']]", 6), ("true < false == 1", 13), ("null + 1", 5), ("{1: 2}.sortBy(x, x)", 7),
    ("[1].sortBy(x, [x])", 4), ("path.size(1)", 5), ("int(null)", 0),
  ])
  func `what cannot work whatever the values are is refused at the operator`(_ source: String, _ position: Int) {
    expect(source, isRefusedFor: .noMatchingOverload, at: position)
  }

  @Test(arguments: [
    ("value + 1", "dyn"), ("1 + 1", "int"), ("1 + 1.5", "double"), ("value > 1", "bool"), ("path", "string"),
    ("[1, 2]", "list(int)"), ("[1, 'a']", "list(dyn)"), ("{'a': 1}", "map(string, int)"),
    ("[[1], [2.0]]", "list(list(dyn))"),
    ("time - time", "google.protobuf.Duration"), ("value.a.b[0]", "dyn"), ("[1].map(x, string(x))", "list(string)"),
    ("[1, 2][0]", "int"), ("true ? 1 : 'a'", "dyn"), ("true ? 1 : 2", "int"), ("path.split('/')", "list(string)"),
    ("type(1)", "type"), ("{'a': 1}.?a", "optional_type(int)"), ("{'a': 1}.?a.orValue(2)", "int"), ("[]", "list(dyn)"),
    ("null", "null_type"), ("dyn(1)", "dyn"), ("[1].filter(x, x > 0)", "list(int)"), ("lists.range(3)[0]", "int"),
    ("[[], [[]], [[1]]]", "list(list(list(int)))"), ("[] + [1]", "list(int)"), ("true ? [] : ['a']", "list(string)"),
    ("{'a': [], 'b': [1]}", "map(string, list(int))"),
    ("[optional.none(), optional.of(1)]", "list(optional_type(int))"),
    ("[optional.of(1), null][0]", "optional_type(int)"), ("[time, null]", "list(google.protobuf.Timestamp)"),
    ("['a'].sortBy(x, x.size())", "list(string)"), ("[].map(x, x)[0]", "dyn"),
    ("optional.none()", "optional_type(dyn)"), ("[[], 1]", "list(dyn)"),
    ("cel.bind(x, 1, x)", "int"), ("value == 1", "bool"), ("b'a'", "bytes"), ("1u", "uint"),
  ])
  func `the type of a program is known before it runs`(_ source: String, _ type: String) throws {
    #expect(try Program(compiling: source).type.description == type)
  }

  @Test(arguments: [
    "value > 3", "value + 'a' == path", "1 < 2.0", "1u == 1", "revision > 1.5", "path == null", "dyn(1) == 'a'",
    "1 in [1.0]", "value.a.b", "value[0]['a']", "[value, 1][0] == 'a'", "{'a': value}.a > 1", "1.5 in {1: 2}",
  ])
  func `what may work is left to the evaluation`(_ source: String) throws {
    _ = try Program(compiling: source)
  }

  @Test(arguments: ["missing == 1 || true", "missing.while() || true", "nothing(1) == 2 || true", "true || path > 1"])
  func `without the checker names and types are looked up when they are evaluated`(_ source: String) throws {
    let unchecked = CELEnvironment(variables: CELEnvironment.change.variables, typeChecking: false)
    #expect(try Program(compiling: source, environment: unchecked).evaluate() == .success(.bool(true)))
    #expect(throws: CELError.self) { try Program(compiling: source) }
  }

  @Test(arguments: ["[1].all(x, true)", "has(value.a)", "cel.bind(x, 1, x)"])
  func `without macros their names are those of functions that do not exist`(_ source: String) throws {
    let plain = CELEnvironment(variables: CELEnvironment.change.variables, macros: false)
    _ = try Program(compiling: source)
    #expect(throws: CELError.self) { try Program(compiling: source, environment: plain) }
  }

  @Test func `strict arithmetic refuses what the language leaves undefined`() {
    let strict = CELEnvironment(variables: CELEnvironment.change.variables, mixedArithmetic: false)
    expect("1 + 0.5", isRefusedFor: .noMatchingOverload, at: 2, environment: strict)
    expect("1 + 0.5", is: .double(1.5))
    expect("1 + 0.5", fails: .noMatchingOverload, mixedArithmetic: false)
  }

  @Test(arguments: [
    ("valeu > 1", "value"), ("oldvalue > 1", "oldValue"), ("Path == ''", "path"), ("tme == 1", "time"),
  ])
  func `an unknown variable is refused with the nearest name`(_ source: String, _ name: String) {
    do {
      _ = try Program(compiling: source)
      Issue.record("\(source) compiles")
    } catch {
      #expect(error.reason == .unknownVariable)
      #expect(error.message.hasSuffix("did you mean '\(name)'?"), "\(error)")
    }
  }

  @Test(arguments: [
    ("siez(path)", "size"), ("path.startWith('a')", "startsWith"), ("math.greates(1)", nil),
    ("path.exist(x, x)", "exists"),
    ("foo(1)", nil),
  ])
  func `an unknown function is refused with the nearest name`(_ source: String, _ name: String?) {
    do {
      _ = try Program(compiling: source)
      Issue.record("\(source) compiles")
    } catch {
      #expect(error.reason == .unknownFunction || error.reason == .unknownVariable, "\(error)")
      #expect(name.map { error.message.hasSuffix("did you mean '\($0)'?") } ?? true, "\(error)")
    }
  }

  @Test func `a mistake of grammar comes before one in a name that it may have caused`() {
    expect("valeu > (1", isRefusedFor: .unexpectedEnd, at: 10)
  }
}
