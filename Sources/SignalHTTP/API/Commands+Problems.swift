// SPDX-License-Identifier: MIT
import JSON
import SignalAccess
import SignalStore

/// Translates refusals of the store into problems.
extension Commands {
  /// - Parameters:
  ///   - inTransaction: Whether to name the operation.
  ///   - caller: Who is told; nil where it makes no difference.
  func problem(_ error: StoreError, inTransaction: Bool, to caller: Caller? = nil) -> Problem {
    func refusal(_ code: Problem.Code, _ operation: Int) -> Problem {
      var problem = Problem(code, error.description)
      if inTransaction { problem.operation = operation }
      return problem
    }
    switch error {
    case .conditionFailed(let operation, let current, let revision):
      var problem = Problem(
        .preconditionFailed, inTransaction ? error.description : "The condition does not hold for the present value.")
      if inTransaction { problem.operation = operation }
      problem.current = current.map(currentText) ?? .null
      problem.cursor = cursor(revision)
      return problem
    case .repeatedPath(let operation): return refusal(.duplicatePath, operation)
    case .tooManyProperties, .tooManyBytes: return Problem(.storeFull, error.description)
    case .quotaExceeded(let operation, let excess):
      let tellsUse = caller.map { self.tellsUse(of: excess, to: $0) } ?? false
      var problem = Problem(.quotaExceeded, tellsUse ? excess.description : excess.withheld)
      problem.quota = (excess, tellsUse)
      return inTransaction ? problem.of(operation: operation) : problem
    case .tooManyOperations: return Problem(.tooManyOperations, error.description)
    case .isComputed(let operation):
      if inTransaction { return refusal(.isComputed, operation) }
      return Problem(.isComputed, "The property is computed; its value follows from others.")
    case .cycle(let operation, _): return refusal(.formulaCycle, operation)
    case .tooManyComputed(let operation, _): return refusal(.tooManyComputed, operation)
    case .tooManyInputs(let operation, _): return refusal(.tooManyInputs, operation)
    case .tooDeep(let operation, _): return refusal(.formulaTooDeep, operation)
    case .tooMuchFormulaWork(let operation):
      if inTransaction { return refusal(.tooManyComputed, operation) }
      return Problem(.tooManyComputed, "The formula, and what depends on the property, is too much for one step.")
    case .tooManyHeld(let operation, _): return refusal(.tooManyHeld, operation)
    case .tooManyRemembered, .tooManyTimers: return Problem(.storeFull, error.description)
    case .commitTooLarge: return Problem(.bodyTooLarge, error.description)
    case .notKept(.full): return Problem(.diskFull, error.description)
    case .notKept(.slow): return Problem(.storageSlow, error.description)
    case .notKept(.failed): return Problem(.storageFailed, error.description)
    case .notKept(.readOnly): return Problem(.readOnly, error.description)
    case .notKept(.elsewhere): return Problem(.noLeader, error.description)
    case .badTimer: return Problem(.badDuration, error.description)
    case .badTimeToLive(let operation, _):
      let problem = Problem(.badDuration, error.description)
      return inTransaction ? problem.of(operation: operation) : problem
    }
  }

  /// Whether somebody may see all that is counted, and so be told how much it is.
  private func tellsUse(of excess: QuotaExcess, to caller: Caller) -> Bool {
    rights(of: caller)?.allowsAll(.get, excess.counted) ?? true
  }

  /// - Parameter revision: The store's revision at which the property did not exist.
  func notFound(_ path: PropertyPath, at revision: Revision) -> Problem {
    var problem = Problem(.notFound, "There is no property at \"\(path)\".")
    problem.cursor = cursor(revision)
    return problem
  }

  /// The current value, for a condition that failed.
  func currentText(_ stored: StoredValue) -> JSONText {
    var text: [UInt8] = Array(#"{"value":"#.utf8)
    text.appendJSON(stored.value)
    stored.appendRevisionAndTime(to: &text)
    text.append(UInt8(ascii: "}"))
    return JSONText(alreadyCompact: text)
  }
}
