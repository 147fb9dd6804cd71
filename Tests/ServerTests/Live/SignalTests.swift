// SPDX-License-Identifier: MIT
import Foundation
import JSON
import SignalHTTP
import SignalStore
import TestSupport
import Testing

@Suite("Signals, §2.9 and §3.2")
struct SignalTests {
  private let server: TestServer
  private let client: RawClient
  private let time = "2026-01-02T03:04:05.678Z"

  init() throws {
    server = try TestServer()
    client = try server.connect()
  }

  private func post(_ path: String, _ body: String) throws -> HTTPClientResponse {
    try client.request("POST", "/signals/\(path)", body: body)
  }

  @Test func `a message is told to who subscribes to its path, as it was sent, and to nobody else`() throws {
    let live = try LiveClient(server)
    #expect(
      try live.subscribe(#""signals":"doorbell/**""#).map(\.text) == [
        #"{"id":1,"type":"ok","subscription":1,"revision":0}"#, #"{"type":"live","subscription":1,"revision":0}"#,
      ])
    let properties = try LiveClient(server)
    _ = try properties.subscribe(#""match":"**""#)
    #expect(try post("doorbell/front", #"{ "floor": 3.0 }"#).status == 204)
    #expect(try post("bell", "1").status == 204)
    #expect(try post("doorbell", "").status == 204)
    #expect(
      try live.next(2).map(\.text) == [
        #"{"type":"signal","subscription":1,"path":"doorbell/front","message":{"floor":3.0},"time":"\#(time)"}"#,
        #"{"type":"signal","subscription":1,"path":"doorbell","message":null,"time":"\#(time)"}"#,
      ])
    #expect(try properties.settle().isEmpty)
  }

  /// Two filters that look alike: é as one character, and as e with an accent.
  @Test(arguments: [[0, 1], [1, 0]])
  func `filters that differ in bytes alone are two`(order: [Int]) throws {
    // On one loop and with the same id, so that equal ones would share a group.
    let server = try TestServer(loops: 1)
    let texts = ["\u{E9}", "e\u{301}"]
    let clients = try order.map { index in
      let live = try LiveClient(server)
      _ = try live.subscribe(#""signals":"**","where":"message == '\#(texts[index])'""#)
      return (index, live)
    }
    let client = try server.connect()
    for text in texts { #expect(try client.request("POST", "/signals/bell", body: "\"\(text)\"").status == 204) }
    for (index, live) in clients {
      let heard = try live.settle().compactMap { $0.raw("message") }
      #expect(heard.map { Array($0.utf8) } == [Array("\"\(texts[index])\"".utf8)])
    }
  }

  /// Paths, too: of the signal, of a kept message, of a timer.
  @Test func `signals and timers whose paths differ in bytes alone are two`() throws {
    for (path, message) in [("%C3%A9", "1"), ("e%CC%81", "2")] {
      #expect(try client.request("POST", "/signals/\(path)?remember=true", body: message).status == 204)
      #expect(
        try client.request("PUT", "/timers/\(path)", body: #"{"after":"1h","message":\#(message)}"#).status == 201)
    }
    let live = try LiveClient(server)
    let kept = try live.subscribe("\"signals\":\"\u{E9}\"").compactMap { $0.raw("message") }
    #expect(kept == ["1"])
    #expect(try LiveMessage(client.request("GET", "/timers/e%CC%81").text).raw("message") == "2")
  }

  @Test func `a signal is no property: no value, no revision, no history`() throws {
    _ = try post("doorbell", "1")
    #expect(server.store.revision == 0 && server.store.count == 0)
    #expect(try client.request("GET", "/properties/doorbell").status == 404)
    #expect(try client.request("GET", "/signals/doorbell").status == 405)
    let late = try LiveClient(server)
    #expect(try late.subscribe(#""signals":"**""#).map(\.type) == ["ok", "live"])
  }

  @Test func `the command sends, too, and is replied to before its own message comes`() throws {
    let live = try LiveClient(server)
    _ = try live.subscribe(#""signals":"a""#)
    #expect(
      try live.ask(#"{"id":7,"type":"send","path":"a","message":{"x":[1, 2]}}"#).text == #"{"id":7,"type":"ok"}"#)
    #expect(try live.next().raw("message") == #"{"x":[1,2]}"#)
    _ = try live.ask(#"{"id":8,"type":"send","path":"a"}"#)
    #expect(try live.next().raw("message") == "null")
  }

  @Test func `where is over path, message and time, and an error is no match`() throws {
    let live = try LiveClient(server)
    _ = try live.subscribe(
      #""signals":"**","where":"message.floor > 2.0 && path != 'b' && time > timestamp('2026-01-01T00:00:00Z')""#)
    for (path, message) in [("a", #"{"floor":1}"#), ("a", "5"), ("b", #"{"floor":3}"#), ("a", #"{"floor":4}"#)] {
      _ = try post(path, message)
    }
    #expect(try live.next().raw("message") == #"{"floor":4}"#)
    #expect(try live.settle().isEmpty)
  }

  @Test func `subscriptions to signals and to properties share numbers, and end by them`() throws {
    let live = try LiveClient(server)
    _ = try live.subscribe(#""signals":"s""#)
    #expect(try live.subscribe(#""match":"s""#, id: 2).first?.int("subscription") == 2)
    #expect(try live.subscribe(#""signals":["s","t"]"#, id: 3).first?.int("subscription") == 3)
    _ = try post("s", "1")
    #expect(try Set(live.next(2).compactMap { $0.int("subscription") }) == [1, 3])
    #expect(try live.ask(#"{"id":4,"type":"unsubscribe","subscription":1}"#).type == "ok")
    _ = try post("s", "2")
    #expect(try live.next().int("subscription") == 3)
    #expect(try live.settle().isEmpty)
    #expect(try live.subscribe(#""signals":"s""#, id: 5).first?.int("subscription") == 1)
  }

  @Test func `a message that asks for it is kept for those who come later, until the next one`() throws {
    #expect(try client.request("POST", "/signals/a?remember=true", body: "1").status == 204)
    #expect(try client.request("POST", "/signals/b?remember=true", body: "2").status == 204)
    #expect(try post("b", "3").status == 204)
    let live = try LiveClient(server)
    #expect(
      try live.subscribe(#""signals":"**""#).dropFirst().map(\.text) == [
        #"{"type":"signal","subscription":1,"path":"a","message":1,"time":"\#(time)","remembered":true}"#,
        #"{"type":"live","subscription":1,"revision":0}"#,
      ])
    #expect(try live.subscribe(#""signals":"**","initial":false"#, id: 2).map(\.type) == ["ok", "live"])
    #expect(try live.subscribe(#""signals":"**","where":"message > 1""#, id: 3).map(\.type) == ["ok", "live"])
  }

  @Test func `there is room for so many that are kept, and no more`() throws {
    let server = try TestServer(store: .forTests(limits: StoreLimits(rememberedSignals: 1)))
    let client = try server.connect()
    #expect(try client.request("POST", "/signals/a?remember=true", body: "1").status == 204)
    let full = try client.request("POST", "/signals/b?remember=true", body: "1")
    #expect(full.status == 507 && full.code == "store_full")
    #expect(try client.request("POST", "/signals/a?remember=true", body: "2").status == 204)
    #expect(try client.request("POST", "/signals/b", body: "1").status == 204)
    #expect(try client.request("POST", "/signals/a", body: "1").status == 204)
    #expect(try client.request("POST", "/signals/b?remember=true", body: "1").status == 204)
  }

  @Test func `the URL of a WebSocket and server-sent events subscribe to signals`() throws {
    let live = try LiveClient(server, query: "signals=a&signals=b&where=message+>+1")
    #expect(try live.next(2).map(\.type) == ["ok", "live"])
    let stream = try EventStreamClient(server, query: "signals=**")
    #expect(try stream.next(2).map { $0.message?.type } == ["ok", "live"])
    _ = try post("a", "2")
    #expect(try live.next().raw("message") == "2")
    let event = try stream.next()
    #expect(event.id == nil)
    #expect(event.message?.path == "a")
    for query in ["signals=a&match=a", "signals=a&since=e.0", "signals=a&exit=true"] {
      #expect(try client.request("GET", "/events?\(query)").code == "bad_query")
    }
    #expect(try client.request("GET", "/events?signals=a&where=value+>+1").code == "bad_filter")
  }

  @Test func `messages come in the order in which they were sent, once, on every loop`() throws {
    let clients = try (0..<4).map { _ in try LiveClient(server) }
    for client in clients { _ = try client.subscribe(#""signals":"n/*""#) }
    try concurrently(3) { [server] thread in
      for value in 0..<200 { try server.store.signals.send(PropertyPath("n/\(thread)"), JSONText(value)) }
    }
    let all = try clients.map { try $0.next(600) }
    for messages in all {
      #expect(messages.map(\.text) == all[0].map(\.text))
      for thread in 0..<3 {
        #expect(messages.filter { $0.path == "n/\(thread)" }.compactMap { $0.int("message") } == Array(0..<200))
      }
    }
  }

  @Test func `a client that takes nothing is closed, and the others are served`() throws {
    var limits = Limits()
    limits.highWaterMark = 64 << 10
    let server = try TestServer(limits: limits, loops: 1)
    let slow = try LiveClient(server, receiveBuffer: 4096)
    _ = try slow.subscribe(#""signals":"**""#)
    let quick = try LiveClient(server)
    _ = try quick.subscribe(#""signals":"last""#)
    let large = JSONText(String(repeating: "x", count: 100_000))
    for _ in 0..<200 {
      try server.store.signals.send("s", large)
      // One turn after the other.
      try server.store.signals.send("last", .null)
      #expect(try quick.next().path == "last")
    }
    #expect(try slow.awaitClose().code == .tooSlow)
  }

  @Test func `whoever leaves leaves nothing behind`() throws {
    var live: LiveClient? = try LiveClient(server)
    _ = try live?.subscribe(#""signals":"**""#)
    #expect(server.store.signals.messages.observerCount == 1)
    live = nil
    let deadline = ContinuousClock.now + LiveClient.patience
    while server.store.signals.messages.observerCount > 0, ContinuousClock.now < deadline { sched_yield() }
    #expect(server.store.signals.messages.observerCount == 0)
  }
}
