// SPDX-License-Identifier: MIT

import CEL
import JSON
import Testing

/// langdef "Field Selection", indexing, "Aggregate Values" and "JSON Data Conversion".
@Suite struct FieldSelectionTests {
  @Test(arguments: [
    ("{0:1,2:2,5:true}[5]", CELValue.bool(true)),
    ("{0u:1u,2u:'happy'}[2u]", .string("happy")),
    ("{true:5}[true]", .int(5)),
    ("{true:1,2:2,5u:3}[5]", .int(3)),
    ("{'a': 1}.a", .int(1)),
    ("{'a': 1}['a']", .int(1)),
    ("[1, 2, 3][0]", .int(1)),
    ("[1, 2, 3][2u]", .int(3)),
    ("[1, 2, 3][1.0]", .int(2)),
    ("'a' in {'a': 1}", .bool(true)),
    ("1 in {1u: 2}", .bool(true)),
    ("size([1, 2]) + size({'a': 1}) + [].size() + {}.size()", .int(3)),
    ("size('πέντε') + 'a'.size() + size(b'ab')", .int(8)),
  ])
  func `elements and entries are found by their keys`(_ source: String, _ value: CELValue) {
    expect(source, is: value)
  }

  @Test(arguments: [
    ("{'a': 1}.b", EvaluationError.Reason.noSuchKey),
    ("{0:1}[1]", .noSuchKey),
    ("{0:1}[0.5]", .noSuchKey),
    ("[1][1]", .indexOutOfRange),
    ("[1][-1]", .indexOutOfRange),
    ("[1][18446744073709551615u]", .indexOutOfRange),
    ("[1][-9223372036854775808]", .indexOutOfRange),
    ("[1][0.5]", .noMatchingOverload),
    ("[1][1e300]", .noMatchingOverload),
    ("[1]['a']", .noMatchingOverload),
    ("[1].a", .noMatchingOverload),
    ("1 .a", .noMatchingOverload),
    ("null.a", .noMatchingOverload),
    ("{'a': 1}[[]]", .noMatchingOverload),
    ("{'a': 1, 'a': 2}", .badKey),
    ("{1: 1, 1u: 2}", .badKey),
    ("{1.5: 1}", .badKey),
    ("{[]: 1}", .badKey),
    ("{null: 1}", .badKey),
    ("{1/0: 1}", .divisionByZero),
    ("[1/0]", .divisionByZero),
  ])
  func `what is not there, or no key, is an error`(_ source: String, _ reason: EvaluationError.Reason) {
    expect(source, fails: reason)
  }

  @Test(arguments: [
    ("1", CELValue.int(1)), ("-0", .int(0)), ("9223372036854775807", .int(.max)),
    ("-9223372036854775808", .int(.min)), ("9223372036854775808", .uint(9_223_372_036_854_775_808)),
    ("18446744073709551615", .uint(.max)), ("18446744073709551616", .double(0x1p64)),
    ("-9223372036854775809", .double(-0x1p63)), ("1.0", .double(1)), ("1e2", .double(100)),
    ("1e400", .double(.infinity)), ("true", .bool(true)), ("null", .null), (#""a\nb""#, .string("a\nb")),
    (#""\ud800""#, .string("\u{FFFD}")), ("[]", .list([])), ("[1,[2.5]]", .list([.int(1), .list([.double(2.5)])])),
    (#"{"a":{"b":1},"c":2,"c":3}"#, .map([(.string("a"), .map([(.string("b"), .int(1))])), (.string("c"), .int(3))])),
  ])
  func `a JSON value is a value, bound in place or copied`(_ text: String, _ value: CELValue) throws {
    let tree = try json(text)
    #expect(CELValue(tree) == value)
    let program = try Program(compiling: "value")
    #expect(program.evaluate(try change(value: text)) == .success(value))
    // The fifth tree of an activation is copied.
    let environment = CELEnvironment(variables: (0..<6).map { CELVariable("v\($0)") })
    var activation = Activation()
    for slot in 0..<6 { activation.bind(slot, to: tree) }
    for slot in 0..<6 {
      let program = try Program(compiling: "[v\(slot)][0]", environment: environment)
      #expect(program.evaluate(activation) == .success(value))
    }
  }

  @Test func `a key is compared unescaped and by bytes`() throws {
    let activation = try change(value: #"{"\u00e9":1,"a\"b":2,"e\u0301":3}"#)
    #expect(try Program(compiling: "value['é']").evaluate(activation) == .success(.int(1)))
    #expect(try Program(compiling: #"value['a"b']"#).evaluate(activation) == .success(.int(2)))
    #expect(try Program(compiling: #"value['e\u0301']"#).evaluate(activation) == .success(.int(3)))
  }

  @Test func `the longest declared prefix of a dotted name is the variable`() throws {
    let names = ["a.b.c", "a.b", "x.y.z"]
    let environment = CELEnvironment(variables: names.map { CELVariable($0) }, container: "x.y")
    var activation = Activation()
    activation.bind(0, to: .string("abc"))
    activation.bind(1, to: .map([(.string("c"), .string("oops")), (.string("d"), .string("abd"))]))
    activation.bind(2, to: .string("xyz"))
    for (source, value) in [
      ("a.b.c", "abc"), ("a.b.d", "abd"), ("a.b['c']", "oops"), ("(a.b).c", "oops"), (".a.b.c", "abc"), ("z", "xyz"),
      ("y.z", "xyz"), ("x.y.z", "xyz"),
    ] {
      let program = try Program(compiling: source, environment: environment)
      #expect(program.evaluate(activation) == .success(.string(value)), "\(source)")
    }
  }

  @Test func `a variable without a value is an error when it is used`() throws {
    let environment = CELEnvironment(variables: [CELVariable("x")])
    let program = try Program(compiling: "true || x", environment: environment)
    #expect(program.evaluate() == .success(.bool(true)))
    let other = try Program(compiling: "1 == x", environment: environment)
    #expect(other.evaluate() == .failure(EvaluationError(reason: .unboundVariable, position: 5)))
  }
}
