// SPDX-License-Identifier: MIT

/// State shared by the HTTP sessions of one loop.
final class HTTPService {
  let handler: any RequestHandler
  let limits: Limits
  let clock: ResponseClock
  private let trusted: TrustedProxies
  /// Reports answered requests; nil where none are.
  let reporter: RequestReporter?
  /// One for all connections: its table of fields keeps its capacity.
  var parser: RequestHeadParser

  /// - Parameters:
  ///   - isSecured: The requests come over TLS.
  ///   - trusted: Those whose word about their clients counts.
  ///   - hsts: How long browsers shall use nothing but TLS; nil tells them nothing.
  ///   - reporter: Reports answered requests; nil where none are.
  init(
    handler: any RequestHandler, limits: Limits, isSecured: Bool, trusted: TrustedProxies, hsts: Duration?,
    reporter: RequestReporter? = nil
  ) {
    self.reporter = reporter
    self.handler = handler
    self.limits = limits
    self.trusted = trusted
    clock = ResponseClock(hsts: hsts)
    parser = RequestHeadParser(limits: limits.http, isSecured: isSecured)
  }

  /// The client of a request: the peer or, where that is a trusted proxy, whom it names.
  func client(of head: borrowing RequestHead, from peer: Peer) throws(HTTPParseError) -> Peer {
    guard head.namesClient, trusted.contains(peer), let client = try ForwardedClient(head, trusting: trusted) else {
      return peer
    }
    return peer.naming(client)
  }
}

/// HTTP/1.1 on one connection: requests in order, each answered before the next is begun (RFC 9112 §9.3).
///
///     head ──▶ (body) ──▶ handled ──▶ head …
///                            ├─ later ──▶ waiting ── answer ──▶ head …
///                            ├─ event stream: its session takes over, until the last chunk ──▶ head …
///                            └─ upgrade: another session takes over
final class HTTPSession: Session {
  /// What most requests never come to is kept apart, so that asking for the phase costs a word.
  private enum Phase {
    case head
    /// The head is kept until its body is complete.
    indirect case body(HTTPRequest, BodyCollector)
    indirect case waiting(Awaited)
  }

  /// A request whose answer comes later.
  private struct Awaited {
    let request: HTTPRequest
    let client: Peer
    /// From the response that the handler has begun to prepare.
    let commonFields: [UInt8]
    let coding: ContentCoding?
    let route: UInt8
    /// When the request was complete.
    let begin: UInt64
    /// Whether the time from then to the answer is that of work.
    let isTimed: Bool
    /// nil when the answer comes from elsewhere, or after its timeout.
    var wait: (any RequestWait)?
  }

  private let service: HTTPService
  private let isRefusing: Bool
  private var phase = Phase.head
  private var scanner = HeadScanner()
  private var sequence: UInt32 = 0
  private var isClosing = false

  /// - Parameter isRefusing: The server is at its connection limit: the first request is answered 503.
  init(_ service: HTTPService, isRefusing: Bool) {
    self.service = service
    self.isRefusing = isRefusing
  }

  /// The state needed to resume request handling after an event stream.
  struct Continuation {
    fileprivate let service: HTTPService
    /// Continues counting, so that a responder of an earlier request cannot answer a later one.
    fileprivate let sequence: UInt32
  }

  /// The session that takes over from this one.
  private struct Successor {
    let session: any Session
    let client: Peer
  }

  /// Creates a session for the requests after a stream.
  init(_ continuation: Continuation) {
    service = continuation.service
    sequence = continuation.sequence
    isRefusing = false
  }

  /// Takes the connection over after the last chunk of a stream.
  func begin(behindStreamOn connection: Connection, on loop: isolated EventLoop) {
    connection.become(self, on: loop)
    setDeadline(connection, on: loop)
  }

  var takesInput: Bool {
    if isClosing { return false }
    if case .waiting = phase { return false }
    return true
  }

  var collectsOutput: Bool { false }

  var heldBytes: Int {
    if case .body(let request, let collector) = phase { request.heldBytes + collector.bytes.capacity } else { 0 }
  }

  func memoryIsFull(_ connection: Connection, on loop: isolated EventLoop) {
    refuseLate(
      .serviceUnavailable, "memory_full", "The server has no memory left for the rest of the request.", connection,
      on: loop)
  }

  // MARK: Receiving

