// SPDX-License-Identifier: MIT
import JSON
import SignalAccess
import SignalStore

/// The routes of the product (`docs/protocol.md` §2), for the requests of one loop.
final class LiveAPI: RequestHandler {
  let service: LiveService
  var gate: AnswerGate? { service.gate }
  let admission: Admission

  init(_ service: LiveService, _ hosts: ServedHosts) {
    self.service = service
    admission = Admission(hosts, OriginPolicy(service.configuration.origins))
  }

  private init(_ service: LiveService, _ admission: Admission) {
    self.service = service
    self.admission = admission
  }

  /// Creates the API for new connections, with other limits; the served hosts and origins, and the access rules, change for all.
  func successor(
    _ configuration: LiveConfiguration, _ limits: Limits, _ observer: (@Sendable (ServerEvent) -> Void)?,
    _ hosts: ServedHosts, on loop: isolated EventLoop
  ) -> LiveAPI {
    if service.commands.access.policy != configuration.policy {
      service.commands.access.set(configuration.policy)
      service.hub.restartAll(on: loop)
    }
    admission.hosts = hosts
    admission.origins = OriginPolicy(configuration.origins)
    return LiveAPI(LiveService(service, configuration: configuration, limits: limits, observer: observer), admission)
  }

  /// The hosts and origins that are served; shared by all requests of a loop, whatever the limits of their connections
  /// are.
  final class Admission {
    var hosts: ServedHosts { didSet { lastServed = [] } }
    var origins: OriginPolicy
    /// The host of the last request that was served: nearly always that of the next, too.
    private var lastServed: [UInt8] = []

    init(_ hosts: ServedHosts, _ origins: OriginPolicy) {
      self.hosts = hosts
      self.origins = origins
    }

    /// See ``ServedHosts/contains(_:)``.
    func serves(_ host: ByteView) -> Bool {
      if lastServed.withView({ $0.equals(host) }) { return true }
      guard hosts.contains(host) else { return false }
      lastServed = host.array
      return true
    }
  }

  func handle(
    _ head: borrowing RequestHead, _ body: ByteView, _ response: inout ResponseWriter, _ responder: HTTPResponder,
    on loop: isolated EventLoop
  ) -> Disposition {
    // Until it is known who asks, a request counts for the address.
    var isCounted = false
    var identity: Identity?
    do throws(APIError) {
      try admit(head, from: responder.peer, &response)
      let route = try route(head, from: responder.peer)
      response.route = route.number
      identity = try self.identity(of: head, asking: route.identification, &response, responder, on: loop)
      if identity != nil { response.clientIsIdentified() }
      isCounted = true
      if !responder.isRetry, !route.isProbe { try take(head, body, identity, responder, on: loop) }
      // Also for a refusal, which may reveal the state of the store.
      defer { if route.tellsOfStore { service.noteDependence(ofEvents: route.tellsOfEvents) } }
      return try answer(route, head, RequestBody(body), &response, responder, as: identity, on: loop)
    } catch {
      var refusal = error
      if !isCounted, !responder.isRetry {
        do throws(APIError) {
          try take(head, body, nil, responder, on: loop)
        } catch {
          refusal = error
        }
      }
      note(refusal, head, identity, responder.peer)
      response.refuse(refusal)
      return .answered
    }
  }

  /// Notes a refusal for an audit log.
  func note(_ error: APIError, _ head: borrowing RequestHead, _ identity: Identity?, _ peer: Peer?) {
    guard case .problem(let problem) = error, service.commands.auditKind(of: problem) != nil else { return }
    let request = "\(head.method) \(head.path.string)"
    service.commands.note(problem, of: identity, peer, request: request)
  }

  /// Takes a request from what its sender may do.
  private func take(
    _ head: borrowing RequestHead, _ body: ByteView, _ identity: Identity?, _ responder: HTTPResponder,
    on loop: isolated EventLoop
  ) throws(APIError) {
    let size = head.bytes.count + body.count
    try problem { () throws(Problem) in try service.take(size, identity, responder.peer, on: loop) }
  }

