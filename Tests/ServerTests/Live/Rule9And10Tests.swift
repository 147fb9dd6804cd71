// SPDX-License-Identifier: MIT
import SignalHTTP
import SignalStore
import TestSupport
import Testing

@Suite("Live protocol §4 rule 9, a number of events")
struct Rule9TakeTests {
  @Test func `with the last of them the subscription ends itself, and its id is free`() throws {
    let server = try TestServer()
    let client = try LiveClient(server)
    _ = try client.subscribe(#""match":"**","take":2"#)
    for number in 1...3 { try server.store.set("a", "\(number)") }
    #expect(
      try client.next(3).map(\.description) == ["didSet 1 a=1 @1", "didSet 1 a=2 was=1 @2", "end 1 @2"])
    #expect(try client.settle().isEmpty)
    #expect(
      try client.ask(#"{"id":2,"type":"unsubscribe","subscription":1}"#).description
        == "error 2 404 no_such_subscription")
    #expect(try client.subscribe(#""match":"**""#, id: 3).first?.int("subscription") == 1)
  }

  @Test func `the present state counts`() throws {
    let server = try TestServer()
    try server.store.transact(["a": "1", "b": "2", "c": "3"])
    let client = try LiveClient(server)
    try client.send(#"{"id":1,"type":"subscribe","match":"**","take":2}"#)
    #expect(
      try client.next(4).map(\.description) == ["ok 1 sub=1 @1", "didSet 1 a=1 @1", "didSet 1 b=2 @1", "end 1"])
    try client.send(#"{"id":2,"type":"subscribe","match":"**","where":"value > 5","take":1}"#)
    #expect(try client.next(2).last?.description == "live 1 @1")
    try server.store.set("b", "6")
    #expect(try client.next(2).map(\.description) == ["didSet 1 b=6 was=2 entered @2", "end 1 @2"])
  }

  @Test func `a transaction that is cut is not covered by the cursor of the end`() throws {
    let server = try TestServer()
    try server.store.set("x", "0")
    let client = try LiveClient(server)
    _ = try client.subscribe(#""match":"**","initial":false,"take":3"#)
    try server.store.set("a", "0")
    try server.store.transact(["a": "1", "b": "2", "c": "3"])
    #expect(
      try client.next(4).map(\.description) == [
        "didSet 1 a=0 @2", "didSet 1 a=1 was=0 @3 more", "didSet 1 b=2 @3 more", "end 1 @2",
      ])
    #expect(try client.subscribe(#""match":"**","since":"e.2""#, id: 2).count == 5)
  }

  @Test func `what was missed counts too, and members that want different numbers share their group`() throws {
    let server = try TestServer(loops: 1)
    for number in 1...3 { try server.store.set("a", "\(number)") }
    let one = try LiveClient(server)
    try one.send(#"{"id":1,"type":"subscribe","match":"**","since":"e.1","take":1}"#)
    #expect(
      try one.next(3).map(\.description) == ["ok 1 sub=1 @3 recovered", "didSet 1 a=2 was=1 @2", "end 1 @2"])
    let two = try LiveClient(server)
    _ = try two.subscribe(#""match":"**","since":"e.1","take":3"#)
    let three = try LiveClient(server)
    _ = try three.subscribe(#""match":"**","initial":false,"take":2"#)
    for number in 4...6 { try server.store.set("a", "\(number)") }
    #expect(try two.next(2).map(\.description) == ["didSet 1 a=4 was=3 @4", "end 1 @4"])
    #expect(try three.next(3).last?.description == "end 1 @5")
  }

  @Test func `a stream of events ends with it`() throws {
    let server = try TestServer()
    let stream = try EventStreamClient(server, query: "match=**&take=1")
    _ = try stream.next(2)
    try server.store.set("a", "1")
    #expect(try stream.rest().map(\.description) == ["didSet 1 a=1 @1 #e.1", "[end] end 1 @1 #e.1", "(that was all)"])
  }
}

@Suite("Live protocol §4 rule 10, a part, and §3.2 fields")
struct Rule10PointerTests {
  @Test func `events and snapshot hold the part, and only changes of it are told`() throws {
    let server = try TestServer()
    try server.store.transact(["a": #"{"x":{"y":1},"z":0}"#, "b": "5", "c": #"{"x":[]}"#])
    let client = try LiveClient(server)
    #expect(
      try client.subscribe(#""match":"**","pointer":"/x/y""#).map(\.description).dropFirst()
        == ["didSet 1 a=1 @1", "live 1 @1"])
    for value in [#"{"x":{"y":1},"z":9}"#, #"{"x":{"y":2}}"#, #"{"x":7}"#, "true", #"{"x":{"y":{"n":[]}}}"#] {
      try server.store.set("a", value)
    }
    try server.store.delete("b")
    try server.store.delete("a")
    #expect(
      try client.settle().map(\.description) == [
        "didSet 1 a=2 was=1 @3", "didDelete 1 a was=2 @4", #"didSet 1 a={"n":[]} @6"#,
        #"didDelete 1 a was={"n":[]} @8"#,
      ])
  }

  @Test func `with a state filter the loss of the part is an exit, and the filter sees the whole`() throws {
    let server = try TestServer()
    let client = try LiveClient(server)
    _ = try client.subscribe(#""match":"a","pointer":"/x","where":"value.on""#)
    for value in [
      #"{"x":1,"on":true}"#, #"{"x":1,"on":true,"n":1}"#, #"{"x":2,"on":false}"#, #"{"x":2,"on":true}"#,
      #"{"on":true}"#,
    ] {
      try server.store.set("a", value)
    }
    #expect(
      try client.settle().map(\.description) == [
        "didSet 1 a=1 entered @1", "didExit 1 a=2 was=1 set @3", "didSet 1 a=2 was=2 entered @4",
        "didExit 1 a was=2 set @5",
      ])
  }

  @Test func `a deadband looks at the part`() throws {
    let server = try TestServer()
    let client = try LiveClient(server)
    _ = try client.subscribe(#""match":"a","pointer":"/t","delivery":{"deadband":1}"#)
    for number in ["20", "20.5", "21.25", "21.5"] { try server.store.set("a", #"{"t":\#(number)}"#) }
    #expect(try client.settle().compactMap { $0.raw("value") } == ["20", "21.25"])
  }

  @Test func `events carry the fields that were asked for, and their type, subscription and more`() throws {
    let server = try TestServer()
    try server.store.set("a", "0")
    let client = try LiveClient(server)
    #expect(
      try client.subscribe(#""match":"**","fields":["path","value"]"#).map(\.text).dropFirst().first
        == #"{"type":"didSet","subscription":1,"path":"a","value":0}"#)
    try server.store.transact(["a": "1", "b": "2"])
    try server.store.delete("a")
    #expect(
      try client.settle().map(\.text) == [
        #"{"type":"didSet","subscription":1,"path":"a","value":1,"more":true}"#,
        #"{"type":"didSet","subscription":1,"path":"b","value":2}"#,
        #"{"type":"didDelete","subscription":1,"path":"a"}"#,
      ])
    let stream = try EventStreamClient(
      server, query: "match=b&fields=revision,oldValue,op,entered,time&where=value%3E1")
    #expect(
      try stream.next(2).last?.message?.text
        == #"{"type":"didSet","subscription":1,"revision":2,"time":"2026-01-02T03:04:05.678Z"}"#)
    _ = try stream.next()
    try server.store.set("b", "0")
    #expect(
      try stream.next().message?.text
        == #"{"type":"didExit","subscription":1,"oldValue":2,"op":"set","revision":4,"time":"2026-01-02T03:04:05.678Z"}"#
    )
  }
}
