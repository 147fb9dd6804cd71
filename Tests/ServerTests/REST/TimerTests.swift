// SPDX-License-Identifier: MIT
import SignalHTTP
import SignalStore
import TestSupport
import Testing

@Suite("Timers, §2.10")
struct TimerTests {
  private let timers = ManualTimers()
  private let server: TestServer
  private let client: RawClient
  private let live: LiveClient

  init() throws {
    server = try TestServer(store: .forTests(timers: timers))
    client = try server.connect()
    live = try LiveClient(server)
    _ = try live.subscribe(#""signals":"**""#)
  }

  private func put(_ path: String, _ body: String) throws -> HTTPClientResponse {
    try client.request("PUT", "/timers/\(path)", body: body)
  }

  @Test func `a timer without a delay is said with the unit of seconds`() throws {
    let response = try put("now", #"{"after":"0s"}"#)
    #expect(response.status == 201 && response.text.contains(#""after":"0s""#), "\(response.text)")
  }

  @Test func `a timer with a delay fires once, and is gone`() throws {
    let response = try put("tea", #"{"after":"180s","message":{"ready": true}}"#)
    #expect(response.status == 201 && response.value("Location") == "/timers/tea")
    let text = #"{"path":"tea","after":"3m","message":{"ready":true},"next":"2026-01-02T03:07:05.678Z"}"#
    #expect(response.text == text)
    #expect(try client.request("GET", "/timers/tea").text == text)
    #expect(try client.request("HEAD", "/timers/tea").status == 200)
    timers.advance(by: .milliseconds(179_999))
    #expect(try live.settle().isEmpty)
    timers.advance(by: .milliseconds(1))
    #expect(try live.next().description == #"signal 1 tea message={"ready":true}"#)
    let gone = try client.request("GET", "/timers/tea")
    #expect(gone.status == 404 && gone.code == "no_such_timer")
    timers.advance(by: .seconds(1000))
    #expect(try live.settle().isEmpty)
    #expect(timers.scheduled == 0)
  }

  @Test(arguments: ["2026-01-02T03:04:35.678Z", "2026-01-02T04:04:35.678+01:00", "2026-01-01t22:34:35.678999-04:30"])
  func `a timer with a time fires at it`(time: String) throws {
    let response = try put("wake", #"{"at":"\#(time)"}"#)
    #expect(
      response.text
        == #"{"path":"wake","at":"2026-01-02T03:04:35.678Z","message":null,"next":"2026-01-02T03:04:35.678Z"}"#)
    timers.advance(by: .milliseconds(29_999))
    #expect(try live.settle().isEmpty)
    timers.advance(by: .milliseconds(1))
    #expect(try live.next().description == "signal 1 wake message=null")
  }

  @Test func `a periodic timer fires again and again, and says when next`() throws {
    #expect(try put("tick", #"{"every":"5s","message":1}"#).status == 201)
    for count in 1...3 {
      timers.advance(by: .seconds(5))
      #expect(try live.next().description == "signal 1 tick message=1")
      #expect(
        try LiveMessage(client.request("GET", "/timers/tick").text).string("next")
          == "2026-01-02T03:04:\(10 + 5 * count).678Z")
    }
    timers.advance(by: .seconds(2))
    #expect(try LiveMessage(client.request("GET", "/timers/tick").text).string("next") == "2026-01-02T03:04:25.678Z")
    #expect(try client.request("DELETE", "/timers/tick").status == 204)
    #expect(try client.request("DELETE", "/timers/tick").code == "no_such_timer")
    timers.advance(by: .seconds(100))
    #expect(try live.settle().isEmpty)
    #expect(timers.scheduled == 0)
  }

  @Test func `a timer is changed while it runs, and its time begins anew`() throws {
    _ = try put("tick", #"{"every":"10s","message":1}"#)
    timers.advance(by: .seconds(9))
    let changed = try put("tick", #"{"every":"2s","message":2}"#)
    #expect(changed.status == 200 && changed.value("Location") == nil)
    timers.advance(by: .milliseconds(1999))
    #expect(try live.settle().isEmpty)
    timers.advance(by: .milliseconds(1))
    #expect(try live.next().raw("message") == "2")
    #expect(try put("tick", #"{"after":"1s","message":3}"#).status == 200)
    timers.advance(by: .seconds(10))
    #expect(try live.next().raw("message") == "3")
    #expect(try live.settle().isEmpty)
    #expect(server.store.timers.count == 0)
  }

  @Test func `the list is in path order, page by page, with the next firing of each`() throws {
    for (path, body) in [("b/2", #"{"every":"1m"}"#), ("a", #"{"after":"5s"}"#), ("b/1", #"{"after":"1h"}"#)] {
      _ = try put(path, body)
    }
    let all = try LiveMessage(client.request("GET", "/timers").text)
    #expect(all.objects("timers").map(\.path) == ["a", "b/1", "b/2"])
    #expect(
      all.objects("timers").map { $0.string("next") } == [
        "2026-01-02T03:04:10.678Z", "2026-01-02T04:04:05.678Z", "2026-01-02T03:05:05.678Z",
      ])
    #expect(all.raw("next") == nil)
    let page = try LiveMessage(client.request("GET", "/timers?match=b/*&limit=1").text)
    #expect(page.objects("timers").map(\.path) == ["b/1"] && page.string("next") == "b/1")
    let rest = try LiveMessage(client.request("GET", "/timers?match=b/*&after=b/1").text)
    #expect(rest.objects("timers").map(\.path) == ["b/2"])
  }

  @Test func `there are so many timers and no more`() throws {
    let server = try TestServer(store: .forTests(limits: StoreLimits(timers: 1), timers: timers))
    let client = try server.connect()
    #expect(try client.request("PUT", "/timers/a", body: #"{"after":"1m"}"#).status == 201)
    let full = try client.request("PUT", "/timers/b", body: #"{"after":"1m"}"#)
    #expect(full.status == 507 && full.code == "store_full")
    #expect(try client.request("PUT", "/timers/a", body: #"{"after":"2m"}"#).status == 200)
    timers.advance(by: .seconds(120))
    #expect(try client.request("PUT", "/timers/b", body: #"{"after":"1m"}"#).status == 201)
  }

  @Test func `a store that is gone fires no timer`() throws {
    var store: PropertyStore? = .forTests(timers: timers)
    try store?.timers.set("a", .every(.seconds(1)))
    try store?.timers.set("b", .after(.seconds(1)))
    #expect(timers.scheduled == 2)
    store = nil
    #expect(timers.scheduled == 0)
  }
}
