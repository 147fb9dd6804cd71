// SPDX-License-Identifier: MIT
import Foundation
import JSON
import SignalStore
import Synchronization
import TestSupport
import Testing

@testable import SignalHTTP

/// `docs/protocol.md` §2.11, with answers of our own: what they are made of is tested where they are made.
@Suite("What a property was")
struct HistoryTests {
  /// Answers every question alike, on another thread, when it is told to.
  private final class Source: SeriesSource {
    typealias Answer = @Sendable (Result<SeriesPage, SeriesRefusal>) -> Void
    private let state = Mutex((queries: [SeriesQuery](), waiting: [(Answer, @Sendable () -> Bool)]()))
    private let result: Result<SeriesPage, SeriesRefusal>?

    /// - Parameter result: What is answered; nil waits for ``send(_:)``.
    init(_ result: Result<SeriesPage, SeriesRefusal>?) { self.result = result }

    var queries: [SeriesQuery] { state.withLock { $0.queries } }
    var abandoned: Int { state.withLock { $0.waiting.count { $0.1() } } }

    func answer(
      _ query: SeriesQuery, unless isAbandoned: @escaping @Sendable () -> Bool, _ body: @escaping Answer
    ) {
      state.withLock { state in
        state.queries.append(query)
        if result == nil { state.waiting.append((body, isAbandoned)) }
      }
      if let result { Thread.detachNewThread { body(result) } }
    }

    func send(_ result: Result<SeriesPage, SeriesRefusal>) {
      for (body, _) in state.withLock({ $0.waiting }) { body(result) }
    }
  }

  private static func value(_ text: String) -> SeriesValue { SeriesValue(Array(text.utf8)[...]) }

  private static let time = Timestamp(milliseconds: 1_767_312_000_000)

