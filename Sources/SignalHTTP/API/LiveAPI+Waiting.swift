// SPDX-License-Identifier: MIT
import SignalStore

/// `GET /properties/{path}` with `since` or `until`: an answer when the property has changed (`docs/protocol.md` §2.1).
extension LiveAPI {
  func awaitProperty(
    _ encoded: ByteView, _ head: borrowing RequestHead, _ query: Query, _ response: inout ResponseWriter,
    _ responder: HTTPResponder, as caller: Caller, on loop: isolated EventLoop
  ) throws(APIError) -> Disposition {
    let path = try propertyPath(encoded)
    try problem { () throws(Problem) in try service.commands.checkReadingAnyValue(path, as: caller) }
    let pointer = try query.one("pointer")
    let since = try query.cursor("since")
    let until = try query.one("until")
    let time = try query.duration("wait") ?? .zero
    guard since != nil || until != nil else {
      throw .problem(Problem(.badQuery, "\"wait\" needs \"since\" or \"until\": what is waited for."))
    }
    let longest = service.configuration.limits.waitLimit
    guard time <= longest else {
      throw .problem(Problem(.badDuration, "\"wait\" is at most \(longest.components.seconds)s."))
    }
    let filter: Filter? =
      if let until { try problem { () throws(Problem) in try service.commands.conditionFilter(until) } } else { nil }
    let (wait, found, revision, isMet) = service.waits.begin(
      path, PropertyWait.Condition(since: since, until: filter), atMost: time,
      answer: LateAnswer(self, responder, path, pointer: pointer, to: caller), on: loop)
    // A wait with a timeout of zero still waits until its condition has been evaluated.
    if let wait { return .wait(wait, atMost: time > .zero ? time : service.responseTimeout) }
    answer(path, isMet, found, revision, pointer, head, &response)
    return .answered
  }

  /// The answer at the end of a wait, when its client is still who it was and may still read.
  fileprivate func answerLate(
    _ path: PropertyPath, _ isMet: Bool, _ found: StoredValue?, _ revision: Revision, _ pointer: String?,
    _ head: borrowing RequestHead, to caller: Caller, _ response: inout ResponseWriter
  ) {
    do throws(Problem) {
      try service.checkIdentity(of: caller)
      try service.commands.checkReadingAnyValue(path, as: caller)
    } catch {
      note(.problem(error), head, caller.identity, caller.peer)
      return response.refuse(.problem(error))
    }
    answer(path, isMet, found, revision, pointer, head, &response)
  }

  private func answer(
    _ path: PropertyPath, _ isMet: Bool, _ found: StoredValue?, _ revision: Revision, _ pointer: String?,
    _ head: borrowing RequestHead, _ response: inout ResponseWriter
  ) {
    do throws(APIError) {
      if isMet { return try answerProperty(path, found, revision, pointer, head, &response) }
      response.begin(.notModified)
      if let found {
        appendValidators(found, revision, .identity, &response)
      } else {
        appendRevision(revision, &response)
      }
      response.endWithoutBody()
    } catch {
      response.refuse(error)
    }
  }
}

/// Answers a request when its wait is over, with the saved head.
private final class LateAnswer: WaitAnswer {
  private unowned let api: LiveAPI
  private let responder: HTTPResponder
  private let path: PropertyPath
  private let pointer: String?
  private let caller: Caller
  /// Which state of the store readers were given when it began.
  private let begin: UInt64

  init(_ api: LiveAPI, _ responder: HTTPResponder, _ path: PropertyPath, pointer: String?, to caller: Caller) {
    self.api = api
    self.responder = responder
    self.path = path
    self.pointer = pointer
    self.caller = caller
    begin = api.service.gate?.state ?? 0
  }

  func send(_ found: StoredValue?, _ revision: Revision, isMet: Bool, on loop: isolated EventLoop) {
    api.service.noteDependence(since: begin)
    responder.respond(on: loop) { head, response in
      api.answerLate(path, isMet, found, revision, pointer, head, to: caller, &response)
    }
  }
}
