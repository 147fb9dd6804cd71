// SPDX-License-Identifier: MIT

import JSON
import Testing

/// What RFC 8259 allows must be accepted, and kept byte for byte apart from white space.
///
/// The tables have a row for every `y_` case of the public JSONTestSuite, by its categories.
@Suite struct `Accepted texts` {
  /// A source and its compact form; nil when that is the source.
  typealias Row = (source: String, compact: String?)

  static let structures: [Row] = [
    ("false", nil), ("42", nil), ("-0.1", nil), ("null", nil), (#""asd""#, nil), ("true", nil), (#""""#, nil),
    ("[\"a\"]\n", #"["a"]"#), ("[true]", nil), (" [] ", "[]"), ("\t\r\n 1\t\r\n ", "1"), ("{}", nil), ("[[],{}]", nil),
  ]

  static let arrays: [Row] = [
    ("[[]   ]", "[[]]"), (#"[""]"#, nil), ("[]", nil), (#"["a"]"#, nil), ("[false]", nil),
    (#"[null, 1, "1", {}]"#, #"[null,1,"1",{}]"#), ("[null]", nil), ("[1\n]", "[1]"), (" [1]", "[1]"),
    ("[1,null,null,null,2]", nil), ("[2] ", "[2]"), ("[[[[[[[[1]]]]]]]]", nil),
  ]

  static let objects: [Row] = [
    (#"{"asd":"sdf", "dfg":"fgh"}"#, #"{"asd":"sdf","dfg":"fgh"}"#), (#"{"asd":"sdf"}"#, nil),
    (#"{"a":"b","a":"c"}"#, nil), (#"{"a":"b","a":"b"}"#, nil), ("{}", nil), (#"{"":0}"#, nil),
    (#"{"foo\u0000bar": 42}"#, #"{"foo\u0000bar":42}"#),
    (#"{ "min": -1.0e+28, "max": 1.0e+28 }"#, #"{"min":-1.0e+28,"max":1.0e+28}"#),
    (
      #"{"x":[{"id": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}], "id": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}"#,
      #"{"x":[{"id":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}],"id":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}"#
    ),
    (#"{"a":[]}"#, nil),
    (
      #"{"title":"\u041f\u043e\u043b\u0442\u043e\u0440\u0430 \u0417\u0435\u043c\u043b\u0435\u043a\u043e\u043f\u0430" }"#,
      #"{"title":"\u041f\u043e\u043b\u0442\u043e\u0440\u0430 \u0417\u0435\u043c\u043b\u0435\u043a\u043e\u043f\u0430"}"#
    ),
    ("{\n\"a\": \"b\"\n}", #"{"a":"b"}"#), ("{\"a\" : {\"b\"\t:[ ]\t} }", #"{"a":{"b":[]}}"#),
  ]

  static let numbers: [Row] = [
    ("[123e65]", nil), ("[0e+1]", nil), ("[0e1]", nil), ("[ 4]", "[4]"),
    ("[-0.000000000000000000000000000000000000000000000000000000000000000000000000000001]", nil), ("[20e1]", nil),
    ("[-0]", nil), ("[-123]", nil), ("[-1]", nil), ("[1E22]", nil), ("[1E-2]", nil), ("[1E+2]", nil),
    ("[123e45]", nil), ("[123.456e78]", nil), ("[1e-2]", nil), ("[1e+2]", nil), ("[123]", nil), ("[123.456789]", nil),
    ("0", nil), ("-0.0", nil), ("21.50", nil), ("9007199254740993", nil), ("1e0001", nil), ("0.0e-00", nil),
    ("10", nil), ("[0,0]", nil),
  ]

  static let strings: [Row] = [
    (#"["\u0060\u012a\u12AB"]"#, nil), (#"["\uD801\udc37"]"#, nil), (#"["\ud83d\ude39\ud83d\udc8d"]"#, nil),
    (#"["\"\\\/\b\f\n\r\t"]"#, nil), (#"["\\u0000"]"#, nil), (#"["\""]"#, nil), (#"["a/*b*/c/*d//e"]"#, nil),
    (#"["\\a"]"#, nil), (#"["\\n"]"#, nil), (#"["\u0012"]"#, nil), (#"["\uFFFF"]"#, nil), (#"["asd"]"#, nil),
    (#"[ "asd"]"#, #"["asd"]"#), (#"["\uDBFF\uDFFF"]"#, nil), (#"["new\u00A0line"]"#, nil), (#"["\u0000"]"#, nil),
    (#"["\u002c"]"#, nil), (#"["π"]"#, nil), (#"["asd "]"#, nil), (#"" ""#, nil), (#"["\uD834\uDd1e"]"#, nil),
    (#"["\u0821"]"#, nil), (#"["\u0123"]"#, nil), (#"["\u0061\u30af\u30EA\u30b9"]"#, nil),
    (#"["new\u000Aline"]"#, nil), (#"["\uA66D"]"#, nil), (#"["\u005C"]"#, nil), (#"["⍂㈴⍂"]"#, nil),
    (#"["\uDBFF\uDFFE"]"#, nil), (#"["\uD83F\uDFFE"]"#, nil), (#"["\u200B"]"#, nil), (#"["\u2064"]"#, nil),
    (#"["\uFDD0"]"#, nil), (#"["\uFFFE"]"#, nil), (#"["\u0022"]"#, nil), (#"["€𝄞"]"#, nil),
    ("[\"a\u{7F}a\"]", nil), ("[\"\u{7F}\"]", nil), ("[\"\u{2028}\"]", nil), ("[\"\u{2029}\"]", nil),
    ("[\"\u{10FFFF}\"]", nil), ("[\"\u{FFFF}\"]", nil), ("[\"\u{1BFFF}\"]", nil), ("[\"\u{80}\u{7FF}\u{800}\"]", nil),
    ("[\"\u{D7FF}\u{E000}\u{10000}\"]", nil), (#"["\uaBcD\uEF01"]"#, nil), (#"["  a  "]"#, nil), (#""{[,:]}""#, nil),
  ]

  @Test(arguments: [structures, arrays, objects, numbers, strings])
  func `a text of the grammar is accepted, and only white space is taken from it`(table: [Row]) throws {
    for row in table {
      let expected = row.compact ?? row.source
      #expect(throws: Never.self, "\(row.source)") {
        let text = try JSONText(validating: row.source)
        #expect(text.description == expected)
        #expect(try JSONText(validating: Array(row.source.utf8)) == text)
      }
    }
  }

  @Test func `white space is allowed between any two tokens and nowhere lost inside strings`() throws {
    let tokens = ["{", #"" a b ""#, ":", "[", "1", ",", #""\t""#, ",", "{", "}", ",", "[", "]", ",", "null", "]", "}"]
    let compact = tokens.joined()
    for space in [" ", "\t", "\n", "\r", "\r\n", "        ", "\n         \t", String(repeating: " ", count: 63)] {
      let spaced = space + tokens.joined(separator: space) + space
      #expect(try JSONText(validating: spaced).description == compact)
    }
  }

  @Test func `a value is accepted at every distance from the end of the source`() throws {
    // The scanners read eight bytes where there are eight: both ways must see the same.
    for value in [#""é€𝄞\n\"""#, "-12.5e+3", "false", #"{"k":[true,null]}"#, #""0123456789abcdef""#] {
      for length in 0..<24 {
        let padded = "[\(value)" + String(repeating: " ", count: length) + "]"
        #expect(try JSONText(validating: padded).description == "[\(value)]")
      }
    }
  }

  @Test func `an array that is already compact keeps its storage`() throws {
    let source = Array(#"{"a":[1,2,3],"b":"a string that is long enough"}"#.utf8)
    let text = try JSONText(validating: source)
    let isSame = source.span.isIdentical(to: text.bytes.span)
    #expect(isSame)
  }

  @Test func `an array with much spare capacity is copied to storage of its size`() throws {
    var source = Array("[1,2,3]".utf8)
    source.reserveCapacity(4096)
    #expect(try JSONText(validating: source).bytes.capacity < 64)
    #expect(try JSONText(validating: "  [ 1 ,\n" + String(repeating: " ", count: 4096) + "2 ]").bytes.capacity < 64)
  }
}
