// SPDX-License-Identifier: MIT
import JSON
import SignalStore

/// The routes of the product (`docs/protocol.md` §2), for the requests of one loop.
final class LiveAPI: RequestHandler {
  let service: LiveService
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
    case (.explain, .post): try explain(head, body, &response)
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
  case list, transactions, events, explain, live, ready

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
    } else if path.equals("/expressions/explain") {
      self = .explain
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
    case .transactions, .explain: "POST, OPTIONS"
    case .events: "GET, OPTIONS"
    case .list, .live, .ready: "GET, HEAD, OPTIONS"
    }
  }
}