  func receive(
    _ bytes: inout MutableSpan<UInt8>, from connection: Connection, on loop: isolated EventLoop
  ) -> Intake {
    var output = loop.takeScratch()
    // The bytes are neither moved nor modified during this call.
    let view = unsafe bytes.withUnsafeBufferPointer { unsafe ByteView(UnsafeRawBufferPointer($0)) }
    var position = 0
    var next: Successor?
    var needsMore = false
    while next == nil, takesInput, !needsMore, output.count + connection.backlog <= service.limits.highWaterMark {
      let before = position
      next = step(view, &position, &output, connection, on: loop)
      needsMore = position == before
    }
    connection.sendAnswerNow(output, on: loop)
    loop.returnScratch(output)
    // Sending may have found out that the peer is gone: no session takes over then.
    if let next, connection.isOpen { begin(next, connection, on: loop) }
    if isClosing { connection.close(on: loop) } else if next == nil { setDeadline(connection, on: loop) }
    return Intake(consumed: position, isHeldBack: !needsMore)
  }

  /// Advances by one head, or by the available part of a body.
  ///
  /// Returns the session that takes over, if one does.
  private func step(
    _ view: ByteView, _ position: inout Int, _ output: inout [UInt8], _ connection: Connection,
    on loop: isolated EventLoop
  ) -> Successor? {
    let rest = view[position..<view.count]
    do throws(HTTPParseError) {
      switch phase {
      case .head:
        var scanned = scanner
        let end = rest.count > 0 ? try scanned.scan(rest, limits: service.limits.http) : nil
        scanner = end == nil ? scanned : HeadScanner()
        guard let length = end else { return nil }
        let head = try service.parser.parse(rest[0..<length])
        position += length
        return try begin(head, view, &position, &output, connection, on: loop)
      case .body(let request, var collector):
        // Moved out of the phase while it grows, so that its bytes are not copied.
        phase = .head
        let isComplete = try collector.take(view, &position, service.limits.http)
        guard isComplete else {
          phase = .body(request, collector)
          return nil
        }
        return try request.withHead { (head) throws(HTTPParseError) in
          let client = try service.client(of: head, from: connection.peer)
          return collector.bytes.withView { handle(head, $0, of: client, &output, connection, on: loop) }
        }
      case .waiting: return nil
      }
    } catch {
      refuse(error, &output, connection, on: loop)
      return nil
    }
  }

  private func begin(
    _ head: borrowing RequestHead, _ view: ByteView, _ position: inout Int, _ output: inout [UInt8],
    _ connection: Connection, on loop: isolated EventLoop
  ) throws(HTTPParseError) -> Successor? {
    if head.knownMethod == .connect { throw .unsupportedTunnel }
    let client = try service.client(of: head, from: connection.peer)
    var collector: BodyCollector
    switch head.framing {
    case .none: return handle(head, view[0..<0], of: client, &output, connection, on: loop)
    case .sized(let length):
      if length > service.limits.http.bodyBytes { throw .bodyTooLarge }
      if view.count - position >= length {
        let body = view[position..<position + length]
        position += length
        return handle(head, body, of: client, &output, connection, on: loop)
      }
      collector = BodyCollector(sized: length)
    case .chunked: collector = BodyCollector()
    }
    if head.expectsContinue, position == view.count {
      if refusesByHead(head, of: client, &output, connection, on: loop) { return nil }
      output.appendContinue()
    }
    guard try collector.take(view, &position, service.limits.http) else {
      phase = .body(HTTPRequest(copying: head, body: []), collector)
      return nil
    }
    return collector.bytes.withView { handle(head, $0, of: client, &output, connection, on: loop) }
  }

