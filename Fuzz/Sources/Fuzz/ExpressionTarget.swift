// SPDX-License-Identifier: MIT

import CEL
import JSON

extension FuzzTarget {
  /// The source of an expression, and behind a zero byte a value for it: every error lies inside of the source, a filter
  /// is an expression, evaluation is bounded, repeatable and depends on nothing but the variables that it names, and an
  /// index is told the truth.
  static let expression = FuzzTarget(name: "Expression") { input in
    let bytes = input.indices.map { input[$0] }
    let end = bytes.firstIndex(of: 0) ?? bytes.count
    let source = String(decoding: bytes[..<end], as: UTF8.self)
    let value = (try? JSONText(validating: Array(bytes[end...].dropFirst()))).map { JSONTree($0) }
    checkVariants(source, value)
    let program: Program
    do throws(CELError) {
      program = try Program(compiling: source, limits: expressionLimits)
    } catch {
      check(error, in: source)
      checkFilter(source, refusedWith: error)
      return
    }
    checkFilter(source, of: program)
    for activation in activations { check(program, activation) }
    checkConjuncts(program, value)
    require(program.estimatedCost() >= 0 && program.loopDepth >= 0, "a cost below nothing")
    if let value {
      let given = Activation(path: activationPath, value: value, oldValue: value)
      check(program, given)
      if case .success(let result) = program.evaluate(given), let json = result.json() {
        require((try? JSONText(validating: json.bytes)) == json, "a result that is no JSON")
      }
    }
    if program.isStateFilter {
      require(
        program.evaluate(activations[0]).isSame(as: program.evaluate(transition)),
        "a state filter depends on more than the state")
    }
  }

  /// The same source with types left to the evaluation, with the arithmetic of the definition, and over a lookup.
  private static func checkVariants(_ source: String, _ value: JSONTree?) {
    let variables = CELEnvironment.change.variables
    let tree = value ?? JSONTree(.null)
    for environment in [
      CELEnvironment(variables: variables, typeChecking: false),
      CELEnvironment(variables: variables, mixedArithmetic: false),
      CELEnvironment(variables: [CELVariable(lookup: "properties"), CELVariable("value")]),
    ] {
      guard let program = try? Program(compiling: source, environment: environment, limits: expressionLimits) else {
        continue
      }
      var activation = Activation()
      if environment.slot(of: "value") == 1 { activation.bind(1, to: tree) }
      activation.lookup = { key in
        require(program.lookupKeys.contains(key), "a key that was not announced")
        return key.utf8.count % 2 == 0 ? tree : nil
      }
      require(
        program.evaluate(activation).isSame(as: program.evaluate(activation)), "the second evaluation has another value"
      )
    }
  }

  /// A program that is true has conjuncts that hold, and the other way round when they are all of it.
  private static func checkConjuncts(_ program: Program, _ value: JSONTree?) {
    let matches = program.matches(Activation(path: activationPath, value: value))
    let scalars = program.conjuncts.map { conjunct -> Bool? in
      switch conjunct.subject.variable {
      case "value": conjunct.test.holds(for: conjunct.subject.scalar(in: value))
      case "oldValue": conjunct.test.holds(for: conjunct.subject.scalar(in: nil))
      case "path" where conjunct.subject.fields.isEmpty: conjunct.test.holds(for: .text(activationPath))
      default: nil
      }
    }
    if matches { require(!scalars.contains(false), "a conjunct of a filter that is true does not hold") }
    if program.isConjunction, scalars.allSatisfy({ $0 == true }) {
      require(matches, "all conjuncts hold, and the filter is not true")
    }
  }

  /// Lower than the defaults, so that many inputs fit into a second.
  private static let expressionLimits = CELLimits(budget: 100_000, created: 65_536)

  private static let activations = [
    Activation(path: Array("kitchen/temperature".utf8), value: tree(#"{"temp":21.5,"on":true,"tags":["a","é\n"]}"#)),
    Activation(path: Array("a".utf8), value: tree("-9223372036854775808"), oldValue: tree("18446744073709551615")),
    Activation(
      path: Array("b/ü".utf8), value: tree(#""text \u00e9""#), oldValue: tree("[1,2.5,null,[],{}]"), revision: .max,
      milliseconds: 1_700_000_000_123),
    Activation(path: [], value: nil, oldValue: nil, op: .delete, milliseconds: -62_135_596_800_000),
    Activation(),
  ]

  /// The first activation's state, otherwise reached.
  private static let transition = Activation(
    path: activationPath, value: tree(#"{"temp":21.5,"on":true,"tags":["a","é\n"]}"#), oldValue: tree("7"),
    revision: 5, op: .expire, milliseconds: 1)

  private static let activationPath = Array("kitchen/temperature".utf8)

  private static func tree(_ text: StaticString) -> JSONTree {
    guard let text = try? JSONText(validating: Array("\(text)".utf8).span) else { fatalError("not JSON: \(text)") }
    return JSONTree(text)
  }

  private static func check(_ error: CELError, in source: String) {
    require((0...source.utf8.count).contains(error.position), "the error is outside the source: \(error)")
    require(error.line >= 1 && error.column >= 1, "there is no such place: \(error)")
    require(!error.message.isEmpty, "an error without a word")
    require(error.rendering(in: source).hasSuffix("^"), "no caret under the place")
  }

  /// A source that is no expression is no filter either, for the same reason.
  private static func checkFilter(_ source: String, refusedWith error: CELError) {
    do throws(CELError) {
      _ = try Program(filter: source, limits: expressionLimits)
      fatalError("a filter that is no expression")
    } catch let filterError {
      require(filterError == error, "compiled twice: \(error), then \(filterError)")
    }
  }

  private static func checkFilter(_ source: String, of program: Program) {
    do throws(CELError) {
      let filter = try Program(filter: source, limits: expressionLimits)
      require(filter.type == program.type, "a filter of another type")
      require(filter.variables == program.variables, "a filter with other variables")
    } catch {
      require(error.reason == .notABoolean, "compiled as a filter: \(error)")
      check(error, in: source)
      for activation in activations {
        if case .success(.bool) = program.evaluate(activation) { fatalError("a bool where none can be") }
      }
    }
  }

  private static func check(_ program: Program, _ activation: Activation) {
    let value = program.evaluate(activation)
    require(value.isSame(as: program.evaluate(activation)), "the second evaluation has another value")
    let match = program.match(activation)
    require(program.matches(activation) == (match == .yes), "it matches, and it does not")
    switch (value, match) {
    case (.success(.bool(true)), .yes), (.success(.bool(false)), .no): break
    case (.success(.bool), _): fatalError("a bool is no match and no mismatch")
    case (.success, .failed(let error)):
      require(error.reason == .noMatchingOverload, "no bool: \(error)")
    case (.failure(let error), .failed):
      require((0...program.source.utf8.count).contains(error.position), "the error is outside the source: \(error)")
    case (.success, _), (.failure, _): fatalError("\(match), and the value is \(value)")
    }
  }
}

extension Result<CELValue, EvaluationError> {
  fileprivate func isSame(as other: Self) -> Bool {
    switch (self, other) {
    case (.success(let value), .success(let other)): value == other
    case (.failure(let error), .failure(let other)): error == other
    case (.success, .failure), (.failure, .success): false
    }
  }
}