  func refusesByHead(
    _ head: borrowing RequestHead, _ response: inout ResponseWriter, _ responder: HTTPResponder,
    on loop: isolated EventLoop
  ) -> Bool {
    var identity: Identity?
    do throws(APIError) {
      try admit(head, from: responder.peer, &response)
      let route = try route(head, from: responder.peer)
      response.route = route.number
      identity = try self.identity(of: head, asking: route.identification, &response, responder, on: loop)
      if identity != nil { response.clientIsIdentified() }
      guard route.allows(head.knownMethod) else { throw notAllowed(head, route) }
      switch head.knownMethod {
      case .put, .patch, .post:
        // Each of these reads the body, which ends the call here.
        _ = try answer(route, head, .awaited, &response, responder, as: identity, on: loop)
        preconditionFailure("A request with a body was answered without having read it.")
      default: return false
      }
    } catch {
      if case .bodyAwaited = error { return false }
      note(error, head, identity, responder.peer)
      response.refuse(error)
      return true
    }
  }

  /// Refuses requests for other hosts, and what a foreign page may not do.
  private func admit(
    _ head: borrowing RequestHead, from peer: Peer, _ response: inout ResponseWriter
  ) throws(APIError) {
    guard admission.serves(head.host) else {
      throw .problem(
        Problem(
          .misdirected,
          "This server is not known as \"\(head.host.string)\"; names besides those it listens on belong in its setting "
            + "\"hosts\"."))
    }
    try admission.origins.admit(
      head, isSecured: peer.isSecured, acceptsCredentials: acceptsCredentials(from: peer), &response)
  }

  private func route(_ head: borrowing RequestHead, from peer: Peer) throws(APIError) -> Route {
    guard head.knownMethod != nil else {
      throw .problem(Problem(.notImplemented, "There is no method \"\(head.method)\" here (RFC 9110 §9.1)."))
    }
    if head.targetForm == .asterisk { return .server }
    guard let route = Route(head.path), serves(route, peer) else {
      throw .problem(Problem(.noSuchRoute, "There is nothing at \"\(head.path.string)\"."))
    }
    return route
  }

  /// Whether a route is served to those who come by the peer's listener.
  private func serves(_ route: Route, _ peer: Peer) -> Bool {
    if case .metrics = route { return service.configuration.metrics }
    guard case .file(let file) = route, file.isOfConsole else { return true }
    return service.configuration.console && peer.mayUseConsole
  }

  private func notAllowed(_ head: borrowing RequestHead, _ route: Route) -> APIError {
    var problem = Problem(.methodNotAllowed, "\(head.method) is not allowed here.")
    problem.allowed = route.allowed
    return .problem(problem)
  }