  private func handle(
    _ head: borrowing RequestHead, _ body: ByteView, of client: Peer, _ output: inout [UInt8],
    _ connection: Connection, isRetry: Bool = false, on loop: isolated EventLoop
  ) -> Successor? {
    sequence &+= 1
    let written = output.count
    var lent: [UInt8] = []
    swap(&lent, &output)
    var response = ResponseWriter(
      appendingTo: consume lent, for: head, mayKeepAlive: !loop.isDraining && !isRefusing,
      isSecured: client.isSecured, service.clock,
      coding: ContentCoding(for: head, of: client, service.limits.compression, on: loop))
    defer { output = response.output }
    if isRefusing {
      response.refuse(
        .serviceUnavailable, code: "too_many_connections", detail: "The server has as many connections as it may.",
        isTemporary: true)
      note(response, head, client, connection, written, on: loop)
      isClosing = true
      return nil
    }
    let responder = HTTPResponder(
      loop: loop, id: connection.id, sequence: sequence, isRetry: isRetry, peer: client)
    switch service.handler.handle(head, body, &response, responder, on: loop) {
    case .answered:
      assert(response.output.count > written, "a handler said that it had answered, and had not")
      note(response, head, client, connection, written, on: loop)
      if !response.keepsAlive { isClosing = true }
      return nil
    case .later:
      phase = .waiting(
        Awaited(
          request: HTTPRequest(copying: head, body: []), client: client, commonFields: response.commonFields,
          coding: response.coding, route: response.route, begin: loop.now, isTimed: true, wait: nil))
      connection.setDeadline(after: service.limits.responseTimeout, on: loop)
      return nil
    case .wait(let wait, let time):
      phase = .waiting(
        Awaited(
          request: HTTPRequest(copying: head, body: []), client: client, commonFields: response.commonFields,
          coding: response.coding, route: response.route, begin: loop.now, isTimed: wait.isTimed,
          wait: wait))
      // The end of such a peer has been reported already; it may still read an answer.
      let isOver = connection.peerIsEnding || loop.isDraining
      connection.setDeadline(after: isOver ? .zero : time, on: loop)
      return nil
    case .webSocket(let handler, let subprotocols, let acceptsBinary):
      switch WebSocketHandshake.answer(
        UpgradeRequest(head), offering: subprotocols, compresses: service.limits.compression.permits(client))
      {
      case .accept(let key, let subprotocol, let deflate):
        response.switchToWebSocket(acceptKey: key, subprotocol: subprotocol, deflate: deflate)
        note(response, head, client, connection, written, isTimed: false, on: loop)
        return Successor(
          session: WebSocket(
            on: connection, handler: handler, acceptsBinary: acceptsBinary, deflate: deflate, loop: loop),
          client: client)
      case .refuse(let refusal):
        response.refuse(refusal)
        note(response, head, client, connection, written, on: loop)
        if !response.keepsAlive { isClosing = true }
        return nil
      }
    case .eventStream(let handler):
      let isChunked = response.canChunk
      response.endAsStream()
      note(response, head, client, connection, written, isTimed: false, on: loop)
      let stream = EventStream(
        on: connection, handler: handler, isChunked: isChunked,
        continuation: response.keepsAlive ? Continuation(service: service, sequence: sequence) : nil)
      return Successor(session: stream, client: client)
    }
  }

  /// Refuses a request before its body is asked for, if the head alone decides that.
  ///
  /// The connection ends, because a client that has been refused need not send the body that it has announced (RFC 9110
  /// §10.1.1).
  private func refusesByHead(
    _ head: borrowing RequestHead, of client: Peer, _ output: inout [UInt8], _ connection: Connection,
    on loop: isolated EventLoop
  ) -> Bool {
    if isRefusing {
      _ = handle(head, head.bytes[0..<0], of: client, &output, connection, on: loop)
      return true
    }
    let written = output.count
    var lent: [UInt8] = []
    swap(&lent, &output)
    var response = ResponseWriter(
      appendingTo: consume lent, for: head, mayKeepAlive: false, isSecured: client.isSecured, service.clock)
    let responder = HTTPResponder(
      loop: loop, id: connection.id, sequence: sequence, isRetry: false, peer: client)
    isClosing = service.handler.refusesByHead(head, &response, responder, on: loop)
    if isClosing { note(response, head, client, connection, written, on: loop) }
    output = response.output
    return isClosing
  }

  private func begin(_ next: Successor, _ connection: Connection, on loop: isolated EventLoop) {
    connection.become(next.session, of: next.client.isForwarded ? next.client : nil, on: loop)
    switch next.session {
    case let socket as WebSocket: socket.open(on: loop)
    case let stream as EventStream:
      stream.open(on: loop)
      // The end of such a peer has been reported before; it may still read what is sent.
      if connection.session === stream, connection.peerIsEnding {
        stream.close(comment: "the client has ended its side", on: loop)
      }
    default: preconditionFailure("A request can become a WebSocket or an event stream.")
    }
    if loop.isDraining { connection.drain(on: loop) }
  }

