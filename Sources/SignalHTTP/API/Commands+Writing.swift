// SPDX-License-Identifier: MIT
import JSON
import SignalAccess
import SignalStore

/// Conditional writes, for all protocols.
///
/// An expression is evaluated without the store's lock; the write is then conditional on the values that were read, and
/// retried when they have changed. Each retry means that another writer has succeeded.
extension Commands {
  /// Attempts to write a property under concurrent changes; then the client is asked to retry later.
  static var writeAttempts: Int { 100 }

  /// Sets a property unconditionally.
  func set(_ path: PropertyPath, _ value: JSONText, as caller: Caller) throws(Problem) -> OperationResult {
    guard rights(of: caller) == nil else {
      return try update(path, .any, filter: nil, computes: false, as: caller) { _, _ in .set(value, always: false) }
    }
    do {
      let result = try store.set(path, value)
      note(.set(value, always: false), path, result, by: caller)
      return result
    } catch {
      throw problem(error, inTransaction: false, to: caller)
    }
  }

  /// Executes one write.
  func execute(_ request: OperationRequest, as caller: Caller) throws(Problem) -> OperationResult {
    let operation = try operation(of: request)
    let result: OperationResult
    if request.filter == nil, rights(of: caller) == nil {
      do {
        result = try store.execute(operation)
        if result.outcome != .unchanged || !operation.isDeletion {
          note(operation.action, operation.path, result, by: caller)
        }
      } catch {
        if case .conditionFailed(_, nil, let revision) = error, operation.isDeletion {
          throw notFound(request.path, at: revision)
        }
        throw problem(error, inTransaction: false, to: caller)
      }
    } else {
      result = try update(
        request.path, request.condition, filter: request.filter, computes: false, deletes: operation.isDeletion,
        as: caller
      ) { _, _ in operation.action }
    }
    // Deleting a missing property is an error for a single request, unlike in a transaction.
    guard result.outcome != .unchanged || !operation.isDeletion else {
      throw notFound(request.path, at: result.revision)
    }
    return result
  }

  /// The write in the form that the store takes.
  func operation(of request: OperationRequest) throws(Problem) -> PropertyStore.Operation {
    switch request.effect {
    case .apply(let action): PropertyStore.Operation(action, request.path, if: store.present(request.condition))
    case .define(let source): .define(request.path, try formula(source), if: store.present(request.condition))
    }
  }

  /// Executes a write that depends on the present value: on an expression, on access rules, or because it is computed
  /// from it.
  ///
  /// - Parameters:
  ///   - computes: Whether what is written depends on the present value.
  ///   - reads: Whether it does so in a way that tells the caller what that is, which it must be allowed to know then; a
  ///     missing value is answered with `not_found`.
  ///   - deletes: Whether a missing value is answered with `not_found`, whatever the conditions are, which are
  ///     evaluated only where the answer without them would be a success (RFC 9110 §13.2.1).
  ///   - make: Computes the write from the present value, nil when there is none, and the revision of the store.
  func update(
    _ path: PropertyPath, _ condition: Condition, filter source: String?, computes: Bool = true, reads: Bool = false,
    deletes: Bool = false, as caller: Caller,
    _ make: (StoredValue?, Revision) throws(Problem) -> PropertyStore.Operation.Action
  ) throws(Problem) -> OperationResult {
    let filter = try source.map { source throws(Problem) in try conditionFilter(source) }
    let condition = store.present(condition)
    let isConditional = condition != .any || filter != nil || reads
    for _ in 0..<Self.writeAttempts {
      let (current, revision) = store.read(bytes: path.bytes.span)
      if isConditional { try checkReading(.get, path, current, as: caller) }
      if current == nil, deletes {
        let verdict = try judge(.delete, path, replacing: nil, isConditional: isConditional, as: caller)
        if !verdict.sees { return OperationResult(outcome: .deleted, value: nil, revision: revision, isChange: false) }
      }
      if current == nil, reads || deletes { throw notFound(path, at: revision) }
      guard condition.holds(for: current, in: store.epoch), filter?.holds(forPath: path, current) ?? true else {
        throw preconditionFailed(current, at: revision)
      }
      let action = try make(current, revision)
      let verdict = try judge(action, path, replacing: current, isConditional: isConditional, as: caller)
      let isBound = isConditional || computes || deletes || verdict.dependsOnOld
      var operation = PropertyStore.Operation(action, path, if: isBound ? unchanged(current) : .any)
      operation.premises = verdict.premises
      do {
        let result = try store.execute(operation)
        note(action, path, result, by: caller)
        return verdict.sees ? result : result.concealed(action)
      } catch {
        if case .conditionFailed = error { continue }
        throw verdict.sees
          ? problem(error, inTransaction: false, to: caller) : concealed(error, inTransaction: false, from: caller)
      }
    }
    throw contended
  }

