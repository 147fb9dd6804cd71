// SPDX-License-Identifier: MIT
import JSON
import SignalStore

/// One property: `/properties/{path}` (`docs/protocol.md` §2.1).
extension LiveAPI {
  func getProperty(
    _ encoded: ByteView, _ head: borrowing RequestHead, _ response: inout ResponseWriter
  ) throws(APIError) {
    let query = try Query(head, ["pointer"])
    let (found, revision) = try read(encoded)
    let tag = found.map(entityTag)
    // RFC 9110 §13.2.2: If-Match, then If-None-Match, then, without the latter, If-Modified-Since.
    if try matches(.ifMatch, head, tag, .strong) == false {
      var problem = Problem(.preconditionFailed, "If-Match does not name the present value.")
      problem.current = found.map(service.currentText) ?? .null
      problem.cursor = cursor(revision)
      throw .problem(problem)
    }
    guard let found, let tag else { throw .problem(service.notFound(try propertyPath(encoded), at: revision)) }
    let noneMatch = try matches(.ifNoneMatch, head, tag, .weak)
    if noneMatch == true || (noneMatch == nil && !isModified(found, head)) {
      response.begin(.notModified)
      appendValidators(found, tag, revision, &response)
      return response.endWithoutBody()
    }
    let pointer = try query.one("pointer")
    let value = if let pointer { try part(of: found.value, pointer, at: revision) } else { found.value }
    response.begin(.ok)
    response.field("Content-Type", "application/json")
    appendValidators(found, tag, revision, &response)
    response.end(value.bytes)
  }

  func putProperty(
    _ encoded: ByteView, _ head: borrowing RequestHead, _ body: ByteView, _ response: inout ResponseWriter
  ) throws(APIError) {
    let query = try Query(head, ["always", "if"])
    let path = try propertyPath(encoded)
    if let encoding = head[.contentEncoding], !encoding.equalsIgnoringCase("identity") {
      throw .problem(Problem(.unsupportedEncoding, "A body with Content-Encoding \"\(encoding.string)\" is not taken."))
    }
    // RFC 9110 §9.3.4: most likely a part of a value that is put by mistake as if it were all of it.
    guard !head.has(.contentRange) else { throw .problem(Problem(.partialContent, "Content-Range is not taken.")) }
    let isFormula = head[.contentType].map(isFormulaType) ?? false
    let result = isFormula ? try define(path, head, query, body) : try set(path, head, query, body)
    response.begin(result.outcome == .created ? .created : .noContent)
    appendRevision(result.revision, &response)
    // RFC 9110 §9.3.4: only when the value was kept byte for byte as it came.
    if let stored = result.value, !isFormula, stored.value.bytes.count == body.count {
      response.field("ETag", entityTag(stored))
    }
    guard result.outcome == .created else { return response.endWithoutBody() }
    response.field("Location", head.path.array)
    response.endWithoutBody()
  }

  private func set(
    _ path: PropertyPath, _ head: borrowing RequestHead, _ query: Query, _ body: ByteView
  ) throws(APIError) -> OperationResult {
    let value = try jsonValue(body)
    let always = try query.bool("always") ?? false
    return try write(path, head, query) { condition throws(StoreError) in
      try service.store.set(path, value, if: condition, always: always)
    }
  }

  /// Makes the property a computed one.
  private func define(
    _ path: PropertyPath, _ head: borrowing RequestHead, _ query: Query, _ body: ByteView
  ) throws(APIError) -> OperationResult {
    guard try query.bool("always") == nil else {
      throw .problem(Problem(.badQuery, "\"always\" is for values, not for formulas."))
    }
    guard let source = String(validating: body.array, as: UTF8.self) else {
      throw .problem(Problem(.badFormula, "The formula is not UTF-8."))
    }
    let formula = try problem { () throws(Problem) in try service.formula(source) }
    return try write(path, head, query) { condition throws(StoreError) in
      try service.store.define(path, formula, if: condition)
    }
  }

  /// Whether a `Content-Type` says that the body is an expression, with or without parameters.
  private func isFormulaType(_ type: ByteView) -> Bool {
    let end = type.firstIndex(of: UInt8(ascii: ";")) ?? type.count
    return type[0..<end].trimmed.equalsIgnoringCase("application/cel")
  }

  func deleteProperty(
    _ encoded: ByteView, _ head: borrowing RequestHead, _ response: inout ResponseWriter
  ) throws(APIError) {
    let query = try Query(head, ["if"])
    let path = try propertyPath(encoded)
    let result = try write(path, head, query) { condition throws(StoreError) in
      try service.store.delete(path, if: condition)
    }
    guard result.outcome != .unchanged else { throw .problem(service.notFound(path, at: result.revision)) }
    response.begin(.noContent)
    appendRevision(result.revision, &response)
    response.endWithoutBody()
  }

  /// Carries out a write under the conditions of the request.
  ///
  /// An expression is evaluated without the store's lock; the write then demands that what it saw is still there, and
  /// is tried again when it is not.
  func write(
    _ path: PropertyPath, _ head: borrowing RequestHead, _ query: Query,
    _ write: (Condition) throws(StoreError) -> OperationResult
  ) throws(APIError) -> OperationResult {
    let condition = try self.condition(head)
    let source = try query.one("if")
    let filter: Filter? =
      if let source { try problem { () throws(Problem) in try service.filter(source) } } else { nil }
    if let filter, !filter.isState {
      throw .problem(Problem(.badFilter, "A condition can use path and value only."))
    }
    while true {
      var effective = condition
      if let filter {
        let (current, revision) = service.store.read(bytes: path.bytes.span)
        guard condition.holds(for: current, in: service.store.epoch), filter.holds(forPath: path, current) else {
          var problem = Problem(.preconditionFailed, "The condition does not hold for the present value.")
          problem.current = current.map(service.currentText) ?? .null
          problem.cursor = cursor(revision)
          throw .problem(problem)
        }
        effective = current.map { .matches(cursor($0.revision)) } ?? .absent
      }
      do throws(StoreError) {
        return try write(effective)
      } catch {
        if filter != nil, case .conditionFailed = error { continue }
        throw .problem(service.problem(error, inTransaction: false))
      }
    }
  }

  func condition(_ head: borrowing RequestHead) throws(APIError) -> Condition {
    guard head.has(.ifMatch) || head.has(.ifNoneMatch) else { return .any }
    if head.has(.ifMatch), head.has(.ifNoneMatch) {
      throw .problem(Problem(.badCondition, "If-Match and If-None-Match exclude each other."))
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
        // A weak tag never matches strongly, and a tag of another form is none of ours: neither is a cursor.
        guard !tag.isWeak || field == .ifNoneMatch else { return }
        let inner = tag.opaque[1..<tag.opaque.count - 1]
        if let cursor = inner.withSpan({ Cursor($0) }) { cursors.append(cursor) }
      }
    }
    if field == .ifMatch { return isAny ? .exists : .matchesAny(cursors) }
    return isAny ? .absent : .noneMatch(cursors)
  }
}
