// SPDX-License-Identifier: MIT

import CEL
import Testing

/// Text search of the language, and the string extension.
@Suite struct StringFunctionTests {
  @Test(arguments: [
    "'foobar'.startsWith('foo')", "!'foobar'.startsWith('bar')", "!''.startsWith('foo')", "'foobar'.startsWith('')",
    "'завтра'.startsWith('за')", "'foobar'.endsWith('bar')", "!'foobar'.endsWith('foo')", "''.endsWith('')",
    "'forté'.endsWith('té')",
    "'hello'.contains('he')", "'hello'.contains('')", "!'hello'.contains('ol')", "'abababc'.contains('ababc')",
    "'Straße'.contains('aß')",
    "!''.contains('a')", "'aaab'.contains('aab')", "'tacocat'.charAt(3) == 'o'", "'tacocat'.charAt(7) == ''",
    "'©αT'.charAt(1) == 'α'",
    "'tacocat'.indexOf('') == 0", "'tacocat'.indexOf('ac') == 1", "'tacocat'.indexOf('none') == -1",
    "'tacocat'.indexOf('', 3) == 3",
    "'tacocat'.indexOf('a', 3) == 5", "'ta©o©αT'.indexOf('©') == 2", "'ta©o©αT'.indexOf('©', 3) == 4",
    "'ta©o©αT'.indexOf('©αT', 3) == 4",
    "'ta©o©αT'.indexOf('©α', 5) == -1", "''.lastIndexOf('@@') == -1", "'tacocat'.lastIndexOf('') == 7",
    "'tacocat'.lastIndexOf('at') == 5",
    "'tacocat'.lastIndexOf('', 3) == 3", "'tacocat'.lastIndexOf('a', 3) == 1", "'ta©o©αT'.lastIndexOf('©', 3) == 2",
    "'ta©o©αT'.lastIndexOf('©α', 4) == 4",
    "'hello wello'.lastIndexOf('ello', 6) == 1", "'bananananana'.lastIndexOf('nana', 7) == 6",
    "'TacoCÆt Xii'.lowerAscii() == 'tacocÆt xii'",
    "'tacoCαt'.upperAscii() == 'TACOCαT'", "'12 days'.replace('{0}', '2') == '12 days'",
    "'{0} days {0}'.replace('{0}', '2') == '2 days 2'",
    "'{0} days {0} hours'.replace('{0}', '2', 1).replace('{0}', '23') == '2 days 23 hours'",
    "'ab'.replace('', '_') == '_a_b_'",
    "'ab'.replace('', '_', 2) == '_a_b'", "'ab'.replace('a', 'x', 0) == 'ab'", "''.replace('', 'x') == 'x'",
    "'aaa'.replace('aa', 'b') == 'ba'",
    "'hello world'.split(' ') == ['hello', 'world']", "'a b c'.split(' ', 0) == []",
    "'a b c'.split(' ', 1) == ['a b c']",
    "'a b c'.split(' ', 2) == ['a', 'b c']", "'o©o©o'.split('©', -1) == ['o', 'o', 'o']",
    "'añb'.split('') == ['a', 'ñ', 'b']", "''.split(',') == ['']",
    "''.split('') == []", "'abc'.split('', 2) == ['a', 'bc']", "',a,'.split(',') == ['', 'a', '']",
    "'tacocat'.substring(4) == 'cat'", "'tacocat'.substring(7) == ''",
    "'tacocat'.substring(0, 4) == 'taco'", "'ta©o©αT'.substring(2, 6) == '©o©α'",
    "' \\f\\n\\r\\t\\vtext  '.trim() == 'text'",
    "'\\u0085\\u00a0\\u1680text\\u3000'.trim() == 'text'", "'\\u180etext\\u200b'.trim() == '\\u180etext\\u200b'",
    "'  '.trim() == ''",
    "['x', 'y'].join() == 'xy'", "['x', 'y'].join('-') == 'x-y'", "[].join('-') == ''", "['', ''].join('-') == '-'",
    "'gums'.reverse() == 'smug'", "'Ta©oCαt'.reverse() == 'tαCo©aT'",
    "strings.quote('first\\nsecond') == '\"first\\\\nsecond\"'", "strings.quote('a\"b\\\\') == '\"a\\\\\"b\\\\\\\\\"'",
    "strings.quote('😀\\a') == '\"😀\\\\a\"'",
  ])
  func `a function of strings counts code points`(_ source: String) {
    expect(source, is: .bool(true))
  }

