// SPDX-License-Identifier: MIT

import CEL
import JSON
import Testing

/// What an index is told about a filter.
@Suite struct FilterConjunctTests {
  private func text(_ conjunct: FilterConjunct) -> String {
    func scalar(_ scalar: FilterScalar) -> String {
      switch scalar {
      case .null: "null"
      case .bool(let bool): "\(bool)"
      case .number(let number): "\(number)"
      case .text(let bytes): "'\(String(decoding: bytes, as: UTF8.self))'"
      case .container: "container"
      }
    }
    let test =
      switch conjunct.test {
      case .equal(let value): "== \(scalar(value))"
      case .isIn(let values): "in [\(values.map(scalar).joined(separator: ", "))]"
      case .less(let value): "< \(scalar(value))"
      case .lessOrEqual(let value): "<= \(scalar(value))"
      case .greater(let value): "> \(scalar(value))"
      case .greaterOrEqual(let value): ">= \(scalar(value))"
      case .hasPrefix(let prefix): "begins '\(String(decoding: prefix, as: UTF8.self))'"
      case .present: "is there"
      }
    return "\(conjunct.subject) \(test)"
  }

  @Test(arguments: [
    ("path == 'a/b'", ["path == 'a/b'"], true), ("'a/b' == path", ["path == 'a/b'"], true),
    ("path.startsWith('a/')", ["path begins 'a/'"], true), ("path in ['a', 'b', 'a']", ["path in ['a', 'b']"], true),
    ("value == 1", ["value == 1.0"], true), ("value > 21.0", ["value > 21.0"], true),
    ("21 <= value", ["value >= 21.0"], true), ("value.temp < -1 + 2", ["value.temp < 1.0"], true),
    ("value['a b'].c == null", ["value[\"a b\"].c == null"], true),
    ("value.on", ["value.on == true"], true), ("!value.on", ["value.on == false"], true),
    ("value.on == false", ["value.on == false"], true), ("has(value.a.b)", ["value.a.b is there"], true),
    ("value.name.startsWith('x')", ["value.name begins 'x'"], true),
    ("value.a > 1 && path == 'p' && value.a <= 5", ["value.a > 1.0", "path == 'p'", "value.a <= 5.0"], true),
    ("value.temp > 21.0 && oldValue.temp <= 21.0", ["value.temp > 21.0", "oldValue.temp <= 21.0"], true),
    ("true && value == 1", ["value == 1.0"], true),
    ("op == 'set' && revision > 5", ["op == 'set'", "revision > 5.0"], true),
    ("value in [1, 'a', null, true]", ["value in [1.0, 'a', null, true]"], true),
    ("value >= 'a' && value < 'b'", ["value >= 'a'", "value < 'b'"], true),
    // Less than the whole: what is found must hold, and more must hold too.
    ("value > 1 && value.size() > 3", ["value > 1.0"], false), ("value != 1", [], false),
    ("value == 1 || value == 2", [], false), ("value > oldValue", [], false), ("value[0] == 1", [], false),
    ("value.a == [1]", [], false), ("value in [1, [2]]", [], false), ("value > true", [], false), ("false", [], false),
    ("value == 0.0 / 0.0", [], false), ("value.exists(x, x > 1) && path == 'a'", ["path == 'a'"], false),
    ("[1].exists(value, value == 1)", [], false), ("value.?a == optional.of(1)", [], false),
    ("time > timestamp(0)", [], false), ("value ? value.a == 1 : path == 'a'", [], false),
    // Integers beyond those of which each has a double of its own.
    ("value == 9007199254740993", ["value == 9007199254740992.0"], false),
    ("value < 9007199254740993", ["value <= 9007199254740992.0"], false),
    ("value > -9007199254740993", ["value >= -9007199254740992.0"], false),
    ("value < 9007199254740991", ["value < 9007199254740991.0"], true),
    ("value < 9007199254740993.0", ["value < 9007199254740992.0"], true),
  ])
  func `the conjuncts of a filter are what an index can use of it`(
    _ source: String, _ conjuncts: [String], _ isConjunction: Bool
  ) throws {
    let program = try Program(filter: source)
    #expect(program.conjuncts.map(text) == conjuncts)
    #expect(program.isConjunction == isConjunction)
  }

