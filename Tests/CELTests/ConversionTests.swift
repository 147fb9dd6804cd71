// SPDX-License-Identifier: MIT

import CEL
import Testing

/// langdef "List of Standard Definitions": type conversions and type values.
@Suite struct ConversionTests {
  @Test(arguments: [
    ("int(42u)", CELValue.int(42)), ("int(-123.456)", .int(-123)), ("int(1.9)", .int(1)), ("int('987')", .int(987)),
    ("int('-9223372036854775808')", .int(.min)), ("int(5)", .int(5)),
    ("int(timestamp('2004-09-16T23:59:59Z'))", .int(1_095_379_199)),
    ("uint(1729)", .uint(1729)), ("uint(3.99)", .uint(3)), ("uint('300')", .uint(300)),
    ("uint(1e19)", .uint(10_000_000_000_000_000_000)),
    ("double(7)", .double(7)), ("double(7u)", .double(7)), ("double('-84.32e7')", .double(-843_200_000)),
    ("double('123')", .double(123)), ("double('NaN')", .double(.nan)), ("double('-Infinity')", .double(-.infinity)),
    ("double('.5')", .double(0.5)), ("double(9223372036854775807)", .double(0x1p63)),
    ("string(123)", .string("123")), ("string(-456)", .string("-456")), ("string(9876u)", .string("9876")),
    ("string(123.456)", .string("123.456")), ("string(-4.5e-3)", .string("-0.0045")), ("string(1.0)", .string("1")),
    ("string(1e21)", .string("1e+21")), ("string(1e20)", .string("100000000000000000000")),
    ("string(1.5e-7)", .string("1.5e-07")), ("string(0.0001)", .string("0.0001")), ("string(-0.0)", .string("-0")),
    ("string(5e-324)", .string("5e-324")), ("string(12345.678)", .string("12345.678")),
    ("string(1e15)", .string("1000000000000000")),
    ("string(1.7976931348623157e308)", .string("1.7976931348623157e+308")), ("string(true)", .string("true")),
    ("string(b'abc')", .string("abc")), ("string(b'\\303\\277')", .string("ÿ")), ("string('a')", .string("a")),
    ("string(timestamp('2009-02-13T23:31:30Z'))", .string("2009-02-13T23:31:30Z")),
    ("string(timestamp('9999-12-31T23:59:59.999999999Z'))", .string("9999-12-31T23:59:59.999999999Z")),
    ("string(timestamp('2009-02-13T23:31:30.5+02:00'))", .string("2009-02-13T21:31:30.5Z")),
    ("string(duration('1h45m47s'))", .string("6347s")), ("string(duration('-1.5s'))", .string("-1.5s")),
    ("string(duration('-500ms'))", .string("-0.5s")), ("bytes('ÿ')", .bytes([195, 191])), ("bytes(b'a')", .bytes([97])),
    ("bool('true') && bool('1') && bool('t') && bool('TRUE') && bool('True')", .bool(true)),
    ("bool('false') || bool('0') || bool('f') || bool('FALSE') || bool('False')", .bool(false)),
    ("bool(true)", .bool(true)),
    ("type(1)", .type("int")), ("type(1u)", .type("uint")), ("type(1.0)", .type("double")),
    ("type('')", .type("string")),
    ("type(b'')", .type("bytes")), ("type(true)", .type("bool")), ("type(null)", .type("null_type")),
    ("type([])", .type("list")), ("type({})", .type("map")), ("type(int)", .type("type")),
    ("type(type(1))", .type("type")),
    ("type(timestamp(0))", .type("google.protobuf.Timestamp")),
    ("type(duration('0s'))", .type("google.protobuf.Duration")),
    ("dyn(1)", .int(1)), ("base64.encode(b'hello')", .string("aGVsbG8=")),
    ("base64.decode('aGVsbG8')", .bytes(Array("hello".utf8))),
    ("base64.encode(b'')", .string("")), ("base64.decode('aGVsbG8=') == b'hello'", .bool(true)),
  ])
  func `a conversion keeps the value`(_ source: String, _ value: CELValue) {
    expect(source, is: value)
  }

  @Test(arguments: [
    ("int(18446744073709551615u)", EvaluationError.Reason.overflow), ("int(1e99)", .overflow),
    ("int(-1e99)", .overflow),
    ("int(9223372036854775807.0)", .overflow), ("int(0.0/0.0)", .overflow),
    ("int('9223372036854775808')", .badArgument),
    ("int('')", .badArgument), ("int('1.5')", .badArgument), ("int(' 1')", .badArgument), ("int('0x1')", .badArgument),
    ("int(true)", .noMatchingOverload), ("uint(-1)", .overflow), ("uint(-0.5)", .overflow),
    ("uint(1.8446744073709552e19)", .overflow),
    ("uint('-1')", .badArgument), ("uint('+1')", .badArgument), ("double('')", .badArgument),
    ("double('1x')", .badArgument),
    ("double('0x1p3')", .badArgument), ("double('1e400')", .badArgument), ("double('- 1')", .badArgument),
    ("string(b'\\000\\xff')", .badArgument), ("string([])", .noMatchingOverload), ("bool('TrUe')", .badArgument),
    ("bool(1)", .noMatchingOverload), ("bytes(1)", .noMatchingOverload), ("base64.decode('a')", .badArgument),
    ("base64.decode('!!!!')", .badArgument), ("int(null)", .noMatchingOverload),
  ])
  func `what cannot be converted is an error`(_ source: String, _ reason: EvaluationError.Reason) {
    expect(source, fails: reason)
  }

  @Test func `every double is read back from its text`() {
    var generator = SplitMix(seed: 7)
    for _ in 0..<2000 {
      let value = Double(bitPattern: generator.next())
      guard value.isFinite else { continue }
      expect("double(string(x)) == x", is: .bool(true), [("x", .double(value))])
    }
  }
}
