// SPDX-License-Identifier: MIT
import JSON
import SignalAccess
import SignalStore

/// The list (`docs/protocol.md` §2.2), transactions (§2.3) and the beginning of an event stream (§2.4).
extension LiveAPI {
  func listProperties(
    _ head: borrowing RequestHead, _ response: inout ResponseWriter, _ responder: HTTPResponder, as caller: Caller,
    on loop: isolated EventLoop
  ) throws(APIError) -> Disposition {
    let query = try Query(head, ["match", "where", "limit", "after", "depth", "fields"] + Self.stateParameters)
    let limits = service.configuration.limits
    let limit = try query.integer("limit", in: 1...limits.listLimit) ?? limits.listDefault
    let patterns = try query.patterns("match", service.configuration)
    let after = try query.path("after", service.configuration)
    let depth = try query.integer("depth", in: 1...service.configuration.paths.depth)
    let fields = try problem { () throws(Problem) in try query.listFields() }
    var filter: Filter?
    if let source = try query.one("where") {
      let compiled = try problem { () throws(Problem) in try service.commands.filter(source) }
      guard compiled.isListable else {
        throw .problem(Problem(.badFilter, "In a list there is no oldValue and no op."))
      }
      filter = compiled
    }
    guard let type = Accept.best(of: ["application/json", "application/x-ndjson"], for: head) else {
      throw .problem(Problem(.notAcceptable, "The list is application/json or application/x-ndjson."))
    }
    let scope = try problem { () throws(Problem) in
      try service.commands.scope(.list, of: patterns.isEmpty ? [.all] : patterns, as: caller)
    }
    if let wait = try awaitState(query, responder, on: loop) { return wait }
    let page = PropertyListPage(
      service.commands, caller,
      PropertyListPage.Request(
        patterns: scope.patterns, audience: scope.audience, filter: filter, after: after, limit: limit,
        depth: depth, fields: fields, asLines: type == 1),
      limits)
    return answer(with: page, &response, responder, on: loop)
  }

  /// Answers now if one slice of work is enough, otherwise when the work is done.
  func answer(
    with work: any RequestWork, _ response: inout ResponseWriter, _ responder: HTTPResponder,
    on loop: isolated EventLoop
  ) -> Disposition {
    let limits = service.configuration.limits
    if let wait = service.requests.begin(work, limit: limits.requestWork, responder: responder, on: loop) {
      return .wait(wait, atMost: service.responseTimeout)
    }
    work.answer(&response)
    return .answered
  }

  /// - Returns: Whether something was changed.
  func transact(
    _ head: borrowing RequestHead, _ body: RequestBody, _ response: inout ResponseWriter, as caller: Caller
  ) throws(APIError) -> Bool {
    let isSynced = try isSynced(try Query(head, ["sync"]))
    try refuseEncoding(head)
    let body = try body.read()
    let operations = try problem { () throws(Problem) in
      try body.withSpan { bytes throws(Problem) in
        try TransactionRequest.operations(
          bytes, service.configuration, limit: service.commands.limits.transactionOperations)
      }
    }
    let result = try problem { () throws(Problem) in try service.commands.execute(operations, as: caller) }
    if isSynced { service.awaitDurability() }
    response.begin(.ok)
    response.field("Content-Type", "application/json")
    appendRevision(result.revision, &response)
    var text: [UInt8] = []
    text.append(literal: #"{"revision":""#)
    cursor(result.revision).write(to: &text)
    text.append(literal: #"","changed":"#)
    text.appendJSON(result.results.count { $0.outcome != .unchanged })
    text.append(UInt8(ascii: "}"))
    response.end(text)
    return result.results.contains(where: \.isChange)
  }

  /// The subscription options that a URL can contain.
  static let subscriptionParameters = [
    "match", "signals", "demand", "where", "initial", "since", "audience", "exit", "oldValue", "mode", "maxRate",
    "deadband",
    "take",
    "fields",
    "pointer", "bookmark",
  ]

  func openEvents(
    _ head: borrowing RequestHead, _ response: inout ResponseWriter, _ responder: HTTPResponder, as caller: Caller,
    on loop: isolated EventLoop
  ) throws(APIError) -> Disposition {
    // A key without an upgrade is a handshake damaged by a proxy: refused, as an event stream would be the wrong
    // answer.
    let isWebSocket = (head.wantsUpgrade || head.has(.secWebSocketKey)) && head.knownMethod == .get
    let query = try Query(head, Self.subscriptionParameters + (isWebSocket ? ["batch", "ticket"] : ["ticket"]))
    var resumption: Cursor?
    if !isWebSocket, let field = try parsing({ () throws(HTTPParseError) in try head.single(.lastEventID) }) {
      guard let cursor = field.withSpan({ Cursor($0) }) else {
        throw .problem(Problem(.badCursor, "Last-Event-ID is not of the form <epoch>.<revision>."))
      }
      resumption = cursor
    }
    let requested = try requestedSubscription(query, resumption)
    // Before the ticket, which is good for once only.
    if case .events(let request) = requested,
      let wait = try awaitState(query, since: request.since, responder, on: loop)
    {
      return wait
    }
    var caller = caller
    caller.identity = try identity(byTicket: query, head, from: caller.peer, orElse: caller.identity, on: loop)
    let mustIdentify =
      caller.identity == nil && service.isIdentityRequired && caller.peer?.isAdministrator != true
    if mustIdentify, !isWebSocket { throw .problem(.unauthenticated) }
    let isBatched = isWebSocket ? try query.bool("batch") ?? false : false
    // Whoever has not said yet who is there may not see what somebody known may.
    let first = try problem { () throws(Problem) in
      mustIdentify
        ? nil : try requested.map { (requested) throws(Problem) in try service.subscription(requested, as: caller) }
    }
    let claim = try problem { () throws(Problem) in try service.connect(caller.identity, caller.peer, on: loop) }
    if isWebSocket {
      return .webSocket(
        LiveSession(
          service, as: caller, claim, first: first, isBatched: isBatched, awaitingIdentity: mustIdentify,
          thenRequesting: mustIdentify ? requested : nil),
        subprotocols: [LiveSession.subprotocol],
        acceptsBinary: false)
    }
    guard Accept.best(of: ["text/event-stream"], for: head) != nil else {
      throw .problem(Problem(.notAcceptable, "Events are text/event-stream, or a WebSocket."))
    }
    guard let first else {
      throw .problem(Problem(.badQuery, "Server-sent events need \"match\", \"signals\" or \"demand\"."))
    }
    response.begin(.ok)
    response.field("Content-Type", "text/event-stream")
    response.field("Cache-Control", "no-store")
    // Some proxies buffer a response before they pass it on, unless asked not to.
    response.field("X-Accel-Buffering", "no")
    if head.knownMethod == .head {
      response.endAsStream()
      return .answered
    }
    return .eventStream(EventStreamSession(service, first, as: caller, claim))
  }

  /// The subscription that the query asks for, if any.
  private func requestedSubscription(
    _ query: Query, _ resumption: Cursor?
  ) throws(APIError) -> RequestedSubscription? {
    if query.has("demand") {
      try query.refuse(allBut: ["demand", "batch", "ticket"], "a subscription to demand")
      return .demand(try query.patterns("demand", service.configuration))
    }
    guard var request = try query.subscription(service.configuration) else { return nil }
    if request.topic == .properties { request.since = resumption ?? request.since }
    return .events(request)
  }
}
