// SPDX-License-Identifier: MIT

import CEL
import JSON
import Testing

/// langdef "JSON Data Conversion", from values to JSON.
@Suite struct ValueTextTests {
  @Test(arguments: [
    ("null", "null"), ("true", "true"), ("-9223372036854775808", "-9223372036854775808"),
    ("18446744073709551615u", "18446744073709551615"), ("1.0", "1.0"), ("1e300", "1e+300"), ("'a\\n'", #""a\n""#),
    ("b'hello'", #""aGVsbG8=""#), ("timestamp('2009-02-13T23:31:30Z')", #""2009-02-13T23:31:30Z""#),
    ("duration('1m30s')", #""90s""#), ("[1, [], 'x']", #"[1,[],"x"]"#), ("optional.of([1])", "[1]"),
    ("optional.none()", "null"), ("{1: 2, true: 3u, 'a': {}, 4u: null}", #"{"1":2,"true":3,"a":{},"4":null}"#),
  ])
  func `a value has one form in JSON`(_ source: String, _ json: String) throws {
    let value = try Program(compiling: source).evaluate().get()
    #expect(value.json()?.description == json)
  }

  @Test(arguments: ["0.0 / 0.0", "1.0 / 0.0", "type(1)", "[type(1)]", "{'a': -1.0 / 0.0}", "optional.of(int)"])
  func `what JSON cannot say has none`(_ source: String) throws {
    #expect(try Program(compiling: source).evaluate().get().json() == nil)
  }

  @Test func `what exceeds the limits has none`() throws {
    let list = try Program(compiling: "[[[1]], 2]").evaluate().get()
    #expect(list.json(limits: JSONLimits(depth: 3)) != nil)
    #expect(list.json(limits: JSONLimits(depth: 2)) == nil)
    #expect(CELValue.string("abcdef").json(limits: JSONLimits(bytes: 8)) != nil)
    #expect(CELValue.string("abcdefg").json(limits: JSONLimits(bytes: 8)) == nil)
  }

  @Test func `times, lengths of time and bytes are read from their text`() {
    #expect(CELValue(timestamp: "1970-01-01T00:00:01.5Z") == .timestamp(seconds: 1, nanoseconds: 500_000_000))
    #expect(CELValue(timestamp: "1970-01-01") == nil)
    #expect(CELValue(duration: "-1.5s") == .duration(seconds: -1, nanoseconds: -500_000_000))
    #expect(CELValue(duration: "1") == nil)
    #expect(CELValue(base64: "aGk") == .bytes(Array("hi".utf8)))
    #expect(CELValue(base64: "!") == nil)
    #expect(CELValue.duration(seconds: -1, nanoseconds: -500_000_000).text == "-1.5s")
    #expect(CELValue.double(1e21).text == "1e+21" && CELValue.bool(true).text == "true" && CELValue.null.text.isEmpty)
  }
}
