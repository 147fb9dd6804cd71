// SPDX-License-Identifier: MIT

/// The work of a request that may take more than one turn (`docs/protocol.md` §2.2, §2.8).
protocol RequestWork: AnyObject {
  /// Continues the work; true when it is done.
  ///
  /// It does at least one step, and no further one when nothing is left.
  ///
  /// - Parameter work: The cost is subtracted from it, in the units of `TurnWork`.
  func proceed(_ work: inout Int) -> Bool

  /// Releases everything it holds, because it has to wait in the queue: it starts over then.
  func restart()

  /// Writes the response: for all of the work, or for the part that has been done.
  func answer(_ response: inout ResponseWriter)
}

/// The requests of one loop whose work continues over several turns.
///
/// A request that is done with its first slice is answered at once. Of the others a few are in progress, each with an
/// equal share of the turn, and the rest wait in order, holding nothing: intermediate results take memory.
final class RequestQueue: TurnParticipant {
  /// Requests that are in progress at once.
  static let underWay = 8

  private var queue: [QueuedRequest] = []
  private let state: () -> UInt64
  private let willAnswer: (UInt64) -> Void

  /// - Parameters:
  ///   - state: Which state of the store readers are given, by a number.
  ///   - willAnswer: Called before an answer that comes later is written, with what that was when its request began.
  init(state: @escaping () -> UInt64, willAnswer: @escaping (UInt64) -> Void) {
    self.state = state
    self.willAnswer = willAnswer
  }

  /// Begins a request.
  ///
  /// - Returns: Its wait, unless it is done.
  func begin(
    _ work: any RequestWork, limit: Int, responder: HTTPResponder, on loop: isolated EventLoop
  ) -> (any RequestWait)? {
    let request = QueuedRequest(work, limit: limit, responder, state(), willAnswer)
    if loop.work.requests > 0 {
      if request.proceed(loop.work.requests / 2, &loop.work.requests) { return nil }
      if queue.count >= Self.underWay { request.restart() }
    }
    queue.append(request)
    loop.takePart(self)
    loop.continueInNextTurn()
    return request
  }

  func turnEnds(on loop: isolated EventLoop) -> Bool {
    queue.removeAll { $0.isOver }
    guard !queue.isEmpty else { return false }
    let turn = queue.prefix(Self.underWay)
    // Even when new requests of this turn have used up their share.
    let share = max(1, loop.work.limit / 2 / turn.count)
    for request in turn where request.proceed(share, &loop.work.requests) {
      request.answer(on: loop)
    }
    queue.removeAll { $0.isOver }
    if queue.isEmpty { return false }
    loop.continueInNextTurn()
    return true
  }
}

/// One request in the queue.
private final class QueuedRequest: RequestWait {
  private let work: any RequestWork
  private let limit: Int
  private var left: Int
  private let responder: HTTPResponder
  private let begin: UInt64
  private let willAnswer: (UInt64) -> Void
  /// It has been answered or abandoned.
  private(set) var isOver = false

  init(
    _ work: any RequestWork, limit: Int, _ responder: HTTPResponder, _ begin: UInt64,
    _ willAnswer: @escaping (UInt64) -> Void
  ) {
    self.begin = begin
    self.willAnswer = willAnswer
    self.work = work
    self.limit = limit
    left = limit
    self.responder = responder
  }

  /// Does that much work; true when it is done, or when the request has used up its budget.
  func proceed(_ share: Int, _ spent: inout Int) -> Bool {
    let granted = min(share, left)
    var rest = granted
    let isDone = work.proceed(&rest)
    left -= granted - rest
    spent -= granted - rest
    return isDone || left <= 0
  }

  func restart() {
    work.restart()
    left = limit
  }

  func answer(on loop: isolated EventLoop) {
    isOver = true
    willAnswer(begin)
    responder.respond(on: loop) { _, response in work.answer(&response) }
  }

  func timeIsUp(on loop: isolated EventLoop) {
    // At least one step: an answer states how far the work has come.
    var step = 1
    _ = work.proceed(&step)
    answer(on: loop)
  }

  func abandoned(on loop: isolated EventLoop) {
    isOver = true
    work.restart()
  }
}
