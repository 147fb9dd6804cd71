// SPDX-License-Identifier: MIT
import JSON
import SignalAccess
import SignalStore

/// How much a route wants to know of who asks.
enum Identification {
  /// Nothing: probes and preflights are answered whatever they send.
  case ignored
  /// What there is; the route itself decides whether that is enough.
  case optional
  /// Somebody, where ``AuthenticationSettings/required``.
  case asConfigured
}

/// Who asks (`docs/protocol.md` §10): `Authorization`, a cookie, a ticket, the certificate of the connection.
extension LiveAPI {
  /// Who has sent a request; nil for somebody unknown.
  ///
  /// - Throws: When what was given is not accepted, or nothing was given and something has to be.
  func identity(
    of head: borrowing RequestHead, asking: Identification, _ response: inout ResponseWriter,
    _ responder: HTTPResponder, on loop: isolated EventLoop
  ) throws(APIError) -> Identity? {
    guard let authenticator = service.authenticator else { return nil }
    guard authenticator.isActive else {
      guard asking != .ignored, head.knownMethod != .options else { return nil }
      return try identity(byCertificateWith: head, &response, from: responder.peer)
    }
    let settings = authenticator.current.settings
    // Caches must not give one caller's answer to another (RFC 9111 §4.1, §5.2.2.7).
    response.addCommonField("Vary", settings.cookie.isEmpty ? "Authorization" : "Authorization, Cookie")
    guard asking != .ignored, head.knownMethod != .options else { return nil }
    guard let text = try credential(in: head, from: responder.peer, cookie: settings.cookie) else {
      if let identity = try identity(byCertificateWith: head, &response, from: responder.peer) { return identity }
      // Whoever could change the settings needs no token.
      guard asking == .optional || !settings.required || responder.peer.isAdministrator else {
        throw .problem(.unauthenticated)
      }
      return nil
    }
    response.addCommonField("Cache-Control", "private")
    try problem { () throws(Problem) in try service.checkFailures(responder.peer, on: loop) }
    do throws(TokenFault) {
      return try text.withSpan { (text) throws(TokenFault) in try authenticator.identity(of: text) }
    } catch {
      service.noteFailure(responder.peer, on: loop)
      if let observation = (loop.member(responder.id) as? Connection)?.observation {
        observation.tell(
          .tokenRefused(reason: error.rawValue, id: text.withSpan { Token.loggableID(in: $0) }), of: responder.peer)
      }
      var problem = Problem.invalidToken
      if service.commands.audit != nil { problem.note = text.withSpan { AuditNote(error, of: $0) } }
      throw .problem(problem)
    }
  }

  /// Whether what a browser sends of itself can say who asks: the cookie, or a certificate.
  ///
  /// It does not matter whether the connection has shown one: a browser sends preflights without (Fetch Standard,
  /// "CORS-preflight fetch").
  func acceptsCredentials(from peer: Peer) -> Bool {
    guard let authenticator = service.authenticator else { return false }
    if peer.mayShowCertificate { return true }
    return authenticator.isActive && !authenticator.current.settings.cookie.isEmpty
  }

  /// Who has shown the certificate of the connection; nil where none counts.
  private func identity(
    byCertificateWith head: borrowing RequestHead, _ response: inout ResponseWriter, from peer: Peer
  ) throws(APIError) -> Identity? {
    guard let certificate = peer.certificate, admission.origins.mayUseCertificate(head, isSecured: peer.isSecured)
    else { return nil }
    let identity = service.certificates.identity(of: certificate)
    response.addCommonField("Cache-Control", "private")
    guard identity.isAccepted(at: .now) else {
      var problem = Problem.endedCertificate
      problem.note = AuditNote(fault: TokenFault.expired.rawValue, of: identity.kind.rawValue, key: identity.id)
      throw .problem(problem)
    }
    return identity
  }

  /// The token in `Authorization` (RFC 6750 §2.1), or else in the cookie of this name; nil when there is none.
  private func credential(
    in head: borrowing RequestHead, from peer: Peer, cookie: String
  ) throws(APIError) -> ByteView? {
    if let value = try parsing({ () throws(HTTPParseError) in try head.single(.authorization) }) {
      // Other schemes are for a proxy on the way.
      if value.count >= 6, value[0..<6].equalsIgnoringCase("bearer"), value.count == 6 || value[6] == ASCII.space {
        let rest = value[6..<value.count]
        let start = rest.firstIndex { $0 != ASCII.space } ?? rest.count
        return rest[start..<rest.count]
      }
    }
    guard !cookie.isEmpty, head.has(.cookie), admission.origins.mayUseCookies(head, isSecured: peer.isSecured)
    else { return nil }
    guard let value = try parsing({ () throws(HTTPParseError) in try head.single(.cookie) }) else { return nil }
    return Self.cookie(cookie, in: value)
  }

