// SPDX-License-Identifier: MIT

import JSON
import Testing

/// What RFC 8259 does not allow must be refused, with the rule that was broken and the place.
///
/// The tables have a row for every `n_` case of the public JSONTestSuite, by its categories. A row is the source, the
/// reason and the offset.
@Suite struct `Refused texts` {
  typealias Row = (source: String, reason: JSONError.Reason, offset: Int)

  static let arrays: [Row] = [
    ("[1 true]", .unexpectedByte, 3), ("[a«e5»]", .unexpectedByte, 1), (#"["": 1]"#, .unexpectedByte, 3),
    (#"[""],"#, .trailingBytes, 4), ("[,1]", .unexpectedByte, 1), ("[1,,2]", .unexpectedByte, 3),
    (#"["x",,]"#, .unexpectedByte, 5), (#"["x"]]"#, .trailingBytes, 5), (#"["",]"#, .unexpectedByte, 4),
    (#"["x""#, .unexpectedEnd, 4), ("[x", .unexpectedByte, 1), ("[3[4]]", .unexpectedByte, 2),
    ("[«ff»]", .unexpectedByte, 1), ("[1:2]", .unexpectedByte, 2), ("[,]", .unexpectedByte, 1),
    ("[-]", .badNumber, 2), (#"[   , ""]"#, .unexpectedByte, 4), ("[\"a\",\n4\n,1,", .unexpectedEnd, 11),
    ("[1,]", .unexpectedByte, 3), ("[1,,]", .unexpectedByte, 3), ("[\"«0b»a\"«0c»]", .controlInString, 2),
    ("[*]", .unexpectedByte, 1), (#"[""#, .unexpectedEnd, 2), ("[1,", .unexpectedEnd, 3),
    ("[1,\n1\n,1", .unexpectedEnd, 8), ("[{}", .unexpectedEnd, 3), ("[1}", .unexpectedByte, 2),
  ]

  static let literals: [Row] = [
    ("[fals]", .badLiteral, 5), ("[nul]", .badLiteral, 4), ("[tru]", .badLiteral, 4), ("fals", .unexpectedEnd, 4),
    ("nul", .unexpectedEnd, 3), ("t", .unexpectedEnd, 1), ("nulll", .trailingBytes, 4),
    ("truefalse", .trailingBytes, 4),
    ("[True]", .unexpectedByte, 1), ("nUll", .badLiteral, 1), ("f«00»lse", .badLiteral, 1),
    ("undefined", .unexpectedByte, 0),
  ]

  static let numbers: [Row] = [
    ("123«00»", .trailingBytes, 3), ("[++1234]", .unexpectedByte, 1), ("[+1]", .unexpectedByte, 1),
    ("[+Inf]", .unexpectedByte, 1), ("[-01]", .badNumber, 3), ("[-1.0.]", .unexpectedByte, 5), ("[-2.]", .badNumber, 4),
    ("[-NaN]", .badNumber, 2), ("[.-1]", .unexpectedByte, 1), ("[.2e-3]", .unexpectedByte, 1),
    ("[0.1.2]", .unexpectedByte, 4), ("[0.3e+]", .badNumber, 6), ("[0.3e]", .badNumber, 5), ("[0.e1]", .badNumber, 3),
    ("[0E+]", .badNumber, 4), ("[0E]", .badNumber, 3), ("[0e+]", .badNumber, 4), ("[0e]", .badNumber, 3),
    ("[1.0e+]", .badNumber, 6), ("[1.0e-]", .badNumber, 6), ("[1.0e]", .badNumber, 5),
    ("[1 000.0]", .unexpectedByte, 3),
    ("[1eE2]", .badNumber, 3), ("[2.e+3]", .badNumber, 3), ("[2.e-3]", .badNumber, 3), ("[2.e3]", .badNumber, 3),
    ("[9.e+]", .badNumber, 3), ("[Inf]", .unexpectedByte, 1), ("[NaN]", .unexpectedByte, 1),
    ("[１]", .unexpectedByte, 1),
    ("[1+2]", .unexpectedByte, 2), ("[0x1]", .unexpectedByte, 2), ("[0x42]", .unexpectedByte, 2),
    ("[Infinity]", .unexpectedByte, 1), ("[0e+-1]", .badNumber, 4), ("[-123.123foo]", .unexpectedByte, 9),
    ("[123«e5»]", .unexpectedByte, 4), ("[1e1«e5»]", .unexpectedByte, 4), ("[0«e5»]\n", .unexpectedByte, 2),
    ("[-Infinity]", .badNumber, 2), ("[-foo]", .badNumber, 2), ("[- 1]", .badNumber, 2), ("[-012]", .badNumber, 3),
    ("[-.123]", .badNumber, 2), ("[-1x]", .unexpectedByte, 3), ("[1ea]", .badNumber, 3), ("[1e«e5»]", .badNumber, 3),
    ("[1.]", .badNumber, 3), ("[.123]", .unexpectedByte, 1), ("[1.2a-3]", .unexpectedByte, 4),
    ("[1.8011670033376514H-308]", .unexpectedByte, 19), ("[012]", .badNumber, 2), ("[-00.0]", .badNumber, 3),
    ("[00e0]", .badNumber, 2), ("[00.0]", .badNumber, 2), ("[-00e0]", .badNumber, 3), ("-", .unexpectedEnd, 1),
    ("1.", .unexpectedEnd, 2), ("1e", .unexpectedEnd, 2), ("1e+", .unexpectedEnd, 3), ("-«80»", .badNumber, 1),
    ("1_000", .trailingBytes, 1), ("01", .badNumber, 1), ("1,", .trailingBytes, 1),
  ]

  static let objects: [Row] = [
    (#"["x", truth]"#, .badLiteral, 9), ("{[: \"x\"}\n", .unexpectedByte, 1), (#"{"x", null}"#, .unexpectedByte, 4),
    (#"{"x"::"b"}"#, .unexpectedByte, 5), ("{🇨🇭}", .unexpectedByte, 1), (#"{"a":"a" 123}"#, .unexpectedByte, 9),
    ("{key: 'value'}", .unexpectedByte, 1), (#"{"«b9»":"0",}"#, .badUTF8, 2), (#"{"a" b}"#, .unexpectedByte, 5),
    (#"{:"b"}"#, .unexpectedByte, 1), (#"{"a" "b"}"#, .unexpectedByte, 5), (#"{"a":"#, .unexpectedEnd, 5),
    (#"{"a""#, .unexpectedEnd, 4), ("{1:1}", .unexpectedByte, 1), ("{9999E9999:1}", .unexpectedByte, 1),
    ("{null:null,null:null}", .unexpectedByte, 1), (#"{"id":0,,,,,}"#, .unexpectedByte, 8),
    ("{'a':0}", .unexpectedByte, 1), (#"{"id":0,}"#, .unexpectedByte, 8), (#"{"a":"b"}/**/"#, .trailingBytes, 9),
    (#"{"a":"b"}/**//"#, .trailingBytes, 9), (#"{"a":"b"}//"#, .trailingBytes, 9), (#"{"a":"b"}/"#, .trailingBytes, 9),
    (#"{"a":"b",,"c":"d"}"#, .unexpectedByte, 9), (#"{a: "b"}"#, .unexpectedByte, 1), (#"{"a":"a"#, .unexpectedEnd, 7),
    (#"{ "foo" : "bar", "a" }"#, .unexpectedByte, 21), (#"{"a":"b"}#"#, .trailingBytes, 9),
    ("{\"a\":1]", .unexpectedByte, 6), (#"{"a":}"#, .unexpectedByte, 5),
  ]

  static let strings: [Row] = [
    (#"["\uD800\"]"#, .unexpectedEnd, 11), (#"["\uD800\u"]"#, .badEscape, 10), (#"["\uD800\u1"]"#, .badEscape, 11),
    (#"["\uD800\u1x"]"#, .badEscape, 11), ("[é]", .unexpectedByte, 1), (#"["\«00»"]"#, .badEscape, 3),
    (#"["\x00"]"#, .badEscape, 3), (#"["\\\"]"#, .unexpectedEnd, 7), ("[\"\\\t\"]", .badEscape, 3),
    (#"["\🌀"]"#, .badEscape, 3), (#"["\"]"#, .unexpectedEnd, 5), (#"["\u00A"]"#, .badEscape, 7),
    (#"["\uD834\uDd"]"#, .badEscape, 12), (#"["\uD800\uD800\x"]"#, .badEscape, 15), (#"["\u«e5»"]"#, .badEscape, 4),
    (#"["\a"]"#, .badEscape, 3), (#"["\uqqqq"]"#, .badEscape, 4), (#"["\«e5»"]"#, .badEscape, 3),
    (#"[\u0020"asd"]"#, .unexpectedByte, 1), (#"[\n]"#, .unexpectedByte, 1), (#"""#, .unexpectedEnd, 1),
    ("['single quote']", .unexpectedByte, 1), ("abc", .unexpectedByte, 0), (#"["\"#, .unexpectedEnd, 3),
    ("[\"a«00»a\"]", .controlInString, 3), ("[\"new\nline\"]", .controlInString, 5), ("[\"\t\"]", .controlInString, 2),
    (#""\UA66D""#, .badEscape, 2), (#"""x"#, .trailingBytes, 2), (#"["\1"]"#, .badEscape, 3),
    (#""\u12G4""#, .badEscape, 5), (#""\u"#, .unexpectedEnd, 3), (#""\u12"#, .unexpectedEnd, 5),
    ("\"abc«1f»\"", .controlInString, 4), (#""\'""#, .badEscape, 2),
  ]

  /// RFC 3629 §4, each rule at its edges.
  ///
  /// JSONTestSuite leaves these to the reader; we refuse what is not UTF-8.
  static let encodings: [Row] = [
    ("\"«80»\"", .badUTF8, 1), ("\"«bf»\"", .badUTF8, 1), ("\"«81»\"", .badUTF8, 1), ("\"«c0»«af»\"", .badUTF8, 1),
    ("\"«c1»«bf»\"", .badUTF8, 1), ("\"«c2»\"", .badUTF8, 1), ("\"«c2»«c2»\"", .badUTF8, 1), ("\"«df»a\"", .badUTF8, 1),
    ("\"«e0»«80»«80»\"", .badUTF8, 1), ("\"«e0»«9f»«bf»\"", .badUTF8, 1), ("\"«e0»«ff»\"", .badUTF8, 1),
    ("\"«e2»«82»\"", .badUTF8, 1), ("\"«e9»\"", .badUTF8, 1), ("\"«ed»«a0»«80»\"", .badUTF8, 1),
    ("\"«ed»«bf»«bf»\"", .badUTF8, 1), ("\"«f0»«80»«80»«80»\"", .badUTF8, 1), ("\"«f0»«8f»«bf»«bf»\"", .badUTF8, 1),
    ("\"«f0»«90»«80»\"", .badUTF8, 1), ("\"«f4»«90»«80»«80»\"", .badUTF8, 1), ("\"«f4»«bf»«bf»«bf»\"", .badUTF8, 1),
    ("\"«f5»«80»«80»«80»\"", .badUTF8, 1), ("\"«f8»«88»«80»«80»«80»\"", .badUTF8, 1),
    ("\"«fc»«80»«80»«80»«80»«80»\"", .badUTF8, 1), ("\"«fc»«83»«bf»«bf»«bf»«bf»\"", .badUTF8, 1),
    ("\"«fe»\"", .badUTF8, 1), ("\"«ff»\"", .badUTF8, 1), ("\"é«e9»\"", .badUTF8, 3),
    ("\"€«ed»«a0»«80»\"", .badUTF8, 4),
    ("«ff»«fe»[«00»", .unexpectedByte, 0), ("[«00»\"«00»", .unexpectedByte, 1), ("«00»[«00»\"", .unexpectedByte, 0),
    ("«ef»«bb»«bf»{}", .unexpectedByte, 0),
  ]

  static let structures: [Row] = [
    ("", .unexpectedEnd, 0), (" ", .unexpectedEnd, 1), ("[\u{2060}]", .unexpectedByte, 1),
    ("«ef»«bb»«bf»", .unexpectedByte, 0),
    ("<.>", .unexpectedByte, 0), ("[<null>]", .unexpectedByte, 1), ("[1]x", .trailingBytes, 3),
    ("[1]]", .trailingBytes, 3),
    (#"["asd]"#, .unexpectedEnd, 6), ("aå", .unexpectedByte, 0), ("1]", .trailingBytes, 1),
    (#"{"x": true,"#, .unexpectedEnd, 11),
    ("[][]", .trailingBytes, 2), ("]", .unexpectedByte, 0), ("«ef»«bb»{}", .unexpectedByte, 0),
    ("«e5»", .unexpectedByte, 0),
    ("[", .unexpectedEnd, 1), ("[«00»]", .unexpectedByte, 1), ("2@", .trailingBytes, 1), ("{}}", .trailingBytes, 2),
    (#"{"":"#, .unexpectedEnd, 4), (#"{"a":/*comment*/"b"}"#, .unexpectedByte, 5),
    (#"{"a": true} "x""#, .trailingBytes, 12),
    ("['", .unexpectedByte, 1), ("[,", .unexpectedByte, 1), ("[{", .unexpectedEnd, 2), (#"["a"#, .unexpectedEnd, 3),
    (#"["a""#, .unexpectedEnd, 4), ("{", .unexpectedEnd, 1), ("{]", .unexpectedByte, 1), ("{,", .unexpectedByte, 1),
    ("{[", .unexpectedByte, 1), (#"{"a"#, .unexpectedEnd, 3), ("{'a'", .unexpectedByte, 1),
    (#"["\{["\{["\{["\{"#, .badEscape, 3), ("«e9»", .unexpectedByte, 0), ("*", .unexpectedByte, 0),
    (#"{"a":"b"}#{}"#, .trailingBytes, 9), (#"[\u000A""]"#, .unexpectedByte, 1), ("[1", .unexpectedEnd, 2),
    ("[ false, nul", .unexpectedEnd, 12), ("[ true, fals", .unexpectedEnd, 12), ("[ false, tru", .unexpectedEnd, 12),
    (#"{"asd":"asd""#, .unexpectedEnd, 12), ("å", .unexpectedByte, 0), ("\u{2060}", .unexpectedByte, 0),
    ("[«0c»]", .unexpectedByte, 1),
    ("[1«0b»]", .unexpectedByte, 2), ("[\u{A0}1]", .unexpectedByte, 1), ("[1]«00»", .trailingBytes, 3),
    ("«00»", .unexpectedByte, 0),
  ]

  @Test(arguments: [arrays, literals, numbers, objects, strings, encodings, structures])
  func `a text outside the grammar is refused, with the rule and the place`(table: [Row]) {
    for row in table {
      #expect(refusal(raw(row.source)) == JSONError(row.reason, at: row.offset), "\(row.source)")
    }
  }

  @Test func `every byte that has no place is noticed at every offset`() {
    // A plain string of 40 bytes with one byte replaced: control characters, and lead and continuation bytes alone.
    let plain = Array(("\"" + String(repeating: "a", count: 38) + "\"").utf8)
    for byte in (0..<0x20).map(UInt8.init) + (0x80...0xFF).map(UInt8.init) {
      for offset in 1...38 {
        var source = plain
        source[offset] = byte
        let reason: JSONError.Reason = byte < 0x20 ? .controlInString : .badUTF8
        #expect(refusal(source) == JSONError(reason, at: offset))
      }
    }
  }

  @Test func `every truncation of a text is refused`() {
    let samples = [
      #"{"device":"kitchen","values":[1,-2.5e+3,true,false,null,{"k\u00e9y":"v\ud83d\ude00\n"}],"é€𝄞":[[],{}]}"#,
      #"[ { "a" : [ 1 , 2 ] , "b" : "c" } , 3 ]"#, #""a string with \\ and \" and é""#, #"[[[[{"a":[{"b":{}}]}]]]]"#,
    ]
    for sample in samples {
      let bytes = Array(sample.utf8)
      #expect(refusal(bytes) == nil)
      for length in 0..<bytes.count {
        let error = refusal(Array(bytes[..<length]))
        // A cut through a character is seen as one, any other as the end.
        let isCutCharacter = bytes[length] & 0xC0 == 0x80
        #expect(error?.reason == (isCutCharacter ? .badUTF8 : .unexpectedEnd), "\(sample) cut at \(length)")
        #expect(error.map { $0.offset <= length } == true)
      }
    }
  }

  @Test func `every insertion of a second value is refused`() {
    for sample in ["1", "true", "null", #""a""#, "[]", "{}", #"{"a":1}"#] {
      for other in ["1", "true", #""b""#, "[", "]", "{", "}", ",", ":", "-"] where !(sample == "1" && other == "1") {
        #expect(refusal(Array((sample + other).utf8))?.reason == .trailingBytes, "\(sample)\(other)")
        #expect(refusal(Array((sample + " " + other).utf8))?.reason == .trailingBytes, "\(sample) \(other)")
      }
    }
  }

  @Test(arguments: JSONError.Reason.allCases)
  func `an error says the place in words`(reason: JSONError.Reason) {
    let text = JSONError(reason, at: 17).description
    #expect(text.contains("17"))
    #expect(text.contains("RFC 8259") || [.tooDeep, .tooManyDigits, .tooLarge].contains(reason))
  }

  @Test func `an error is two words`() {
    #expect(MemoryLayout<JSONError>.size <= 16)
  }
}
