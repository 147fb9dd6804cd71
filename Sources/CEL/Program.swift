// SPDX-License-Identifier: MIT

/// A compiled expression.
///
/// It never changes: any number of threads may evaluate it at the same time, each with an ``Activation`` of its own or
/// a shared one. Compile a source once and keep the program.
///
/// ```swift
/// let program = try Program(filter: "value > 21.0 && path.startsWith('kitchen/')")
/// let change = Activation(path: Array("kitchen/temperature".utf8), value: JSONTree(JSONText(22.5)!))
/// program.matches(change)  // true
/// ```
public final class Program: Sendable {
  /// The source text.
  public let source: String
  /// What the program was compiled against.
  public let environment: CELEnvironment
  /// What one evaluation may cost.
  public let limits: CELLimits
  /// The type of the value; `dyn` when that depends on the variables.
  public let type: CELType
  /// The names of the variables it uses.
  public let variables: Set<String>

  /// The keys of the environment's lookup that an evaluation may ask for, each once, in the order of their first use.
  public let lookupKeys: [String]
  /// Conditions that all hold whenever the value is `true`, for an index over many filters.
  ///
  /// They speak of variables that are bound to JSON or text. Empty when there is nothing an index could use.
  public let conjuncts: [FilterConjunct]
  /// Whether the value is `true` exactly when all ``conjuncts`` hold, so that it need not be evaluated.
  public let isConjunction: Bool
  /// Whether it depends on nothing but `path` and `value`, so that it describes a state which a property enters and
  /// leaves.
  ///
  /// A filter that uses another variable describes a transition.
  public let isStateFilter: Bool

  let instructions: [Instruction]
  let positions: [UInt32]
  let constants: Pool
  let values: [Value]
  let patterns: [Pattern]
  let stackSize: Int

  /// Compiles any expression.
  ///
  /// Nothing is evaluated, and the time is bounded by `limits`: no source can make it hang, overflow the stack or stop
  /// the process.
  public convenience init(
    compiling source: String, environment: CELEnvironment = .change, limits: CELLimits = CELLimits()
  ) throws(CELError) {
    let checked = try CheckedSyntax(source, environment: environment, limits: limits)
    try self.init(checked.syntax, of: checked)
  }

  /// Compiles syntax: that of the expression, or what is left of it where some variables are known.
  init(_ syntax: Syntax, of expression: CheckedSyntax) throws(CELError) {
    environment = expression.environment
    limits = expression.limits
    source = expression.source
    type = expression.types[expression.syntax.root]
    let compiled = Compiler(syntax, environment, limits)
    if let (failure, position) = compiled.badPattern {
      throw CELError(
        .badPattern, "\(failure.message), at byte \(failure.position) of the pattern", at: position,
        in: Array(source.utf8))
    }
    if let position = compiled.badLookup {
      throw CELError(
        .keyNotConstant,
        "a lookup is used with constant strings, \(CELLimits.lookupKeys) different ones at most", at: position,
        in: Array(source.utf8))
    }
    lookupKeys = compiled.lookupKeys
    conjuncts = compiled.conjuncts
    isConjunction = compiled.isConjunction
    variables = Set(compiled.variables.map { [environment] in environment.variables[$0].name })
    isStateFilter = variables.isSubset(of: ["path", "value"])
    instructions = compiled.instructions
    positions = compiled.positions
    constants = compiled.constants
    values = compiled.values
    patterns = compiled.patterns
    stackSize = compiled.stackSize
  }

  /// Compiles a condition: an expression whose value can never be a bool is refused as ``CELError/Reason/notABoolean``.
  public convenience init(
    filter source: String, environment: CELEnvironment = .change, limits: CELLimits = CELLimits()
  ) throws(CELError) {
    try self.init(compiling: source, environment: environment, limits: limits)
    guard type.mayBeBool else {
      throw CELError(.notABoolean, "a filter is true or false, and this is \(type)", at: 0, in: Array(source.utf8))
    }
  }

  /// A part of a program, for evaluating it while the whole is compiled.
  init(
    code: [Instruction], values: [Value], constants: Pool, environment: CELEnvironment, limits: CELLimits
  ) {
    source = ""
    self.environment = environment
    self.limits = limits
    type = .dyn
    variables = []
    isStateFilter = true
    lookupKeys = []
    conjuncts = []
    isConjunction = false
    instructions = code
    positions = []
    self.constants = constants
    self.values = values
    patterns = []
    stackSize = code.count + 1
  }
}

