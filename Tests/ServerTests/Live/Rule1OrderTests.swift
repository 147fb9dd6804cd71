// SPDX-License-Identifier: MIT
import SignalHTTP
import SignalStore
import TestSupport
import Testing

@Suite("Live protocol §4 rule 1, order")
struct Rule1OrderTests {
  @Test func `events arrive in the order of revisions and none is missing`() throws {
    let server = try TestServer()
    let client = try LiveClient(server)
    _ = try client.subscribe(#""match":"**","initial":false"#)
    for number in 1...300 { try server.store.set("p\(number % 7)", "\(number)") }
    let events = try client.next(300)
    #expect(events.map(\.revision) == Array(1...300))
    #expect(events.map { $0.raw("value") } == (1...300).map(String.init))
    #expect(try client.settle().isEmpty)
  }

  @Test func `a change that several patterns match is told once`() throws {
    let server = try TestServer()
    let client = try LiveClient(server)
    _ = try client.subscribe(#""match":["**","a/*","a/b","a/**"]"#)
    try server.store.set("a/b", "1")
    try server.store.set("c", "2")
    #expect(try client.settle().map(\.description) == ["didSet 1 a/b=1 @1", "didSet 1 c=2 @2"])
  }

  @Test func `an equal value is no change unless always is asked for`() throws {
    let server = try TestServer()
    let client = try LiveClient(server)
    _ = try client.subscribe(#""match":"**""#)
    try server.store.set("a", "1")
    try server.store.set("a", "1")
    try server.store.set("a", "1", always: true)
    try server.store.set("a", "1.0")
    #expect(
      try client.settle().map(\.description)
        == ["didSet 1 a=1 @1", "didSet 1 a=1 was=1 @2", "didSet 1 a=1.0 was=1 @3"])
  }

  @Test func `from its live on nothing is missing and nothing comes twice, while others write`() throws {
    let server = try TestServer()
    let writes = 600
    try concurrently(9) { index in
      if index == 0 {
        for number in 1...writes { try server.store.set("p\(number % 5)", "\(number)") }
        return
      }
      // Each joins somewhere in the stream of writes; its beginning and the rest must meet without a gap.
      let client = try LiveClient(server)
      let initial = index.isMultiple(of: 2)
      let beginning = try client.subscribe(#""match":"**","initial":\#(initial)"#)
      let live = try #require(beginning.last)
      #expect(live.type == "live")
      if live.revision < writes {
        let events = try client.next { $0.revision == writes }
        #expect(events.map(\.revision) == Array(live.revision + 1...writes))
      }
      let replies = try client.settle()
      #expect(replies.isEmpty)
    }
  }

  @Test func `a newcomer to a group gets only what comes after its own live`() throws {
    let server = try TestServer(loops: 1)
    let first = try LiveClient(server)
    let second = try LiveClient(server)
    _ = try first.subscribe(#""match":"**","initial":false"#)
    try server.store.set("a", "1")
    #expect(
      try second.subscribe(#""match":"**","initial":false"#).map(\.description) == ["ok 1 sub=1 @1", "live 1 @1"])
    try server.store.set("a", "2")
    #expect(try first.settle().map(\.revision) == [1, 2])
    #expect(try second.settle().map(\.revision) == [2])
  }

  @Test func `those who leave a group do not disturb those who stay`() throws {
    let server = try TestServer(loops: 1)
    let clients = try (0..<5).map { _ in try LiveClient(server) }
    for client in clients { _ = try client.subscribe(#""match":"**""#) }
    #expect(try clients[1].ask(#"{"id":2,"type":"unsubscribe","subscription":1}"#).type == "ok")
    try clients[3].socket.close()
    try server.store.set("a", "1")
    for index in [0, 2, 4] { #expect(try clients[index].settle().map(\.description) == ["didSet 1 a=1 @1"]) }
    #expect(try clients[1].settle().isEmpty)
  }

  @Test func `over server-sent events the order is the same`() throws {
    let server = try TestServer()
    let stream = try EventStreamClient(server, query: "match=**&initial=false")
    _ = try stream.next(2)
    for number in 1...300 { try server.store.set("p\(number % 7)", "\(number)") }
    #expect(try stream.next(300).map { $0.message?.revision } == Array(1...300))
  }
}