  /// Counts an answer, and reports it: a refusal to the observer, and whatever is wanted to the log of requests.
  ///
  /// - Parameters:
  ///   - begin: When the request was complete; nil when that was in this turn.
  ///   - written: Bytes of the output before this answer.
  ///   - isTimed: Whether the time since then is that of work.
  private func note(
    _ response: borrowing ResponseWriter, _ head: borrowing RequestHead, _ client: Peer, _ connection: Connection,
    since begin: UInt64? = nil, _ written: Int, isTimed: Bool = true, on loop: isolated EventLoop
  ) {
    let kind = RequestKind(route: response.route, method: RequestKind.method(head.knownMethod))
    // What was complete in this turn gets the time of the turn, when that is known.
    loop.counters.countRequest(kind, status: response.status, isTimed: isTimed && begin == nil)
    if isTimed, let begin { loop.counters.recordRequest(kind, taking: loop.now - begin) }
    if response.status >= 400 {
      loop.countRefusal(response.problemCode)
      connection.observation?.tell(
        .refused(
          method: "\(head.method)", path: head.path.string, status: response.status, code: response.problemCode),
        of: client, trace: head.traceParent())
    }
    guard let reporter = service.reporter, reporter.takes(response.status) else { return }
    reporter.report(
      AnsweredRequest(
        peer: client, method: "\(head.method)", path: head.path.string, status: response.status,
        code: response.problemCode, bytes: response.output.count - written,
        duration: .nanoseconds(Int64(clamping: EventLoop.time - (begin ?? loop.now))), trace: head.traceParent()))
  }

  /// The same for a request that could not be read, or came too late.
  private func note(
    _ response: borrowing ResponseWriter, _ connection: Connection, _ written: Int, on loop: isolated EventLoop
  ) {
    loop.counters.countRequest(.unreadable, status: response.status, isTimed: false)
    loop.countRefusal(response.problemCode)
    connection.observation?.tell(.refused(method: "", path: "", status: response.status, code: response.problemCode))
    guard let reporter = service.reporter, reporter.takes(response.status) else { return }
    reporter.report(
      AnsweredRequest(
        peer: connection.peer, method: "", path: "", status: response.status, code: response.problemCode,
        bytes: response.output.count - written, duration: .zero, trace: nil))
  }

  private func refuse(
    _ error: HTTPParseError, _ output: inout [UInt8], _ connection: Connection, on loop: isolated EventLoop
  ) {
    let written = output.count
    var lent: [UInt8] = []
    swap(&lent, &output)
    var response = ResponseWriter(
      appendingTo: consume lent, isSecured: connection.peer.isSecured, service.clock)
    response.refuse(error)
    note(response, connection, written, on: loop)
    output = response.output
    isClosing = true
  }

  // MARK: Answers from elsewhere

  func answer(
    _ sequence: UInt32, _ connection: Connection, on loop: isolated EventLoop,
    _ write: (borrowing RequestHead, inout ResponseWriter) -> Void
  ) {
    guard case .waiting(let awaited) = phase, sequence == self.sequence else { return }
    phase = .head
    let response = awaited.request.withHead { head in
      var response = ResponseWriter(
        appendingTo: loop.takeScratch(), for: head, mayKeepAlive: !loop.isDraining,
        isSecured: awaited.client.isSecured, service.clock, commonFields: awaited.commonFields,
        coding: awaited.coding)
      response.route = awaited.route
      write(head, &response)
      note(response, head, awaited.client, connection, since: awaited.begin, 0, isTimed: awaited.isTimed, on: loop)
      return response
    }
    connection.sendAnswerNow(response.output, on: loop)
    let keepsAlive = response.keepsAlive
    loop.returnScratch(response.output)
    if !keepsAlive {
      isClosing = true
      return connection.close(on: loop)
    }
    setDeadline(connection, on: loop)
    connection.resume(on: loop)
  }

  /// Handles the request that waits again.
  func retry(_ sequence: UInt32, _ connection: Connection, on loop: isolated EventLoop) {
    guard case .waiting(let awaited) = phase, sequence == self.sequence else { return }
    phase = .head
    var output = loop.takeScratch()
    let next = awaited.request.withHead { head in
      handle(head, head.bytes[0..<0], of: awaited.client, &output, connection, isRetry: true, on: loop)
    }
    connection.sendAnswerNow(output, on: loop)
    loop.returnScratch(output)
    if let next, connection.isOpen { begin(next, connection, on: loop) }
    if isClosing { return connection.close(on: loop) }
    if next == nil { setDeadline(connection, on: loop) }
    connection.resume(on: loop)
  }

  // MARK: Time and end

  private func setDeadline(_ connection: Connection, on loop: isolated EventLoop) {
    switch phase {
    case .head where scanner.isIdle: connection.setDeadline(after: service.limits.keepAliveTimeout, on: loop)
    case .head: beginHeadDeadline(connection, on: loop)
    case .body: connection.setDeadline(after: service.limits.bodyTimeout, on: loop)
    case .waiting: break
    }
  }

  /// The head's timeout counts from its first byte, so that a byte now and then does not extend it.
  private func beginHeadDeadline(_ connection: Connection, on loop: isolated EventLoop) {
    if hasHeadDeadline == sequence { return }
    hasHeadDeadline = sequence
    connection.setDeadline(after: service.limits.headTimeout, on: loop)
  }

