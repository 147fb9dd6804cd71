// SPDX-License-Identifier: MIT

import CEL
import Testing

/// langdef "Regular Expressions": the syntax of RE2, in linear time.
@Suite struct PatternTests {
  @Test(arguments: [
    ("ubb", "hubba", true), ("foo|bar", "", false), ("", "cows", true), ("", "", true), ("gr(a|e)y", "grey", true),
    ("ba(na)*", "banana", true), ("^ba(na)*$", "banan", false),
    ("a+ñ+a+", "mañana", true), ("^abc$", "abc", true), ("^abc$", "xabc", false), ("a.c", "abc", true),
    ("a.c", "a\nc", false), ("(?s)a.c", "a\nc", true), ("^b", "a\nb", false), ("(?m)^b", "a\nb", true),
    ("(?m)a$", "a\nb", true), ("a$", "a\nb", false), ("\\Ab", "ab", false), ("b\\z", "ab", true),
    ("[a-c]+x", "abcx", true), ("[^a-c]x", "ax", false), ("[]a]", "]", true), ("[a-]", "-", true),
    ("[\\d_]+$", "12_3", true),
    ("[[:alpha:]]+[[:digit:]]", "ab1", true), ("[[:^alpha:]]", "ab", false), ("\\d\\D\\w\\W\\s\\S", "1aa- x", true),
    ("\\bfoo\\b", "a foo b", true), ("\\bfoo\\b", "afoo", false), ("\\Boo", "foo", true),
    ("a{3}", "aa", false), ("a{3}", "aaa", true), ("^a{2,3}$", "aaaa", false), ("^a{2,}$", "aaaa", true),
    ("a{,3}", "a{,3}", true), ("^(ab?){2}$", "aba", true), ("x{0}y", "y", true), ("^a*?b+?c??$", "aabb", true),
    ("(?i)HeLLo", "hello", true), ("(?i)[A-Z]+$", "abc", true), ("(?i)É", "é", true), ("(?i:a)b", "AB", false),
    ("(?i:a)b", "Ab", true), ("(?P<name>a)(?<other>b)", "ab", true), ("(?:a|b)c", "bc", true),
    ("a(?i)b|c", "aB", true), ("a(?i)b|c", "C", true), ("(a(?i)b)c", "aBC", false),
    ("\\x41\\x{1F600}\\101", "A😀A", true), ("\\Qa.b\\E+", "a.bbb", true), ("\\Qa.b", "axb", false),
    ("\\.\\*\\_", ".*_", true),
    ("\\p{Lu}\\pN\\P{L}", "A1-", true), ("\\p{^Lu}", "A", false), ("[\\pL-]+$", "é-a", true), ("|a", "b", true),
    ("(|a)+$", "aa", true), ("(a*)*b", "aaab", true), ("(a|aa)+$", "aaaaaaaaaaaaaaaaaaaa", true),
    ("(((a)))", "a", true),
    ("^.$", "😀", true), ("^..$", "😀", false), ("é", "e\u{301}", false), ("a||b", "", true),
    ("^kitchen/.*/temp$", "kitchen/a/temp", true), ("[\\]]", "]", true), ("\\t\\n", "\t\n", true), ("$", "", true),
    ("^$", "a", false),
  ])
  func `a pattern is found anywhere in the text`(_ pattern: String, _ text: String, _ matches: Bool) {
    // Known only to the evaluation, and known to the compiler.
    expect("t.matches(p)", is: .bool(matches), [("t", .string(text)), ("p", .string(pattern))])
    let literal = "r\"\"\"\(pattern)\"\"\""
    expect("t.matches(\(literal)) && matches(t, \(literal))", is: .bool(matches), [("t", .string(text))])
  }

  @Test(arguments: [
    "(", ")", "a)", "[a", "[b-a]", "*a", "+", "?", "a**", "a+*", "a{2}{3}", "a{1001}", "a{3,2}", "\\", "\\1", "\\8",
    "(?<n", "(?<>a)", "(?x)a", "(?=a)", "(?!a)", "(?<=a)", "(?", "\\p{Greek}", "\\pX", "\\p{L", "\\x4", "\\x{110000}",
    "\\C", "\\y", "[[:foo:]]", "(a{1000}){1000}", "a{1000}b{1000}c{1000}",
    "((((((){1000}){1000}){1000}){1000}){1000}){1000}",
    String(repeating: "(", count: 100) + String(repeating: ")", count: 100),
  ])
  func `a pattern that is no regular expression, or too large, is refused`(_ pattern: String) {
    expect("'a'.matches(p)", fails: .badArgument, [("p", .string(pattern))])
    expect("path.matches(r\"\"\"\(pattern)\"\"\")", isRefusedFor: .badPattern, at: 13)
  }

  @Test func `matching takes time that is linear in the text`() throws {
    let text = String(repeating: "a", count: 20_000)
    for pattern in ["(a*)*b", "(a|a)*b", "(a+)+$b", "a*a*a*a*a*b", "(.*)(.*)(.*)b", "(a?){50}b"] {
      let result = evaluate(
        "t.matches(p)", [("t", .string(text)), ("p", .string(pattern))],
        limits: CELLimits(budget: text.utf8.count * 200))
      #expect(result == .success(.bool(false)), "\(pattern)")
    }
  }

  @Test func `matching is paid from the budget`() {
    let text = String(repeating: "a", count: 100_000)
    expect(
      "t.matches('(a?){200}b')", fails: .budgetExceeded, [("t", .string(text))],
      limits: CELLimits(budget: 100_000))
  }
}
