// SPDX-License-Identifier: MIT
import SignalStore
import Synchronization

/// The requests of one loop for past values (`docs/protocol.md` §2.11).
///
/// Neither the loop nor the store waits for them: they are answered on the history's own thread, which also writes the
/// text, while their connections wait as for any late answer.
final class HistoryRequests: TurnParticipant {
  private let replies: HistoryReplies
  private let willAnswer: (UInt64) -> Void
  private var waits: [UInt64: HistoryWait] = [:]
  private var lastID: UInt64 = 0

  /// - Parameter willAnswer: Called with the last record of the store that an answer includes, before it is written.
  init(loop: isolated EventLoop, willAnswer: @escaping (UInt64) -> Void) {
    replies = HistoryReplies { [weak loop] in loop?.wake() }
    self.willAnswer = willAnswer
  }

  /// Submits a query, and creates the wait for its answer.
  func begin(
    _ query: SeriesQuery, of source: any SeriesSource, _ format: HistoryFormat, _ responder: HTTPResponder,
    on loop: isolated EventLoop
  ) -> any RequestWait {
    lastID += 1
    let wait = HistoryWait(lastID, responder, self)
    waits[lastID] = wait
    loop.takePart(self)
    source.answer(query, unless: { [isAbandoned = wait.isAbandoned] in isAbandoned.value }) {
      [replies, lastID] result in
      replies.put(lastID, result.map { HistoryAnswer($0, to: query, format) })
    }
    return wait
  }

  fileprivate func remove(_ id: UInt64) { waits[id] = nil }

  func turnEnds(on loop: isolated EventLoop) -> Bool {
    if waits.isEmpty { return false }
    for (id, result) in replies.take() {
      guard let wait = waits.removeValue(forKey: id) else { continue }
      if case .success(let answer) = result { willAnswer(answer.record) }
      wait.answer(result, on: loop)
    }
    return true
  }
}

/// One request that waits for its answer.
private final class HistoryWait: RequestWait {
  private let id: UInt64
  private let responder: HTTPResponder
  private unowned let requests: HistoryRequests
  let isAbandoned = AbandonedMark()

  init(_ id: UInt64, _ responder: HTTPResponder, _ requests: HistoryRequests) {
    self.id = id
    self.responder = responder
    self.requests = requests
  }

  func answer(_ result: Result<HistoryAnswer, SeriesRefusal>, on loop: isolated EventLoop) {
    responder.respond(on: loop) { _, response in
      switch result {
      case .success(let answer): answer.write(&response)
      case .failure(let refusal): response.refuse(.problem(Problem(refusal)))
      }
    }
  }

  func timeIsUp(on loop: isolated EventLoop) {
    abandoned(on: loop)
    answer(.failure(.busy), on: loop)
  }

  func abandoned(on loop: isolated EventLoop) {
    isAbandoned.set()
    requests.remove(id)
  }
}

/// Signals to another thread that a request has been abandoned.
private final class AbandonedMark: Sendable {
  private let isSet = Atomic(false)

  var value: Bool { isSet.load(ordering: .relaxed) }

  func set() { isSet.store(true, ordering: .relaxed) }
}

/// Passes answers from another thread to one loop; there are never more than requests.
private final class HistoryReplies: Sendable {
  typealias Reply = (id: UInt64, result: Result<HistoryAnswer, SeriesRefusal>)

  private let replies = Mutex<[Reply]>([])
  private let wake: @Sendable () -> Void

  init(wake: @escaping @Sendable () -> Void) { self.wake = wake }

  func put(_ id: UInt64, _ result: Result<HistoryAnswer, SeriesRefusal>) {
    replies.withLock { $0.append((id, result)) }
    wake()
  }

  func take() -> [Reply] {
    replies.withLock { replies in
      defer { replies = [] }
      return replies
    }
  }
}

extension Problem {
  /// The problem for a query about past values that was refused.
  fileprivate init(_ refusal: SeriesRefusal) {
    switch refusal {
    case .notKept: self.init(.noHistory, "No rule of the setting data.history keeps this property.")
    case .tooManySeries(let count):
      self.init(.noHistory, "There are \(count) series already, as many as there may be, and this is none of them.")
    case .noTier(let shortest):
      let step = WireDuration.text(.milliseconds(shortest))
      self.init(.badQuery, "\"step\" is \(step) here, or a multiple of a length that is kept.")
    case .notRaw:
      self.init(.badQuery, "Of this property changes are not kept: a question has a \"step\", and no \"pointer\".")
    case .tooManyChanges(let count):
      self.init(.badQuery, "The first bucket has more than \(count) changes: the \"step\" is too long for them.")
    case .busy: self.init(.historyBusy, "Others ask for more than there is time for; try again in a second.")
    case .failed: self.init(.historyFailed, "What was kept cannot be read; the server's log says why.")
    }
  }
}
