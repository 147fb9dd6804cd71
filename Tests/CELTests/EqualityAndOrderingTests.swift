// SPDX-License-Identifier: MIT

import CEL
import Testing

/// langdef "Equality and Ordering".
@Suite struct EqualityAndOrderingTests {
  @Test(arguments: [
    "1 == 1.0", "1.0 == 1", "1u == 1", "1u == 1.0", "!(-1 == 18446744073709551615u)", "0.0 == -0.0",
    "[1, 2u, 3.0] == [1.0, 2, 3u]", "{'a': 1} == {'a': 1.0}", "{1: 'a'} == {1u: 'a'}",
    "{'a': 1, 'b': 2} == {'b': 2, 'a': 1}", "[[]] == [[]]", "{} == {}", "[] != {}", "[1] != [1, 2]",
    "{'a': 1} != {'a': 1, 'b': 2}", "{'a': 1} != {'b': 1}", "{'a': [1, {'b': null}]} == {'a': [1, {'b': null}]}",
    "1 != '1'", "true != 1", "null != 0", "null == null", "b'a' != 'a'", "int == int", "int != uint",
    "type(1) == int", "type(int) == type", "1 in [1.0]", "!(1.5 in [1, 2])", "1.0 in {1: 2}", "!(1.5 in {1: 2})",
    "{1: 'a'}[1.0] == 'a'", "{1: 'a'}[1u] == 'a'", "'b' in ['a', 'b']", "!('b' in [])", "null in [null]",
    "[1] in [[2], [1]]", "{'a': 1} in [{'a': 1.0}]",
  ])
  func `values are equal, or not, across numeric types and in depth`(_ source: String) {
    expect(source, is: .bool(true))
  }

  @Test(arguments: ["==", "<", "<=", ">", ">="])
  func `nothing is equal to what is not a number, or ordered with it`(_ operation: String) {
    for other in ["0.0/0.0", "1.0", "1", "1u"] {
      expect("0.0/0.0 \(operation) \(other)", is: .bool(false))
      expect("\(other) \(operation) 0.0/0.0", is: .bool(false))
    }
    expect("0.0/0.0 != 0.0/0.0", is: .bool(true))
    expect("[0.0/0.0] == [0.0/0.0]", is: .bool(false))
    expect("0.0/0.0 in [0.0/0.0]", is: .bool(false))
  }

  @Test(arguments: [
    ("9223372036854775807 < 9223372036854775808u", true),
    ("-1 < 0u", true),
    ("0u > -9223372036854775808", true),
    ("18446744073709551615u > 9223372036854775807", true),
    ("9007199254740993 > 9007199254740992", true),
    // An integer and a double are compared as doubles.
    ("9007199254740993 == 9007199254740992.0", true),
    ("9223372036854775807 < 9223372036854775808.0", false),
    ("9223372036854775807 == 9223372036854775808.0", true),
    ("18446744073709551615u < 18446744073709551616.0", false),
    ("9223372036854775807 < 1e300", true),
    ("-9223372036854775808 > -1e300", true),
    ("18446744073709551615u < 1.0 / 0.0", true),
    ("0u > -0.5", true),
    ("1 < 1.5", true),
    ("2u > 1.5", true),
  ])
  func `numbers of different types are compared by value`(_ source: String, _ value: Bool) {
    expect(source, is: .bool(value))
  }

  @Test(arguments: [
    "'a' < 'b'", "'Abc' < 'aBC'", "'abc' < 'abcd'", "'a' < 'á'", "!('a' < 'AB')", "'' < 'a'", "'z' < 'é'",
    "'\u{FFFF}' < '😀'", "b'a' < b'b'", "!(b'\\xff' < b'a')", "b'' < b'\\x00'", "false < true", "!(true < true)",
    "duration('1s') < duration('1.5s')", "timestamp(1) < timestamp(2)",
  ])
  func `texts are ordered by code points, bytes by value`(_ source: String) {
    expect(source, is: .bool(true))
  }

  @Test func `the four relations agree with each other and with equality`() {
    let numbers = ["-1", "0", "1", "0u", "1u", "-1.5", "0.0", "1.0", "9223372036854775807", "18446744073709551615u"]
    for a in numbers {
      for b in numbers {
        expect("(\(a) <= \(b)) == ((\(a) < \(b)) || (\(a) == \(b)))", is: .bool(true))
        expect("(\(a) > \(b)) == !(\(a) <= \(b))", is: .bool(true))
        expect("(\(a) >= \(b)) == (\(b) <= \(a))", is: .bool(true))
      }
    }
  }
}
