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
      return try route(head, body, &response, responder, on: loop)
    } catch {
      response.refuse(error)
      return .answered
    }
  }

  private func route(
    _ head: borrowing RequestHead, _ body: ByteView, _ response: inout ResponseWriter, _ responder: HTTPResponder,
    on loop: isolated EventLoop
  ) throws(APIError) -> Disposition {
    guard let route = Route(head.path) else {
      if head.targetForm == .asterisk, head.knownMethod == .options {
        response.allow("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")
        return .answered
      }
      throw .problem(Problem(.noSuchRoute, "There is nothing at \"\(head.path.string)\"."))
    }
    switch (route, head.knownMethod) {
    case (_, .options): answerOptions(head, route, &response)
    case (.property(let path), .get), (.property(let path), .head):
      return try getProperty(path, head, &response, responder)
    case (.property(let path), .put): try putProperty(path, head, body, &response)
    case (.property(let path), .patch): try patchProperty(path, head, body, &response)
    case (.property(let path), .delete): try deleteProperty(path, head, &response)
    case (.signal(let path), .post): try sendSignal(path, head, body, &response)
    case (.timer(let path), .put): try putTimer(path, head, body, &response)
    case (.timer(let path), .get), (.timer(let path), .head): try getTimer(path, head, &response)
    case (.timer(let path), .delete): try deleteTimer(path, head, &response)
    case (.timers, .get), (.timers, .head): try listTimers(head, &response)
    case (.list, .get), (.list, .head): try listProperties(head, &response)
    case (.transactions, .post): try transact(head, body, &response)
    case (.explain, .post): try explain(head, body, &response)
    case (.events, .get): return try openEvents(head, &response)
    case (.description, .get), (.description, .head):
      _ = try Query(head, [])
      response.begin(.ok)
      response.field("Content-Type", "application/yaml")
      response.end(PackageResources.openapi_yaml)
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
    // RFC 5789 §3.1.
    if case .property = route { response.addCommonField("Accept-Patch", ValuePatch.mediaTypes) }
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
  case signal(ByteView)
  case timer(ByteView)
  case list, timers, transactions, events, explain, live, ready, description

  init?(_ path: ByteView) {
    if let rest = path.dropping("/properties/") {
      self = .property(rest)
    } else if let rest = path.dropping("/signals/") {
      self = .signal(rest)
    } else if let rest = path.dropping("/timers/") {
      self = .timer(rest)
    } else if let fixed = Self.fixed.first(where: { path.equals($0.path) }) {
      self = fixed.route
    } else {
      return nil
    }
  }

  private static var fixed: [(path: StaticString, route: Route)] {
    [
      ("/properties", .list), ("/timers", .timers), ("/transactions", .transactions), ("/events", .events),
      ("/expressions/explain", .explain),
      ("/health/live", .live), ("/health/ready", .ready),
      ("/openapi.yaml", .description),
    ]
  }

  var allowed: StaticString {
    switch self {
    case .property: "GET, HEAD, PUT, PATCH, DELETE, OPTIONS"
    case .timer: "GET, HEAD, PUT, DELETE, OPTIONS"
    case .signal, .transactions, .explain: "POST, OPTIONS"
    case .events: "GET, OPTIONS"
    case .list, .timers, .live, .ready, .description: "GET, HEAD, OPTIONS"
    }
  }
}

extension ByteView {
  /// What is behind a beginning; nil when it begins otherwise, or when nothing is behind.
  fileprivate func dropping(_ beginning: StaticString) -> ByteView? {
    let prefix = ByteView(beginning)
    guard count > prefix.count, self[0..<prefix.count].equals(prefix) else { return nil }
    return self[prefix.count..<count]
  }
}
