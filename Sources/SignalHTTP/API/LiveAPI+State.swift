// SPDX-License-Identifier: MIT
import SignalStore

/// One request that is handled again when the store has got to a cursor, or not in time.
private final class CursorWait: RequestWait, CursorWaiter {
  private let waits: CursorWaits
  private let responder: HTTPResponder

  var isTimed: Bool { false }

  init(_ waits: CursorWaits, _ responder: HTTPResponder) {
    self.waits = waits
    self.responder = responder
  }

  func waitIsOver(on loop: isolated EventLoop) { responder.retry(on: loop) }

  func timeIsUp(on loop: isolated EventLoop) {
    waits.remove(self)
    responder.retry(on: loop)
  }

  func abandoned(on loop: isolated EventLoop) { waits.remove(self) }
}

extension LiveAPI {
  /// Parameters of each request that reads the present state.
  static let stateParameters = ["at", "fresh"]

  /// Lets a request that reads wait for the state that it asks for (`docs/protocol.md` §2.13): it is handled again then.
  ///
  /// - Parameter since: A cursor from which it goes on; when the store does not get there it is handled all the same.
  /// - Returns: nil when there is nothing to wait for.
  func awaitState(
    _ query: Query, since: Cursor? = nil, _ responder: HTTPResponder, on loop: isolated EventLoop
  ) throws(APIError) -> Disposition? {
    let at = try query.cursor("at")
    let cluster = responder.isRetry ? nil : service.cluster
    if try query.bool("fresh") == true, let cluster {
      awaitEverything(of: cluster, responder)
      return .later
    }
    if let at {
      guard service.cursors.isOfHistory(at) else {
        throw .problem(Problem(.badCursor, "The cursor \(at) is of another history than that of this server."))
      }
      guard service.cursors.isAhead(at) else { return nil }
      guard cluster != nil else {
        throw .problem(Problem(.notReached, "This server has not got to the cursor \(at) yet."))
      }
    }
    guard cluster != nil, let cursor = at ?? since, service.cursors.isAhead(cursor) else { return nil }
    let wait = CursorWait(service.cursors, responder)
    service.cursors.add(wait, until: cursor, on: loop)
    return .wait(wait, atMost: CursorWaits.patience)
  }

  /// Has the request handled again when everything is here that was written before it came, at whatever node.
  private func awaitEverything(of cluster: any ClusterNode, _ responder: HTTPResponder) {
    cluster.forward(ForwardedCommand.barrier) { outcome in
      responder.loop.submit { loop in
        if case .answered = outcome { return responder.retry(on: loop) }
        responder.respond(on: loop) { _, response in response.refuse(.problem(.noLeaderForReading)) }
      }
    }
  }

  /// Has the request handled again when it is known what is watched at other nodes; returns false when it is.
  func awaitWatchers(_ responder: HTTPResponder) -> Bool {
    guard let cluster = service.cluster, !service.hub.watchers.ask(), !responder.isRetry else { return false }
    cluster.awaitWatchers { responder.loop.submit { loop in responder.retry(on: loop) } }
    return true
  }
}

extension Problem {
  /// Nobody has said what is the present state.
  fileprivate static let noLeaderForReading = Problem(
    .noLeader, "No node of the cluster decides changes at the moment, so it is not known what is the present state.")
}