  /// The sequence number of the request whose head deadline has been set.
  private var hasHeadDeadline: UInt32?

  func deadlineReached(_ connection: Connection, on loop: isolated EventLoop) {
    switch phase {
    case .head where scanner.isIdle: return connection.close(on: loop)
    case .head:
      refuseLate(.requestTimeout, "request_timeout", "The head did not come in time.", connection, on: loop)
    case .body:
      refuseLate(.requestTimeout, "request_timeout", "The body did not come in time.", connection, on: loop)
    case .waiting(var awaited) where awaited.wait != nil:
      let wait = awaited.wait
      awaited.wait = nil
      phase = .waiting(awaited)
      connection.setDeadline(after: service.limits.responseTimeout, on: loop)
      wait?.timeIsUp(on: loop)
    case .waiting:
      refuseLate(.serviceUnavailable, "response_timeout", "There was no answer in time.", connection, on: loop)
    }
  }

  private func refuseLate(
    _ status: HTTPStatus, _ code: String, _ detail: String, _ connection: Connection, on loop: isolated EventLoop
  ) {
    var response = ResponseWriter(
      appendingTo: loop.takeScratch(), isSecured: connection.peer.isSecured, service.clock)
    response.refuse(status, code: code, detail: detail, isTemporary: true)
    note(response, connection, 0, on: loop)
    isClosing = true
    connection.sendAnswerNow(response.output, on: loop)
    loop.returnScratch(response.output)
    connection.close(on: loop)
  }

  func replacement(for lost: [UInt8], on connection: Connection, _ loop: isolated EventLoop) -> [UInt8]? {
    // Within a response nothing else can be said.
    guard lost.starts(with: Self.responseStart) else { return nil }
    var response = ResponseWriter(appendingTo: [], isSecured: connection.peer.isSecured, service.clock)
    response.refuse(
      .serviceUnavailable, code: "no_answer", detail: "The change was not confirmed in time; it may be made or not.",
      isTemporary: true)
    loop.countRefusal(response.problemCode)
    isClosing = true
    return response.output
  }

  private static let responseStart = Array("HTTP/1.".utf8)

  func peerEnded(_ connection: Connection, on loop: isolated EventLoop) {
    // There is nothing to answer to an incomplete request: it will never be complete.
    connection.close(on: loop)
  }

  func peerIsEnding(_ connection: Connection, on loop: isolated EventLoop) {
    // No client reads an answer that comes minutes later; a response in progress is another matter.
    if case .waiting(let awaited) = phase, awaited.wait != nil { connection.abort(on: loop) }
  }

  func outputSent(_ connection: Connection, on loop: isolated EventLoop) {}

  func drain(_ connection: Connection, on loop: isolated EventLoop) {
    // A request in progress is finished; its response announces that the connection closes.
    if case .head = phase, scanner.isIdle { return connection.close(on: loop) }
    if case .waiting(let awaited) = phase, awaited.wait != nil { deadlineReached(connection, on: loop) }
  }

  func closed(on loop: isolated EventLoop) {
    if case .waiting(let awaited) = phase { awaited.wait?.abandoned(on: loop) }
    phase = .head
  }
}

extension UpgradeRequest {
  fileprivate init(_ head: borrowing RequestHead) {
    self.init(
      isGet: head.knownMethod == .get, isVersion1_1: head.minorVersion >= 1, upgrade: head.lines(of: .upgrade),
      connection: head.lines(of: .connection), key: head.lines(of: .secWebSocketKey),
      version: head.lines(of: .secWebSocketVersion), protocols: head.lines(of: .secWebSocketProtocol),
      extensions: head.lines(of: .secWebSocketExtensions))
  }
}

extension RequestHead {
  /// The values of all lines of a field, in order.
  fileprivate borrowing func lines(of field: KnownField) -> [[UInt8]] {
    var values: [[UInt8]] = []
    for position in 0..<fieldCount {
      let (name, value) = self.field(at: position)
      if KnownField(token: name) == field { values.append(value.array) }
    }
    return values
  }
}

extension RequestKind {
  /// A request that could not be read, or came too late.
  static let unreadable = RequestKind(route: 0, method: method(nil))

  /// The number of a method, in the order of ``methods``.
  fileprivate static func method(_ method: HTTPMethod.Known?) -> Int {
    switch method {
    case .get?: 0
    case .head?: 1
    case .put?: 2
    case .post?: 3
    case .patch?: 4
    case .delete?: 5
    case .options?: 6
    case .connect?, .trace?, nil: 7
    }
  }
}
