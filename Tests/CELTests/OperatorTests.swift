// SPDX-License-Identifier: MIT

import CEL
import Testing

/// langdef "Standard Definitions": every operator with every pair of types.
@Suite struct OperatorTests {
  /// One value of each type, the numbers being the same number.
  static let samples: [(type: String, source: String)] = [
    ("null", "null"), ("bool", "true"), ("int", "2"), ("uint", "2u"), ("double", "2.0"), ("string", "'2'"),
    ("bytes", "b'2'"), ("list", "[2]"), ("map", "{2: 2}"), ("type", "int"), ("timestamp", "timestamp(2)"),
    ("duration", "duration('2s')"),
  ]

  static func outcome(_ source: String, mixedArithmetic: Bool = true) -> String {
    switch evaluate(source, mixedArithmetic: mixedArithmetic) {
    case .success(.bool(let value)): "\(value)"
    case .success(.int): "int"
    case .success(.uint): "uint"
    case .success(.double): "double"
    case .success(.string): "string"
    case .success(.bytes): "bytes"
    case .success(.list): "list"
    case .success(.timestamp): "timestamp"
    case .success(.duration): "duration"
    case .success: "other"
    case .failure(let error): "\(error.reason)"
    }
  }

  /// What an arithmetic operator gives for a pair of types.
  static func arithmetic(_ operation: String, _ left: String, _ right: String, mixed: Bool) -> String {
    let isMixed =
      [left, right].contains("double") && (left == "int" || left == "uint" || right == "int" || right == "uint")
    switch (left, right) {
    case ("int", "int"), ("uint", "uint"): return left
    case ("double", "double"): return operation == "%" ? "noMatchingOverload" : "double"
    case _ where isMixed: return mixed && operation != "%" ? "double" : "noMatchingOverload"
    case ("string", "string"), ("bytes", "bytes"), ("list", "list"):
      return operation == "+" ? left : "noMatchingOverload"
    case ("timestamp", "duration"): return "+-".contains(operation) ? "timestamp" : "noMatchingOverload"
    case ("duration", "timestamp"): return operation == "+" ? "timestamp" : "noMatchingOverload"
    case ("duration", "duration"): return "+-".contains(operation) ? "duration" : "noMatchingOverload"
    case ("timestamp", "timestamp"): return operation == "-" ? "duration" : "noMatchingOverload"
    default: return "noMatchingOverload"
    }
  }

  @Test(arguments: ["+", "-", "*", "/", "%"], [true, false])
  func `arithmetic has a result for exactly the pairs of types it is defined for`(_ operation: String, _ mixed: Bool) {
    for left in Self.samples {
      for right in Self.samples {
        let source = "\(left.source) \(operation) \(right.source)"
        let expected = Self.arithmetic(operation, left.type, right.type, mixed: mixed)
        #expect(Self.outcome(source, mixedArithmetic: mixed) == expected, "\(source)")
      }
    }
  }

  @Test(arguments: ["<", "<=", ">", ">="])
  func `order has a result for values of one ordered type, and for any two numbers`(_ operation: String) {
    let ordered = ["bool", "string", "bytes", "timestamp", "duration"]
    let numbers = ["int", "uint", "double"]
    for left in Self.samples {
      for right in Self.samples {
        let isDefined =
          left.type == right.type && ordered.contains(left.type)
          || numbers.contains(left.type) && numbers.contains(right.type)
        let expected = isDefined ? "\(operation.hasSuffix("="))" : "noMatchingOverload"
        #expect(
          Self.outcome("\(left.source) \(operation) \(right.source)") == expected, "\(left) \(operation) \(right)")
      }
    }
  }

  @Test func `equality has a result for every pair of types`() {
    let numbers = ["int", "uint", "double"]
    for left in Self.samples {
      for right in Self.samples {
        let isEqual = left.type == right.type || numbers.contains(left.type) && numbers.contains(right.type)
        #expect(Self.outcome("\(left.source) == \(right.source)") == "\(isEqual)", "\(left) \(right)")
        #expect(Self.outcome("\(left.source) != \(right.source)") == "\(!isEqual)", "\(left) \(right)")
      }
    }
  }

  @Test func `in has a result for lists and maps only`() {
    for left in Self.samples {
      for right in Self.samples {
        let isNumber = ["int", "uint", "double"].contains(left.type)
        let expected = right.type == "list" || right.type == "map" ? "\(isNumber)" : "noMatchingOverload"
        #expect(Self.outcome("\(left.source) in \(right.source)") == expected, "\(left) in \(right)")
      }
    }
  }

  @Test func `negation is for int, double and duration, not for bool alone`() {
    for sample in Self.samples {
      let expected = ["int", "double", "duration"].contains(sample.type) ? sample.type : "noMatchingOverload"
      #expect(Self.outcome("-(\(sample.source))") == expected)
      #expect(Self.outcome("!(\(sample.source))") == (sample.type == "bool" ? "false" : "noMatchingOverload"))
    }
  }

  @Test(arguments: [
    ("9223372036854775807 + 1", EvaluationError.Reason.overflow),
    ("-9223372036854775808 + -1", .overflow),
    ("-9223372036854775808 - 1", .overflow),
    ("9223372036854775807 - -1", .overflow),
    ("9223372036854775807 * 2", .overflow),
    ("-9223372036854775808 * -1", .overflow),
    ("-1 * -9223372036854775808", .overflow),
    ("-(-9223372036854775808)", .overflow),
    ("-9223372036854775808 / -1", .overflow),
    ("-9223372036854775808 % -1", .overflow),
    ("18446744073709551615u + 1u", .overflow),
    ("0u - 1u", .overflow),
    ("18446744073709551615u * 2u", .overflow),
    ("1 / 0", .divisionByZero),
    ("1u / 0u", .divisionByZero),
    ("1 % 0", .divisionByZero),
    ("1u % 0u", .divisionByZero),
  ])
  func `integers that leave their range are errors, and so is dividing them by zero`(
    _ source: String, _ reason: EvaluationError.Reason
  ) {
    expect(source, fails: reason)
  }

  @Test(arguments: [
    ("42 % -5", CELValue.int(2)),
    ("-42 % 5", .int(-2)),
    ("-7 / 2", .int(-3)),
    ("1.0 / 0.0", .double(.infinity)),
    ("-1.0 / 0.0", .double(-.infinity)),
    ("0.0 / 0.0", .double(.nan)),
    ("1e308 * 10.0", .double(.infinity)),
    ("1 / 2.0", .double(0.5)),
    ("3u * 0.5", .double(1.5)),
    ("2.5 - 1", .double(1.5)),
    ("'a' + ''", .string("a")),
    ("'a' + 'é'", .string("aé")),
    ("b'a' + b'\\xff'", .bytes([97, 255])),
    ("[1] + ['a'] + []", .list([.int(1), .string("a")])),
  ])
  func `arithmetic is that of the type`(_ source: String, _ value: CELValue) {
    expect(source, is: value)
  }
}
