// SPDX-License-Identifier: MIT
import JSON
import SignalStore

/// The routes of the product (`docs/protocol.md` §2), for the requests of one loop.
final class LiveAPI: RequestHandler {
  private let service: LiveService
  private let origins: OriginPolicy

  init(_ service: LiveService) {
    self.service = service
    origins = OriginPolicy(service.configuration.origins)
  }

  func handle(
    _ head: borrowing RequestHead, _ body: ByteView, _ response: inout ResponseWriter, _ responder: HTTPResponder,
    on loop: isolated EventLoop
  ) -> Disposition {
    do throws(APIError) {
      try origins.admit(head, &response)
      return try route(head, body, &response, on: loop)
    } catch {
      response.refuse(error)
      return .answered
    }
  }

  private func route(
    _ head: borrowing RequestHead, _ body: ByteView, _ response: inout ResponseWriter, on loop: isolated EventLoop
  ) throws(APIError) -> Disposition {
    guard let route = Route(head.path) else {
      if head.targetForm == .asterisk, head.knownMethod == .options {
        response.allow("GET, HEAD, POST, PUT, DELETE, OPTIONS")
        return .answered
      }
      throw .problem(Problem(.noSuchRoute, "There is nothing at \"\(head.path.string)\"."))
    }
    switch (route, head.knownMethod) {
    case (_, .options): answerOptions(head, route, &response)
    case (.property(let path), .get), (.property(let path), .head): try getProperty(path, head, &response)
    case (.property(let path), .put): try putProperty(path, head, body, &response)
    case (.property(let path), .delete): try deleteProperty(path, head, &response)
    case (.list, .get), (.list, .head): try listProperties(head, &response)
    case (.transactions, .post): try transact(head, body, &response)
    case (.events, .get): return try openEvents(head, &response)
    case (.live, .get), (.live, .head): answerHealth("live", isWell: true, &response)
    case (.ready, .get), (.ready, .head):
      answerHealth(loop.isDraining ? "draining" : "ready", isWell: !loop.isDraining, &response)
    default:
      var problem = Problem(.methodNotAllowed, "\(head.method) is not allowed here.")
      problem.allowed = route.allowed
      throw .problem(problem)
    }
    return .answered
  }

  private func answerOptions(_ head: borrowing RequestHead, _ route: Route, _ response: inout ResponseWriter) {
    if head.has(.accessControlRequestMethod), origins.isCrossOrigin(head) {
      response.addCommonField("Access-Control-Allow-Methods", route.allowed)
      response.addCommonField(
        "Access-Control-Allow-Headers", "Content-Type, If-Match, If-None-Match, Last-Event-ID")
      response.addCommonField("Access-Control-Max-Age", "600")
    }
    response.allow(route.allowed)
  }

