// SPDX-License-Identifier: MIT
import JSON
import SignalAccess
import SignalStore

/// Patches: a new value computed from the present one.
extension Commands {
  /// Sets a property to the result of applying a patch to its value; retried after a concurrent change.
  func patch(_ request: PatchRequest, as caller: Caller) throws(Problem) -> OperationResult {
    switch request.patch {
    case .merge(let document):
      let patch = MergePatch(document)
      return try update(request.path, request.condition, filter: request.filter, as: caller) {
        current, _ throws(Problem) in
        // The rules see what results of the members that are there already: that would tell of them, or open them.
        try checkReading(.get, request.path, current, as: caller)
        return request.action(setting: try held(patch.apply(to: current?.value), patch))
      }
    case .operations(let document):
      let patch: JSONPatch
      do throws(JSONPatchError) {
        patch = try JSONPatch(document, limits: configuration.patchLimits)
      } catch {
        throw problem(error, nil, revision)
      }
      return try update(request.path, request.condition, filter: request.filter, reads: true, as: caller) {
        current, revision throws(Problem) in
        guard let current else { throw notFound(request.path, at: revision) }
        do throws(JSONPatchError) {
          return request.action(setting: try patch.apply(to: current.value))
        } catch {
          throw problem(error, current, revision)
        }
      }
    }
  }

  /// Checks the result of a merge against the limits of a value.
  private func held(_ value: JSONText, _ patch: MergePatch) throws(Problem) -> JSONText {
    let limits = configuration.values
    guard value.bytes.count <= limits.bytes else {
      throw Problem(.bodyTooLarge, "A value has at most \(limits.bytes) bytes.")
    }
    // It is no deeper than the deeper of the two, and the present value is not too deep.
    if patch.depth <= limits.depth { return value }
    do {
      return try JSONText(validating: value.bytes, limits: limits)
    } catch {
      throw Problem(.badPatch, "The result: \(error)")
    }
  }

  private func problem(_ error: JSONPatchError, _ current: StoredValue?, _ revision: Revision) -> Problem {
    let code: Problem.Code =
      switch error.reason {
      case .tooManyOperations: .tooManyOperations
      case .tooLarge: .bodyTooLarge
      case .tooDeep, .tooCostly: .badPatch
      default: error.reason.isMalformed ? .badPatch : .patchConflict
      }
    var problem = Problem(code, "In the patch, \(error.description).")
    problem.operation = error.operation
    if code == .patchConflict {
      problem.current = current.map(currentText)
      problem.cursor = cursor(revision)
    }
    return problem
  }
}

extension LiveConfiguration {
  /// The work that a JSON Patch may cost.
  fileprivate var patchLimits: JSONPatch.Limits {
    JSONPatch.Limits(operations: limits.patchOperations, work: limits.patchWork, result: values)
  }
}
