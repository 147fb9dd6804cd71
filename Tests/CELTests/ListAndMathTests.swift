// SPDX-License-Identifier: MIT

import CEL
import Testing

/// The list and math extensions.
@Suite struct ListAndMathTests {
  @Test(arguments: [
    "[1, 2, 1.0, 'a', 'a'].distinct() == [1, 2, 'a']", "[].distinct() == []", "[1, [2, [3]]].flatten() == [1, 2, [3]]",
    "[1, [2, [3]]].flatten(2) == [1, 2, 3]",
    "[1, [2]].flatten(0) == [1, [2]]", "[[], [[]]].flatten() == [[]]", "[1, 2, 3].reverse() == [3, 2, 1]",
    "[1, 2, 3, 4].slice(1, 3) == [2, 3]", "[1].slice(1, 1) == []",
    "[3, 1, 2].sort() == [1, 2, 3]", "['b', 'a'].sort() == ['a', 'b']", "[2.5, 1, 3u].sort() == [1, 2.5, 3]",
    "[].sort() == []", "[true, false].sort() == [false, true]",
    "lists.range(4) == [0, 1, 2, 3]", "lists.range(0) == []", "[1, 2].first().value() == 1",
    "[1, 2].last().value() == 2", "![].first().hasValue()",
    "math.greatest(-7, 5) == 5", "math.greatest(1, 1.0, 3u) == 3", "math.greatest([5.4, 10, 3u, -5.0, 3.5]) == 10",
    "math.least(5.4, 10, 3u, -5.0, 9223372036854775807) == -5.0",
    "type(math.greatest(1, 1.0)) == int", "math.least(-5) == -5", "math.ceil(-1.2) == -1.0", "math.floor(-1.2) == -2.0",
    "math.round(-1.5) == -2.0", "math.round(1.5) == 2.0",
    "math.trunc(-1.9) == -1.0", "math.abs(-11) == 11", "math.abs(-11.5) == 11.5", "math.abs(1u) == 1u",
    "[3, 1, 2].sortBy(x, -x) == [3, 2, 1]", "['ccc', 'a', 'bb'].sortBy(s, s.size()) == ['a', 'bb', 'ccc']",
    "[[2, 'a'], [1, 'b'], [2, 'c'], [1, 'd']].sortBy(p, p[0]) == [[1, 'b'], [1, 'd'], [2, 'a'], [2, 'c']]",
    "[].sortBy(x, x) == []", "[1, 2].sortBy(x, cel.bind(y, x, [3, 4].sortBy(z, z * y)[0] * -x)) == [2, 1]",
    "[1, 2, 3].sortBy(x, x == 2) == [1, 3, 2]", "math.sign(-11) == -1", "math.sign(0.0) == 0.0",
    "math.sign(-32.0) == -1.0",
    "math.sign(100u) == 1u", "math.sqrt(81) == 9.0", "math.isNaN(0.0/0.0)", "math.isInf(1.0/0.0)", "math.isFinite(1.5)",
    "!math.isFinite(-1.0/0.0)", "math.isNaN(math.sqrt(-1))",
    "math.bitAnd(1, 3) == 1", "math.bitOr(4, -2) == -2", "math.bitXor(1u, 3u) == 2u",
    "math.bitNot(1u) == 18446744073709551614u", "math.bitNot(0) == -1", "math.bitShiftLeft(1, 2) == 4",
    "math.bitShiftLeft(-1, 200) == 0", "math.bitShiftRight(-1024, 3) == 2305843009213693824",
    "math.bitShiftRight(-1024, 64) == 0",
    "math.bitShiftRight(1024u, 200) == 0u",
    "math.bitShiftLeft(1, 63) == -9223372036854775808", "math.bitShiftRight(1, 9223372036854775807) == 0",
  ])
  func `a function of lists or numbers is its meaning`(_ source: String) {
    expect(source, is: .bool(true))
  }

  @Test(arguments: [
    ("[1, 'a'].sortBy(x, x)", EvaluationError.Reason.noMatchingOverload),
    ("{'a': 1}.sortBy(x, x)", .noMatchingOverload),
    ("[1, 0].sortBy(x, 1 / x)", .divisionByZero), ("[[1]].sortBy(x, x)", .noMatchingOverload),
    ("[1, 'a'].sort()", .noMatchingOverload), ("[[1]].sort()", .noMatchingOverload),
    ("[1].slice(0, 2)", .indexOutOfRange), ("[1].slice(1, 0)", .indexOutOfRange),
    ("[1].slice(-1, 0)", .indexOutOfRange), ("[1].flatten(-1)", .badArgument), ("lists.range(-1)", .badArgument),
    ("lists.range(9223372036854775807)", .tooLarge),
    ("math.greatest('a')", .noMatchingOverload), ("math.greatest([])", .badArgument),
    ("math.greatest(1, 'a')", .noMatchingOverload), ("math.ceil(1)", .noMatchingOverload),
    ("math.abs(-9223372036854775808)", .overflow), ("math.sign(true)", .noMatchingOverload),
    ("math.bitAnd(2u, 1)", .noMatchingOverload), ("math.bitShiftLeft(1u, -1)", .badArgument),
    ("math.bitOr(1.2, 1)", .noMatchingOverload), ("math.isNaN(true)", .noMatchingOverload),
  ])
  func `what a function has no meaning for is an error`(_ source: String, _ reason: EvaluationError.Reason) {
    expect(source, fails: reason)
  }
}
