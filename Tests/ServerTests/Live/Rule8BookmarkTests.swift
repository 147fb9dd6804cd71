// SPDX-License-Identifier: MIT
import SignalHTTP
import SignalStore
import TestSupport
import Testing

@Suite("Live protocol §4 rule 8, bookmarks")
struct Rule8BookmarkTests {
  /// A bookmark after 40 ms of silence; deadlines are looked at every 10 ms.
  private func server(history: Int = 100_000) throws -> TestServer {
    var live = LiveConfiguration()
    live.limits.bookmarkInterval = .milliseconds(40)
    var limits = Limits()
    limits.lingerTimeout = .milliseconds(40)
    return try TestServer(store: .forTests(limits: StoreLimits(historyChanges: history)), live: live, limits: limits)
  }

  @Test func `a shorter interval than that of all others begins at once`() throws {
    var live = LiveConfiguration()
    live.limits.bookmarkInterval = .seconds(3600)
    let client = try LiveClient(TestServer(live: live))
    _ = try client.ask(#"{"id":9,"type":"ping"}"#)
    _ = try client.subscribe(#""match":"a","bookmark":1"#)
    #expect(try client.next().description == "bookmark 1 @0")
  }

  @Test func `a quiet subscription gets a bookmark at the store's revision`() throws {
    let server = try server()
    let client = try LiveClient(server)
    _ = try client.subscribe(#""match":"quiet""#)
    #expect(try client.next().description == "bookmark 1 @0")
    for number in 1...5 { try server.store.set("loud", "\(number)") }
    let marks = try client.next { $0.revision == 5 }
    #expect(marks.allSatisfy { $0.type == "bookmark" })
    #expect(try client.next().description == "bookmark 1 @5")
  }

  @Test func `its cursor resumes although the history has left the last event behind`() throws {
    let server = try server(history: 16)
    let client = try LiveClient(server)
    _ = try client.subscribe(#""match":"quiet""#)
    try server.store.set("quiet", "1")
    for number in 1...100 { try server.store.set("loud", "\(number)") }
    let mark = try #require(try client.next { $0.type == "bookmark" && $0.revision == 101 }.last)
    try server.store.set("quiet", "2")
    let again = try LiveClient(server)
    #expect(
      try again.subscribe(#""match":"quiet","since":"e.\#(mark.revision)""#).map(\.description)
        == ["ok 1 sub=1 @102 recovered", "didSet 1 quiet=2 was=1 @102", "live 1 @102"])
    #expect(
      try again.subscribe(#""match":"quiet","since":"e.1""#, id: 2).map(\.description).dropFirst().first
        == "reset 2 @102 history")
  }

  @Test func `each subscription has its own silence`() throws {
    let server = try server()
    let client = try LiveClient(server)
    _ = try client.subscribe(#""match":"loud""#)
    _ = try client.subscribe(#""match":"quiet""#, id: 2)
    var quietMarks = 0
    var number = 0
    while quietMarks < 3 {
      number += 1
      try server.store.set("loud", "\(number)")
      for message in try client.next(upTo: { $0.type == "didSet" && $0.revision == number })
      where message.type == "bookmark" && message.int("subscription") == 2 {
        quietMarks += 1
      }
    }
  }

  @Test func `on an event stream it is an id without data`() throws {
    let server = try server()
    let stream = try EventStreamClient(server, query: "match=quiet")
    _ = try stream.next(2)
    try server.store.set("loud", "1")
    let mark = try #require(try stream.next { $0.id == "e.1" }.last)
    #expect(mark.message == nil && mark.comment == nil)
  }

  @Test func `one that is still taking its snapshot gets it behind the snapshot`() throws {
    let server = try server()
    let filler = String(repeating: "x", count: 60_000)
    for number in 0..<120 { try server.store.set("p/\(number)", #""\#(filler)""#) }
    let client = try LiveClient(server, receiveBuffer: 4096)
    try client.send(#"{"id":1,"type":"subscribe","match":"**"}"#)
    let beginning = try client.next { $0.type == "live" }
    #expect(beginning.count == 122)
    #expect(try client.next().description == "bookmark 1 @120")
  }
}
