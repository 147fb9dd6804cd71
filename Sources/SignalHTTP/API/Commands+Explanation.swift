// SPDX-License-Identifier: MIT
import JSON
import SignalAccess
import SignalStore

/// What `POST /access/explain` asks (`docs/protocol.md` §10.6).
struct AccessQuestion {
  /// About whom.
  enum Subject {
    case caller
    /// Somebody with these claims; nil for somebody unknown.
    case other(Identity?)
  }

  let subject: Subject
  let operation: AccessOperation
  /// The property, or several where the operation is one on patterns.
  let pattern: PathPattern
  /// The property; nil for a question about a pattern.
  let path: PropertyPath?
  /// What is set, sent or, instead of what is there, read.
  let value: JSONText?
  /// The request that is assumed; nil for the one that asks.
  let request: RequestFacts?

  init(_ body: Span<UInt8>, _ configuration: LiveConfiguration) throws(Problem) {
    var limits = configuration.values
    limits.bytes = body.count
    limits.depth += 1
    var members = try JSONMembers(reading: body, within: limits, of: "a question about access")
    guard let word = try members.string("operation") else { throw members.missing("operation") }
    guard let operation = AccessOperation(rawValue: word) else {
      let words = AccessOperation.allCases.map(\.rawValue).joined(separator: ", ")
      throw Problem(.badMessage, "\"operation\" of a question about access is one of \(words).")
    }
    self.operation = operation
    if let claims = members.take("as") {
      subject = .other(try Self.identity(JSONTree(members.tree.text(of: claims))))
    } else {
      subject = .caller
    }
    request = try members.object("request", of: "a question about access").map { request throws(Problem) in
      try Self.facts(request)
    }
    value = try members.value("value", within: configuration.values)
    switch (operation, value) {
    case (.set, nil), (.send, nil): throw members.missing("value")
    case (.delete, _?), (.define, _?), (.timer, _?), (.demand, _?):
      throw Problem(.badMessage, "There is no \"value\" to \(operation.rawValue).")
    default: break
    }
    // One property, where that is what a request is about, or a value is given for it.
    let isAboutPattern: Bool
    switch operation {
    case .list, .watch, .listen: isAboutPattern = value == nil
    case .demand: isAboutPattern = true
    case .get, .set, .delete, .define, .send, .timer: isAboutPattern = false
    }
    if isAboutPattern {
      guard let text = try members.string("path") else { throw members.missing("path") }
      do throws(PathError) {
        pattern = try PathPattern(text, limits: configuration.paths)
        let isProperty = pattern.isLiteral && (operation == .list || operation == .watch)
        path = isProperty ? try PropertyPath(text, limits: configuration.paths) : nil
      } catch {
        throw Problem(.badPattern, "\(error)")
      }
    } else {
      let path = try members.path("path", limits: configuration.paths)
      self.path = path
      pattern = PathPattern(path)
    }
    try members.end()
  }

  /// Claims as far as those of tokens can be.
  private static func identity(_ claims: JSONTree) throws(Problem) -> Identity? {
    if claims.kind(of: .root) == .null { return nil }
    guard let identity = Identity(assuming: claims) else {
      let kinds = Identity.Kind.allCases.map(\.rawValue).joined(separator: ", ")
      throw Problem(
        .badMessage,
        "\"as\" of a question about access is null or an object of claims, in which \"kind\" is one of \(kinds), \"id\" is a "
          + "string and \"expires\" a time.")
    }
    return identity
  }

  private static func facts(_ request: JSONMembers) throws(Problem) -> RequestFacts {
    var members = request
    let facts = RequestFacts(
      address: try members.string("ip"), origin: try members.string("origin"),
      isEncrypted: try members.bool("tls") ?? false)
    try members.end()
    return facts
  }
}

extension Commands {
  /// Explains what the rules decide about an operation.
  ///
  /// Administrators are told about everybody; others about themselves, and nothing that they could not find out by asking
  /// for it. Somebody unknown is told the decision alone.
  func explain(_ question: AccessQuestion, as caller: Caller) throws(Problem) -> AccessExplanation {
    guard let policy = access.policy else { return .unruled }
    let own = rights(of: caller)
    let isAdministrator = own?.isAdministrator ?? true
    let rights: Rights
    switch question.subject {
    case .caller where question.request == nil:
      guard let own else { return .administrator }
      rights = own
    case .caller, .other:
      guard isAdministrator else {
        let isUnknown = caller.identity == nil && access.canIdentify
        throw Problem(
          isUnknown ? .unauthenticated : .forbidden, "Only administrators may ask about others or other requests.")
      }
      let identity = if case .other(let identity) = question.subject { identity } else { caller.identity }
      rights = Rights(RuleIndex(policy), identity, question.request ?? caller.request)
    }
    func read(_ path: PropertyPath) -> JSONText? { readForRules(path)?.value }
    // Rules may say more of those who run a server than strangers have to know.
    func shown(_ explanation: AccessExplanation) -> AccessExplanation {
      isAdministrator || caller.identity != nil ? explanation : explanation.withoutEntries
    }
    guard let path = question.path else {
      // Subscribing tells others as much as the patterns do, and no more.
      return shown(rights.explain(question.operation, of: question.pattern, read: isAdministrator ? read : nil))
    }
    let subject = AccessSubject(question.operation, path, question.value, found: read(path), at: .now)
    let stored: AccessSubject.StoredPart =
      switch question.operation {
      case .get, .list, .watch, .listen: question.value == nil ? .value : .none
      case .set, .delete, .define: .oldValue
      case .send, .timer, .demand: .none
      }
    // Many rules may ask for the same property.
    var known: [PropertyPath: Bool] = [:]
    let mayTell = { (path: PropertyPath) -> Bool in
      if let known = known[path] { return known }
      let found = AccessSubject(reading: path, read(path).map { JSONTree($0) }, at: .now)
      let isTold = rights.decide(.get, found, read: read) == .allowed
      known[path] = isTold
      return isTold
    }
    return shown(
      rights.explain(question.operation, subject, stored: stored, mayTell: isAdministrator ? nil : mayTell, read: read))
  }
}
