// SPDX-License-Identifier: MIT

import CEL
import JSON
import Synchronization
import Testing

/// Maps whose values are fetched when a program uses them.
@Suite struct LookupTests {
  private static let environment = CELEnvironment(variables: [CELVariable(lookup: "properties"), CELVariable("value")])

  private func program(_ source: String) throws -> Program {
    try Program(compiling: source, environment: Self.environment)
  }

  private func activation(_ properties: [String: String]) throws -> Activation {
    var activation = Activation()
    let trees = try properties.mapValues(json)
    activation.lookup = { trees[$0] }
    return activation
  }

  @Test(arguments: [
    (#"properties["kitchen/temperature"] * 1.8 + 32.0"#, ["kitchen/temperature"]),
    (#"properties["b"] + properties["a"] + properties["b"]"#, ["b", "a"]),
    ("properties.a.b + properties['a' + '/' + 'b']", ["a", "a/b"]),
    ("has(properties.x) ? properties.x : properties[?'y'].orValue(0)", ["x", "y"]),
    ("'a/b' in properties", ["a/b"]), ("properties.?z", ["z"]), ("1 + 1", []),
    ("[1].map(x, properties['a'] + x)", ["a"]),
    ("[{'a': 1}].map(properties, properties['a'])", []),
  ])
  func `the keys that may be needed are known before`(_ source: String, _ keys: [String]) throws {
    let program = try program(source)
    #expect(program.lookupKeys == keys)
    #expect(program.variables == (keys.isEmpty ? [] : ["properties"]))
  }

  @Test(arguments: [
    ("properties", 0), ("properties[value]", 0), ("1 + size(properties)", 9), ("properties.map(x, x)", 0),
    ("value in properties", 9), ("properties == {}", 0), ("[properties]", 1), ("properties[?value]", 0),
    ("properties['a' + string(value)]", 0), ("value == 1 || cel.bind(p, properties, p['a'] == 1)", 26),
    ("{'a': 1} == properties", 12),
  ])
  func `what is no constant key is refused where it stands`(_ source: String, _ position: Int) {
    expect(source, isRefusedFor: .keyNotConstant, at: position, environment: Self.environment)
  }

  @Test(arguments: [
    ("properties['t'] * 2.0 + 0.5", CELValue.double(42.5)), ("properties['t']", .int(21)),
    ("properties['s'] + '!'", .string("a\n!")), ("properties['o'].a[1]", .int(2)), ("size(properties.o)", .int(1)),
    ("properties['o']", .map([(key: .string("a"), value: .list([.int(1), .int(2)]))])),
    ("properties['o'] == {'a': [1, 2]}", .bool(true)),
    ("properties.o.a.exists(x, x == properties.t - 19)", .bool(true)),
    ("has(properties.no)", .bool(false)), ("has(properties.t)", .bool(true)), ("'t' in properties", .bool(true)),
    ("'no' in properties", .bool(false)), ("properties[?'no'].orValue(7)", .int(7)),
    ("properties.?t.orValue(7)", .int(21)), ("properties.n == null", .bool(true)),
    ("properties.no == 1 || true", .bool(true)), ("properties.o.?b.hasValue()", .bool(false)),
    ("properties.o.a + properties.o.a == [1, 2, 1, 2]", .bool(true)),
  ])
  func `a key leads to the value that is there`(_ source: String, _ value: CELValue) throws {
    let activation = try activation(["t": "21", "s": #""a\n""#, "o": #"{"a":[1,2]}"#, "n": "null"])
    #expect(try program(source).evaluate(activation) == .success(value))
  }

  @Test func `a key that leads nowhere is an error at its place`() throws {
    let error = EvaluationError(reason: .noSuchKey, position: 14)
    #expect(try program("1 + properties['no']").evaluate(try activation([:])) == .failure(error))
    #expect(try program("properties.a").evaluate() == .failure(EvaluationError(reason: .unboundVariable, position: 10)))
    #expect(error.rendering(in: "1 + properties['no']").hasSuffix("\n              ^"))
  }

  @Test func `only what decides is fetched, and once`() throws {
    let asked = Mutex<[String]>([])
    var activation = Activation()
    let tree = try json("[1,2,3]")
    activation.lookup = { key in
      asked.withLock { $0.append(key) }
      return key == "no" ? nil : tree
    }
    let program = try program(
      "properties.a.all(x, x + size(properties.b) > 0 && !has(properties.no)) ? size(properties.a) : properties.c")
    #expect(program.lookupKeys == ["a", "b", "no", "c"])
    #expect(program.evaluate(activation) == .success(.int(3)))
    #expect(asked.withLock { $0 } == ["a", "b", "no"])
  }

  @Test func `a program uses as many keys as the limit`() throws {
    let source = { (count: Int) in (0..<count).map { "properties.k\($0)" }.joined(separator: " + ") }
    let limits = CELLimits(bytes: 1 << 16, nodes: 10_000)
    let environment = Self.environment
    let program = try Program(compiling: source(200), environment: environment, limits: limits)
    var activation = Activation()
    let list = try json("[1]")
    activation.lookup = { _ in list }
    guard case .success(.list(let elements)) = program.evaluate(activation) else { throw CancellationError() }
    #expect(elements.count == 200)
    expect(source(201), isRefusedFor: .keyNotConstant, environment: environment, limits: limits)
  }
}

/// What is told about an expression before it runs.
@Suite struct CostTests {
  @Test(arguments: [
    ("value > 1", 0), ("value.all(x, x > 1)", 1), ("value.all(x, x.exists(y, y > 1)) && value.map(z, z) == []", 2),
    ("[1, 2].map(x, [3].map(y, [4].map(z, z)))", 3),
  ])
  func `loops are counted by how deep they nest`(_ source: String, _ depth: Int) throws {
    #expect(try Program(compiling: source).loopDepth == depth)
  }

  @Test func `an estimate grows with lists and texts where they matter`() throws {
    let cost = { (source: String, elements: Int, bytes: Int) in
      try Program(compiling: source).estimatedCost(elements: elements, textBytes: bytes)
    }
    #expect(try cost("value * 2 < 3", 10, 8) == cost("value * 2 < 3", 1000, 8))
    #expect(try cost("value > 1", 1, 1) < 10)
    let (few, many) = try (cost("value.all(x, x > 1)", 10, 8), cost("value.all(x, x > 1)", 1000, 8))
    #expect(many > 90 * few / 2)
    let square = try cost("value.all(x, value.all(y, x == y))", 1000, 8)
    #expect(square > 1_000_000)
    #expect(try cost("path.matches('a(b|c)*d')", 1, 1000) > 5000)
    #expect(try cost("value.all(a, value.all(b, value.all(c, value.all(d, true))))", .max, 1) == .max)
  }

  /// Nothing costs more than was estimated for values of that size.
  @Test(arguments: [
    "value.all(x, value.all(y, x + y > 0))", "value.map(x, x * 2).filter(y, y > 3).size() > 1", "3 in value",
    "value.exists(x, x == 49)", "value == value", "value.sort()[0] == 1", "value.reverse()[3] > 1",
    "value.distinct().size() == 50", "value[49] == 50",
  ])
  func `an evaluation stays within its estimate`(_ source: String) throws {
    let array = "[" + (1...50).map(String.init).joined(separator: ",") + "]"
    let estimate = try Program(compiling: source).estimatedCost(elements: 50, textBytes: 8)
    let limits = CELLimits(budget: 4 * estimate)
    guard case .success = try Program(compiling: source, limits: limits).evaluate(try change(value: array)) else {
      Issue.record("\(source) costs more than four times \(estimate)")
      return
    }
  }
}
