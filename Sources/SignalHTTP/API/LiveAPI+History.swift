// SPDX-License-Identifier: MIT
import JSON
import SignalStore

/// Past values of a property: `/history/{path}` (`docs/protocol.md` §2.11).
extension LiveAPI {
  func getHistory(
    _ encoded: ByteView, _ head: borrowing RequestHead, _ responder: HTTPResponder, as caller: Caller,
    on loop: isolated EventLoop
  ) throws(APIError) -> Disposition {
    let query = try Query(head, ["from", "to", "step", "limit", "pointer"])
    let path = try propertyPath(encoded)
    guard let place = Accept.best(of: HistoryFormat.mediaTypes, for: head) else {
      throw .problem(
        Problem(.notAcceptable, "A history is application/json, application/x-ndjson or text/csv."))
    }
    let commands = service.commands
    let question = try problem { () throws(Problem) in
      try HistoryRequest(query, commands).question(path, now: .now, bytes: service.configuration.limits.listBytes)
    }
    let source = try problem { () throws(Problem) in try commands.history(of: path, as: caller) }
    let wait = service.histories.begin(
      question, of: source, HistoryFormat(place, commands.epoch), responder, on: loop)
    return .wait(wait, atMost: service.responseTimeout)
  }
}

/// The parameters of a request for past values.
struct HistoryRequest {
  /// Rows of a page, both the maximum and the default.
  static let defaultLimit = 1000
  static let mostRows = 10_000
  /// Permitted lengths of a bucket, in milliseconds: 1 s to 366 days.
  static let steps: ClosedRange<Int64> = 1000...366 * 86_400_000
  /// The default length of the queried interval.
  static let defaultLength = Duration.seconds(86_400)

  /// A bound of the interval as it was written.
  private enum Bound {
    case time(Timestamp)
    case ago(Duration)
    case behind(Revision)

    func place(_ now: Timestamp) -> SeriesQuery.Place {
      switch self {
      case .time(let time): .time(time)
      case .ago(let length): .time(Timestamp(milliseconds: now.milliseconds - length.milliseconds))
      case .behind(let revision): .behind(revision)
      }
    }
  }

  private let from: Bound
  private let to: Bound?
  private let step: Int64?
  private let limit: Int
  private let pointer: JSONPointer?

  init(_ query: Query, _ commands: Commands) throws(Problem) {
    step = try Self.step(query)
    from = try Self.bound("from", query, hasStep: step != nil, commands) ?? .ago(Self.defaultLength)
    to = try Self.bound("to", query, hasStep: step != nil, commands)
    do throws(APIError) {
      limit = try query.integer("limit", in: 1...Self.mostRows) ?? Self.defaultLimit
    } catch {
      guard case .problem(let problem) = error else { preconditionFailure("A number is right, or a problem.") }
      throw problem
    }
    guard let text = query.text("pointer") else {
      pointer = nil
      return
    }
    do throws(JSONPointer.ParseError) {
      pointer = try JSONPointer(text)
    } catch {
      let position = if case .badEscape(let offset) = error { offset } else { 0 }
      throw Problem(.badPointer, "\(error)", position: position)
    }
  }

  /// The query, with its times resolved at a moment.
  func question(_ path: PropertyPath, now: Timestamp, bytes: Int) throws(Problem) -> SeriesQuery {
    let (from, to) = (from.place(now), to?.place(now))
    switch (from, to) {
    case (.time(let from), .time(let to)?) where from > to:
      throw Problem(.badQuery, "\"from\" is behind \"to\".")
    case (.behind(let from), .behind(let to)?) where from > to:
      throw Problem(.badQuery, "\"from\" is behind \"to\".")
    default: break
    }
    return SeriesQuery(
      path, from: from, to: to, now: now, step: step, limit: limit, bytes: bytes, pointer: pointer)
  }

  private static func step(_ query: Query) throws(Problem) -> Int64? {
    guard let text = query.text("step") else { return nil }
    let step = try WireDuration.read(text, "step").milliseconds
    guard steps ~= step else { throw Problem(.badDuration, "\"step\" is from 1s to 366d.") }
    return step
  }

  private static func bound(
    _ name: String, _ query: Query, hasStep: Bool, _ commands: Commands
  ) throws(Problem) -> Bound? {
    guard let text = query.text(name) else { return nil }
    if text.first == "-", let length = WireDuration.parse(String(text.dropFirst())) { return .ago(length) }
    if let time = Timestamp(text) { return .time(time) }
    guard let cursor = Cursor(text) else {
      throw Problem(
        .badQuery,
        "\"\(name)\" is a time such as 2026-01-02T03:04:05Z, a length of time before now such as -24h, or a cursor.")
    }
    guard !hasStep else {
      throw Problem(.badQuery, "With \"step\", \"\(name)\" is a time: buckets do not know revisions.")
    }
    return .behind(try commands.revision(of: cursor))
  }
}

extension Duration {
  /// Whole milliseconds, limited to what fits.
  fileprivate var milliseconds: Int64 {
    let (seconds, attoseconds) = components
    // Twelve digits of days amount to as many seconds as fit sixteen digits.
    return min(seconds, 1 << 52) * 1000 + attoseconds / 1_000_000_000_000_000
  }
}