  private func answerHealth(_ status: StaticString, isWell: Bool, _ response: inout ResponseWriter) {
    response.begin(isWell ? .ok : .serviceUnavailable)
    response.field("Content-Type", "application/json")
    response.field("Cache-Control", "no-store")
    var text: [UInt8] = []
    text.append(literal: #"{"status":""#)
    text.append(literal: status)
    text.append(literal: #""}"#)
    response.end(text)
  }

  // MARK: One property

  private func getProperty(
    _ encoded: ByteView, _ head: borrowing RequestHead, _ response: inout ResponseWriter
  ) throws(APIError) {
    let query = try Query(head, ["pointer"])
    let (found, revision) = try read(encoded)
    let tag = found.map(entityTag)
    // RFC 9110 §13.2.2: If-Match, then If-None-Match, then, without the latter, If-Modified-Since.
    if try matches(.ifMatch, head, tag, .strong) == false {
      var problem = Problem(.preconditionFailed, "If-Match does not name the present value.")
      problem.current = found.map(service.currentText) ?? .null
      throw .problem(problem)
    }
    guard let found, let tag else { throw .problem(service.notFound(try propertyPath(encoded))) }
    let noneMatch = try matches(.ifNoneMatch, head, tag, .weak)
    if noneMatch == true || (noneMatch == nil && !isModified(found, head)) {
      response.begin(.notModified)
      appendValidators(found, tag, revision, &response)
      return response.endWithoutBody()
    }
    let value = if let pointer = try query.one("pointer") { try part(of: found.value, pointer) } else { found.value }
    response.begin(.ok)
    response.field("Content-Type", "application/json")
    appendValidators(found, tag, revision, &response)
    response.end(value.bytes)
  }

  private func putProperty(
    _ encoded: ByteView, _ head: borrowing RequestHead, _ body: ByteView, _ response: inout ResponseWriter
  ) throws(APIError) {
    let query = try Query(head, ["always", "if"])
    let path = try propertyPath(encoded)
    if let encoding = head[.contentEncoding], !encoding.equalsIgnoringCase("identity") {
      throw .problem(Problem(.unsupportedEncoding, "A body with Content-Encoding \"\(encoding.string)\" is not taken."))
    }
    let value = try jsonValue(body)
    let always = try query.bool("always") ?? false
    let result = try write(path, head, query) { condition throws(StoreError) in
      try service.store.set(path, value, if: condition, always: always)
    }
    response.begin(result.outcome == .created ? .created : .noContent)
    appendRevision(result.revision, &response)
    // RFC 9110 §9.3.4: only when the value was kept byte for byte as it came.
    if let stored = result.value, stored.value.bytes.count == body.count {
      response.field("ETag", entityTag(stored))
    }
    guard result.outcome == .created else { return response.endWithoutBody() }
    response.field("Location", head.path.array)
    response.endWithoutBody()
  }

  private func deleteProperty(
    _ encoded: ByteView, _ head: borrowing RequestHead, _ response: inout ResponseWriter
  ) throws(APIError) {
    let query = try Query(head, ["if"])
    let path = try propertyPath(encoded)
    let result = try write(path, head, query) { condition throws(StoreError) in
      try service.store.delete(path, if: condition)
    }
    guard result.outcome != .unchanged else { throw .problem(service.notFound(path)) }
    response.begin(.noContent)
    appendRevision(result.revision, &response)
    response.endWithoutBody()
  }

  /// Carries out a write under the conditions of the request.
  ///
  /// An expression is evaluated without the store's lock; the write then demands that what it saw is still there, and
  /// is tried again when it is not.
  private func write(
    _ path: PropertyPath, _ head: borrowing RequestHead, _ query: Query,
    _ write: (Condition) throws(StoreError) -> OperationResult
  ) throws(APIError) -> OperationResult {
    let condition = try self.condition(head)
    let source = try query.one("if")
    let filter: Filter? = if let source { try problem { () throws(Problem) in try service.filter(source) } } else { nil }
    if let filter, !filter.isState {
      throw .problem(Problem(.badFilter, "A condition can use path and value only."))
    }
    while true {
      var effective = condition
      if let filter {
        let current = service.store.get(path)
        guard condition.holds(for: current, in: service.store.epoch), filter.holds(forPath: path, current) else {
          var problem = Problem(.preconditionFailed, "The condition does not hold for the present value.")
          problem.current = current.map(service.currentText) ?? .null
          throw .problem(problem)
        }
        effective = current.map { .matches(Cursor(epoch: service.store.epoch, revision: $0.revision)) } ?? .absent
      }
      do throws(StoreError) {
        return try write(effective)
      } catch {
        if filter != nil, case .conditionFailed = error { continue }
        throw .problem(service.problem(error, inTransaction: false))
      }
    }
  }

  private func condition(_ head: borrowing RequestHead) throws(APIError) -> Condition {
    guard head.has(.ifMatch) || head.has(.ifNoneMatch) else { return .any }
    if head.has(.ifMatch), head.has(.ifNoneMatch) {
      throw .problem(Problem(.badCondition, "If-Match and If-None-Match exclude each other."))
    }
    var cursors: [Cursor] = []
    var isAny = false
    let field: KnownField = head.has(.ifMatch) ? .ifMatch : .ifNoneMatch
    try parsing { () throws(HTTPParseError) in
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

  // MARK: The list and transactions

  private func listProperties(_ head: borrowing RequestHead, _ response: inout ResponseWriter) throws(APIError) {
    let query = try Query(head, ["match", "where", "limit", "after"])
    let limits = service.configuration.limits
    let limit = try query.integer("limit", in: 1...limits.listLimit) ?? limits.listDefault
    let patterns = try query.patterns(service.configuration)
    var after: PropertyPath?
    if let text = try query.one("after") {
      do throws(PathError) {
        after = try PropertyPath(text, limits: service.configuration.paths)
      } catch {
        throw .problem(Problem(.badPath, "\(error)"))
      }
    }
    var filter: Filter?
    if let source = try query.one("where") {
      let compiled = try problem { () throws(Problem) in try service.filter(source) }
      guard compiled.isListable else {
        throw .problem(Problem(.badFilter, "In a list there is no oldValue and no op."))
      }
      filter = compiled
    }
    guard let type = Accept.best(of: ["application/json", "application/x-ndjson"], for: head) else {
      throw .problem(Problem(.notAcceptable, "The list is application/json or application/x-ndjson."))
    }
    let page = PropertyListPage(
      service.store.snapshot(), patterns.isEmpty ? [.all] : patterns, filter, after: after, limit: limit, limits,
      asLines: type == 1)
    response.begin(.ok)
    response.field("Content-Type", type == 0 ? "application/json" : "application/x-ndjson")
    response.field("Vary", "Accept")
    response.field("Signal-Revision") { page.cursor.write(to: &$0) }
    if type == 1, let next = page.next {
      response.field("Signal-Next") { Query.appendEncoded(next.bytes, to: &$0) }
    }
    response.end(page.text)
  }

  private func transact(
    _ head: borrowing RequestHead, _ body: ByteView, _ response: inout ResponseWriter
  ) throws(APIError) {
    _ = try Query(head, [])
    if let encoding = head[.contentEncoding], !encoding.equalsIgnoringCase("identity") {
      throw .problem(Problem(.unsupportedEncoding, "A body with Content-Encoding \"\(encoding.string)\" is not taken."))
    }
    let operations = try problem { () throws(Problem) in
      try body.withSpan { bytes throws(Problem) in
        try TransactionRequest.operations(bytes, service.configuration, limit: service.store.limits.operations)
      }
    }
    let result: TransactionResult
    do throws(StoreError) {
      result = try service.store.transact(operations)
    } catch {
      throw .problem(service.problem(error, inTransaction: true))
    }
    response.begin(.ok)
    response.field("Content-Type", "application/json")
    appendRevision(result.revision, &response)
    var text: [UInt8] = []
    text.append(literal: #"{"revision":""#)
    Cursor(epoch: service.store.epoch, revision: result.revision).write(to: &text)
    text.append(literal: #"","changed":"#)
    text.appendJSON(result.results.count { $0.outcome != .unchanged })
    text.append(UInt8(ascii: "}"))
    response.end(text)
  }

  // MARK: Events

  private func openEvents(
    _ head: borrowing RequestHead, _ response: inout ResponseWriter
  ) throws(APIError) -> Disposition {
    let query = try Query(head, ["match", "where", "initial", "since", "exit", "oldValue"])
    let isWebSocket = head.wantsUpgrade
    var request = try query.subscription(service.configuration)
    if !isWebSocket, let field = try parsing({ () throws(HTTPParseError) in try head.single(.lastEventID) }) {
      guard let cursor = field.withSpan({ Cursor($0) }) else {
        throw .problem(Problem(.badCursor, "Last-Event-ID is not of the form <epoch>.<revision>."))
      }
      request?.since = cursor
    }
    var options: SubscriptionOptions?
    if let request { options = try problem { () throws(Problem) in try service.options(for: request) } }
    if isWebSocket {
      let first = if let request, let options { (options, request) } else { nil as (SubscriptionOptions, SubscribeRequest)? }
      return .webSocket(
        LiveSession(service, first: first), subprotocols: [LiveSession.subprotocol], acceptsBinary: false)
    }
    guard Accept.best(of: ["text/event-stream"], for: head) != nil else {
      throw .problem(Problem(.notAcceptable, "Events are text/event-stream, or a WebSocket."))
    }
    guard let request, let options else {
      throw .problem(Problem(.badQuery, "Server-sent events need \"match\"."))
    }
    response.begin(.ok)
    response.field("Content-Type", "text/event-stream")
    response.field("Cache-Control", "no-store")
    // Some proxies collect a response before they pass it on, unless they are told.
    response.field("X-Accel-Buffering", "no")
    return .eventStream(EventStreamSession(service, options, request))
  }

  // MARK: Parts

  private func read(_ encoded: ByteView) throws(APIError) -> (value: StoredValue?, revision: Revision) {
    // A path without an escape is looked up as it stands: nothing is allocated, and what is no path is not found.
    if encoded.firstIndex(of: UInt8(ascii: "%")) == nil {
      let (value, revision) = encoded.withSpan { service.store.read(bytes: $0) }
      if value != nil { return (value, revision) }
    }
    let path = try propertyPath(encoded)
    return service.store.read(bytes: path.bytes.span)
  }

  private func propertyPath(_ encoded: ByteView) throws(APIError) -> PropertyPath {
    do throws(PathError) {
      return try encoded.withSpan { bytes throws(PathError) in
        try PropertyPath(percentEncoded: bytes, limits: service.configuration.paths)
      }
    } catch {
      throw .problem(Problem(.badPath, "\(error)"))
    }
  }

  private func jsonValue(_ body: ByteView) throws(APIError) -> JSONText {
    do throws(JSONError) {
      return try body.withSpan { bytes throws(JSONError) in
        try JSONText(validating: bytes, limits: service.configuration.values)
      }
    } catch {
      if error.reason == .tooLarge {
        throw .problem(Problem(.bodyTooLarge, "A value has at most \(service.configuration.values.bytes) bytes."))
      }
      throw .problem(Problem(.badJSON, "\(error)", position: error.offset))
    }
  }

  private func part(of value: JSONText, _ pointer: String) throws(APIError) -> JSONText {
    let parsed: JSONPointer
    do throws(JSONPointer.ParseError) {
      parsed = try JSONPointer(pointer)
    } catch {
      throw .problem(Problem(.badPointer, "\(error)"))
    }
    let tree = JSONTree(value)
    guard let node = tree.node(at: parsed) else {
      throw .problem(Problem(.pointerNotFound, "The value has nothing at \"\(pointer)\"."))
    }
    return tree.text(of: node)
  }

  private func entityTag(_ stored: StoredValue) -> [UInt8] {
    var tag: [UInt8] = [UInt8(ascii: "\"")]
    tag.reserveCapacity(32)
    Cursor(epoch: service.store.epoch, revision: stored.revision).write(to: &tag)
    tag.append(UInt8(ascii: "\""))
    return tag
  }

  private func matches(
    _ field: KnownField, _ head: borrowing RequestHead, _ tag: [UInt8]?, _ comparison: RequestHead.TagComparison
  ) throws(APIError) -> Bool? {
    guard head.has(field) else { return nil }
    do throws(HTTPParseError) {
      guard let tag else { return try head.entityTags(in: field, contain: nil, by: comparison) }
      return try tag.withView { view throws(HTTPParseError) in
        try head.entityTags(in: field, contain: view, by: comparison)
      }
    } catch {
      throw .request(error)
    }
  }

  private func isModified(_ stored: StoredValue, _ head: borrowing RequestHead) -> Bool {
    // A date that cannot be read is as if it were not there (RFC 9110 §13.1.3).
    guard let field = head[.ifModifiedSince],
      let date = HTTPDate(field, now: HTTPDate(secondsSinceEpoch: wallClockSeconds()))
    else { return true }
    return stored.time.seconds > date.secondsSinceEpoch
  }

  private func appendValidators(
    _ stored: StoredValue, _ tag: [UInt8], _ revision: Revision, _ response: inout ResponseWriter
  ) {
    response.field("ETag", tag)
    response.field("Last-Modified") { HTTPDate(secondsSinceEpoch: stored.time.seconds).append(to: &$0) }
    appendRevision(revision, &response)
  }

  private func appendRevision(_ revision: Revision, _ response: inout ResponseWriter) {
    response.field("Signal-Revision") { Cursor(epoch: service.store.epoch, revision: revision).write(to: &$0) }
  }

  private func problem<Result>(_ body: () throws(Problem) -> Result) throws(APIError) -> Result {
    do throws(Problem) {
      return try body()
    } catch {
      throw .problem(error)
    }
  }

  private func parsing<Result>(_ body: () throws(HTTPParseError) -> Result) throws(APIError) -> Result {
    do throws(HTTPParseError) {
      return try body()
    } catch {
      throw .request(error)
    }
  }
}

/// Why a request is refused by the API.
enum APIError: Error {
  /// It breaks the syntax of RFC 9110 in a field that only the API reads; the connection goes on.
  case request(HTTPParseError)
  case problem(Problem)
}

/// What stands at a path.
private enum Route {
  case property(ByteView)
  case list, transactions, events, live, ready

  init?(_ path: ByteView) {
    let prefix = ByteView("/properties/")
    if path.count > prefix.count, path[0..<prefix.count].equals(prefix) {
      self = .property(path[prefix.count..<path.count])
    } else if path.equals("/properties") {
      self = .list
    } else if path.equals("/transactions") {
      self = .transactions
    } else if path.equals("/events") {
      self = .events
    } else if path.equals("/health/live") {
      self = .live
    } else if path.equals("/health/ready") {
      self = .ready
    } else {
      return nil
    }
  }

  var allowed: StaticString {
    switch self {
    case .property: "GET, HEAD, PUT, DELETE, OPTIONS"
    case .transactions: "POST, OPTIONS"
    case .events: "GET, OPTIONS"
    case .list, .live, .ready: "GET, HEAD, OPTIONS"
    }
  }
}