  @Test(arguments: [
    ("1", FilterScalar.number(1)), ("-0.0", .number(0)), ("9007199254740993", .number(9_007_199_254_740_992)),
    ("18446744073709551615", .number(0x1p64)), ("\"a\\u0062\"", .text(Array("ab".utf8))),
    ("null", .null), ("true", .bool(true)), ("[]", .container), ("{\"a\":1}", .container),
  ])
  func `a scalar is what is at a subject`(_ json: String, _ scalar: FilterScalar) throws {
    let value = try CELTests.json(json)
    #expect(FilterSubject("value").scalar(in: value) == scalar)
    let nested = try CELTests.json(#"{"a":{"x":1,"é b":\#(json)}}"#)
    #expect(FilterSubject("value", fields: ["a", "é b"].map { Array($0.utf8) }).scalar(in: nested) == scalar)
    #expect(FilterSubject("value", fields: ["a", "c"].map { Array($0.utf8) }).scalar(in: nested) == nil)
    #expect(FilterSubject("value", fields: [Array("a".utf8)]).scalar(in: nil) == nil)
    #expect(FilterSubject("value").scalar(in: nil) == .null)
  }

  // MARK: - Against the evaluator

  private static let constants = [
    "0", "1", "-1", "1.0", "0.5", "-0.0", "2u", "9007199254740992", "9007199254740993", "-9007199254740993",
    "9007199254740991", "9223372036854775807", "18446744073709551615u", "1e300", "'a'", "'ab'", "'é'", "''", "null",
    "true", "false", "[1]", "b'a'", "0.0 / 0.0",
  ]
  private static let scalars = [
    "0", "1", "-1", "1.0", "0.5", "-0.0", "2", "2.0", "9007199254740992", "9007199254740993", "-9007199254740993",
    "9007199254740991.0", "9007199254740992.0", "9223372036854775807", "9223372036854775808", "18446744073709551615",
    "1e300", "1e400", "123456789012345678901234567890", #""a""#, #""\u0061b""#, #""é""#, #""""#, "null", "true",
    "false",
    "[1]", "[]", "{}", #"{"a":1}"#,
  ]
  private static let subjects = [
    "value", "value.a", "value['a'].b", "oldValue", "oldValue.a", "path", "revision", "op",
  ]

  private static func filter(_ generator: inout SplitMix) -> String {
    let part = { (generator: inout SplitMix) -> String in
      let subject = subjects.randomElement(using: &generator) ?? ""
      let constant = { (generator: inout SplitMix) in constants.randomElement(using: &generator) ?? "" }
      let operation = ["==", "==", "<", "<=", ">", ">=", "!="].randomElement(using: &generator) ?? ""
      switch Int.random(in: 0..<10, using: &generator) {
      case 0: return "\(subject) in [\(constant(&generator)), \(constant(&generator)), \(constant(&generator))]"
      case 1: return "\(constant(&generator)) \(operation) \(subject)"
      case 2: return subject
      case 3: return "!\(subject)"
      case 4: return "has(value.a)"
      case 5: return "\(subject).startsWith('a')"
      case 6: return "(\(subject) == 1 || \(subject) == 'a')"
      default: return "\(subject) \(operation) \(constant(&generator))"
      }
    }
    let count = Int.random(in: 1...3, using: &generator)
    return (0..<count).map { _ in part(&generator) }.joined(separator: " && ")
  }

  private static func value(_ generator: inout SplitMix) -> String? {
    let scalar = scalars.randomElement(using: &generator) ?? "1"
    switch Int.random(in: 0..<6, using: &generator) {
    case 0: return nil
    case 1: return #"{"a":\#(scalar)}"#
    case 2: return #"{"b":0,"a":{"b":\#(scalar)}}"#
    // Of two members with one name the last counts.
    case 3: return #"{"a":1,"a":\#(scalar)}"#
    default: return scalar
    }
  }

  @Test(arguments: 0..<6 as Range<UInt64>)
  func `a filter that is true has conjuncts that hold, and the other way round when they are all of it`(
    _ seed: UInt64
  ) throws {
    var generator = SplitMix(seed: seed)
    let unchecked = CELEnvironment(variables: CELEnvironment.change.variables, typeChecking: false)
    var (matched, whole) = (0, 0)
    for _ in 0..<3000 {
      let source = Self.filter(&generator)
      let program = try Program(compiling: source, environment: unchecked)
      for _ in 0..<4 {
        let (new, old) = (Self.value(&generator), Self.value(&generator))
        let path = ["a", "ab", "é", "b/a"].randomElement(using: &generator) ?? ""
        let revision = Int.random(in: 0...2, using: &generator)
        let matches = program.matches(try change(path: path, value: new, oldValue: old, revision: revision))
        let hold = try program.conjuncts.allSatisfy { conjunct in
          let scalar: FilterScalar? =
            switch conjunct.subject.variable {
            case "value": conjunct.subject.scalar(in: try new.map(json))
            case "oldValue": conjunct.subject.scalar(in: try old.map(json))
            case "path": .text(Array(path.utf8))
            case "op": .text(Array("set".utf8))
            default: .number(Double(revision))
            }
          return conjunct.test.holds(for: scalar)
        }
        let comment: Comment = "seed \(seed): \(source) of \(new ?? "-"), \(old ?? "-"), \(path), \(revision)"
        #expect(!matches || hold, comment)
        if program.isConjunction { #expect(matches == hold, comment) }
        if matches { matched += 1 }
        if program.isConjunction, !program.conjuncts.isEmpty { whole += 1 }
      }
    }
    #expect(matched > 200 && whole > 2000, "seed \(seed): \(matched) of \(whole)")
  }
}
