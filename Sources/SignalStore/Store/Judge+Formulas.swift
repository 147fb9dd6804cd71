// SPDX-License-Identifier: MIT

import JSON

/// Computed properties: their definitions and their values.
extension Judge {
  /// The budget of the formulas computed for one commit.
  var formulaBudget: FormulaBudget { FormulaBudget(units: limits.formulaUnits, bytes: limits.formulaBytes) }

  /// Applies the definitions and deletions of computed properties to the graph, or refuses all operations; they have to be
  /// kept, or rolled back, afterwards.
  ///
  /// - Returns: The properties that are to be computed because they are new or have another formula.
  mutating func define(
    _ operations: [PropertyStore.Operation], _ outcomes: [OperationResult.Outcome], _ budget: inout FormulaBudget
  ) throws(StoreError) -> [FormulaGraph.Node] {
    guard !formulas.isEmpty || operations.contains(where: \.isDefinition) else { return [] }
    // Checked before anything is changed.
    for index in operations.indices where outcomes[index] != .unchanged {
      guard case .define(let formula) = operations[index].action else { continue }
      if formula.inputs.count > limits.formulaInputs {
        throw .tooManyInputs(operation: index, limit: limits.formulaInputs)
      }
      budget.units -= (formula.inputs.count + 1) * FormulaBudget.definition
      if budget.units < 0 { throw .tooMuchFormulaWork(operation: index) }
    }
    do throws(StoreError) {
      // Removals first, so that the order of the operations does not matter.
      for (operation, outcome) in zip(operations, outcomes) where outcome == .deleted {
        formulas.remove(operation.path)
      }
      var defined: [FormulaGraph.Node] = []
      for index in operations.indices where outcomes[index] != .unchanged {
        guard case .define(let formula) = operations[index].action else { continue }
        defined.append(try define(formula, at: operations[index].path, operation: index, &budget))
      }
      return defined
    } catch {
      formulas.rollBack()
      throw error
    }
  }

  private mutating func define(
    _ formula: Formula, at path: PropertyPath, operation index: Int, _ budget: inout FormulaBudget
  ) throws(StoreError) -> FormulaGraph.Node {
    let node: FormulaGraph.Node
    do throws(FormulaGraph.Refusal) {
      node = try formulas.define(formula, at: path, depth: limits.formulaDepth, work: &budget.units)
    } catch {
      switch error {
      case .cycle(let cycle): throw .cycle(operation: index, cycle)
      case .tooDeep: throw .tooDeep(operation: index, limit: limits.formulaDepth)
      case .tooMuchWork: throw .tooMuchFormulaWork(operation: index)
      }
    }
    if formulas.count > limits.computedProperties {
      throw .tooManyComputed(operation: index, limit: limits.computedProperties)
    }
    return node
  }

  /// Computes new formulas and the dependents of the changes, each property once and after everything that it reads.
  ///
  /// - Parameter isShared: Whether all formulas share one budget; otherwise each has its own.
  mutating func compute(
    _ defined: [FormulaGraph.Node], in draft: inout Draft, of replica: Replica, _ budget: inout FormulaBudget,
    isShared: Bool = true
  ) {
    if formulas.isEmpty { return }
    if !quotas.isEmpty { claimQuotas(for: defined, in: &draft, of: replica) }
    var queue = FormulaQueue()
    formulas.beginPass()
    for node in defined { formulas.queue(node, in: &queue) }
    for index in draft.changes.indices {
      guard let node = formulas.node(at: draft.changes[index].path) else { continue }
      budget.units -= formulas.queueReaders(of: node, in: &queue) * FormulaBudget.link
    }
    while let node = queue.popFirst() {
      if !isShared { budget = formulaBudget }
      guard let formula = formulas.formula(of: node),
        compute(formula, at: formulas.path(of: node), in: &draft, of: replica, &budget)
      else { continue }
      budget.units -= formulas.queueReaders(of: node, in: &queue) * FormulaBudget.link
    }
  }

  /// Sets a computed property to the value that follows from its inputs; false when it already has that value.
  private mutating func compute(
    _ formula: Formula, at path: PropertyPath, in draft: inout Draft, of replica: Replica, _ budget: inout FormulaBudget
  ) -> Bool {
    var (value, error) = evaluate(formula, in: &draft, of: replica, &budget)
    let current = replica.tree.value(at: path)
    let growth = value.bytes.count - (current?.value.bytes.count ?? 0)
    if growth > 0, growth > limits.propertyBytes - replica.propertyBytes - draft.growth {
      formulaFailures += 1
      (value, error) = (.null, Self.fullStore)
    }
    if !quotas.isEmpty,
      let exceeded = claimQuotas(for: value, of: formula, at: path, replacing: current, in: &draft)
    {
      formulaFailures += 1
      (value, error) = (.null, exceeded)
    }
    if let current, let computation = current.computation, computation.formula == formula, current.value == value {
      // The reason of a failure may have changed; that is no change of the value.
      if !computation.hasError(error) {
        draft.amend(
          StoredValue(
            path: current.path, value: value, revision: current.revision, time: current.time,
            computation: Computation(formula, error: error)))
      }
      return false
    }
    let computation: Computation
    if let known = current?.computation, known.formula == formula, known.hasError(error) {
      computation = known
    } else {
      computation = Computation(formula, error: error)
    }
    let new = StoredValue(
      path: current?.path ?? path, value: value, revision: draft.revision, time: draft.time, computation: computation)
    draft.add(Change(set: new, replacing: current))
    return true
  }

  /// The error of a formula whose value exceeds the store's limit of bytes.
  private static let fullStore = "the store is full"

  private mutating func evaluate(
    _ formula: Formula, in draft: inout Draft, of replica: Replica, _ budget: inout FormulaBudget
  ) -> (value: JSONText, error: String?) {
    guard !budget.isUsedUp else {
      formulaFailures += 1
      return (.null, FormulaBudget.failure)
    }
    budget.units -= FormulaBudget.evaluation
    let result = formula.evaluate({ draft.value(at: $0, in: replica) }, &budget)
    if case .value(let value) = result { budget.bytes -= value.bytes.count }
    // A formula that stopped half way has no value.
    guard !budget.isUsedUp else {
      formulaFailures += 1
      return (.null, FormulaBudget.failure)
    }
    switch result {
    case .value(let value): return (value, nil)
    case .failure(let error): return (.null, error)
    }
  }
}
