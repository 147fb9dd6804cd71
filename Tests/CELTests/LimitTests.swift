// SPDX-License-Identifier: MIT

import CEL
import JSON
import Testing

/// langdef "Performance Limits": every limit, at its value and one beyond.
@Suite struct LimitTests {
  @Test func `a source may be as long as the limit`() throws {
    let source = "value == '" + String(repeating: "a", count: 4096 - 11) + "'"
    #expect(source.utf8.count == 4096)
    _ = try Program(compiling: source)
    expect(source + " ", isRefusedFor: .sourceTooLarge, at: 4096)
    expect("1 + 1", isRefusedFor: .sourceTooLarge, limits: CELLimits(bytes: 4))
  }

  @Test func `a tree may have as many nodes as the limit`() throws {
    let ones = { (count: Int) in Array(repeating: "1", count: count).joined(separator: "+") }
    _ = try Program(compiling: ones(256))
    expect(ones(257), isRefusedFor: .tooManyNodes)
    _ = try Program(compiling: ones(2), limits: CELLimits(nodes: 3))
    expect(ones(2), isRefusedFor: .tooManyNodes, limits: CELLimits(nodes: 2))
  }

  @Test(arguments: [
    ("(", ")"), ("[", "]"), ("{1: ", "}"), ("size(", ")"), ("value[", "]"), ("value.all(x, ", ")"), ("-(", ")"),
    ("!(", ")"),
    ("(true ? ", " : 1)"), ("cel.bind(x, ", ", x)"), ("value.f(", ")"),
  ])
  func `brackets may be nested as deep as the limit`(_ open: String, _ close: String) {
    let nested = { (depth: Int) in
      String(repeating: open, count: depth) + "1" + String(repeating: close, count: depth)
    }
    let unchecked = CELEnvironment(variables: CELEnvironment.change.variables, typeChecking: false)
    do {
      _ = try Program(compiling: nested(32), environment: unchecked)
    } catch {
      // `f` is no function, and that is told only when the rest could be read.
      #expect(error.reason == .unknownFunction, "\(error)")
    }
    expect(nested(33), isRefusedFor: .tooDeep, environment: unchecked)
    expect(
      String(repeating: open, count: 100_000), isRefusedFor: .tooDeep, environment: unchecked,
      limits: CELLimits(bytes: .max))
  }

  @Test(arguments: ["!", "-", "- ", "! "])
  func `runs of unary operators are bounded as nodes`(_ symbol: String) throws {
    let limits = CELLimits(bytes: 1 << 20)
    let environment = CELEnvironment(variables: [CELVariable("x")])
    _ = try Program(compiling: String(repeating: symbol, count: 511) + "x", environment: environment)
    expect(
      String(repeating: symbol, count: 100_000) + "x", isRefusedFor: .tooManyNodes, environment: environment,
      limits: limits)
  }

