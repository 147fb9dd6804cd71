// SPDX-License-Identifier: MIT
import SignalHTTP
import SignalStore
import TestSupport
import Testing

@Suite("Live protocol §4 rule 2, snapshot and resume")
struct Rule2SnapshotTests {
  // MARK: Snapshot

  @Test func `the present state comes in path order, then live, then the changes`() throws {
    let server = try TestServer()
    for path in ["b", "a/x", "a", "a-b"] { try server.store.set(path, "1") }
    try server.store.set("a", "2")
    let client = try LiveClient(server)
    #expect(
      try client.subscribe(#""match":"**""#).map(\.description) == [
        "ok 1 sub=1 @5", "didSet 1 a=2 @5", "didSet 1 a/x=1 @2", "didSet 1 a-b=1 @4", "didSet 1 b=1 @1", "live 1 @5",
      ])
    try server.store.set("b", "3")
    #expect(try client.next().description == "didSet 1 b=3 was=1 @6")
  }

  @Test func `without initial there is only live`() throws {
    let server = try TestServer()
    try server.store.set("a", "1")
    let client = try LiveClient(server)
    #expect(
      try client.subscribe(#""match":"**","initial":false"#).map(\.description) == ["ok 1 sub=1 @1", "live 1 @1"])
    try server.store.set("a", "2")
    #expect(try client.next().description == "didSet 1 a=2 was=1 @2")
  }

  @Test func `live is sent for an empty store, too`() throws {
    let client = try LiveClient(try TestServer())
    #expect(try client.subscribe(#""match":"a/**""#).map(\.description) == ["ok 1 sub=1 @0", "live 1 @0"])
  }

  @Test func `the snapshot has what matches the patterns and the filter`() throws {
    let server = try TestServer()
    try server.store.transact(["a/1": "10", "a/2": "20", "b/1": "30", "c": #""text""#])
    let client = try LiveClient(server)
    #expect(
      try client.subscribe(#""match":["a/*","c"],"where":"value > 15""#).map(\.description)
        == ["ok 1 sub=1 @1", "didSet 1 a/2=20 @1", "live 1 @1"])
  }

  @Test func `a snapshot above the high-water mark is delivered whole while changes go on`() throws {
    var limits = Limits()
    limits.highWaterMark = 64 << 10
    let server = try TestServer(limits: limits)
    let filler = String(repeating: "x", count: 4000)
    let count = 1000
    for number in 0..<count { try server.store.set("p/\(number)", #""\#(filler)""#) }
    let client = try LiveClient(server, receiveBuffer: 4096)
    try client.send(#"{"id":1,"type":"subscribe","match":"**"}"#)
    #expect(try client.next().description == "ok 1 sub=1 @\(count)")
    // Read slowly: while 4 MB of snapshot pass through a small window, the store changes.
    var changes = 0
    var seen = 0
    while true {
      let message = try client.next()
      if message.type == "live" {
        #expect(message.revision == count)
        break
      }
      #expect(message.type == "didSet" && message.revision <= count && message.raw("oldValue") == nil)
      seen += 1
      if seen.isMultiple(of: 100) {
        changes += 1
        try server.store.set("later", "\(changes)")
      }
    }
    #expect(seen == count)
    #expect(try client.next(changes).map(\.revision) == Array(count + 1...count + changes))
  }

  // MARK: Resume

  /// A server with a history of five changes of two properties, and one deleted again.
  private func serverWithPast(history: Int = 100_000) throws -> TestServer {
    let server = try TestServer(store: .forTests(limits: StoreLimits(historyChanges: history)))
    try server.store.set("a", "1")
    try server.store.set("b", "2")
    try server.store.set("a", "3")
    try server.store.set("c", "4")
    try server.store.delete("c")
    return server
  }

  @Test func `since replaces the snapshot by the missed changes`() throws {
    let client = try LiveClient(try serverWithPast())
    #expect(
      try client.subscribe(#""match":"**","since":"e.2""#).map(\.description) == [
        "ok 1 sub=1 @5 recovered", "didSet 1 a=3 was=1 @3", "didSet 1 c=4 @4", "didDelete 1 c was=4 @5", "live 1 @5",
      ])
  }

  @Test func `since the beginning brings everything`() throws {
    let client = try LiveClient(try serverWithPast())
    #expect(try client.subscribe(#""match":"**","since":"e.0""#).dropFirst().map(\.revision) == [1, 2, 3, 4, 5, 5])
  }

  @Test func `since the present brings only live`() throws {
    let server = try serverWithPast()
    let client = try LiveClient(server)
    #expect(
      try client.subscribe(#""match":"**","since":"e.5""#).map(\.description)
        == ["ok 1 sub=1 @5 recovered", "live 1 @5"])
    try server.store.set("d", "6")
    #expect(try client.next().description == "didSet 1 d=6 @6")
  }

  @Test(arguments: [("since\":\"f.2", "epoch"), ("since\":\"e.6", "future")], ["true", "false"])
  func `a cursor of another history or of the future brings reset and the state`(
    _ since: (member: String, reason: String), _ initial: String
  ) throws {
    let client = try LiveClient(try serverWithPast())
    #expect(
      try client.subscribe(#""match":"**","initial":\#(initial),"\#(since.member)""#).map(\.description) == [
        "ok 1 sub=1 @5 recovered=false", "reset 1 @5 \(since.reason)", "didSet 1 a=3 @3", "didSet 1 b=2 @2",
        "live 1 @5",
      ])
  }

  @Test func `a cursor that the history has left behind brings reset and the state`() throws {
    let client = try LiveClient(try serverWithPast(history: 2))
    let messages = try client.subscribe(#""match":"**","since":"e.1","initial":false"#)
    #expect(
      messages.map(\.description) == [
        "ok 1 sub=1 @5 recovered=false", "reset 1 @5 history", "didSet 1 a=3 @3", "didSet 1 b=2 @2", "live 1 @5",
      ])
    #expect(
      try client.subscribe(#""match":"**","since":"e.4""#, id: 2).map(\.description)
        == ["ok 2 sub=2 @5 recovered", "didDelete 2 c was=4 @5", "live 2 @5"])
  }

  @Test func `the missed changes are told through patterns and filter`() throws {
    let server = try TestServer()
    for value in ["10", "20", "30", "5"] { try server.store.set("a", value) }
    try server.store.set("b", "50")
    let client = try LiveClient(server)
    #expect(
      try client.subscribe(#""match":"a","where":"value > 15","since":"e.0""#).map(\.description) == [
        "ok 1 sub=1 @5 recovered", "didSet 1 a=20 was=10 entered @2", "didSet 1 a=30 was=20 @3",
        "didExit 1 a=5 was=30 set @4", "live 1 @5",
      ])
  }

  @Test func `a missed transaction is undivided, also from a cursor before it`() throws {
    let server = try TestServer()
    try server.store.set("x", "0")
    try server.store.transact(["a": "1", "b": "2", "c": "3"])
    let client = try LiveClient(server)
    #expect(
      try client.subscribe(#""match":"**","since":"e.1""#).map(\.description) == [
        "ok 1 sub=1 @2 recovered", "didSet 1 a=1 @2 more", "didSet 1 b=2 @2 more", "didSet 1 c=3 @2", "live 1 @2",
      ])
    #expect(
      try client.subscribe(#""match":["a","b"],"since":"e.1""#, id: 2).dropFirst().map(\.description)
        == ["didSet 2 a=1 @2 more", "didSet 2 b=2 @2", "live 2 @2"])
  }

  @Test func `a past above the high-water mark is delivered whole`() throws {
    var limits = Limits()
    limits.highWaterMark = 16 << 10
    let server = try TestServer(limits: limits)
    let filler = String(repeating: "x", count: 2000)
    for number in 1...500 { try server.store.set("p/\(number % 3)", #""\#(number)\#(filler)""#) }
    let client = try LiveClient(server, receiveBuffer: 4096)
    let messages = try client.subscribe(#""match":"**","since":"e.0","oldValue":false"#)
    #expect(messages.dropFirst().map(\.revision) == Array(1...500) + [500])
  }

  @Test func `a client that resumes after each event is told each once`() throws {
    let server = try TestServer()
    for number in 1...20 { try server.store.set("p\(number % 3)", "\(number)") }
    var cursor = 0
    while cursor < 20 {
      let client = try LiveClient(server)
      let messages = try client.subscribe(#""match":"**","since":"e.\#(cursor)""#)
      #expect(messages[1].revision == cursor + 1)
      cursor = messages[1].revision
    }
  }

  @Test func `a filter that cannot be compiled is refused before anything is sent`() throws {
    let client = try LiveClient(try serverWithPast())
    #expect(try client.subscribe(#""match":"**","where":"value >""#).map(\.description) == ["error 1 400 bad_filter"])
  }
}
