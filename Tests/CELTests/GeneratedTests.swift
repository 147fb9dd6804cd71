// SPDX-License-Identifier: MIT

import CEL
import JSON
import Testing

/// Programs nobody wrote: none may stop the process, and arithmetic must agree with Swift's.
@Suite struct GeneratedTests {
  static let tokens = [
    "value", "oldValue", "path", "op", "time", "revision", "x", "y", "1", "0", "-1", "1u", "1.5", "9223372036854775807",
    "-9223372036854775808", "'a'", "'é'", "b'a'", "r'\\'", "\"\"", "true", "false", "null",
    "(", ")", "[", "]", "{", "}", ".", ",", ":", "?", "+", "-", "*", "/", "%", "!", "&&", "||", "==", "!=", "<", "<=",
    ">", ">=", "in", ".a", ".?a", "[?0]", "size(", ".size()", ".all(x,", ".map(x,", ".filter(y,",
    ".exists(x,", "has(value.a)", ".matches('a*')", ".contains('a')", "int(", "string(", "timestamp(", "duration('1s')",
    "type(", ".format([", "math.greatest(", "optional.of(", ".orValue(1)", "cel.bind(x,", ".sort()",
    ".split('')", ".join()", ".flatten()", "lists.range(3)", "[1,2]", "{'a':1}", "//", "\n", "'", "\"\"\"", "\\", "0x",
    "1e", "`", "for", "google.protobuf.Timestamp", "..", " ", "\u{0}", "é", "@",
  ]

  @Test(arguments: 0..<8 as Range<UInt64>)
  func `no sequence of tokens stops the compiler or the evaluation`(_ seed: UInt64) throws {
    var generator = SplitMix(seed: seed)
    let activation = try change(value: #"{"a":[1,2.5,"x",{"b":null}],"c":"é\n"}"#, oldValue: "[1,[2],{}]")
    let unchecked = CELEnvironment(variables: CELEnvironment.change.variables, typeChecking: false)
    var compiled = 0
    for _ in 0..<800 {
      let count = Int.random(in: 1...12, using: &generator)
      let source = (0..<count).map { _ in Self.tokens.randomElement(using: &generator) ?? "" }.joined()
      for environment in [CELEnvironment.change, unchecked] {
        do {
          let program = try Program(compiling: source, environment: environment)
          _ = program.evaluate(activation)
          _ = program.match(activation)
          compiled += 1
        } catch {
          #expect(error.position >= 0 && error.position <= source.utf8.count, "seed \(seed): \(source)")
          #expect(!error.rendering(in: source).isEmpty)
        }
      }
    }
    #expect(compiled > 10, "seed \(seed)")
  }

  @Test(arguments: 0..<4 as Range<UInt64>)
  func `a program with a byte changed does not stop the compiler`(_ seed: UInt64) throws {
    var generator = SplitMix(seed: seed)
    let sources = [
      "value.temp > 21.0 && oldValue.temp <= 21.0 || path.startsWith('kitchen/')",
      "[1, 2, 3].map(x, x * 2).filter(y, y > 2).exists(z, z in value.a)",
      "timestamp('2009-02-13T23:31:30Z') + duration('1h') > time ? {'a': 1}.a : [value][0]",
      "cel.bind(x, value.?a.orValue('b'), '%s %d'.format([x, 1])).matches('^[a-z]+$')",
    ]
    let activation = try change(value: #"{"a":[2],"temp":22}"#, oldValue: "null")
    for _ in 0..<800 {
      var bytes = Array((sources.randomElement(using: &generator) ?? "").utf8)
      for _ in 0..<Int.random(in: 1...3, using: &generator) {
        let place = Int.random(in: 0..<bytes.count, using: &generator)
        switch Int.random(in: 0..<3, using: &generator) {
        case 0: bytes[place] = UInt8.random(in: 0...127, using: &generator)
        case 1: bytes.remove(at: place)
        default: bytes.insert(bytes[Int.random(in: 0..<bytes.count, using: &generator)], at: place)
        }
      }
      guard let program = try? Program(compiling: String(decoding: bytes, as: UTF8.self)) else { continue }
      _ = program.evaluate(activation)
    }
  }

  /// An expression and what Swift makes of it; nil where CEL has an error.
  struct Sample {
    var source: String
    var value: Int64?
  }

  static func arithmetic(_ depth: Int, _ generator: inout SplitMix) -> Sample {
    if depth == 0 || Int.random(in: 0..<4, using: &generator) == 0 {
      let choices: [Int64] = [
        0, 1, -1, 2, 7, .max, .min, .max - 1, .min + 1, Int64.random(in: -1000...1000, using: &generator),
      ]
      let value = choices.randomElement(using: &generator) ?? 0
      return Sample(source: value < 0 ? "(\(value))" : "\(value)", value: value)
    }
    let left = arithmetic(depth - 1, &generator)
    let right = arithmetic(depth - 1, &generator)
    let operation = ["+", "-", "*", "/", "%"].randomElement(using: &generator) ?? "+"
    let source = "(\(left.source) \(operation) \(right.source))"
    guard let a = left.value, let b = right.value else { return Sample(source: source, value: nil) }
    let (value, overflow): (Int64, Bool) =
      switch operation {
      case "+": a.addingReportingOverflow(b)
      case "-": a.subtractingReportingOverflow(b)
      case "*": a.multipliedReportingOverflow(by: b)
      case "/": b == 0 ? (0, true) : a.dividedReportingOverflow(by: b)
      default: b == 0 ? (0, true) : a.remainderReportingOverflow(dividingBy: b)
      }
    return Sample(source: source, value: overflow ? nil : value)
  }

  @Test(arguments: 0..<4 as Range<UInt64>)
  func `integer arithmetic agrees with Swift`(_ seed: UInt64) throws {
    var generator = SplitMix(seed: seed)
    // With literals the compiler calculates, with variables the evaluation.
    let environment = CELEnvironment(variables: [CELVariable("zero", .int)])
    var activation = Activation()
    activation.bind(0, to: .int(0))
    for _ in 0..<300 {
      let sample = Self.arithmetic(4, &generator)
      let source = sample.source
      let variable = "(" + source.replacing("(", with: "(zero + ") + ")"
      for text in [source, variable] {
        let result = try Program(compiling: text, environment: environment, limits: CELLimits(nodes: 2000))
          .evaluate(activation)
        switch result {
        case .success(let value): #expect(sample.value.map { .int($0) } == value, "seed \(seed): \(text)")
        case .failure: #expect(sample.value == nil, "seed \(seed): \(text)")
        }
      }
    }
  }
}
