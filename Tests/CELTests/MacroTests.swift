// SPDX-License-Identifier: MIT

import CEL
import Testing

/// langdef "Macros" and "Field Selection", and the macros with two variables.
@Suite struct MacroTests {
  @Test(arguments: [
    ("[1, 2, 3].all(x, x > 0)", CELValue.bool(true)),
    ("[1, 2, 3].all(x, x > 1)", .bool(false)),
    ("[].all(x, x > 0)", .bool(true)),
    ("[1, 'foo', 3].all(x, x == 1)", .bool(false)),
    // An error is ignored when another element decides.
    ("[0, 2, 1].all(x, 6 / x == 2)", .bool(false)),
    ("[1, 0].all(x, 1 / x == 2)", .bool(false)),
    ("{'a': 1, 'b': 2}.all(k, k < 'c')", .bool(true)),
    ("[1, 2, 3].exists(x, x == 2)", .bool(true)),
    ("[1, 2, 3].exists(x, x == 4)", .bool(false)),
    ("[].exists(x, true)", .bool(false)),
    ("[0, 2].exists(x, 6 / x == 3)", .bool(true)),
    ("{'a': 1}.exists(k, k == 'a')", .bool(true)),
    ("[1, 2, 3].exists_one(x, x == 2)", .bool(true)),
    ("[1, 2, 2].exists_one(x, x == 2)", .bool(false)),
    ("[].exists_one(x, true)", .bool(false)),
    ("[1, 2, 3].existsOne(x, x > 2)", .bool(true)),
    ("[1, 2, 3].map(x, x * x)", .list([.int(1), .int(4), .int(9)])),
    ("[].map(x, x)", .list([])),
    ("[1, 2, 3].map(x, x > 1, x * 10)", .list([.int(20), .int(30)])),
    ("{'a': 1}.map(k, k + 'x')", .list([.string("ax")])),
    ("[1, 2, 3].filter(x, x % 2 == 1)", .list([.int(1), .int(3)])),
    ("{'a': 1, 'b': 2}.filter(k, k == 'b')", .list([.string("b")])),
    ("[1, 2].map(x, [3, 4].map(y, x * y))", .list([.list([.int(3), .int(4)]), .list([.int(6), .int(8)])])),
    ("[[1], [2, 3]].filter(x, x.exists(y, y > 2))", .list([.list([.int(2), .int(3)])])),
    ("[1].map(x, [2].map(x, x + 1))", .list([.list([.int(3)])])),
    ("[1, 2].map(x, x + 1).filter(y, y > 2)", .list([.int(3)])),
    ("['a'].all(i, v, i == 0 && v == 'a')", .bool(true)),
    ("[1, 2, 3].exists(i, v, i == 1 && v == 2)", .bool(true)),
    ("{'k': 5}.exists(k, v, k == 'k' && v == 5)", .bool(true)),
    ("[5, 7, 8].existsOne(i, v, v % 5 == i)", .bool(true)),
    ("[2, 4, 6].transformList(i, v, v / 2 + i)", .list([.int(1), .int(3), .int(5)])),
    ("[2, 4, 6].transformList(i, v, i != 1, v)", .list([.int(2), .int(6)])),
    ("{'a': 1}.transformList(k, v, k)", .list([.string("a")])),
    ("{'foo': 'bar'}.transformMap(k, v, k + v)", .map([(.string("foo"), .string("foobar"))])),
    ("['x'].transformMap(i, v, v)", .map([(.int(0), .string("x"))])),
    ("{'a': 1, 'b': 2}.transformMap(k, v, v > 1, v)", .map([(.string("b"), .int(2))])),
    ("{'a': 'b'}.transformMapEntry(k, v, {v: k})", .map([(.string("b"), .string("a"))])),
    ("cel.bind(x, 2, x * x)", .int(4)),
    ("cel.bind(x, [1, 2], x.map(y, y + size(x)))", .list([.int(3), .int(4)])),
    ("cel.bind(a, 1, cel.bind(b, a + 1, [a, b].exists(c, c == a + b - 1)))", .bool(true)),
    ("[1, 2].exists(x, cel.bind(y, x * 2, y == 4)) && [3].all(x, x == 3)", .bool(true)),
    ("1 + [1, 2].filter(x, x > 1)[0] * [3].map(x, x)[0]", .int(7)),
    ("has({'a': null}.a)", .bool(true)),
    ("has({'a': 1}.b)", .bool(false)),
    ("has({'a': {'b': 1}}.a.b)", .bool(true)),
  ])
  func `a macro is its meaning`(_ source: String, _ value: CELValue) {
    expect(source, is: value)
  }

