// SPDX-License-Identifier: MIT
import SignalHTTP
import SignalStore
import TestSupport
import Testing

@Suite("Live protocol §3.6, holding")
struct HoldTests {
  private let server: TestServer
  private let watcher: LiveClient

  init() throws {
    server = try TestServer()
    watcher = try LiveClient(server)
    _ = try watcher.subscribe(#""match":"**""#)
  }

  @Test(arguments: ["close", "reset", "end", "nonsense"])
  func `what a connection holds goes with it, whatever the reason, in one revision`(reason: String) throws {
    let client = try LiveClient(server)
    for path in ["b", "a", "c"] {
      _ = try client.ask(#"{"id":1,"type":"set","path":"\#(path)","value":1,"hold":true}"#)
    }
    _ = try client.ask(#"{"id":2,"type":"set","path":"stays","value":1}"#)
    _ = try client.ask(#"{"id":3,"type":"set","path":"also","value":1,"hold":false}"#)
    _ = try watcher.next(5)
    switch reason {
    case "close": try client.socket.close()
    case "reset":
      client.socket.socket.resetAtEnd()
      client.socket.socket.endSending()
    case "end": client.socket.socket.endSending()
    default: try client.socket.socket.send([0xFF, 0xFF, 0xFF], by: Deadline(after: LiveClient.patience))
    }
    let gone = try watcher.next(3)
    #expect(
      gone.map(\.description) == [
        "didExpire 1 a was=1 disconnect @6 more", "didExpire 1 b was=1 disconnect @6 more",
        "didExpire 1 c was=1 disconnect @6",
      ])
    #expect(try watcher.settle().isEmpty)
    #expect(server.store.contents == ["also": "1", "stays": "1"])
  }

  @Test func `a connection that was cut takes nothing from the one that came after it`() throws {
    var limits = Limits()
    limits.pingInterval = .milliseconds(300)
    limits.idleTimeout = .milliseconds(600)
    let server = try TestServer(limits: limits)
    // It is not read from any more, so the server finds out by itself.
    let old = try LiveClient(server)
    _ = try old.ask(#"{"id":1,"type":"set","path":"presence/ann","value":"here","hold":true}"#)
    _ = try old.ask(#"{"id":2,"type":"set","path":"presence/ann-old","value":1,"hold":true}"#)
    let new = try LiveClient(server)
    let reply = try new.ask(#"{"id":1,"type":"set","path":"presence/ann","value":"here","hold":true}"#)
    #expect(reply.bool("changed") == false)
    // The end of what only the old one held shows that it has ended.
    let deadline = ContinuousClock.now + LiveClient.patience
    while server.store.count == 2, ContinuousClock.now < deadline { _ = try new.ask(#"{"id":2,"type":"ping"}"#) }
    #expect(server.store.contents == ["presence/ann": #""here""#])
    withExtendedLifetime(old) {}
  }

  @Test func `a set by anyone else, or a patch, takes the property over`() throws {
    let client = try LiveClient(server)
    for path in ["set", "patched", "equal", "held", "deleted"] {
      _ = try client.ask(#"{"id":1,"type":"set","path":"\#(path)","value":{"a":1},"hold":true}"#)
    }
    let raw = try RawClient(server)
    #expect(try raw.request("PUT", "/properties/set", body: "2").status == 204)
    #expect(try raw.request("PUT", "/properties/equal", body: #"{"a":1}"#).status == 204)
    #expect(
      try raw.request(
        "PATCH", "/properties/patched", fields: [("Content-Type", "application/merge-patch+json")], body: #"{"b":2}"#
      ).status == 204)
    #expect(try raw.request("DELETE", "/properties/deleted").status == 204)
    try server.store.set("deleted", "3")
    _ = try client.ask(#"{"id":2,"type":"patch","path":"held","merge":{"c":1},"hold":true}"#)
    try client.socket.close()
    #expect(try watcher.next(upTo: { $0.type == "didExpire" }).last?.path == "held")
    #expect(
      server.store.contents == ["set": "2", "equal": #"{"a":1}"#, "patched": #"{"a":1,"b":2}"#, "deleted": "3"])
  }

  @Test func `a held property that leaves a filter is told as an exit`() throws {
    let filtered = try LiveClient(server)
    _ = try filtered.subscribe(#""match":"a","where":"value > 0""#)
    let client = try LiveClient(server)
    _ = try client.ask(#"{"id":1,"type":"set","path":"a","value":1,"hold":true}"#)
    try client.socket.close()
    #expect(try filtered.next(2).map(\.type) == ["didSet", "didExit"])
  }

  @Test func `operations for the end come before, and what they set stays`() throws {
    let client = try LiveClient(server)
    _ = try client.ask(
      """
      {"id":1,"type":"transaction","operations":[{"op":"set","path":"a","value":1,"hold":true},\
      {"op":"set","path":"b","value":1,"hold":true}]}
      """)
    _ = try client.ask(#"{"id":2,"type":"onDisconnect","operations":[{"op":"set","path":"a","value":"away"}]}"#)
    try client.socket.close()
    #expect(try watcher.next(upTo: { $0.type == "didExpire" }).last?.path == "b")
    #expect(server.store.contents == ["a": #""away""#])
  }

  @Test func `where there is nobody to hold, or too much, it is refused and nothing changes`() throws {
    let server = try TestServer(store: .forTests(limits: StoreLimits(heldProperties: 1)))
    let client = try LiveClient(server)
    _ = try client.ask(#"{"id":1,"type":"set","path":"a","value":1,"hold":true}"#)
    for (message, code) in [
      (#"{"id":2,"type":"set","path":"b","value":1,"hold":true}"#, "too_many_held"),
      (#"{"id":2,"type":"set","path":"b","value":1,"hold":1}"#, "bad_message"),
      (#"{"id":2,"type":"delete","path":"a","hold":true}"#, "unknown_member"),
      (#"{"id":2,"type":"define","path":"b","formula":"1","hold":true}"#, "unknown_member"),
      (
        #"{"id":2,"type":"onDisconnect","operations":[{"op":"set","path":"a","value":1,"hold":true}]}"#,
        "unknown_member"
      ),
    ] {
      #expect(try client.ask(message).object("error")?.string("code") == code, "\(message)")
    }
    let raw = try RawClient(server)
    let body = #"{"operations":[{"op":"set","path":"b","value":1,"hold":true}]}"#
    #expect(try raw.request("POST", "/transactions", body: body).code == "unknown_member")
    #expect(try raw.request("PUT", "/properties/b?hold=true", body: "1").code == "unknown_parameter")
    #expect(server.store.contents == ["a": "1"])
    #expect(try client.ask(#"{"id":3,"type":"set","path":"a","value":2,"hold":true}"#).type == "ok")
  }

  @Test func `the shutdown of the server ends what is held`() throws {
    let store = server.store
    let client = try LiveClient(server)
    _ = try client.ask(#"{"id":1,"type":"set","path":"a","value":1,"hold":true}"#)
    server.server.shutdown()
    let deadline = ContinuousClock.now + LiveClient.patience
    while store.count > 0, ContinuousClock.now < deadline { _ = try? client.next(within: .milliseconds(20)) }
    #expect(store.contents.isEmpty)
  }
}
