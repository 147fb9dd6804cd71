// SPDX-License-Identifier: MIT

import CEL
import JSON

extension FuzzTarget {
  /// The source of an expression: every error lies inside of it, a filter is an expression, and evaluation is bounded,
  /// repeatable and depends on nothing but the variables that it names.
  static let expression = FuzzTarget(name: "Expression") { input in
    let source = String(decoding: input.indices.map { input[$0] }, as: UTF8.self)
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
    if program.isStateFilter {
      require(
        program.evaluate(activations[0]).isSame(as: program.evaluate(transition)),
        "a state filter depends on more than the state")
    }
  }

  /// Lower than the defaults, so that many inputs fit into a second.
  private static let expressionLimits = CELLimits(evaluationBudget: 100_000, createdSize: 65_536)

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