  /// The value of a cookie, without quotation marks around it (RFC 6265 §4.2.1).
  private static func cookie(_ name: String, in pairs: ByteView) -> ByteView? {
    var start = 0
    while start < pairs.count {
      let rest = pairs[start..<pairs.count]
      let end = rest.firstIndex(of: UInt8(ascii: ";")) ?? rest.count
      let first = rest.firstIndex { $0 != ASCII.space } ?? end
      let pair = rest[min(first, end)..<end]
      if let equals = pair.firstIndex(of: UInt8(ascii: "=")),
        Array(name.utf8).withView({ pair[0..<equals].equals($0) })
      {
        let value = pair[equals + 1..<pair.count]
        let isQuoted = value.count >= 2 && value[0] == ASCII.quote && value[value.count - 1] == ASCII.quote
        return isQuoted ? value[1..<value.count - 1] : value
      }
      start += end + 1
    }
    return nil
  }

  /// Who has a ticket in the query of `/events`; `identity`, that of the request, without one.
  func identity(
    byTicket query: Query, _ head: borrowing RequestHead, from peer: Peer?, orElse identity: Identity?,
    on loop: isolated EventLoop
  ) throws(APIError) -> Identity? {
    guard let text = query.text("ticket") else { return identity }
    // The certificate belongs to the connection, whatever is asked over it.
    guard identity == nil || identity?.kind == .certificate else {
      throw .problem(Problem(.badQuery, "A ticket and another proof of who asks exclude each other."))
    }
    try problem { () throws(Problem) in try service.checkFailures(peer, on: loop) }
    guard let authenticator = service.authenticator, authenticator.isActive,
      let found = authenticator.tickets.redeem(text.utf8.span, origin: foreignOrigin(of: head, from: peer)),
      authenticator.current.confirms(found)
    else {
      service.noteFailure(peer, on: loop)
      var problem = Problem.invalidToken
      problem.note = AuditNote(fault: TokenFault.unknown.rawValue, of: "ticket")
      throw .problem(problem)
    }
    return found
  }

  /// `POST /auth/tickets`.
  func issueTicket(
    _ head: borrowing RequestHead, _ body: RequestBody, _ response: inout ResponseWriter, to caller: Caller
  ) throws(APIError) {
    _ = try Query(head, [])
    guard let authenticator = service.authenticator, let identity = caller.identity else {
      throw .problem(.unauthenticated)
    }
    _ = try body.read()
    let origin = foreignOrigin(of: head, from: caller.peer)
    guard let ticket = authenticator.tickets.issue(for: identity, origin: origin) else {
      throw .problem(Problem(.memoryFull, "There are as many tickets as there may be; they end within 30 s."))
    }
    service.commands.audit?.record(AuditEvent(.ticketIssued, identity: identity, peer: caller.peer))
    var text: [UInt8] = []
    text.append(literal: #"{"ticket":"#)
    text.appendJSON(ticket.text)
    text.append(literal: #","expires":"#)
    text.appendJSON("\(ticket.expires)")
    text.append(UInt8(ascii: "}"))
    answer(text, &response)
  }

  /// The origin of the page that asks, if it is another than the server's own.
  private func foreignOrigin(of head: borrowing RequestHead, from peer: Peer?) -> [UInt8]? {
    admission.origins.foreignOrigin(of: head, isSecured: peer?.isSecured ?? false)
  }

  /// `GET /auth/me`: what `auth` means for who asks.
  func tellIdentity(
    _ head: borrowing RequestHead, _ response: inout ResponseWriter, of identity: Identity?
  ) throws(APIError) {
    _ = try Query(head, [])
    var text: [UInt8] = []
    text.append(literal: #"{"auth":"#)
    if let identity { text.appendJSON(identity.auth.text(of: .root)) } else { text.append(literal: "null") }
    text.append(UInt8(ascii: "}"))
    answer(text, &response)
  }

  private func answer(_ text: [UInt8], _ response: inout ResponseWriter) {
    response.begin(.ok)
    response.field("Content-Type", "application/json")
    response.field("Cache-Control", "no-store")
    response.end(text)
  }
}

extension Problem {
  /// Nobody has been proven to ask, and somebody has to be.
  static let unauthenticated = Problem(
    .unauthenticated, "Send a token: \"Authorization: Bearer …\", or the command \"auth\" over a WebSocket.")
  /// The certificate of the connection was good when it was made.
  static let endedCertificate = Problem(
    .invalidToken, "The certificate of the connection has ended: connect again with another one.")
  /// What was given is not accepted; why, only the server's log says.
  static let invalidToken = Problem(.invalidToken, "The token is unknown, malformed or over: get another one.")
}
