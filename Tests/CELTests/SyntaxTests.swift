// SPDX-License-Identifier: MIT

import CEL
import Testing

/// langdef "Syntax": tokens, precedence, associativity.
@Suite struct SyntaxTests {
  @Test(arguments: [
    ("17", CELValue.int(17)),
    ("-9223372036854775808", .int(.min)),
    ("9223372036854775807", .int(.max)),
    ("0x7fffFFFFffffFFFF", .int(.max)),
    ("-0x8000000000000000", .int(.min)),
    ("0xAb", .int(171)),
    ("007", .int(7)),
    ("0u", .uint(0)),
    ("18446744073709551615u", .uint(.max)),
    ("0xFFU", .uint(255)),
    ("0.0", .double(0)),
    ("1.5", .double(1.5)),
    (".5", .double(0.5)),
    ("-.5", .double(-0.5)),
    ("1e3", .double(1000)),
    ("1E+3", .double(1000)),
    ("-2.3e+1", .double(-23)),
    ("1.25e-2", .double(0.0125)),
    ("1e-400", .double(0)),
    ("true", .bool(true)),
    ("false", .bool(false)),
    ("null", .null),
    ("[]", .list([])),
    ("[1, 'a', [true]]", .list([.int(1), .string("a"), .list([.bool(true)])])),
    ("[1, 2,]", .list([.int(1), .int(2)])),
    ("{}", .map([])),
    ("{'k': 1, 2: [3],}", .map([(.string("k"), .int(1)), (.int(2), .list([.int(3)]))])),
    ("int", .type("int")),
    ("google.protobuf.Timestamp", .type("google.protobuf.Timestamp")),
  ])
  func `a literal is its value`(_ source: String, _ value: CELValue) {
    expect(source, is: value)
  }

  @Test(arguments: [
    ("9223372036854775808", CELError.Reason.numberOutOfRange, 0),
    ("1 + -9223372036854775809", .numberOutOfRange, 4),
    ("18446744073709551616u", .numberOutOfRange, 0),
    ("99999999999999999999999", .numberOutOfRange, 0),
    ("1e400", .numberOutOfRange, 0),
    ("0x", .badNumber, 2),
    ("0xg", .badNumber, 2),
    ("1e", .badNumber, 2),
    ("1e+", .badNumber, 3),
    ("12ab", .badNumber, 2),
    ("1uu", .badNumber, 2),
    ("1.", .unexpectedEnd, 2),
    ("1..2", .unexpectedToken, 2),
    ("", .unexpectedEnd, 0),
    ("   ", .unexpectedEnd, 3),
    ("// nothing", .unexpectedEnd, 10),
    ("1 +", .unexpectedEnd, 3),
    ("1 2", .unexpectedToken, 2),
    ("(1", .unexpectedEnd, 2),
    ("[1", .unexpectedEnd, 2),
    ("[,]", .unexpectedToken, 1),
    ("[1,,2]", .unexpectedToken, 3),
    ("{1}", .unexpectedToken, 2),
    ("{1:}", .unexpectedToken, 3),
    ("value.", .unexpectedEnd, 6),
    ("value.1", .unexpectedToken, 5),
    ("value.in", .unexpectedToken, 6),
    ("value[]", .unexpectedToken, 6),
    ("value = 1", .unexpectedCharacter, 6),
    ("true & false", .unexpectedCharacter, 5),
    ("true | false", .unexpectedCharacter, 5),
    ("value # 1", .unexpectedCharacter, 6),
    ("é", .unexpectedCharacter, 0),
    ("1 > > 2", .unexpectedToken, 4),
    ("true ? 1", .unexpectedEnd, 8),
    ("true ? 1 : ", .unexpectedEnd, 11),
    ("true : 1", .unexpectedToken, 5),
    ("size(value,)", .unexpectedToken, 11),
    ("!", .unexpectedEnd, 1),
    ("-", .unexpectedEnd, 1),
    ("!-value", .unexpectedToken, 1),
    ("*1", .unexpectedToken, 0),
    ("Message{field: 1}", .unsupported, 7),
    ("'abc", .unterminatedString, 0),
    ("value == 'abc", .unterminatedString, 9),
    ("'a\nb'", .unterminatedString, 0),
    ("'''abc''", .unterminatedString, 0),
    ("r'\\'", .unexpectedEnd, 4),
    ("`a`", .unexpectedToken, 0),
    ("value.`a", .unterminatedString, 8),
    ("value.``", .unterminatedString, 7),
  ])
  func `what the grammar does not allow is refused where it is`(
    _ source: String, _ reason: CELError.Reason, _ position: Int
  ) {
    if source == "r'\\'" {
      // A raw string ends at its quote, whatever stands before it.
      expect(source, is: .string("\\"))
    } else {
      expect(source, isRefusedFor: reason, at: position)
    }
  }

