// SPDX-License-Identifier: MIT
import CEL
import JSON
package import SignalStore

extension Commands {
  /// Compiles the text of a formula and determines which properties it reads.
  func formula(_ source: String) throws(Problem) -> Formula { try configuration.formula(source) }
}

/// Formulas of computed properties in CEL: `properties["kitchen/temperature"] * 1.8 + 32.0`.
extension LiveConfiguration {
  private static let formulaEnvironment = CELEnvironment(variables: [CELVariable(lookup: "properties")])

  /// Bytes of JSON that are parsed, or written, in the time of one unit of a ``FormulaBudget``.
  private static var inputBytesPerUnit: Int { 6 }

  /// Compiles the text of a formula and determines which properties it reads.
  func formula(_ source: String) throws(Problem) -> Formula {
    let program: Program
    do throws(CELError) {
      program = try formulaProgram(source)
    } catch {
      throw Problem(.badFormula, error.message, position: error.position)
    }
    return try formula(program)
  }

  /// Compiles the text of a stored formula.
  package func keptFormula(_ source: String) throws(FormulaError) -> Formula {
    do throws(Problem) {
      return try formula(source)
    } catch {
      throw FormulaError(error.detail)
    }
  }

  func formulaProgram(_ source: String) throws(CELError) -> Program {
    try Program(compiling: source, environment: Self.formulaEnvironment, limits: expressions)
  }

  func formula(_ program: Program) throws(Problem) -> Formula {
    var inputs: [PropertyPath] = []
    for key in program.lookupKeys {
      do throws(PathError) {
        inputs.append(try PropertyPath(key, limits: paths))
      } catch {
        throw Problem(.badFormula, "\"\(key)\" is not the path of a property: \(error)")
      }
    }
    return Formula(source: program.source, inputs: inputs) { [inputs, values] read, budget in
      Self.compute(program, inputs.map(read), limits: values, &budget)
    }
  }

  /// Evaluates a formula.
  ///
  /// - Parameter inputs: The properties that the program's keys name, in their order.
  private static func compute(
    _ program: Program, _ inputs: [StoredValue?], limits: JSONLimits, _ budget: inout FormulaBudget
  ) -> Formula.Result {
    // Each is parsed on use, and charged in any case.
    budget.units -= inputs.reduce(0) { $0 + ($1?.value.bytes.count ?? 0) } / inputBytesPerUnit
    if budget.isUsedUp { return .failure("") }
    var activation = Activation()
    activation.lookup = { key in
      // A linear search, as there are few; strings are distinguished by their bytes.
      guard let place = program.lookupKeys.firstIndex(where: { $0.utf8.elementsEqual(key.utf8) }) else { return nil }
      return inputs[place].map { JSONTree($0.value) }
    }
    switch program.evaluate(activation, budget: &budget.units) {
    case .failure(let error):
      return .failure(error.rendering(in: program.source))
    case .success(let value):
      guard let json = value.json(limits: limits) else { return .failure("the result is not a JSON value") }
      budget.units -= json.bytes.count / inputBytesPerUnit
      return .value(json)
    }
  }
}
