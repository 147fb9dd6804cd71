// SPDX-License-Identifier: MIT
import SignalHTTP
import SignalStore
import TestSupport
import Testing

@Suite("Live protocol §4 rule 5, delivery")
struct Rule5DeliveryTests {
  private static let filler = String(repeating: "x", count: 60_000)

  private static var limits: Limits {
    var limits = Limits()
    limits.highWaterMark = 64 << 10
    return limits
  }

  @Test func `what was asked for is answered with what is granted`() throws {
    let client = try LiveClient(try TestServer())
    let asked = [
      #"{"mode":"latest"}"#: #"{"mode":"latest"}"#, "{}": #"{"mode":"auto"}"#,
      #"{"maxRate":2,"deadband":0.5}"#: #"{"mode":"auto","maxRate":2,"deadband":0.5}"#,
      #"{"maxRate":1e9,"deadband":"2.5%"}"#: #"{"mode":"auto","maxRate":1000,"deadband":"2.5%"}"#,
      #"{"mode":"all","deadband":0}"#: #"{"mode":"all"}"#,
    ]
    for (delivery, granted) in asked {
      let ok = try #require(client.subscribe(#""match":"a","delivery":\#(delivery)"#).first)
      #expect(ok.raw("delivery") == granted)
    }
    #expect(try client.subscribe(#""match":"a""#).first?.raw("delivery") == nil)
    #expect(try client.subscribe(#""match":"a","bookmark":0.001"#).first?.raw("bookmark") == "1")
    #expect(try client.subscribe(#""match":"a","bookmark":20.5"#).first?.raw("bookmark") == "20.5")
  }

  @Test func `a client that does not read gets the newest of each path later, and all know how much it missed`() throws
  {
    let server = try TestServer(limits: Self.limits)
    let slow = try LiveClient(server, receiveBuffer: 4096)
    _ = try slow.subscribe(#""match":"**","oldValue":false"#)
    let fast = try LiveClient(server)
    _ = try fast.subscribe(#""match":"**","oldValue":false"#)
    for number in 1...300 {
      try server.store.set("p/\(number % 3)", #""\#(number) \#(Self.filler)""#)
      #expect(try fast.next().revision == number)
    }
    var messages: [LiveMessage] = []
    while messages.last?.revision != 300 { messages.append(try slow.next()) }
    let gaps = messages.filter { $0.type == "gap" }
    let events = messages.filter { $0.type == "didSet" }
    #expect(!gaps.isEmpty)
    #expect(gaps.allSatisfy { $0.string("reason") == "slow" })
    #expect(events.map(\.revision) == events.map(\.revision).sorted())
    #expect(events.count + gaps.compactMap { $0.int("count") }.reduce(0, +) == 300)
    #expect(Set(events.suffix(3).map(\.path)) == ["p/0", "p/1", "p/2"])
    // And then every change again.
    for number in 301...310 {
      try server.store.set("p/1", "\(number)")
      #expect(try slow.next().description == "didSet 1 p/1=\(number) @\(number)")
    }
  }

  @Test func `a stream of events tells a gap under its own name`() throws {
    let server = try TestServer()
    let stream = try EventStreamClient(server, query: "match=**&maxRate=50")
    #expect(try stream.next(2).first?.description == #"ok sub=1 @0 delivery={"mode":"auto","maxRate":50}"#)
    try server.store.set("a", "0")
    #expect(try stream.next().description == "didSet 1 a=0 @1 #e.1")
    for number in 1...4 { try server.store.set("a", "\(number)") }
    let blocks = try stream.next { $0.message?.revision == 5 }
    #expect(blocks.last?.id == "e.5")
    let gap = try #require(blocks.first { $0.name == "gap" })
    #expect(gap.id == nil)
    #expect(gap.message?.bool("more") == true)
  }

  @Test func `the last value comes at the end of the interval without another change`() throws {
    let server = try TestServer()
    let client = try LiveClient(server)
    _ = try client.subscribe(#""match":"**","delivery":{"maxRate":20}"#)
    for number in 1...100 { try server.store.set("a", "\(number)") }
    let messages = try client.next { $0.revision == 100 }
    #expect(messages.last?.raw("value") == "100")
    let counted = messages.compactMap { $0.int("count") }.reduce(0, +)
    #expect(counted + messages.count { $0.type == "didSet" } == 100)
  }

  @Test func `what was missed comes as one unit to who wants the newest`() throws {
    let server = try TestServer()
    for number in 1...10 { try server.store.transact(["a": "\(number)", "b/\(number)": "1"]) }
    try server.store.delete("b/1")
    let client = try LiveClient(server)
    #expect(
      try client.subscribe(#""match":["a","b/1"],"since":"e.1","delivery":{"mode":"latest"}"#).map(\.description) == [
        #"ok 1 sub=1 @11 recovered delivery={"mode":"latest"}"#, "gap 1 from=2 to=11 count=8 paced more",
        "didSet 1 a=10 was=1 @10 more", "didDelete 1 b/1 was=1 @11", "live 1 @11",
      ])
    #expect(
      try client.subscribe(#""match":["a"],"since":"e.9","delivery":{"mode":"latest"}"#, id: 2).map(\.description)
        .dropFirst() == ["didSet 2 a=10 was=9 @10", "live 2 @11"])
  }
}
