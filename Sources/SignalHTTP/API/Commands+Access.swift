// SPDX-License-Identifier: MIT
import JSON
import SignalAccess
import SignalStore

/// Access: whether a caller may do what it asks for (`docs/access.md`).
extension Commands {
  /// What the rules leave for a caller; nil: it may do everything.
  func rights(of caller: Caller) -> Rights? {
    // Root and the server's own user, by a Unix socket: they could change the settings as well.
    if caller.identity == nil, caller.isAdministrator { return nil }
    return access.rights(of: caller.identity, caller.request)
  }

  /// Refuses what only those may do who may do everything; where there are no rules, that is whoever reaches the server.
  func checkAdministrator(_ caller: Caller) throws(Problem) {
    guard let rights = rights(of: caller), !rights.isAdministrator else { return }
    let isUnknown = caller.identity == nil && access.canIdentify
    throw Problem(isUnknown ? .unauthenticated : .forbidden, "Only administrators may ask about the server.")
  }

  /// Refuses to read a property that the caller may not see; the refusal is the same whether there is one or not.
  func checkReading(
    _ operation: AccessOperation, _ path: PropertyPath, _ found: StoredValue?, as caller: Caller
  ) throws(Problem) {
    guard let rights = rights(of: caller), !rights.isAdministrator else { return }
    guard sees(operation, path, found, rights) else { throw forbidden(operation, "\(path)", caller) }
  }

  /// Whether the rules let a property be read.
  private func sees(
    _ operation: AccessOperation, _ path: PropertyPath, _ found: StoredValue?, _ rights: Rights
  ) -> Bool {
    let subject = AccessSubject(reading: path, found.map { JSONTree($0.value) }, at: .now)
    return rights.decide(operation, subject) { store.read(bytes: $0.bytes.span).value?.value } == .allowed
  }

  /// Refuses what is neither reading nor writing a property.
  ///
  /// - Parameter value: The message.
  func check(
    _ operation: AccessOperation, _ path: PropertyPath, _ value: JSONText? = nil, as caller: Caller
  ) throws(Problem) {
    guard let rights = rights(of: caller), !rights.isAdministrator else { return }
    let subject = AccessSubject(writing: path, value.map { JSONTree($0) }, replacing: nil, at: .now)
    switch rights.decide(operation, subject, read: { store.read(bytes: $0.bytes.span).value?.value }) {
    case .allowed: return
    case .denied: throw forbidden(operation, "\(path)", caller)
    case .invalid(let match): throw invalid(operation, path, match)
    }
  }

  /// Refuses to tell what a property was or will be, unless it may be read now whatever its value is: the rules would have to be
  /// asked for each.
  func checkReadingAnyValue(_ path: PropertyPath, as caller: Caller) throws(Problem) {
    try checkAnyValue(.get, path, caller)
  }

  /// Refuses to tell how many watch a property now, unless that is allowed now whatever its value is.
  func checkWatchers(_ path: PropertyPath, as caller: Caller) throws(Problem) {
    try checkAnyValue(.demand, path, caller)
  }

  private func checkAnyValue(_ operation: AccessOperation, _ path: PropertyPath, _ caller: Caller) throws(Problem) {
    guard let rights = rights(of: caller) else { return }
    let isAllowed = rights.allowsAnyValue(operation, path, at: .now) { store.read(bytes: $0.bytes.span).value?.value }
    guard isAllowed else { throw forbidden(operation, "\(path)", caller) }
  }

  /// Refuses to tell who watches these patterns, from now on, unless that is allowed for all of their paths whatever
  /// properties there are.
  func checkDemand(_ patterns: [PathPattern], as caller: Caller) throws(Problem) {
    guard let rights = rights(of: caller), !rights.isAdministrator else { return }
    for pattern in patterns where !rights.allowsAll(.demand, pattern) {
      throw forbidden(.demand, "\(pattern)", caller)
    }
  }

  /// What the caller may see of properties by these patterns.
  ///
  /// - Parameter orNothing: Whether the answer may be: nothing.
  /// - Throws: `forbidden` when that can be nothing, and may not be.
  func scope(
    _ operation: AccessOperation, of patterns: [PathPattern], as caller: Caller, orNothing: Bool = false
  ) throws(Problem) -> (patterns: [PathPattern], audience: Audience?) {
    guard let rights = rights(of: caller) else { return (patterns, nil) }
    guard let scope = rights.scope(operation, of: patterns) else {
      if orNothing { return (patterns, .nobody) }
      throw forbidden(operation, patterns.map(\.description).joined(separator: ", "), caller)
    }
    return scope
  }

  /// An audience as the hub knows it.
  func viewers(_ audience: Audience) -> Viewers { Viewers(audience, of: store) }

  /// Whether a property that decides what viewers see has changed since then, or may have.
  func hasDecided(_ viewers: Viewers?, since cursor: Cursor?) -> Bool {
    guard let patterns = viewers?.audience.dependencies, !patterns.isEmpty, let cursor else { return false }
    guard let changes = store.changes(since: store.present(cursor), match: patterns) else { return true }
    return changes.contains { commit in
      commit.contains { change in patterns.contains { $0.matches(change.path) } }
    }
  }