  /// Executes all writes as one change of the store, or none of them.
  func execute(_ requests: [OperationRequest], as caller: Caller) throws(Problem) -> TransactionResult {
    var filters: [Int: Filter] = [:]
    var operations: [PropertyStore.Operation] = []
    for (index, request) in requests.enumerated() {
      do throws(Problem) {
        operations.append(try operation(of: request))
        if let source = request.filter { filters[index] = try conditionFilter(source) }
      } catch {
        throw error.of(operation: index)
      }
    }
    // Those that are executed only if what they were decided by is unchanged.
    var bound = Set(filters.keys)
    var isConcealed = false
    for _ in 0..<Self.writeAttempts {
      for index in rights(of: caller) == nil ? Array(filters.keys) : Array(requests.indices) {
        let wanted = requests[index]
        let condition = store.present(wanted.condition)
        let (current, revision) = store.read(bytes: wanted.path.bytes.span)
        let isConditional = wanted.condition != .any || filters[index] != nil
        do throws(Problem) {
          let verdict = try judge(
            operations[index].action, wanted.path, replacing: current, isConditional: isConditional, as: caller)
          guard condition.holds(for: current, in: store.epoch),
            filters[index]?.holds(forPath: wanted.path, current) ?? true
          else {
            throw preconditionFailed(current, at: revision)
          }
          if !verdict.sees { isConcealed = true }
          if verdict.dependsOnOld || !verdict.premises.isEmpty || rights(of: caller) != nil && isConditional {
            bound.insert(index)
          }
          operations[index].premises = verdict.premises
        } catch {
          throw error.of(operation: index)
        }
        if bound.contains(index) { operations[index].condition = unchanged(current) }
      }
      do {
        let result = try store.transact(operations)
        for (operation, result) in zip(operations, result.results) {
          note(operation.action, operation.path, result, by: caller)
        }
        guard isConcealed else { return result }
        let results = zip(result.results, operations).map { $0.concealed($1.action) }
        return TransactionResult(revision: result.revision, results: results)
      } catch {
        if case .conditionFailed(let index, _, _) = error, bound.contains(index) { continue }
        throw isConcealed
          ? concealed(error, inTransaction: true, from: caller) : problem(error, inTransaction: true, to: caller)
      }
    }
    throw contended
  }

  /// Compiles an expression that can be evaluated for a stored property.
  func conditionFilter(_ source: String) throws(Problem) -> Filter {
    let filter = try self.filter(source)
    guard filter.isState else { throw Problem(.badFilter, "A condition can use path and value only.") }
    return filter
  }

  private func preconditionFailed(_ current: StoredValue?, at revision: Revision) -> Problem {
    var problem = Problem(.preconditionFailed, "The condition does not hold for the present value.")
    problem.current = current.map(currentText) ?? .null
    problem.cursor = Cursor(epoch: store.epoch, revision: revision)
    return problem
  }

  private var contended: Problem {
    Problem(.contended, "Others have changed the property \(Self.writeAttempts) times while it was to be written.")
  }
}

extension PropertyStore.Operation {
  fileprivate var isDeletion: Bool { if case .delete = action { true } else { false } }
}

extension Problem {
  /// The same problem, attributed to one operation of several.
  func of(operation: Int) -> Problem {
    var problem = self
    problem.operation = operation
    return problem
  }
}