  private static let buckets: SeriesPage = {
    var full = SeriesBucket(start: time.milliseconds)
    full.count = 2
    (full.minimum, full.maximum, full.integral, full.known) = (20.5, 21, 20.75 * 60_000, 60_000)
    (full.first, full.last) = (value("20.5"), value(#""a,b""#))
    var empty = SeriesBucket(start: time.milliseconds + 60_000)
    empty.count = 1
    empty.first = value("")
    return SeriesPage(
      .buckets([full, empty]), tier: 60_000, next: .time(Timestamp(milliseconds: time.milliseconds + 120_000)),
      through: 7, record: 0)
  }()

  private static let changes = SeriesPage(
    .changes([
      SeriesChange(.set(value(#"{"x":"a"}"#)), time: time, revision: 3), SeriesChange(.delete, time: time, revision: 4),
      SeriesChange(.gap, time: time, revision: 4),
    ]), tier: nil, next: .behind(4), through: 9, record: 0)

  @Test func `buckets are rows of an object`() throws {
    let source = Source(.success(Self.buckets))
    let client = try TestServer(series: source).connect()
    let response = try client.request(
      "GET", "/history/a/b?step=1m&limit=5&from=2026-01-01T23:00:00Z&to=2026-01-02T00:05:00Z")
    #expect(response.status == 200 && response.value("Content-Type") == "application/json")
    #expect(
      response.text
        == #"{"path":"a/b","step":"1m","tier":"1m","through":"e.7","columns":["time","count","min","max","avg","first","#
        + #""last"],"rows":[["2026-01-02T00:00:00.000Z",2,20.5,21.0,20.75,20.5,"a,b"],"#
        + #"["2026-01-02T00:01:00.000Z",1,null,null,null,null,null]],"next":"2026-01-02T00:02:00.000Z"}"#)
    #expect(response.value("Signal-Revision") == "e.7" && response.value("Vary") == "Accept")
    let query = try #require(source.queries.first)
    #expect(query.path == "a/b" && query.step == 60_000 && query.limit == 5 && query.pointer == nil)
    #expect(query.from == .time(Timestamp(milliseconds: Self.time.milliseconds - 3_600_000)))
    #expect(query.to == .time(Timestamp(milliseconds: Self.time.milliseconds + 300_000)))
  }

  @Test func `changes are rows, too, and say what has happened`() throws {
    let source = Source(.success(Self.changes))
    let client = try TestServer(series: source).connect()
    let response = try client.request("GET", "/history/a?from=e.1&pointer=/x")
    #expect(
      response.text
        == #"{"path":"a","tier":"raw","through":"e.9","columns":["time","value","revision","op"],"rows":"#
        + #"[["2026-01-02T00:00:00.000Z",{"x":"a"},3,"set"],["2026-01-02T00:00:00.000Z",null,4,"delete"],"#
        + #"["2026-01-02T00:00:00.000Z",null,4,"gap"]],"next":"e.4"}"#)
    let query = try #require(source.queries.first)
    #expect(query.from == .behind(1) && query.to == nil && query.limit == 1000 && query.pointer?.count == 1)
  }

  @Test func `CSV and lines name the next page in a field`() throws {
    let client = try TestServer(series: Source(.success(Self.changes))).connect()
    let csv = try client.request("GET", "/history/a", fields: [("Accept", "text/csv")])
    #expect(csv.value("Content-Type") == "text/csv" && csv.value("Signal-Next") == "e.4")
    #expect(
      csv.text
        == "time,value,revision,op\r\n2026-01-02T00:00:00.000Z,\"{\"\"x\"\":\"\"a\"\"}\",3,set\r\n"
        + "2026-01-02T00:00:00.000Z,,4,delete\r\n2026-01-02T00:00:00.000Z,,4,gap\r\n")
    let buckets = try TestServer(series: Source(.success(Self.buckets))).connect()
    let lines = try buckets.request("GET", "/history/a?step=1m", fields: [("Accept", "application/x-ndjson")])
    #expect(lines.value("Signal-Next") == "2026-01-02T00%3A02%3A00.000Z")
    #expect(
      lines.text.hasPrefix(
        #"{"time":"2026-01-02T00:00:00.000Z","count":2,"min":20.5,"max":21.0,"avg":20.75,"first":20.5,"last":"a,b"}"#
          + "\n{"))
    let head = try client.request("HEAD", "/history/a")
    #expect(head.status == 200 && head.body.isEmpty)
    #expect(try client.request("OPTIONS", "/history/a").value("Allow") == "GET, HEAD, OPTIONS")
  }

  @Test(arguments: [
    (SeriesRefusal.notKept, 404, "no_history"), (.tooManySeries(5), 404, "no_history"),
    (.noTier(shortest: 60_000), 400, "bad_query"), (.notRaw, 400, "bad_query"), (.tooManyChanges(9), 400, "bad_query"),
    (.busy, 503, "history_busy"), (.failed, 503, "history_failed"),
  ])
  func `what cannot be answered is refused, and the connection goes on`(
    refusal: SeriesRefusal, status: Int, code: String
  ) throws {
    let client = try TestServer(series: Source(.failure(refusal))).connect()
    let response = try client.request("GET", "/history/a")
    #expect(response.status == status && response.code == code)
    #expect(try client.request("GET", "/health/live").status == 200)
  }

  @Test func `others are served meanwhile, and who has gone is not waited for`() async throws {
    let source = Source(nil)
    var limits = Limits()
    limits.responseTimeout = .seconds(3600)
    let server = try TestServer(limits: limits, loops: 1, series: source)
    let waiting = try server.connect(sending: "GET /history/a HTTP/1.1\r\nHost: x\r\n\r\n")
    let gone = try server.connect(sending: "GET /history/a HTTP/1.1\r\nHost: x\r\n\r\n")
    while source.queries.count < 2 { try await Task.sleep(for: .milliseconds(2)) }
    #expect(try server.connect().request("GET", "/health/live").status == 200)
    gone.socket.endSending()
    while source.abandoned < 1 { try await Task.sleep(for: .milliseconds(2)) }
    source.send(.success(Self.changes))
    #expect(try waiting.receive().status == 200)
  }

  @Test func `an answer waits for the last record that it tells of`() throws {
    let store = PropertyStore.forTests()
    store.holdBack(after: 0)
    try store.set("a", "1")
    let page = SeriesPage(.changes([]), tier: nil, next: nil, through: 1, record: 1)
    let server = try TestServer(store: store, series: Source(.success(page)))
    let client = try server.connect(sending: "GET /history/a HTTP/1.1\r\nHost: x\r\n\r\n")
    #expect(try client.receive(within: .milliseconds(60)) == nil)
    store.announce(through: 1)
    #expect(try client.receive().status == 200)
  }
}