  /// Whether an audience may see a stored property.
  ///
  /// - Parameter work: The cost is subtracted from it.
  func admits(_ audience: Audience?, _ stored: StoredValue, work: inout Int) -> Bool {
    audience.map { viewers($0).see(stored, decided: nil, work: &work) } ?? true
  }

  /// Reads a property with the server's eyes, for rules that depend on it.
  func readForRules(_ path: PropertyPath) -> StoredValue? { store.read(bytes: path.bytes.span).value }

  // MARK: Writing

  /// What the rules say about a write.
  struct WriteVerdict {
    /// Whether the caller may know what is there.
    var sees = true
    /// Whether the write must find the property as it was when it was judged.
    var dependsOnOld = false
    /// The other properties that decided.
    var premises: [PropertyStore.Operation.Premise] = []
  }

  /// Judges a write against the state of now, without the store's lock.
  ///
  /// - Parameter isConditional: Whether the caller has conditions on what is there, which it must be allowed to know
  ///   then.
  func judge(
    _ action: PropertyStore.Operation.Action, _ path: PropertyPath, replacing current: StoredValue?,
    isConditional: Bool, as caller: Caller
  ) throws(Problem) -> WriteVerdict {
    var verdict = WriteVerdict()
    guard let rights = rights(of: caller), !rights.isAdministrator else { return verdict }
    let operation: AccessOperation
    var value: JSONText?
    switch action {
    case .set(let new, _, _, _): (operation, value) = (.set, new)
    case .delete: operation = .delete
    case .define(let formula):
      operation = .define
      for input in formula.inputs { try checkReading(.get, input, readForRules(input), as: caller) }
    }
    let old = current.map { JSONTree($0.value) }
    var premises: [PropertyStore.Operation.Premise] = []
    func read(_ path: PropertyPath) -> JSONText? {
      let found = readForRules(path)
      premises.append(PropertyStore.Operation.Premise(path, unchanged(found)))
      return found?.value
    }
    let decision = rights.decide(
      operation, AccessSubject(writing: path, value.map { JSONTree($0) }, replacing: old, at: .now), read: read)
    // Whoever sets a property for a time, or for as long as it is there, deletes it then.
    if action.ends, decision == .allowed {
      let ending = AccessSubject(writing: path, nil, replacing: value.map { JSONTree($0) }, at: .now)
      guard rights.decide(.delete, ending, read: read) == .allowed else { throw forbidden(.delete, "\(path)", caller) }
    }
    verdict.premises = premises
    verdict.sees = sees(.get, path, current, rights)
    switch decision {
    case .denied: throw forbidden(operation, "\(path)", caller)
    case .invalid(let match):
      // A value may be invalid because of what was there.
      guard verdict.sees else { throw forbidden(operation, "\(path)", caller) }
      throw invalid(operation, path, match)
    case .allowed: break
    }
    guard verdict.sees || !isConditional else { throw forbidden(.get, "\(path)", caller) }
    verdict.dependsOnOld = rights.dependsOnOld(operation, path)
    return verdict
  }

  /// The condition that a property is as it was read.
  func unchanged(_ current: StoredValue?) -> Condition {
    current.map { .matches(Cursor(epoch: store.epoch, revision: $0.revision)) } ?? .absent
  }

  // MARK: Refusals

  /// A refusal of the store for somebody who may not know what is there.
  func concealed(_ error: StoreError, inTransaction: Bool, from caller: Caller) -> Problem {
    switch error {
    case .conditionFailed(let operation, _, _), .isComputed(let operation):
      let problem = Problem(.forbidden, "Not allowed.")
      return inTransaction ? problem.of(operation: operation) : problem
    default: return problem(error, inTransaction: inTransaction, to: caller)
    }
  }

  private func forbidden(_ operation: AccessOperation, _ path: String, _ caller: Caller) -> Problem {
    let isUnknown = caller.identity == nil && access.canIdentify
    var problem = Problem(
      isUnknown ? .unauthenticated : .forbidden,
      "Not allowed to \(operation.rawValue) \"\(path)\"" + (isUnknown ? " for somebody unknown." : "."))
    problem.note = AuditNote(operation: operation, path: path)
    return problem
  }

  private func invalid(_ operation: AccessOperation, _ path: PropertyPath, _ match: String) -> Problem {
    var problem = Problem(.invalidValue, "The rule \"\(match)\" does not take this value for \"\(path)\".")
    problem.note = AuditNote(operation: operation, path: "\(path)", rule: match)
    return problem
  }
}

extension PropertyStore.Operation.Action {
  /// Whether the property ends by itself: it has a time to live, or a holder.
  fileprivate var ends: Bool {
    if case .set(_, _, let ttl, let holder) = self { ttl != nil || holder != nil } else { false }
  }
}

extension OperationResult {
  /// The result for somebody who may not know what was there.
  func concealed(_ action: PropertyStore.Operation.Action) -> OperationResult {
    let outcome: Outcome = if case .delete = action { .deleted } else { .replaced }
    return OperationResult(outcome: outcome, value: nil, revision: revision, isChange: isChange)
  }
}