  @Test(arguments: [
    ("'tacocat'.charAt(30)", EvaluationError.Reason.indexOutOfRange), ("'tacocat'.charAt(-1)", .indexOutOfRange),
    ("'tacocat'.charAt(9223372036854775807)", .indexOutOfRange), ("'tacocat'.indexOf('a', 30)", .indexOutOfRange),
    ("'tacocat'.lastIndexOf('a', -1)", .indexOutOfRange), ("'tacocat'.substring(40)", .indexOutOfRange),
    ("'tacocat'.substring(-1)", .indexOutOfRange),
    ("'tacocat'.substring(1, 50)", .indexOutOfRange), ("'tacocat'.substring(4, 3)", .indexOutOfRange),
    ("42.charAt(2)", .noMatchingOverload),
    ("'hello'.charAt(true)", .noMatchingOverload), ("'42'.indexOf('4', 0, 1)", .noMatchingOverload),
    ("'42'.replace('2', 1)", .noMatchingOverload),
    ("42.split('2')", .noMatchingOverload), ("'a'.contains(1)", .noMatchingOverload),
    ("b'a'.contains(b'a')", .noMatchingOverload), ("[1].join()", .noMatchingOverload),
  ])
  func `positions out of range and other types are errors`(_ source: String, _ reason: EvaluationError.Reason) {
    expect(source, fails: reason)
  }

  @Test(arguments: [
    ("'no substitution'.format([])", "no substitution"), ("'%% and %%'.format([])", "% and %"),
    ("'%%%s%%'.format(['text'])", "%text%"),
    ("'%d %d, %s %s'.format([1, 2u, 'A', 'B'])", "1 2, A B"), ("'%.3f'.format([1.2345])", "1.234"),
    ("'%f'.format([2.71828])", "2.718280"),
    ("'%.0f'.format([2.5])", "2"), ("'%.6e'.format([1052.032911275])", "1.052033e+03"),
    ("'%e'.format([2.71828])", "2.718280e+00"), ("'%.2f'.format([21])", "21.00"),
    ("'%b'.format([5])", "101"), ("'%b'.format([uint(64)])", "1000000"), ("'%b'.format([true])", "1"),
    ("'%b'.format([-5])", "-101"), ("'%o'.format([11])", "13"),
    ("'%x'.format([30])", "1e"), ("'%X'.format([30])", "1E"),
    ("'%x'.format(['Hello world!'])", "48656c6c6f20776f726c6421"), ("'%X'.format([b'byte'])", "62797465"),
    ("'%s'.format([null])", "null"), ("'%s'.format([type('a')])", "string"),
    ("'%s'.format([timestamp('2023-02-03T23:31:20+00:00')])", "2023-02-03T23:31:20Z"),
    ("'%s'.format([duration('1h45m47s')])", "6347s"), ("'%s'.format([b'xyz'])", "xyz"),
    ("'%s, %s'.format([32, 56.8])", "32, 56.8"),
    (
      "'%s'.format([['abc', 3.14, null, [9, 8], timestamp('2023-02-03T23:31:20Z')]])",
      "[abc, 3.14, null, [9, 8], 2023-02-03T23:31:20Z]"
    ),
    (
      "'%s'.format([{'key1': b'xyz', 'key5': null, 'key2': duration('2h'), 'key4': true, 'key3': 2.71828}])",
      "{key1: xyz, key2: 7200s, key3: 2.71828, key4: true, key5: null}"
    ),
    ("'%s'.format([{1: 'value1', uint(2): 'value2', true: double('NaN')}])", "{1: value1, 2: value2, true: NaN}"),
    (
      "'%s %e %d'.format([[double('NaN'), double('Infinity')], double('-Infinity'), double('NaN')])",
      "[NaN, Infinity] -Infinity NaN"
    ),
    ("'%.100f'.format([0.5])", "0.5" + String(repeating: "0", count: 99)),
  ])
  func `format writes each kind of clause`(_ source: String, _ text: String) {
    expect(source, is: .string(text))
  }

  @Test(arguments: [
    "'%a'.format([1])", "'%E'.format([0.5])", "'%d %d %d'.format([0, 1])", "'%b'.format(['abc'])",
    "'%d'.format([duration('30m')])", "'%o'.format(['a'])",
    "'%x'.format([0.5])", "'%d'.format([null])", "'%e'.format([null])", "'%f'.format(['1'])", "'%'.format([])",
    "'%.'.format([1.0])", "'%.101f'.format([1.0])",
    "'%.99999999999999999999f'.format([1.0])", "'%s'.format([optional.none()])", "'%.3s'.format(['a'])",
    "'%d'.format([1.5])",
  ])
  func `a clause that does not suit its argument is an error`(_ source: String) {
    guard case .failure(let error) = evaluate(source) else {
      Issue.record("\(source) has a value")
      return
    }
    #expect([.badArgument, .indexOutOfRange].contains(error.reason))
  }
}
