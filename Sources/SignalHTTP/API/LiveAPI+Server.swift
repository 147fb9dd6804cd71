// SPDX-License-Identifier: MIT
import JSON
import SignalStore

/// The server itself, for those who operate it (`docs/protocol.md` §11).
extension LiveAPI {
  /// `GET /server`.
  func tellState(
    _ head: borrowing RequestHead, _ response: inout ResponseWriter, as caller: Caller, on loop: isolated EventLoop
  ) throws(APIError) {
    try admitAdministrator(head, caller)
    var text: [UInt8] = []
    text.append(literal: #"{"version":"#)
    text.appendJSON(Server.version)
    text.append(literal: #","started":""#)
    service.facts.started.write(to: &text)
    text.append(literal: #"","cursor":""#)
    cursor(service.commands.revision).write(to: &text)
    text.append(literal: #"","properties":"#)
    text.appendJSON(service.commands.propertyCount)
    text.append(literal: #","connections":"#)
    text.appendJSON((loop.acceptor as? Acceptor)?.connectionCount ?? 0)
    text.append(literal: #","loops":"#)
    text.appendJSON(loop.all.count)
    if let gauge = service.memory?.gauge { Self.append(gauge, to: &text) }
    if let storage = service.commands.storage { Self.append(storage, to: &text) }
    if let cluster = service.cluster?.status { cluster.append(to: &text) }
    text.append(UInt8(ascii: "}"))
    tell(text, &response)
  }

  /// `GET /server/settings`.
  func tellSettings(
    _ head: borrowing RequestHead, _ response: inout ResponseWriter, as caller: Caller
  ) throws(APIError) {
    try admitAdministrator(head, caller)
    tell(service.facts.settings, &response)
  }

  /// `GET /server/connections`.
  func listConnections(
    _ head: borrowing RequestHead, _ responder: HTTPResponder, as caller: Caller, on loop: isolated EventLoop
  ) throws(APIError) -> Disposition {
    let query = try Query(head, ["limit", "after"])
    try problem { () throws(Problem) in try service.commands.checkAdministrator(caller) }
    let limits = service.configuration.limits
    let limit = try query.integer("limit", in: 1...limits.listLimit) ?? limits.listDefault
    var place = ConnectionPage.Place()
    if let text = try query.one("after") {
      guard let next = ConnectionPage.Place(text) else {
        throw .problem(Problem(.badQuery, "\"after\" is what \"next\" of a page says, not \"\(text)\"."))
      }
      place = next
    }
    ConnectionPage(from: place, limit: limit, bytes: limits.listBytes, responder).proceed(among: loop.all)
    return .later
  }

  /// `DELETE /server/connections/{id}`.
  func endConnection(
    _ encoded: ByteView, _ head: borrowing RequestHead, _ responder: HTTPResponder, as caller: Caller,
    on loop: isolated EventLoop
  ) throws(APIError) -> Disposition {
    try admitAdministrator(head, caller)
    guard let name = ConnectionName(encoded.string), name.loop < loop.all.count else {
      throw .problem(.noSuchConnection)
    }
    let (audit, id) = (service.commands.audit, encoded.string)
    loop.all[name.loop].submit { target in
      let isEnded = (target.member(name.id) as? Connection)?.endForAdministrator(on: target) ?? false
      if isEnded {
        audit?.record(AuditEvent(.connectionEnded, identity: caller.identity, peer: caller.peer, key: id))
      }
      responder.loop.submit { home in
        responder.respond(on: home) { _, response in
          guard isEnded else { return response.refuse(.problem(.noSuchConnection)) }
          response.begin(.noContent)
          response.endWithoutBody()
        }
      }
    }
    return .later
  }

  /// `POST /server/step-down`.
  func stepDown(
    _ head: borrowing RequestHead, _ body: RequestBody, _ response: inout ResponseWriter, as caller: Caller
  ) throws(APIError) {
    try admitAdministrator(head, caller)
    _ = try body.read()
    guard let cluster = service.cluster else {
      throw .problem(Problem(.notLeading, "This server is not a node of a cluster."))
    }
    guard cluster.stepDown() else {
      let leader = cluster.status.leader
      throw .problem(
        Problem(.notLeading, leader.isEmpty ? "No node decides changes at the moment." : "\(leader) decides changes."))
    }
    response.begin(.noContent)
    response.endWithoutBody()
  }

  private func admitAdministrator(_ head: borrowing RequestHead, _ caller: Caller) throws(APIError) {
    _ = try Query(head, [])
    try problem { () throws(Problem) in try service.commands.checkAdministrator(caller) }
  }

  private func tell(_ text: [UInt8], _ response: inout ResponseWriter) {
    response.begin(.ok)
    response.field("Content-Type", "application/json")
    response.field("Cache-Control", "no-store")
    response.end(text)
  }
}

extension Connection {
  /// What an administrator closes; false when it has been closing already.
  fileprivate func endForAdministrator(on loop: isolated EventLoop) -> Bool {
    guard isOpen else { return false }
    let reason = "an administrator has ended the connection"
    switch session {
    case let socket as WebSocket: socket.close(.ended, reason: reason, on: loop)
    case let stream as EventStream: stream.close(comment: reason, on: loop)
    default: close(on: loop)
    }
    return true
  }
}

extension Problem {
  fileprivate static let noSuchConnection = Problem(
    .noSuchConnection, "There is no connection with this id, or no more.")
}
