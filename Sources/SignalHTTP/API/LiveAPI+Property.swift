// SPDX-License-Identifier: MIT
import JSON
import SignalStore

/// One property: `/properties/{path}` (`docs/protocol.md` §2.1).
extension LiveAPI {
  private static let propertyParameters = ["pointer", "since", "wait", "until", "watchers"] + stateParameters

  func getProperty(
    _ encoded: ByteView, _ head: borrowing RequestHead, _ response: inout ResponseWriter, _ responder: HTTPResponder,
    as caller: Caller, on loop: isolated EventLoop
  ) throws(APIError) -> Disposition {
    let query = try Query(head, Self.propertyParameters)
    if query.has("watchers") {
      for name in ["since", "wait", "until", "at", "fresh"] where query.has(name) {
        throw .problem(Problem(.badQuery, "The number of watchers is not told to one who waits: \"\(name)\"."))
      }
    }
    if query.has("at") || query.has("fresh") || (query.has("since") && service.cluster != nil) {
      // Only who may read waits.
      _ = try read(encoded, as: caller)
      if let wait = try awaitState(query, since: try query.cursor("since"), responder, on: loop) { return wait }
    }
    if query.has("since") || query.has("wait") || query.has("until") {
      return try awaitProperty(encoded, head, query, &response, responder, as: caller, on: loop)
    }
    let asksForWatchers = try query.bool("watchers") == true
    let pointer = try query.one("pointer")
    let (found, revision) = try read(encoded, as: caller)
    let path = if let found { found.path } else { try propertyPath(encoded) }
    if asksForWatchers {
      try problem { () throws(Problem) in try service.commands.checkWatchers(path, as: caller) }
      if awaitWatchers(responder) { return .later }
      // Also when there is no such property: a provider wants to know the number before it sets the property.
      response.addCommonField("Signal-Watchers") { $0.append(decimal: service.hub.watchers.count(path)) }
    }
    try answerProperty(path, found, revision, pointer, head, &response)
    return .answered
  }

  /// Answers with the property, or with the reason why not.
  func answerProperty(
    _ path: PropertyPath, _ found: StoredValue?, _ revision: Revision, _ pointer: String?,
    _ head: borrowing RequestHead, _ response: inout ResponseWriter
  ) throws(APIError) {
    // RFC 9110 §13.2.1: conditions are evaluated only where the answer without them would be a success.
    guard let found else { throw .problem(service.commands.notFound(path, at: revision)) }
    let value = if let pointer { try part(of: found.value, pointer, at: revision) } else { found.value }
    // RFC 9110 §13.2.2: If-Match or, without it, If-Unmodified-Since; then If-None-Match or, without it,
    // If-Modified-Since.
    let isMatched = try matches(.ifMatch, head, found, .strong)
    if isMatched == false || (isMatched == nil && !unmodifiedSince(head).holds(for: found, in: service.commands.epoch))
    {
      var problem = Problem(.preconditionFailed, "The condition does not hold for the present value.")
      problem.current = service.commands.currentText(found)
      problem.cursor = cursor(revision)
      throw .problem(problem)
    }
    let noneMatch = try matches(.ifNoneMatch, head, found, .weak)
    if noneMatch == true || (noneMatch == nil && !isModified(found, head)) {
      // The tag that the client has named: of the content that it keeps.
      let isPlain = noneMatch == nil ? true : try matches(.ifNoneMatch, head, found, .weak, tags: [.identity]) == true
      response.begin(.notModified)
      appendValidators(found, revision, isPlain ? .identity : .gzip, &response)
      return response.endWithoutBody()
    }
    let content = response.encode(value.bytes)
    response.begin(.ok)
    response.field("Content-Type", "application/json")
    appendValidators(found, revision, content.isGzip ? .gzip : .identity, &response)
    response.end(content)
  }

  /// - Returns: Whether something was changed.
  func putProperty(
    _ encoded: ByteView, _ head: borrowing RequestHead, _ body: RequestBody, _ response: inout ResponseWriter,
    as caller: Caller
  ) throws(APIError) -> Bool {
    let query = try Query(head, ["always", "if", "ttl", "sync"])
    let path = try propertyPath(encoded)
    try refuseEncoding(head)
    let isSynced = try isSynced(query)
    // RFC 9110 §9.3.4: most likely a partial value that is sent by mistake as if it were complete.
    guard !head.has(.contentRange) else { throw .problem(Problem(.partialContent, "Content-Range is not taken.")) }
    let isFormula = head[.contentType].map(isFormulaType) ?? false
    let (condition, filter) = try conditions(head, query, body)
    let (action, count) = isFormula ? try define(query, body) : try set(query, body)
    let request = OperationRequest(action, path, if: condition, filter: filter)
    let result = try problem { () throws(Problem) in try service.commands.execute(request, as: caller) }
    if isSynced { service.awaitDurability() }
    response.begin(result.outcome == .created ? .created : .noContent)
    appendRevision(result.revision, &response)
    if let expires = result.value?.expires { response.field("Signal-Expires") { expires.write(to: &$0) } }
    // RFC 9110 §9.3.4: only when the value was stored byte for byte as received.
    if let stored = result.value, !isFormula, stored.value.bytes.count == count {
      appendEntityTag(of: stored, &response)
    }
    if result.outcome == .created { response.field("Location", head.path.array) }
    response.endWithoutBody()
    return result.isChange
  }

