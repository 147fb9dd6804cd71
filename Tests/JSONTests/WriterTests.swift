// SPDX-License-Identifier: MIT

import JSON
import Testing

@Suite struct `Writing` {
  private func written(_ write: (inout [UInt8]) -> Void) -> String {
    var bytes: [UInt8] = Array("<".utf8)
    write(&bytes)
    return String(decoding: bytes.dropFirst(), as: UTF8.self)
  }

  @Test(arguments: [
    ("", #""""#), ("plain", #""plain""#), ("\"", #""\"""#), ("\\", #""\\""#), ("/", #""/""#),
    ("\u{8}\t\n\u{C}\r", #""\b\t\n\f\r""#),
    (
      "\0\u{1}\u{7}\u{B}\u{E}\u{F}\u{10}\u{19}\u{1A}\u{1F}",
      #""\u0000\u0001\u0007\u000b\u000e\u000f\u0010\u0019\u001a\u001f""#
    ),
    ("\u{7F}\u{80}é€𝄞\u{2028}", "\"\u{7F}\u{80}é€𝄞\u{2028}\""),
    ("a long string, then \" and a tail", #""a long string, then \" and a tail""#),
    ("\n\n", #""\n\n""#), ("12345678\n", #""12345678\n""#), ("1234567\n", #""1234567\n""#),
  ])
  func `a string has the escapes that are required and no others`(value: String, expected: String) throws {
    #expect(written { $0.appendJSON(value) } == expected)
    #expect(written { $0.appendJSON(utf8: Array(value.utf8).span) } == expected)
    #expect(JSONText(value).description == expected)
    #expect(JSONTree(JSONText(value)).string(.root).map { Array($0.utf8) } == Array(value.utf8))
  }

  @Test func `every ASCII character at every offset reads back`() throws {
    for scalar in (0..<0x80).map({ Character(Unicode.Scalar(UInt8($0))) }) {
      for offset in 0..<18 {
        var value = Array(repeating: Character("é"), count: 18)
        value[offset] = scalar
        let text = JSONText(String(value))
        #expect(refusal(text.bytes) == nil)
        #expect(JSONTree(text).string(.root).map { Array($0.utf8) } == Array(String(value).utf8))
      }
    }
  }

  @Test(arguments: [
    0, 1, 9, 10, 11, 99, 100, 101, 12345, 999_999_999, 1_000_000_000, Int.max, -1, -9, -10, -12345, Int.min,
  ])
  func `an integer is its decimal digits`(value: Int) {
    #expect(written { $0.appendJSON(value) } == String(value))
    #expect(written { $0.appendJSON(Int64(value)) } == String(value))
    #expect(JSONText(value).description == String(value))
    #expect(JSONTree(JSONText(value)).int64(.root) == Int64(value))
  }

  @Test func `unsigned integers of every length are written`() {
    var value: UInt64 = 1
    for _ in 0..<20 {
      for near in [value - 1, value, value + 1] { #expect(written { $0.appendJSON(near) } == String(near)) }
      value = value.multipliedReportingOverflow(by: 10).partialValue
    }
    #expect(written { $0.appendJSON(UInt64.max) } == "18446744073709551615")
  }

  @Test(arguments: [
    (0.0, "0.0"), (-0.0, "-0.0"), (21.5, "21.5"), (21, "21.0"), (0.1, "0.1"), (1e16, "1e+16"), (1e-7, "1e-07"),
    (.greatestFiniteMagnitude, "1.7976931348623157e+308"), (.leastNonzeroMagnitude, "5e-324"),
    (0.30000000000000004, "0.30000000000000004"),
  ])
  func `a double is the shortest number that reads back`(value: Double, expected: String) {
    #expect(written { $0.appendJSON(value) } == expected)
    #expect(JSONText(value)?.description == expected)
  }

  @Test(arguments: [Double.infinity, -.infinity, .nan, .signalingNaN])
  func `what is not a finite number is no text, and null in a message`(value: Double) {
    #expect(JSONText(value) == nil)
    #expect(written { $0.appendJSON(value) } == "null")
  }

  @Test func `texts, literals and bytes are appended as they are`() throws {
    let text = try JSONText(validating: #"{"a":[1.50,"\u0041"]}"#)
    #expect(written { $0.appendJSON(text) } == text.description)
    #expect(written { $0.append(literal: #"{"type":"ok","id":"#) } == #"{"type":"ok","id":"#)
    #expect(written { $0.append(literal: "") } == "")
    #expect(written { $0.append(bytes: text.bytes.span.extracting(0..<4)) } == #"{"a""#)
    #expect(
      written {
        $0.appendJSON(true); $0.appendJSON(false)
      } == "truefalse")
  }

  @Test func `the constants are the literals`() {
    #expect(
      [JSONText.null, .true, .false, JSONText(true), JSONText(false)].map(\.description) == [
        "null", "true", "false", "true", "false",
      ])
  }

  @Test func `texts are equal when their bytes are`() throws {
    let same = [try JSONText(validating: "[1, 2]"), try JSONText(validating: "[1,2] ")]
    #expect(same[0] == same[1] && same[0].hashValue == same[1].hashValue)
    let different = try ["1", "1.0", "10", #""a""#, #""\u0061""#, "[]", #"{"a":1,"b":2}"#, #"{"b":2,"a":1}"#].map {
      try JSONText(validating: $0)
    }
    #expect(Set(different).count == different.count)
    #expect(different[0] != different[1])
  }
}
