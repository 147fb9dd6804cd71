// SPDX-License-Identifier: MIT

import CEL
import JSON
import Testing

/// What an expression over no variables, or over those of `bindings`, evaluates to.
///
/// The types of the literals are left to the evaluation, so that every operator can be tried with every type.
func evaluate(
  _ source: String, _ bindings: [(name: String, value: CELValue)] = [], mixedArithmetic: Bool = true,
  limits: CELLimits = CELLimits(), sourceLocation: SourceLocation = #_sourceLocation
) -> Result<CELValue, EvaluationError> {
  let environment = CELEnvironment(
    variables: bindings.map { CELVariable($0.name) }, mixedArithmetic: mixedArithmetic, typeChecking: false)
  do {
    let program = try Program(compiling: source, environment: environment, limits: limits)
    var activation = Activation()
    for (slot, binding) in bindings.enumerated() { activation.bind(slot, to: binding.value) }
    return program.evaluate(activation)
  } catch {
    Issue.record("\(source) does not compile: \(error)", sourceLocation: sourceLocation)
    return .failure(EvaluationError(reason: .unboundVariable, position: -1))
  }
}

/// Expects a value.
func expect(
  _ source: String, is expected: CELValue, _ bindings: [(name: String, value: CELValue)] = [],
  mixedArithmetic: Bool = true, sourceLocation: SourceLocation = #_sourceLocation
) {
  let result = evaluate(source, bindings, mixedArithmetic: mixedArithmetic, sourceLocation: sourceLocation)
  #expect(result == .success(expected), "\(source)", sourceLocation: sourceLocation)
}

/// Expects the evaluation to fail.
func expect(
  _ source: String, fails reason: EvaluationError.Reason, _ bindings: [(name: String, value: CELValue)] = [],
  mixedArithmetic: Bool = true, limits: CELLimits = CELLimits(), sourceLocation: SourceLocation = #_sourceLocation
) {
  let result = evaluate(
    source, bindings, mixedArithmetic: mixedArithmetic, limits: limits, sourceLocation: sourceLocation)
  guard case .failure(let error) = result else {
    Issue.record("\(source) is \(result)", sourceLocation: sourceLocation)
    return
  }
  #expect(error.reason == reason, "\(source)", sourceLocation: sourceLocation)
}

/// Expects the compiler to refuse a source.
func expect(
  _ source: String, isRefusedFor reason: CELError.Reason, at position: Int? = nil,
  environment: CELEnvironment = .change, limits: CELLimits = CELLimits(),
  sourceLocation: SourceLocation = #_sourceLocation
) {
  do {
    _ = try Program(compiling: source, environment: environment, limits: limits)
    Issue.record("\(source.prefix(200)) compiles", sourceLocation: sourceLocation)
  } catch {
    #expect(error.reason == reason, "\(source.prefix(200)): \(error)", sourceLocation: sourceLocation)
    if let position {
      #expect(error.position == position, "\(source.prefix(200)): \(error)", sourceLocation: sourceLocation)
    }
  }
}

func json(_ text: String) throws -> JSONTree { JSONTree(try JSONText(validating: text)) }

/// A change for the variables of ``CELEnvironment/change``.
func change(
  path: String = "kitchen/temperature", value: String? = nil, oldValue: String? = nil, revision: Int = 1,
  op: ChangeOperation = .set, milliseconds: Int64 = 0
) throws -> Activation {
  Activation(
    path: Array(path.utf8), value: try value.map(json), oldValue: try oldValue.map(json), revision: revision, op: op,
    milliseconds: milliseconds)
}

/// A sequence of numbers that is the same for the same seed.
struct SplitMix: RandomNumberGenerator {
  var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}
