// SPDX-License-Identifier: MIT
import SignalHTTP
import SignalStore
import TestSupport
import Testing

@Suite("REST §2.1 and live §3.4, time to live")
struct TimeToLiveTests {
  private let timers = ManualTimers()
  private let server: TestServer
  private let client: RawClient
  /// A minute after what the clock of the tests always says.
  private let inAMinute = "2026-01-02T03:05:05.678Z"

  init() throws {
    server = try TestServer(store: .forTests(timers: timers))
    client = try server.connect()
  }

  @Test(arguments: ["60s", "60000ms", "1m"])
  func `a property set with a time to live ends after it, and says when`(ttl: String) throws {
    let put = try client.request("PUT", "/properties/a?ttl=\(ttl)", body: "1")
    #expect(put.status == 201 && put.value("Signal-Expires") == inAMinute)
    #expect(try client.request("GET", "/properties/a").value("Signal-Expires") == inAMinute)
    #expect(try client.request("HEAD", "/properties/a").value("Signal-Expires") == inAMinute)
    timers.advance(by: .milliseconds(59_990))
    #expect(try client.request("GET", "/properties/a").status == 200)
    timers.advance(by: .milliseconds(20))
    let gone = try client.request("GET", "/properties/a")
    #expect(gone.status == 404 && gone.value("Signal-Revision") == "e.2")
  }

  @Test func `the list, NDJSON, get and the value of a failed condition say when`() throws {
    _ = try client.request("PUT", "/properties/a?ttl=1m", body: "1")
    _ = try client.request("PUT", "/properties/b", body: "1")
    let list = try LiveMessage(client.request("GET", "/properties").text).objects("properties")
    #expect(list.map { $0.string("expires") } == [inAMinute, nil])
    let lines = try client.request("GET", "/properties", fields: [("Accept", "application/x-ndjson")]).text
    #expect(try lines.split(separator: "\n").map { try LiveMessage(String($0)).string("expires") } == [inAMinute, nil])
    let live = try LiveClient(server)
    #expect(try live.ask(#"{"id":1,"type":"get","path":"a"}"#).string("expires") == inAMinute)
    let refused = try client.request("PUT", "/properties/a", fields: [("If-None-Match", "*")], body: "2")
    #expect(try LiveMessage(refused.text).object("current")?.string("expires") == inAMinute)
  }

  @Test func `an equal set with a time to live extends it without a change`() throws {
    let live = try LiveClient(server)
    _ = try live.subscribe(#""match":"a""#)
    _ = try client.request("PUT", "/properties/a?ttl=1m", body: "1")
    timers.advance(by: .seconds(50))
    let touch = try client.request("PUT", "/properties/a?ttl=1m", body: "1")
    #expect(touch.status == 204 && touch.value("Signal-Revision") == "e.1" && touch.value("ETag") == "\"e.1\"")
    #expect(touch.value("Signal-Expires") == inAMinute)
    timers.advance(by: .seconds(50))
    #expect(try client.request("GET", "/properties/a").status == 200)
    timers.advance(by: .seconds(11))
    #expect(
      try live.next(2).map(\.text) == [
        """
        {"type":"didSet","subscription":1,"path":"a","value":1,"revision":1,"time":"2026-01-02T03:04:05.678Z",\
        "expires":"\(inAMinute)"}
        """,
        """
        {"type":"didExpire","subscription":1,"path":"a","oldValue":1,"reason":"ttl","revision":2,\
        "time":"2026-01-02T03:04:05.678Z"}
        """,
      ])
  }

  @Test func `a set without a time to live lets the property stay`() throws {
    _ = try client.request("PUT", "/properties/a?ttl=1m", body: "1")
    let put = try client.request("PUT", "/properties/a", body: "1")
    #expect(put.status == 204 && put.value("Signal-Expires") == nil)
    timers.advance(by: .seconds(120))
    #expect(try client.request("GET", "/properties/a").text == "1")
  }

  @Test func `a set over the live protocol, and each operation of a transaction, can have one`() throws {
    let live = try LiveClient(server)
    #expect(
      try live.ask(#"{"id":1,"type":"set","path":"a","value":1,"ttl":"60s"}"#).text
        == #"{"id":1,"type":"ok","revision":1,"changed":true,"expires":"\#(inAMinute)"}"#)
    #expect(
      try live.ask(#"{"id":2,"type":"set","path":"a","value":1,"ttl":"1m"}"#).text
        == #"{"id":2,"type":"ok","revision":1,"changed":false,"expires":"\#(inAMinute)"}"#)
    let body =
      #"{"operations":[{"op":"set","path":"b","value":1,"ttl":"2m"},{"op":"set","path":"c","value":1,"ttl":"3m"}]}"#
    #expect(try client.request("POST", "/transactions", body: body).status == 200)
    timers.advance(by: .seconds(61))
    #expect(server.store.contents == ["b": "1", "c": "1"])
    timers.advance(by: .seconds(60))
    #expect(server.store.contents == ["c": "1"])
    timers.advance(by: .seconds(60))
    #expect(server.store.contents == [:])
  }

  @Test func `expiry leaves a state filter as didExit, is seen by a transition filter, and is resumed over`() throws {
    _ = try client.request("PUT", "/properties/a?ttl=1m", body: "5")
    let state = try LiveClient(server)
    _ = try state.subscribe(#""match":"**","where":"value > 1""#)
    let transition = try LiveClient(server)
    _ = try transition.subscribe(#""match":"**","where":"op == 'expire' && oldValue == 5""#)
    let quiet = try LiveClient(server)
    _ = try quiet.subscribe(#""match":"**","where":"value > 1","exit":false"#)
    timers.advance(by: .seconds(61))
    #expect(try state.next().description == "didExit 1 a was=5 expire @2")
    #expect(try transition.next().description == "didExpire 1 a was=5 ttl @2")
    #expect(try quiet.next().description == "didExpire 1 a was=5 ttl @2")
    let late = try LiveClient(server)
    #expect(
      try late.subscribe(#""match":"**","since":"e.1","where":"value > 1""#).map(\.description) == [
        "ok 1 sub=1 @2 recovered", "didExit 1 a was=5 expire @2", "live 1 @2",
      ])
  }

  @Test func `server-sent events tell an expiry, with a cursor`() throws {
    _ = try client.request("PUT", "/properties/a?ttl=1m", body: "5")
    let stream = try EventStreamClient(server, query: "match=a&initial=false")
    _ = try stream.next(2)
    timers.advance(by: .seconds(61))
    let event = try #require(try stream.next(1).first)
    #expect(event.id == "e.2")
    #expect(event.message?.type == "didExpire")
  }
}
