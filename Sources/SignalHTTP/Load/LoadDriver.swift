// SPDX-License-Identifier: MIT

/// What the clients of a loop have done so far.
package struct LoadCounts: Sendable {
  /// Requests that were sent.
  package var begun = 0
  /// Requests that were answered with success.
  package var answered = 0
  /// Requests that were refused, and connections that ended prematurely.
  package var failed = 0
  /// From the time a request was due to its answer; for watchers that only connect, to the end of their snapshot.
  package var answers = LatencyHistogram()
  /// Events that watchers have received.
  package var delivered = 0
  /// From the time a value was sent to the time a watcher received it.
  package var deliveries = LatencyHistogram()
  /// Watchers whose snapshot is complete.
  package var live = 0

  package init() {}

  /// Adds the counts of another loop.
  package mutating func add(_ other: LoadCounts) {
    begun += other.begun
    answered += other.answered
    failed += other.failed
    answers.add(other.answers)
    delivered += other.delivered
    deliveries.add(other.deliveries)
    live += other.live
  }
}

/// The rate at which requests are made.
package struct LoadPace: Sendable {
  /// Requests per second over all connections of one loop; nil is as fast as they are answered.
  package var rate: Double?
  /// Requests in flight on one connection at most.
  package var window = 1
  /// Total requests over all connections of one loop.
  package var count = Int.max

  package init() {}
}

/// Hands out requests to the connections of one loop, and counts.
///
/// With a rate, a request is due at its time whether or not a connection is free, and its latency counts from then on:
/// a server that stalls for a second is charged for what was due in that second.
final class LoadDriver {
  /// Makes the bytes of a request from its number and the time, in monotonic nanoseconds.
  typealias MakeRequest = @Sendable (_ number: Int, _ now: UInt64) -> [UInt8]

  let makeRequest: MakeRequest
  private let pace: LoadPace
  var counts = LoadCounts()
  private var start: UInt64 = 0
  private var isRunning = false
  /// Connections that are free while no request is due.
  private var free: [RequestSession] = []

  init(pace: LoadPace, makeRequest: @escaping MakeRequest) {
    self.pace = pace
    self.makeRequest = makeRequest
  }

  func begin(on loop: isolated EventLoop) {
    start = monotonicNanoseconds()
    isRunning = true
    pump(on: loop)
  }

  func end() { isRunning = false }

  /// Starts the due requests on connections that are free.
  func pump(on loop: isolated EventLoop) {
    while let session = free.last, let due = takeDue() {
      free.removeLast()
      session.request(due, on: loop)
    }
  }

  /// Reports that a connection can take a request.
  func isFree(_ session: RequestSession, on loop: isolated EventLoop) {
    if let due = takeDue() { session.request(due, on: loop) } else { free.append(session) }
  }

  /// Reports the end of a connection: premature, unless all requests have been answered.
  func isGone(_ session: RequestSession) {
    free.removeAll { $0 === session }
    let isDone = counts.begun == pace.count && counts.answered + counts.failed == counts.begun
    if isRunning, !isDone { counts.failed += 1 }
  }

  func watcherIsGone() {
    if isRunning { counts.failed += 1 }
  }

  /// The next request that is due: its number and due time.
  private func takeDue() -> (number: Int, due: UInt64)? {
    guard isRunning, counts.begun < pace.count else { return nil }
    let now = monotonicNanoseconds()
    var due = now
    if let rate = pace.rate {
      due = start + UInt64(Double(counts.begun) * 1e9 / rate)
      guard due <= now else { return nil }
    }
    defer { counts.begun += 1 }
    return (counts.begun, due)
  }

  /// The number of requests that one connection may have in flight.
  var window: Int { pace.window }

  func answered(_ status: Int, due: UInt64) {
    if (200..<300).contains(status) { counts.answered += 1 } else { counts.failed += 1 }
    let now = monotonicNanoseconds()
    counts.answers.record(now > due ? now - due : 0)
  }
}
