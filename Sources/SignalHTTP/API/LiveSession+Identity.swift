// SPDX-License-Identifier: MIT
import JSON
import SignalAccess

/// Who is at the other end of a WebSocket (`docs/protocol.md` §10).
extension LiveSession: IdentifiedSession {
  func beginWatching(on loop: isolated EventLoop) {
    guard let identities = service.identities, let authenticator = service.authenticator else { return }
    if let identity = caller.identity {
      watched = identities.add(self, identity, on: loop)
    } else if isAwaitingIdentity {
      watched = identities.add(self, within: authenticator.current.settings.timeout, on: loop)
    }
  }

  func endWatching() {
    guard let watched = watched.take() else { return }
    service.identities?.remove(watched)
  }

  /// Refuses commands while it has to be said who is there.
  func checkIdentity(for command: ClientCommand) throws(Problem) {
    guard isAwaitingIdentity else { return }
    if case .authenticate = command { return }
    throw .unauthenticated
  }

  /// Executes `auth`: from now on the client is whom the token names, or still is.
  func authenticate(_ token: String, _ id: Int, on loop: isolated EventLoop) throws(Problem) {
    guard let authenticator = service.authenticator, authenticator.isActive, let identities = service.identities else {
      throw .invalidToken
    }
    try service.checkFailures(caller.peer, on: loop)
    let identity: Identity
    do throws(TokenFault) {
      identity = try authenticator.identity(of: token.utf8.span)
    } catch {
      service.noteFailure(caller.peer, on: loop)
      socket.connection.observation?.tell(
        .tokenRefused(reason: error.rawValue, id: Token.loggableID(in: token.utf8.span)))
      var problem = Problem.invalidToken
      problem.note = AuditNote(error, of: token.utf8.span)
      throw problem
    }
    // A token counts instead of the certificate of the connection.
    if let present = caller.identity, present.kind != .certificate,
      present.kind != identity.kind || present.id != identity.id
    {
      throw Problem(
        .identityMismatch, "The connection is that of \"\(present.id)\"; somebody else opens one of their own.")
    }
    claim = try service.connect(identity, caller.peer, having: claim, on: loop)
    account = service.account(of: identity, caller.peer)
    replyOK(id, on: loop) { text in
      text.append(literal: #","auth":{"id":"#)
      text.appendJSON(identity.id)
      if let expires = identity.expires {
        text.append(literal: #","expires":"#)
        text.appendJSON("\(expires)")
      }
      text.append(UInt8(ascii: "}"))
    }
    service.commands.noteSession(.sessionBegan, of: identity, caller.peer, request: Self.name)
    change(to: identity, on: loop)
    if let watched { identities.set(identity, of: watched, on: loop) } else { beginWatching(on: loop) }
    guard isAwaitingIdentity else { return }
    isAwaitingIdentity = false
    greet(on: loop)
  }

  func identityExpires(inSeconds seconds: Int, on loop: isolated EventLoop) {
    reply(on: loop) { text in
      text.append(literal: #"{"type":"authExpires","in":"#)
      text.appendJSON(seconds)
      text.append(UInt8(ascii: "}"))
    }
  }

  func identityEnded(_ reason: String, on loop: isolated EventLoop) {
    endReason = reason
    socket.close(.unauthenticated, reason: reason, on: loop)
  }
}