  @Test(arguments: [
    "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "package",
    "namespace", "return", "var", "void", "while",
  ])
  func `a reserved word is no variable, but can be a field`(_ word: String) {
    expect(word, isRefusedFor: .reservedWord, at: 0)
    expect("{'\(word)': 1}.\(word)", is: .int(1))
  }

  @Test(arguments: [
    ("1 + 2 * 3", CELValue.int(7)),
    ("(1 + 2) * 3", .int(9)),
    ("7 - 2 - 1", .int(4)),
    ("7 - (2 - 1)", .int(6)),
    ("100 / 10 / 5", .int(2)),
    ("100 / 10 * 5", .int(50)),
    ("10 % 4 * 3", .int(6)),
    ("-2 * 3", .int(-6)),
    ("-{'a': 2}.a * 3", .int(-6)),
    ("2 - -2", .int(4)),
    ("2--2", .int(4)),
    ("1-1", .int(0)),
    ("- 5", .int(-5)),
    ("--5", .int(5)),
    ("---5", .int(-5)),
    ("!!true", .bool(true)),
    ("!!!true", .bool(false)),
    ("!true == false", .bool(true)),
    ("1 + 1 == 2", .bool(true)),
    ("1 < 2 == true", .bool(true)),
    ("1 in [1] == true", .bool(true)),
    ("2 > 1 && 1 > 2 || true", .bool(true)),
    ("true || true && false", .bool(true)),
    ("(true || true) && false", .bool(false)),
    ("true ? 1 : true ? 2 : 3", .int(1)),
    ("false ? 1 : true ? 2 : 3", .int(2)),
    ("false ? 1 : false ? 2 : 3", .int(3)),
    ("false || true ? 1 + 1 : 2 + 2", .int(2)),
    ("(true ? false : true) ? 1 : 2", .int(2)),
    ("true ? (true ? 1 : 2) : 3", .int(1)),
    ("[1, 2][1] + 1", .int(3)),
    ("{'a': {'b': [5]}}.a.b[0]", .int(5)),
    ("{'a': 1}.a == 1 ? 'yes' : 'no'", .string("yes")),
    ("'a' + 'b' == 'ab'", .bool(true)),
    ("-1.5.size() == 1 || true", .bool(true)),
  ])
  func `operators bind as the table of precedence says`(_ source: String, _ value: CELValue) {
    expect(source, is: value)
  }

  @Test(arguments: ["1+1", " 1 + 1 ", "1\t+\n1\r\n", "1 // one\n + // plus\r !\r\n 1 // end", "\u{0C}1+1"])
  func `white space and comments separate and mean nothing`(_ source: String) {
    expect(source, is: .int(2))
  }

  @Test func `a field between backquotes can have any of its characters`() {
    expect("{'a-b c/d.e': 1}.`a-b c/d.e`", is: .int(1))
    expect("has({'a-b': 1}.`a-b`)", is: .bool(true))
  }

  @Test func `position, line and column name the place`() throws {
    let source = "value > 1 &&\n  'é' == valeu"
    do {
      _ = try Program(compiling: source)
      Issue.record("compiles")
    } catch {
      #expect(error.reason == .unknownVariable)
      #expect(error.position == 23)
      #expect(error.line == 2)
      #expect(error.column == 10)
      #expect(error.message == "unknown variable 'valeu'; did you mean 'value'?")
      #expect(
        error.rendering(in: source) == """
          2:10: unknown variable 'valeu'; did you mean 'value'?
            'é' == valeu
                   ^
          """)
    }
  }

  @Test(arguments: ["\n", "\r", "\r\n"])
  func `every kind of line break counts as one line`(_ lineBreak: String) {
    do {
      _ = try Program(compiling: "1\(lineBreak)+\(lineBreak)?")
      Issue.record("compiles")
    } catch {
      #expect(error.line == 3)
      #expect(error.column == 1)
    }
  }
}
