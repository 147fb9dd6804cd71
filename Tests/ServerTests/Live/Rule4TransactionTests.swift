// SPDX-License-Identifier: MIT
import JSON
import SignalStore
import TestSupport
import Testing

@Suite("Live protocol §4 rule 4, transactions")
struct Rule4TransactionTests {
  @Test func `the events of a transaction follow each other, all but the last with more`() throws {
    let server = try TestServer()
    try server.store.set("b", "0")
    let client = try LiveClient(server)
    _ = try client.subscribe(#""match":"**","initial":false"#)
    try server.store.transact(["c": "1", "a": "2", "b": nil])
    try server.store.set("d", "3")
    try server.store.transact(["a": "4", "c": "5"])
    #expect(
      try client.settle().map(\.description) == [
        "didSet 1 c=1 @2 more", "didSet 1 a=2 @2 more", "didDelete 1 b was=0 @2", "didSet 1 d=3 @3",
        "didSet 1 a=4 was=2 @4 more", "didSet 1 c=5 was=1 @4",
      ])
  }

  @Test func `more counts only the events of the subscription`() throws {
    let server = try TestServer()
    let client = try LiveClient(server)
    _ = try client.subscribe(#""match":"**""#)
    _ = try client.subscribe(#""match":"a/*""#, id: 2)
    _ = try client.subscribe(#""match":"**","where":"value > 2""#, id: 3)
    try server.store.transact(["a/1": "1", "b": "2", "a/2": "3", "c": "4"])
    let events = try client.settle()
    func told(_ subscription: Int) -> [String] {
      events.filter { $0.int("subscription") == subscription }.map { $0.path + ($0.bool("more") == true ? "+" : "") }
    }
    #expect(told(1) == ["a/1+", "b+", "a/2+", "c"])
    #expect(told(2) == ["a/1+", "a/2"])
    #expect(told(3) == ["a/2+", "c"])
  }

  @Test func `a transaction of which one change matches has no more`() throws {
    let server = try TestServer()
    let client = try LiveClient(server)
    _ = try client.subscribe(#""match":"b""#)
    try server.store.transact(["a": "1", "b": "2", "c": "3"])
    #expect(try client.settle().map(\.description) == ["didSet 1 b=2 @1"])
  }

  @Test func `an operation that changes nothing is not told`() throws {
    let server = try TestServer()
    try server.store.set("a", "1")
    let client = try LiveClient(server)
    _ = try client.subscribe(#""match":"**","initial":false"#)
    try server.store.transact(["a": "1", "none": nil, "b": "2"])
    try server.store.transact(["a": "1"])
    #expect(try client.settle().map(\.description) == ["didSet 1 b=2 @2"])
  }

  @Test func `the largest transaction stays undivided`() throws {
    let server = try TestServer()
    let client = try LiveClient(server)
    _ = try client.subscribe(#""match":"**""#)
    let operations = try (0..<1000).map { number in
      PropertyStore.Operation.set(try PropertyPath("p/\(number)"), try .init(validating: "\(number)"))
    }
    try server.store.transact(operations)
    let events = try client.next(1000)
    #expect(events.allSatisfy { $0.revision == 1 })
    #expect(events.map { $0.bool("more") == true } == Array(repeating: true, count: 999) + [false])
    let missed = try LiveClient(server).subscribe(#""match":"**","since":"e.0""#)
    #expect(missed.dropFirst().map { $0.bool("more") == true } == Array(repeating: true, count: 999) + [false, false])
  }

  @Test func `every cursor that may be taken resumes exactly behind it`() throws {
    let server = try TestServer()
    let client = try LiveClient(server)
    var events = try client.subscribe(#""match":"**""#)
    for number in 1...6 {
      if number.isMultiple(of: 2) {
        try server.store.transact(["a": "\(number)", "b": "\(number)", "c": "\(number)"])
      } else {
        try server.store.set("a", "\(number)")
      }
    }
    events += try client.settle()
    for (index, event) in events.enumerated() where event.type != "ok" && event.bool("more") != true {
      let resumed = try LiveClient(server).subscribe(#""match":"**","since":"e.\#(event.revision)""#)
      #expect(resumed.dropFirst().dropLast().map(\.text) == events[(index + 1)...].map(\.text))
    }
  }

  @Test func `on an event stream an id is on what gives a cursor and only there`() throws {
    let server = try TestServer()
    try server.store.set("a", "0")
    let stream = try EventStreamClient(server, query: "match=**")
    #expect(try stream.next(3).map(\.description) == ["ok sub=1 @1", "didSet 1 a=0 @1", "live 1 @1 #e.1"])
    try server.store.transact(["a": "1", "b": "2", "c": "3"])
    try server.store.delete("a")
    #expect(
      try stream.next(4).map(\.description) == [
        "didSet 1 a=1 was=0 @2 more", "didSet 1 b=2 @2 more", "didSet 1 c=3 @2 #e.2", "didDelete 1 a was=1 @3 #e.3",
      ])
  }
}
