// SPDX-License-Identifier: MIT

import CEL
import Testing

/// Optionals: the type, its functions, and the syntax with `?`.
@Suite struct OptionalTests {
  @Test(arguments: [
    ("optional.of(null).hasValue()", CELValue.bool(true)),
    ("optional.ofNonZeroValue(null).hasValue()", .bool(false)),
    ("optional.ofNonZeroValue('').hasValue() || optional.ofNonZeroValue([]).hasValue()", .bool(false)),
    ("optional.ofNonZeroValue(0.0).hasValue() || optional.ofNonZeroValue({}).hasValue()", .bool(false)),
    ("optional.ofNonZeroValue(1).hasValue()", .bool(true)),
    ("optional.none().or(optional.none()).orValue(42)", .int(42)),
    ("optional.of(1).orValue(1/0)", .int(1)),
    ("optional.of(1).or(optional.of(1/0)).value()", .int(1)),
    ("optional.of(42).optMap(y, y + 1).value()", .int(43)),
    ("optional.none().optMap(y, y + 1).hasValue()", .bool(false)),
    ("optional.of({'k': 1}).optFlatMap(m, m.?k).value()", .int(1)),
    ("optional.of({}).optFlatMap(m, m.?k).hasValue()", .bool(false)),
    ("{}.?a.hasValue()", .bool(false)),
    ("{'a': 1}.?a.value()", .int(1)),
    ("{'a': {'b': 1}}.?a.b.value()", .int(1)),
    ("{}.?a.b.c.hasValue()", .bool(false)),
    ("{'a': {}}.?a.?b.orValue('none')", .string("none")),
    ("{'c': {'x-y': 'z'}}.c[?'x-y'].orValue('d')", .string("z")),
    ("[1][?0].value()", .int(1)),
    ("[1][?1].hasValue()", .bool(false)),
    ("[1][?-1].hasValue()", .bool(false)),
    ("optional.none()[0].hasValue()", .bool(false)),
    ("optional.of(['a'])[0].value()", .string("a")),
    ("{1u: 1.0, 2: 2.0}[?2.0].value()", .double(2)),
    ("has({}.?x.y)", .bool(false)),
    ("has({'x': {'y': 'z'}}.?x.y)", .bool(true)),
    ("type(optional.none()) == optional_type", .bool(true)),
    ("[?{}.?c, ?optional.of(42), ?optional.none(), 1]", .list([.int(42), .int(1)])),
    ("{?'a': {}.?a, ?'b': optional.of(2), 'c': 3}", .map([(.string("b"), .int(2)), (.string("c"), .int(3))])),
    ("optional.none() == optional.none()", .bool(true)),
    ("optional.none() == optional.of(1)", .bool(false)),
    ("optional.of(1) == optional.of(1.0)", .bool(true)),
    ("optional.of(1)", .optional(.int(1))),
    ("optional.none()", .optional(nil)),
  ])
  func `an optional has a value or none`(_ source: String, _ value: CELValue) {
    expect(source, is: value)
  }

  @Test(arguments: [
    ("optional.none().value()", EvaluationError.Reason.noValue),
    ("{'a': null}.?a.b.hasValue()", .noMatchingOverload),
    ("1 .orValue(2)", .noMatchingOverload),
    ("optional.none().or(1)", .noMatchingOverload),
    ("[?1]", .noMatchingOverload),
    ("{?'a': 1}", .noMatchingOverload),
    ("optional.of(1).optFlatMap(x, x)", .noMatchingOverload),
    ("optional.of(1/0).hasValue()", .divisionByZero),
    ("{'a': 1}.a.z.orValue(1)", .noMatchingOverload),
  ])
  func `what is no optional, or has no value, is an error where one is needed`(
    _ source: String, _ reason: EvaluationError.Reason
  ) {
    expect(source, fails: reason)
  }
}
