// SPDX-License-Identifier: MIT

internal import Dispatch
package import SignalStore
internal import Synchronization

/// Answers queries of past values, one by one, on a thread of its own.
///
/// An answer includes everything that was durable when the query was started: what is still in the journal is copied to
/// the file first. For a read-only folder, it includes what is in the file.
// Unchecked: the connection is not Sendable, and used by the thread only. What others use is guarded by the lock or
// constant.
package final class HistoryReader: SeriesSource, @unchecked Sendable {
  private struct Question {
    let query: SeriesQuery
    let isAbandoned: @Sendable () -> Bool
    let body: @Sendable (Result<SeriesPage, SeriesRefusal>) -> Void
  }

  private struct Queue {
    var questions: [Question] = []
    var isClosing = false
  }

  /// What it reads.
  private struct Sources {
    let scan: SeriesScan
    /// Advances the file; nil when nothing does.
    let writing: (keeper: HistoryKeeper, journal: Journal)?
  }

  /// nil when the thread has ended: others may keep the reader for longer, and the connections of it and of the keeper
  /// would keep the logs of SQLite beside the files.
  private var sources: Sources?
  private let configuration: HistoryConfiguration
  /// Whether a file that nothing advances includes everything that was recorded.
  private let isWhole: Bool
  private let unreadable: @Sendable (StorageError) -> Void
  private let queue = Mutex(Queue())
  private let wake = DispatchSemaphore(value: 0)
  private let thread = WorkerThread()

  /// - Parameter unreadable: Called when the data of an answer cannot be read.
  init(
    _ scan: SeriesScan, _ configuration: HistoryConfiguration, keeper: HistoryKeeper, journal: Journal,
    unreadable: @escaping @Sendable (StorageError) -> Void
  ) {
    sources = Sources(scan: scan, writing: (keeper, journal))
    self.configuration = configuration
    isWhole = false
    self.unreadable = unreadable
  }

  /// Answers from a file that nobody writes.
  ///
  /// - Parameter isWhole: Whether it includes everything that was recorded.
  init(
    reading scan: SeriesScan, _ configuration: HistoryConfiguration, isWhole: Bool,
    unreadable: @escaping @Sendable (StorageError) -> Void
  ) {
    sources = Sources(scan: scan, writing: nil)
    self.configuration = configuration
    self.isWhole = isWhole
    self.unreadable = unreadable
  }

  func start() {
    thread.start { self.run() }
  }

  package func answer(
    _ query: SeriesQuery, unless isAbandoned: @escaping @Sendable () -> Bool,
    _ body: @escaping @Sendable (Result<SeriesPage, SeriesRefusal>) -> Void
  ) {
    let isTaken = queue.withLock { queue in
      guard !queue.isClosing, queue.questions.count < configuration.limits.queue else { return false }
      queue.questions.append(Question(query: query, isAbandoned: isAbandoned, body: body))
      return true
    }
    if isTaken { wake.signal() } else { body(.failure(.busy)) }
  }

  /// Refuses the waiting queries, ends the thread, and closes the files.
  package func close() {
    let questions = queue.withLock { queue in
      queue.isClosing = true
      defer { queue.questions = [] }
      return queue.questions
    }
    for question in questions { question.body(.failure(.busy)) }
    wake.signal()
    thread.join()
  }

  private func run() {
    while true {
      wake.wait()
      let (question, isClosing) = queue.withLock { queue in
        (queue.questions.isEmpty ? nil : queue.questions.removeFirst(), queue.isClosing)
      }
      if let question {
        if !question.isAbandoned() { question.body(answer(question.query)) }
      } else if isClosing {
        sources = nil
        return
      }
    }
  }

  private func answer(_ query: SeriesQuery) -> Result<SeriesPage, SeriesRefusal> {
    guard let rule = configuration.rule(for: query.path) else { return .failure(.notKept) }
    guard let sources else { return .failure(.busy) }
    let scan = sources.scan
    do throws(StorageError) {
      guard let (keeper, journal) = sources.writing else {
        return try scan.page(query, configuration.rules[rule], isCurrent: isWhole, isFull: false)
      }
      let isPast = try isPast(query, scan)
      let isCurrent = keeper.reach(isPast ? 0 : journal.written)
      if keeper.isOver { return .failure(.failed) }
      guard keeper.isReady else { return .failure(.busy) }
      return try scan.page(
        query, configuration.rules[rule], isCurrent: isCurrent && !isPast, isFull: keeper.isFull)
    } catch {
      unreadable(error)
      return .failure(.failed)
    }
  }

  /// Whether the whole queried range is already in the file.
  private func isPast(_ query: SeriesQuery, _ scan: SeriesScan) throws(StorageError) -> Bool {
    guard case .time(let end)? = query.to else { return false }
    let newest = try scan.newest().milliseconds
    // The end of a bucket may be after that of the query.
    return end.milliseconds + (query.step ?? 0) < newest
  }
}