// MARK: - Evaluation

extension Program {
  /// What a filter says of an activation.
  public enum Match: Sendable, Equatable {
    /// It is `true`.
    case yes
    /// It is `false`.
    case no
    /// It has no value; a value that is not a bool counts as ``EvaluationError/Reason/noMatchingOverload``.
    case failed(EvaluationError)
  }

  /// Whether the value is `true`.
  ///
  /// An error, or a value that is not a bool, is not a match.
  ///
  /// Nothing is allocated for comparisons, logic, arithmetic and text search over variables and literals. What
  /// allocates is the making of lists, maps and texts, and reading a JSON string that has an escape in it.
  public func matches(_ activation: borrowing Activation) -> Bool {
    var budget = Int.max
    return run(activation, &budget) { result, _ in result.isTrue }
  }

  /// As ``matches(_:)``, and distinguishes an error from `false`, so that it can be counted.
  public func match(_ activation: borrowing Activation) -> Match {
    var budget = Int.max
    return match(activation, budget: &budget)
  }

  /// As ``match(_:)``, within what is left of a budget that several evaluations share.
  ///
  /// - Parameter budget: As in ``evaluate(_:budget:)``.
  public func match(_ activation: borrowing Activation, budget: inout Int) -> Match {
    run(activation, &budget) { (result, evaluator) -> Match in
      switch result.kind {
      case .bool: result.bool ? .yes : .no
      case .error: .failed(self.error(result))
      default: .failed(EvaluationError(reason: .noMatchingOverload, position: 0))
      }
    }
  }

  /// The value, or why there is none.
  public func evaluate(_ activation: borrowing Activation = Activation()) -> Result<CELValue, EvaluationError> {
    var budget = Int.max
    return evaluate(activation, budget: &budget)
  }

  /// As ``evaluate(_:)``, within what is left of a budget that several evaluations share.
  ///
  /// An evaluation spends at most ``CELLimits/budget`` and at most what is left; one that needs more, or finds
  /// nothing left, ends with ``EvaluationError/Reason/budgetExceeded``.
  ///
  /// - Parameter budget: In the units of ``CELLimits/budget``. What was used is taken from it: what was charged,
  ///   and one unit for each instruction of the program, which also those pay for that never loop. So it may end a
  ///   little below zero.
  public func evaluate(
    _ activation: borrowing Activation, budget: inout Int
  ) -> Result<CELValue, EvaluationError> {
    run(activation, &budget) { (result, evaluator) -> Result<CELValue, EvaluationError> in
      if result.isError { return .failure(self.error(result)) }
      guard let value = evaluator.exported(activation, result) else {
        return .failure(EvaluationError(reason: evaluator.fatal ?? .tooLarge, position: 0))
      }
      return .success(value)
    }
  }

  private func error(_ value: Value) -> EvaluationError {
    let instruction = Int(value.extra)
    let position = positions.indices.contains(instruction) ? Int(positions[instruction]) : 0
    return EvaluationError(reason: value.errorReason, position: position)
  }

  private func run<Outcome>(
    _ activation: borrowing Activation, _ budget: inout Int, _ body: (Value, borrowing Evaluator) -> Outcome
  ) -> Outcome {
    let granted = min(limits.budget, budget)
    // The stack and the state are memory of this call, the others are of members that never change; no pointer outlives
    // its closure.
    return unsafe instructions.withUnsafeBufferPointer { instructions in
      unsafe values.withUnsafeBufferPointer { values in
        unsafe constants.bytes.withUnsafeBufferPointer { texts in
          var state = unsafe Evaluator.State(self, instructions, values, texts, budget: granted)
          return unsafe withUnsafeMutablePointer(to: &state) { state in
            unsafe withUnsafeTemporaryAllocation(of: Value.self, capacity: stackSize + 1) { stack in
              let evaluator = unsafe Evaluator(state, stack)
              if granted <= 0 { evaluator.fatal = .budgetExceeded }
              let result = evaluator.run(activation)
              let outcome = body(result, evaluator)
              budget -= granted - evaluator.budget + instructions.count
              return outcome
            }
          }
        }
      }
    }
  }
}