  @Test(arguments: [
    ("[1, 0].all(x, 1 / x == 1)", EvaluationError.Reason.divisionByZero),
    ("[0].exists(x, 1 / x == 1)", .divisionByZero),
    ("[1, 0, 1].exists_one(x, 1 / x == 1)", .divisionByZero),
    ("[1, 0].map(x, 1 / x)", .divisionByZero),
    ("[1, 0].filter(x, 1 / x == 1)", .divisionByZero),
    ("[1].map(x, 'a', x)", .noMatchingOverload),
    ("[1].all(x, x)", .noMatchingOverload),
    ("(1/0).all(x, x)", .divisionByZero),
    ("'text'.all(x, true)", .noMatchingOverload),
    ("{'a': 1, 'b': 1}.transformMapEntry(k, v, {v: k})", .badKey),
    ("has({'a': 1}.b.c)", .noSuchKey),
    ("has([1].a)", .noMatchingOverload),
    ("[2, 1, 0].transformList(i, v, v / i > 0, v)", .divisionByZero),
  ])
  func `an error that nothing absorbs is the result`(_ source: String, _ reason: EvaluationError.Reason) {
    expect(source, fails: reason)
  }

  @Test(arguments: [
    ("[1].all(x)", CELError.Reason.badMacro, 8),
    ("[1].all(1, true)", .badMacro, 8),
    ("[1].all(x.y, true)", .badMacro, 8),
    ("[1].all(x, true, false)", .badMacro, 15),
    ("[1].exists(x, x, true)", .badMacro, 14),
    ("[1].map()", .badMacro, 8),
    ("[1].filter(x, true, true)", .badMacro, 18),
    ("[1].transformMap(x, true)", .badMacro, 20),
    ("has(1)", .badMacro, 0),
    ("has(value)", .badMacro, 0),
    ("has(value[0])", .badMacro, 0),
    ("has(value.?a)", .badMacro, 0),
    ("has(value.a, value.b)", .unexpectedToken, 11),
    ("has(value.a + 1)", .badMacro, 0),
    ("cel.bind(1, 2, 3)", .badMacro, 9),
    ("[1].all(x, x > 0) && x > 0", .unknownVariable, 21),
    ("[1].all(for, true)", .reservedWord, 8),
    ("[1].all(true, true)", .badMacro, 8),
  ])
  func `a macro without its form is refused`(_ source: String, _ reason: CELError.Reason, _ position: Int) {
    expect(source, isRefusedFor: reason, at: position)
  }

  @Test func `a variable of a macro hides one of the environment, and a leading dot finds that`() throws {
    let activation = try change(value: "[1]", oldValue: "2")
    #expect(try Program(filter: "value.all(oldValue, oldValue == 1)").matches(activation))
    #expect(try Program(filter: "value.all(oldValue, .oldValue == 2)").matches(activation))
  }

  @Test func `macros go over JSON as over lists and maps`() throws {
    let activation = try change(value: #"{"rooms":[{"t":20},{"t":25.5},{"x":[]}],"n":{"a":1,"b":[2,3],"a":3}}"#)
    for source in [
      "value.rooms.exists(r, r.t > 25)", "value.rooms.filter(r, has(r.t)).map(r, r.t) == [20, 25.5]",
      "value.rooms.exists(i, r, i == 2 && has(r.x))", "value.n.map(k, k) == ['b', 'a']",
      "value.n.all(k, v, k == 'b' ? v[1] == 3 : v == 3)", "size(value.n) == 2",
      "value.n.transformMap(k, v, k) == {'a': 'a', 'b': 'b'}",
    ] {
      #expect(try Program(filter: source).match(activation) == .yes, "\(source)")
    }
  }
}