  private func answer(
    _ route: Route, _ head: borrowing RequestHead, _ body: RequestBody, _ response: inout ResponseWriter,
    _ responder: HTTPResponder, as identity: Identity?, on loop: isolated EventLoop
  ) throws(APIError) -> Disposition {
    let caller = caller(head, responder, identity)
    if let cluster = service.cluster, !cluster.isLeading, route.changes(by: head.knownMethod) {
      return try forward(head, body, responder, as: caller, to: cluster)
    }
    switch (route, head.knownMethod) {
    case (_, .options): answerOptions(head, route, &response)
    case (.property(let path), .get), (.property(let path), .head):
      return try getProperty(path, head, &response, responder, as: caller, on: loop)
    case (.property, .put), (.property, .patch), (.property, .delete), (.signal, .post), (.timer, .put),
      (.timer, .delete), (.transactions, .post):
      let begin = response.output.count
      let answered = try write(route, head, body, &response, as: caller, isDeciding: service.cluster == nil)
      if !answered, let cluster = service.cluster {
        response.takeBack(to: begin)
        return try forward(head, body, responder, as: caller, to: cluster)
      }
    case (.timer(let path), .get), (.timer(let path), .head): try getTimer(path, head, &response, as: caller)
    case (.timers, .get), (.timers, .head): try listTimers(head, &response, as: caller)
    case (.history(let path), .get), (.history(let path), .head):
      return try getHistory(path, head, responder, as: caller, on: loop)
    case (.list, .get), (.list, .head):
      return try listProperties(head, &response, responder, as: caller, on: loop)
    case (.explain, .post): return try explain(head, body, &response, responder, as: caller, on: loop)
    case (.access, .post): try explainAccess(head, body, &response, as: caller)
    case (.events, .get), (.events, .head): return try openEvents(head, &response, responder, as: caller, on: loop)
    case (.tickets, .post): try issueTicket(head, body, &response, to: caller)
    case (.me, .get), (.me, .head): try tellIdentity(head, &response, of: identity)
    case (.metrics, .get), (.metrics, .head): try tellMetrics(head, &response, as: caller)
    case (.state, .get), (.state, .head): try tellState(head, &response, as: caller, on: loop)
    case (.settings, .get), (.settings, .head): try tellSettings(head, &response, as: caller)
    case (.connections, .get), (.connections, .head):
      return try listConnections(head, responder, as: caller, on: loop)
    case (.stepDown, .post): try stepDown(head, body, &response, as: caller)
    case (.connection(let id), .delete): return try endConnection(id, head, responder, as: caller, on: loop)
    case (.file(let file), .get), (.file(let file), .head): try answer(file, head, &response)
    case (.live, .get), (.live, .head): answerHealth("live", isWell: true, &response)
    case (.ready, .get), (.ready, .head):
      let cluster = service.cluster?.status
      let isBehind = cluster.map { !$0.isCaughtUp } ?? false
      let status: StaticString = loop.isDraining ? "draining" : isBehind ? "behind" : "ready"
      answerHealth(status, isWell: !loop.isDraining && !isBehind, &response) { [service] text in
        if let cluster { cluster.append(to: &text) }
        if let storage = service.commands.storage { Self.append(storage, to: &text) }
        if let gauge = service.memory?.gauge { Self.append(gauge, to: &text) }
      }
    case (.writable, .get), (.writable, .head):
      let cluster = service.cluster?.status
      let refusal = service.commands.storage?.refusal
      let isKept = refusal == nil || refusal == .elsewhere
      let isWritable = !loop.isDraining && isKept && cluster?.isWritable != false
      answerHealth(isWritable ? "writable" : "not writable", isWell: isWritable, &response) { text in
        if let cluster { cluster.append(to: &text) }
      }
    default: throw notAllowed(head, route)
    }
    return .answered
  }

  /// Answers a request that changes something.
  ///
  /// - Parameter isDeciding: Whether it is certain that changes are decided here.
  /// - Returns: Whether that is the answer. It is not where nothing was changed, by a state that may be old: another node of
  ///   the cluster may have decided since.
  private func write(
    _ route: Route, _ head: borrowing RequestHead, _ body: RequestBody, _ response: inout ResponseWriter,
    as caller: Caller, isDeciding: Bool
  ) throws(APIError) -> Bool {
    do throws(APIError) {
      let isChanged = try change(route, head, body, &response, as: caller)
      return isChanged || isDeciding
    } catch {
      if case .problem(let problem) = error, problem.code.dependsOnState, !isDeciding { return false }
      throw error
    }
  }

  /// Does what a request asks for, and answers it.
  ///
  /// - Returns: Whether something was changed.
  private func change(
    _ route: Route, _ head: borrowing RequestHead, _ body: RequestBody, _ response: inout ResponseWriter,
    as caller: Caller
  ) throws(APIError) -> Bool {
    switch (route, head.knownMethod) {
    case (.property(let path), .put): return try putProperty(path, head, body, &response, as: caller)
    case (.property(let path), .patch): return try patchProperty(path, head, body, &response, as: caller)
    case (.property(let path), .delete): return try deleteProperty(path, head, &response, as: caller)
    case (.signal(let path), .post): try sendSignal(path, head, body, &response, as: caller)
    case (.timer(let path), .put): try putTimer(path, head, body, &response, as: caller)
    case (.timer(let path), .delete): try deleteTimer(path, head, &response, as: caller)
    case (.transactions, .post): return try transact(head, body, &response, as: caller)
    default: throw notAllowed(head, route)
    }
    return true
  }

