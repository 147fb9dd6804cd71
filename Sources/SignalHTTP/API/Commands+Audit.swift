// SPDX-License-Identifier: MIT
import SignalAccess
import SignalStore

/// What an audit log is told of a refusal beyond its code.
final class AuditNote: Sendable {
  /// What was to be done, as the rules name it.
  let operation: String?
  /// The path or pattern.
  let path: String?
  /// The pattern of a rule.
  let rule: String?
  /// Why a proof of who asks was not accepted, which the client is not told, and what kind of proof it was.
  let fault: (reason: String, proof: String)?
  /// The id of the token that was given, or of the key that it names.
  let key: String?

  init(operation: AccessOperation, path: String, rule: String? = nil) {
    self.operation = operation.rawValue
    self.path = path
    self.rule = rule
    fault = nil
    key = nil
  }

  init(fault reason: String, of proof: String, key: String? = nil) {
    operation = nil
    path = nil
    rule = nil
    fault = (reason, proof)
    self.key = key
  }
}

extension AuditNote {
  /// What is noted of a token that is not accepted: what it calls itself, and nothing that could prove it.
  convenience init(_ fault: TokenFault, of text: Span<UInt8>) {
    if Token.hasPrefix(text) {
      self.init(fault: fault.rawValue, of: "token", key: Token.loggableID(in: text))
    } else {
      self.init(fault: fault.rawValue, of: "jwt", key: JSONWebToken.keyID(in: text))
    }
  }
}

/// What commands tell an audit log.
extension Commands {
  /// What a refusal is noted as; nil when it is not.
  func auditKind(of problem: Problem) -> AuditEvent.Kind? {
    guard let audit, let kind = problem.code.audited, audit.wants(kind) else { return nil }
    return kind
  }

  /// Notes a refusal, if it is one that matters to security.
  ///
  /// - Parameter request: The request or command.
  func note(_ problem: Problem, of identity: Identity?, _ peer: Peer?, request: @autoclosure () -> String) {
    guard let audit, let kind = auditKind(of: problem) else { return }
    let note = problem.note
    var event = AuditEvent(
      kind, identity: identity, peer: peer, request: request(), operation: note?.operation, path: note?.path,
      outcome: problem.code.rawValue, subject: note?.rule, key: note?.key)
    if let fault = note?.fault { (event.outcome, event.subject) = (fault.reason, fault.proof) }
    if let exceeded = problem.exceeded { event.subject = exceeded.kind.rawValue }
    if let quota = problem.quota { event.subject = "quota \(quota.excess.match)" }
    audit.record(event)
  }

  /// Notes the beginning or the end of a connection of somebody known.
  func noteSession(
    _ kind: AuditEvent.Kind, of identity: Identity, _ peer: Peer?, request: String, outcome: String? = nil
  ) {
    guard let audit, audit.wants(kind) else { return }
    audit.record(AuditEvent(kind, identity: identity, peer: peer, request: request, outcome: outcome))
  }

  /// Notes a write that has been carried out.
  func note(
    _ action: PropertyStore.Operation.Action, _ path: PropertyPath, _ result: OperationResult, by caller: Caller
  ) {
    guard let audit, audit.wants(.write) else { return }
    let operation: AccessOperation =
      switch action {
      case .set: .set
      case .delete: .delete
      case .define: .define
      }
    note(operation, path, "\(result.outcome)", by: caller)
  }

  /// Notes what has been carried out, and is no write of a property.
  func note(_ operation: AccessOperation, _ path: PropertyPath, _ outcome: String, by caller: Caller) {
    guard let audit, audit.wants(.write) else { return }
    audit.record(
      AuditEvent(
        .write, identity: caller.identity, peer: caller.peer, operation: operation.rawValue, path: "\(path)",
        outcome: outcome))
  }
}

extension Problem.Code {
  /// What an audit log calls a refusal; nil for those that do not matter to security.
  fileprivate var audited: AuditEvent.Kind? {
    switch self {
    case .forbidden, .unauthenticated, .invalidValue, .originRefused, .misdirected: .refused
    case .invalidToken, .identityMismatch: .authenticationFailed
    case .tooManyRequests, .quotaExceeded: .limitExceeded
    default: nil
    }
  }
}
