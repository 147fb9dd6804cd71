// SPDX-License-Identifier: MIT
import JSON
import SignalStore

/// The list (`docs/protocol.md` §2.2), transactions (§2.3) and the beginning of an event stream (§2.4).
extension LiveAPI {
  func listProperties(_ head: borrowing RequestHead, _ response: inout ResponseWriter) throws(APIError) {
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

  func transact(
    _ head: borrowing RequestHead, _ body: ByteView, _ response: inout ResponseWriter
  ) throws(APIError) {
    _ = try Query(head, [])
    if let encoding = head[.contentEncoding], !encoding.equalsIgnoringCase("identity") {
      throw .problem(Problem(.unsupportedEncoding, "A body with Content-Encoding \"\(encoding.string)\" is not taken."))
    }
    let operations = try problem { () throws(Problem) in
      try body.withSpan { bytes throws(Problem) in
        try TransactionRequest.operations(bytes, service)
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

  /// What a URL can say of a subscription.
  private static let subscriptionParameters = [
    "match", "where", "initial", "since", "exit", "oldValue", "mode", "maxRate", "deadband", "take", "fields",
    "pointer", "bookmark",
  ]

  func openEvents(
    _ head: borrowing RequestHead, _ response: inout ResponseWriter
  ) throws(APIError) -> Disposition {
    let query = try Query(head, Self.subscriptionParameters + (head.wantsUpgrade ? ["batch"] : []))
    let isWebSocket = head.wantsUpgrade
    let isBatched = isWebSocket ? try query.bool("batch") ?? false : false
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
      let first =
        if let request, let options { (options, request) } else { nil as (SubscriptionOptions, SubscribeRequest)? }
      return .webSocket(
        LiveSession(service, first: first, isBatched: isBatched), subprotocols: [LiveSession.subprotocol],
        acceptsBinary: false)
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
}