  /// The same for a request that another node has forwarded, which is told what was decided when that is certain.
  func write(
    _ head: borrowing RequestHead, _ body: RequestBody, _ response: inout ResponseWriter, as caller: Caller
  ) throws(APIError) {
    guard let route = Route(head.path) else {
      throw .problem(Problem(.noSuchRoute, "There is nothing at \"\(head.path.string)\"."))
    }
    _ = try write(route, head, body, &response, as: caller, isDeciding: true)
  }

  /// Has a request answered by the node that decides changes.
  private func forward(
    _ head: borrowing RequestHead, _ body: RequestBody, _ responder: HTTPResponder, as caller: Caller,
    to cluster: any ClusterNode
  ) throws(APIError) -> Disposition {
    let body = try body.read()
    let command = ForwardedCommand(.request(head: head.bytes.array, body: body.array), from: caller)
    cluster.forward(command) { [service = ServiceReference(service)] outcome in
      responder.loop.submit { loop in
        service.noteDependence(on: loop)
        responder.respond(on: loop) { _, response in
          switch outcome {
          case .answered(let answer): response.write(answer)
          case .noLeader: response.refuse(.problem(.noLeader))
          case .unknown: response.refuse(.problem(.noAnswer))
          }
        }
      }
    }
    return .later
  }

  /// Who asks, and what they may do.
  private func caller(
    _ head: borrowing RequestHead, _ responder: HTTPResponder, _ identity: Identity?
  ) -> Caller {
    guard service.commands.access.dependsOnRequest else {
      return Caller(peer: responder.peer, holder: nil, identity: identity)
    }
    let facts = RequestFacts(
      address: responder.peer.ipAddress?.description, origin: head[.origin]?.string,
      isEncrypted: responder.peer.isSecured)
    return Caller(peer: responder.peer, holder: nil, identity: identity, request: facts)
  }

  private func answerOptions(_ head: borrowing RequestHead, _ route: Route, _ response: inout ResponseWriter) {
    if head.has(.accessControlRequestMethod), admission.origins.isCrossOrigin(head) {
      response.addCommonField("Access-Control-Allow-Methods", route.allowed)
      response.addCommonField("Access-Control-Allow-Headers") { Self.appendReadFields(to: &$0) }
      response.addCommonField("Access-Control-Max-Age", "600")
    }
    // RFC 5789 §3.1.
    if case .property = route { response.addCommonField("Accept-Patch", ValuePatch.mediaTypes) }
    response.allow(route.allowed)
  }

  /// The request fields that the server reads and a page may set, and therefore those that a preflight allows.
  ///
  /// Fields that the browser sets itself (`Origin`, `Host`, those of an upgrade) are not included. A test compares the
  /// list with the fields that the sources name.
  static let readFields: [KnownField] = [
    .accept, .authorization, .contentEncoding, .contentRange, .contentType, .ifMatch, .ifModifiedSince, .ifNoneMatch,
    .ifUnmodifiedSince, .lastEventID, .traceparent,
  ]

  private static func appendReadFields(to value: inout [UInt8]) {
    for (index, field) in readFields.enumerated() {
      if index > 0 { value.append(literal: ", ") }
      value.append(literal: field.name)
    }
  }