  /// The action, and the size of the body.
  private func set(_ query: Query, _ body: RequestBody) throws(APIError) -> (PropertyStore.Operation.Action, Int) {
    let always = try query.bool("always") ?? false
    let ttl = try query.duration("ttl")
    let body = try body.read()
    return (.set(try jsonValue(body), always: always, ttl: ttl), body.count)
  }

  /// Makes the property a computed one.
  private func define(_ query: Query, _ body: RequestBody) throws(APIError) -> (PropertyStore.Operation.Action, Int) {
    guard !query.has("always"), !query.has("ttl") else {
      throw .problem(Problem(.badQuery, "\"always\" and \"ttl\" are for values, not for formulas."))
    }
    let body = try body.read()
    guard let source = String(validating: body.array, as: UTF8.self) else {
      throw .problem(Problem(.badFormula, "The formula is not UTF-8."))
    }
    return (.define(try problem { () throws(Problem) in try service.commands.formula(source) }), body.count)
  }

  /// Whether a `Content-Type` identifies the body as an expression, with or without parameters.
  private func isFormulaType(_ type: ByteView) -> Bool {
    let end = type.firstIndex(of: UInt8(ascii: ";")) ?? type.count
    return type[0..<end].trimmed.equalsIgnoringCase("application/cel")
  }

  /// - Returns: Whether something was changed.
  func deleteProperty(
    _ encoded: ByteView, _ head: borrowing RequestHead, _ response: inout ResponseWriter, as caller: Caller
  ) throws(APIError) -> Bool {
    let query = try Query(head, ["if", "sync"])
    let path = try propertyPath(encoded)
    let isSynced = try isSynced(query)
    let request = OperationRequest(.delete, path, if: try condition(head), filter: try query.one("if"))
    let result = try problem { () throws(Problem) in try service.commands.execute(request, as: caller) }
    if isSynced { service.awaitDurability() }
    response.begin(.noContent)
    appendRevision(result.revision, &response)
    response.endWithoutBody()
    return result.isChange
  }

  /// The conditions of a write.
  ///
  /// The expression is compiled with the write; earlier only to refuse a request before its body is sent.
  func conditions(
    _ head: borrowing RequestHead, _ query: Query, _ body: RequestBody
  ) throws(APIError) -> (Condition, filter: String?) {
    let condition = try condition(head)
    let filter = try query.one("if")
    if body.isAwaited, let filter {
      _ = try problem { () throws(Problem) in try service.commands.conditionFilter(filter) }
    }
    return (condition, filter)
  }

  func condition(_ head: borrowing RequestHead) throws(APIError) -> Condition {
    guard head.has(.ifMatch) || head.has(.ifNoneMatch) else { return unmodifiedSince(head) }
    if head.has(.ifMatch), head.has(.ifNoneMatch) {
      throw .problem(Problem(.badCondition, "If-Match and If-None-Match exclude each other."))
    }
    // RFC 9110 §13.2.2 evaluates both when there is no If-Match; neither guard may be dropped silently.
    if head.has(.ifNoneMatch), unmodifiedSince(head) != .any {
      throw .problem(Problem(.badCondition, "If-None-Match and If-Unmodified-Since exclude each other."))
    }
    var cursors: [Cursor] = []
    var isAny = false
    let field: KnownField = head.has(.ifMatch) ? .ifMatch : .ifNoneMatch
    try entityTags { () throws(HTTPParseError) in
      try head.forEachEntityTag(in: field) { tag in
        guard let tag else {
          isAny = true
          return
        }
        // A weak tag never matches strongly, and a tag of another form is not one of this server: neither is a cursor.
        guard !tag.isWeak || field == .ifNoneMatch else { return }
        let inner = Self.withoutCoding(tag.opaque[1..<tag.opaque.count - 1])
        if let cursor = inner.withSpan({ Cursor($0) }) { cursors.append(cursor) }
      }
    }
    if field == .ifMatch { return isAny ? .exists : .matchesAny(cursors) }
    return isAny ? .absent : .noneMatch(cursors)
  }

  /// The condition of `If-Unmodified-Since` (RFC 9110 §13.1.4).
  private func unmodifiedSince(_ head: borrowing RequestHead) -> Condition {
    guard let date = date(.ifUnmodifiedSince, head) else { return .any }
    // Up to the end of the second, as the field has no fractions.
    return .unmodifiedSince(Timestamp(milliseconds: date.secondsSinceEpoch * 1000 + 999))
  }
}