  /// With all limits lifted, long and deep sources are still compiled, evaluated and freed without recursion.
  @Test(arguments: [
    ("value", ".a", ""), ("value", "[0]", ""), ("1", "+1", ""), ("true", "&&true", ""), ("true", "||true", ""),
    ("1", "*1", ""), ("'a'", "+'a'", ""),
    ("", "true?1:", "1"), ("", "value?value:", "1"), ("1", "<1", ""), ("[1]", "+[1]", ""), ("value", ".?a", ""),
    ("value", ".size()", ""), ("[1]", ".map(x,x)", ""),
    ("", "!", "value"), ("", "-", "value"), ("[", "1,", "1]"), ("value", "==value", ""),
  ])
  func `long chains are no deeper than short ones`(_ first: String, _ link: String, _ last: String) {
    let source = first + String(repeating: link, count: 5000) + last
    let limits = CELLimits(bytes: .max, nodes: .max)
    let environment = CELEnvironment(variables: CELEnvironment.change.variables, typeChecking: false)
    do {
      let program = try Program(compiling: source, environment: environment, limits: limits)
      _ = program.evaluate(try change(value: #"{"a":1}"#))
    } catch {
      Issue.record("\(source.prefix(40)): \(error)")
    }
  }

  @Test func `an evaluation ends when its budget does, and nothing absorbs that`() throws {
    let array = "[" + Array(repeating: "1", count: 2000).joined(separator: ",") + "]"
    let activation = try change(value: array, oldValue: array)
    for source in [
      "value.all(x, value.all(y, value.all(z, x + y + z == 3)))",
      "value.exists(x, value.exists(y, value.exists(z, x > 1))) || true",
      "size(value.map(x, value.map(y, value))) > 0", "value.all(x, value == oldValue)", "value.all(x, !(2 in value))",
    ] {
      let program = try Program(filter: source, limits: CELLimits(budget: 50_000))
      guard case .failed(let error) = program.match(activation) else {
        Issue.record("\(source) ends")
        continue
      }
      #expect(error.reason == .budgetExceeded, "\(source): \(error)")
      #expect(!program.matches(activation))
    }
  }

  @Test func `evaluations can share a budget, from which each takes what it used`() throws {
    let program = try Program(filter: "value.all(x, x == 1)", limits: CELLimits(budget: 10_000))
    let long = try change(value: "[" + Array(repeating: "1", count: 1000).joined(separator: ",") + "]")
    let short = try change(value: "[1]")
    var budget = 100_000
    #expect(program.match(long, budget: &budget) == .yes)
    let used = 100_000 - budget
    #expect(used > 1000 && used < 10_000)
    budget = 100_000
    #expect(program.evaluate(long, budget: &budget) == .success(.bool(true)))
    // As much, and a little for the value that is handed out.
    #expect((used..<used + 20).contains(100_000 - budget))
    budget = 100_000
    #expect(program.match(short, budget: &budget) == .yes)
    #expect((1..<used).contains(100_000 - budget), "Also what never loops costs something.")

    // What is left bounds an evaluation that the limit of one would let through.
    budget = used / 2
    guard case .failed(let error) = program.match(long, budget: &budget) else {
      Issue.record("it is bounded by what is left")
      return
    }
    #expect(error.reason == .budgetExceeded)
    #expect(budget <= 0 && budget > -100)
    for spent in [0, -1] {
      budget = spent
      #expect(program.match(short, budget: &budget) != .yes)
    }
    // And the limit of one bounds it, whatever is left.
    let smaller = try Program(filter: "value.all(x, x == 1)", limits: CELLimits(budget: used / 2))
    budget = .max
    #expect(smaller.match(long, budget: &budget) != .yes)
    #expect(Int.max - budget < used)
  }

  @Test(arguments: [
    "x + x", "[x].map(y, y + y)[0]", "x.replace('a', 'bb')", "[x, x].join()", "'%s%s'.format([x, x])",
    "lists.range(100000)", "x.replace('', 'aaa')", "bytes(x) + bytes(x)",
    "l + l", "l.map(y, [y])", "x.split('')", "base64.encode(bytes(x + 'a'))",
    "'%.100f%.100f%.100f%.100f%.100f%.100f%.100f%.100f%.100f%.100f'.format([1.0,1.0,1.0,1.0,1.0,1.0,1.0,1.0,1.0,1.0]) + x",
  ])
  func `an evaluation creates no more than its limit`(_ source: String) {
    let text = CELValue.string(String(repeating: "a", count: 600))
    let list = CELValue.list(Array(repeating: .int(1), count: 600))
    let bindings: [(name: String, value: CELValue)] = [("x", text), ("l", list)]
    expect(source, fails: .tooLarge, bindings, limits: CELLimits(created: 1000))
  }

  @Test func `doubling strings and lists ends at the limit`() {
    let binds = (0..<28).map { "cel.bind(x\($0 + 1), x\($0) + x\($0), " }.joined()
    for (value, reason) in [("'a'", EvaluationError.Reason.tooLarge), ("[1]", .budgetExceeded)] {
      let source = "cel.bind(x0, \(value), " + binds + "size(x28)" + String(repeating: ")", count: 29)
      expect(source, fails: reason)
    }
  }

  @Test func `values nested as deep as JSON allows are compared`() throws {
    let deep = { (depth: Int) in String(repeating: "[", count: depth) + String(repeating: "]", count: depth) }
    let activation = try change(value: deep(256), oldValue: deep(256))
    #expect(try Program(filter: "value == oldValue").matches(activation))
    #expect(try Program(filter: "value != oldValue[0]").matches(activation))
    let limits = JSONLimits(bytes: 1 << 20, depth: 100_000)
    let deeper = JSONTree(try JSONText(validating: deep(100_000), limits: limits))
    let other = Activation(path: [], value: deeper, oldValue: deeper)
    #expect(
      try Program(filter: "value == oldValue").match(other)
        == .failed(EvaluationError(reason: .tooLarge, position: 6)))
    #expect(
      try Program(compiling: "value").evaluate(other) == .failure(EvaluationError(reason: .tooLarge, position: 0)))
    #expect(try Program(compiling: "'%s'.format([value])").evaluate(other) != .success(.null))
  }

  @Test func `objects with many members are read and counted within the budget`() throws {
    let object = "{" + (0..<2000).map { "\"k\($0)\":\($0)" }.joined(separator: ",") + "}"
    let activation = try change(value: object, oldValue: object)
    for source in ["size(value) == 2000", "value.k1999 == 1999", "'k7' in value", "!has(value.nothing)"] {
      #expect(try Program(filter: source).match(activation) == .yes, "\(source)")
    }
  }
}