  private func answerHealth(
    _ status: StaticString, isWell: Bool, _ response: inout ResponseWriter,
    _ members: (inout [UInt8]) -> Void = { _ in }
  ) {
    response.begin(isWell ? .ok : .serviceUnavailable)
    response.field("Content-Type", "application/json")
    response.field("Cache-Control", "no-store")
    var text: [UInt8] = []
    text.append(literal: #"{"status":""#)
    text.append(literal: status)
    text.append(UInt8(ascii: "\""))
    members(&text)
    text.append(UInt8(ascii: "}"))
    response.end(text)
  }

  /// The routes by which requests are counted, by their numbers; the first is for requests that have none.
  static var routeTemplates: [String] { Route.templates }

  static func append(_ storage: StorageStatus, to text: inout [UInt8]) {
    text.append(literal: #","storage":""#)
    text.append(literal: storage.refusal.word)
    text.append(literal: #"","durable":"#)
    text.appendJSON(storage.revision.number)
    text.append(literal: #","queued":"#)
    text.appendJSON(storage.queuedBytes)
  }

  static func append(_ gauge: MemoryGauge, to text: inout [UInt8]) {
    text.append(literal: #","memory":{"inUse":"#)
    text.appendJSON(gauge.inUse)
    text.append(literal: #","limit":"#)
    text.appendJSON(gauge.limit)
    text.append(UInt8(ascii: "}"))
  }
}

extension StorageRefusal? {
  /// The state of the storage, for `GET /health/ready`.
  fileprivate var word: StaticString {
    switch self {
    // Nodes of a cluster that follow forward what is written.
    case nil, .elsewhere: "ok"
    case .full: "full"
    case .slow: "slow"
    case .failed: "failed"
    case .readOnly: "read_only"
    }
  }
}

/// Why the API refuses a request.
enum APIError: Error {
  /// A field that only the API reads violates the syntax of RFC 9110; the connection continues.
  case request(HTTPParseError)
  case problem(Problem)
  /// Not a refusal: the head alone does not decide the request, and the body is to be asked for.
  case bodyAwaited
}

/// The route of a path.
private enum Route {
  case property(ByteView)
  case signal(ByteView)
  case timer(ByteView)
  case history(ByteView)
  case connection(ByteView)
  case state, connections, settings, stepDown
  case list, timers, transactions, events, explain, access, tickets, me, live, ready, writable, metrics
  case file(EmbeddedFile)
  /// The server as a whole: `OPTIONS *`.
  case server

  init?(_ path: ByteView) {
    if let rest = path.dropping("/properties/") {
      self = .property(rest)
    } else if let rest = path.dropping("/signals/") {
      self = .signal(rest)
    } else if let rest = path.dropping("/timers/") {
      self = .timer(rest)
    } else if let rest = path.dropping("/history/") {
      self = .history(rest)
    } else if let rest = path.dropping("/server/connections/") {
      self = .connection(rest)
    } else if let fixed = Self.fixed.first(where: { path.isEquivalent(to: $0.path) }) {
      self = fixed.route
    } else if let file = EmbeddedFile.all.first(where: { $0.isAt(path) }) {
      self = .file(file)
    } else {
      return nil
    }
  }

  private static var fixed: [(path: StaticString, route: Route)] {
    [
      ("/properties", .list), ("/timers", .timers), ("/transactions", .transactions), ("/events", .events),
      ("/expressions/explain", .explain), ("/access/explain", .access), ("/auth/tickets", .tickets), ("/auth/me", .me),
      ("/health/live", .live), ("/health/ready", .ready), ("/health/writable", .writable), ("/metrics", .metrics),
      ("/server", .state),
      ("/server/connections", .connections), ("/server/settings", .settings), ("/server/step-down", .stepDown),
    ]
  }

  var allowed: StaticString {
    switch self {
    case .property: "GET, HEAD, PUT, PATCH, DELETE, OPTIONS"
    case .timer: "GET, HEAD, PUT, DELETE, OPTIONS"
    case .signal, .transactions, .explain, .access, .tickets, .stepDown: "POST, OPTIONS"
    case .connection: "DELETE, OPTIONS"
    case .state, .connections, .settings: "GET, HEAD, OPTIONS"
    case .history, .list, .timers, .events, .me, .live, .ready, .writable, .metrics, .file: "GET, HEAD, OPTIONS"
    case .server: "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"
    }
  }

  /// Whether its answers depend on the state of the store: probes have to be answered when nothing can be written.
  var tellsOfStore: Bool {
    switch self {
    case .property, .signal, .timer, .timers, .list, .transactions, .explain, .access, .events, .state: true
    // History answers determine themselves on which record they depend.
    case .connection, .connections, .settings, .stepDown, .history, .tickets, .me, .file, .live, .ready, .writable,
      .metrics,
      .server:
      false
    }
  }

  /// Whether it is asked by those who supervise the server: somebody else at their address must not keep them from it.
  var isProbe: Bool {
    switch self {
    case .live, .ready, .writable: true
    default: false
    }
  }

  /// Whether its answers tell of messages or timers.
  var tellsOfEvents: Bool {
    switch self {
    case .timer, .timers: true
    default: false
    }
  }

  /// Whether a request with this method changes what all nodes of a cluster have.
  func changes(by method: HTTPMethod.Known?) -> Bool {
    switch (self, method) {
    case (.property, .put), (.property, .patch), (.property, .delete), (.signal, .post), (.timer, .put),
      (.timer, .delete), (.transactions, .post):
      true
    default: false
    }
  }

  /// Whether somebody unknown may use it where ``AuthenticationSettings/required``.
  var identification: Identification {
    switch self {
    case .live, .ready, .writable, .server: .ignored
    // What it shows it asks for itself, when somebody has signed in.
    case .file(let file) where file.isOfConsole || file.isOfClient: .ignored
    // Events look for a ticket in the query, too; in a browser a WebSocket says who it is when it is open.
    case .tickets, .me, .events: .optional
    default: .asConfigured
    }
  }

  /// All routes as requests are counted by them, by their numbers; the first is for requests that have none.
  static let templates = Template.allCases.map(\.text) + EmbeddedFile.templates

  /// The place in ``templates``.
  var number: UInt8 {
    if case .file(let file) = self { return UInt8(Template.allCases.count) + file.template }
    return template.rawValue
  }

  private var template: Template {
    switch self {
    case .property: .property
    case .signal: .signal
    case .timer: .timer
    case .history: .history
    case .list: .list
    case .timers: .timers
    case .transactions: .transactions
    case .events: .events
    case .explain: .explain
    case .access: .access
    case .tickets: .tickets
    case .me: .me
    case .live: .live
    case .ready: .ready
    case .writable: .writable
    case .metrics: .metrics
    case .state: .state
    case .connections: .connections
    case .connection: .connection
    case .settings: .settings
    case .stepDown: .stepDown
    case .server: .server
    case .file: .none
    }
  }

  /// The routes that are no files, by the numbers of their templates.
  private enum Template: UInt8, CaseIterable {
    case none, property, signal, timer, history, list, timers, transactions, events, explain, access, tickets, me, live
    case ready, writable, metrics, state, connections, connection, settings, stepDown, server

    var text: String {
      switch self {
      case .none: "none"
      case .property: "/properties/{path}"
      case .signal: "/signals/{path}"
      case .timer: "/timers/{path}"
      case .history: "/history/{path}"
      case .list: "/properties"
      case .timers: "/timers"
      case .transactions: "/transactions"
      case .events: "/events"
      case .explain: "/expressions/explain"
      case .access: "/access/explain"
      case .tickets: "/auth/tickets"
      case .me: "/auth/me"
      case .live: "/health/live"
      case .ready: "/health/ready"
      case .writable: "/health/writable"
      case .metrics: "/metrics"
      case .state: "/server"
      case .connections: "/server/connections"
      case .connection: "/server/connections/{id}"
      case .settings: "/server/settings"
      case .stepDown: "/server/step-down"
      case .server: "*"
      }
    }
  }

  func allows(_ method: HTTPMethod.Known?) -> Bool {
    guard let method else { return false }
    return FieldList(ByteView(allowed)).contains { $0.equals(method.literal) }
  }
}

extension ByteView {
  /// The rest after a prefix; nil when the view does not begin with it, or nothing follows.
  fileprivate func dropping(_ beginning: StaticString) -> ByteView? {
    guard let end = PercentEncoding.end(of: beginning, in: self), end < count else { return nil }
    return self[end..<count]
  }

  /// Whether it is this path, possibly with unreserved characters percent-encoded.
  fileprivate func isEquivalent(to path: StaticString) -> Bool { PercentEncoding.end(of: path, in: self) == count }
}
