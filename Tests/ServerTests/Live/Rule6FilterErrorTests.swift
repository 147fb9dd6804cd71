// SPDX-License-Identifier: MIT
import SignalHTTP
import SignalStore
import TestSupport
import Testing

@Suite("Live protocol §4 rule 6, errors in a filter")
struct Rule6FilterErrorTests {
  /// What a subscription to everything with this filter is told of these values of `a`; nil is a deletion.
  private func events(_ filter: String, _ values: [String?]) throws -> [String] {
    let server = try TestServer()
    let client = try LiveClient(server)
    let beginning = try client.subscribe(#""match":"a","where":"\#(filter)""#)
    try #require(beginning.last?.type == "live", "\(beginning)")
    for value in values {
      if let value { try server.store.set("a", value) } else { try server.store.delete("a") }
    }
    return try client.settle().map(\.description)
  }

  @Test func `a field that is missing does not match`() throws {
    #expect(
      try events("value.n > 1", [#"{"m":5}"#, #"{"n":5}"#, "7", #"{"n":5,"o":0}"#]) == [
        #"didSet 1 a={"n":5} was={"m":5} entered @2"#, #"didExit 1 a=7 was={"n":5} set @3"#,
        #"didSet 1 a={"n":5,"o":0} was=7 entered @4"#,
      ])
  }

  @Test func `a type that is wrong does not match`() throws {
    #expect(
      try events("value > 10", [#""text""#, "11", "true", "null", "12"]).map { $0.split(separator: " ")[0] }
        == ["didSet", "didExit", "didSet"])
  }

  @Test func `a result that is no truth value does not match`() throws {
    #expect(try events("value", ["1", "true", #""true""#]).count == 2)
  }

  @Test func `an absent value is null in a filter and left out of messages`() throws {
    #expect(
      try events("oldValue == null || value == null", ["1", "2", nil, "null"])
        == ["didSet 1 a=1 @1", "didDelete 1 a was=2 @3", "didSet 1 a=null @4"])
  }

  @Test func `a property that is null is not one that is absent`() throws {
    #expect(
      try events("value == null", ["null", "1", "null", nil]) == [
        "didSet 1 a=null entered @1", "didExit 1 a=1 was=null set @2", "didSet 1 a=null was=1 entered @3",
        "didExit 1 a was=null delete @4",
      ])
  }

  @Test func `an error in one change does not harm the next, nor another subscription`() throws {
    let server = try TestServer()
    let client = try LiveClient(server)
    _ = try client.subscribe(#""match":"**","where":"value.x / value.y > 1""#)
    _ = try client.subscribe(#""match":"**""#, id: 2)
    for value in [#"{"x":4,"y":0}"#, #"{"x":4,"y":2}"#, "[]"] { try server.store.set("a", value) }
    let events = try client.settle()
    #expect(events.filter { $0.int("subscription") == 1 }.map(\.type) == ["didSet", "didExit"])
    #expect(events.filter { $0.int("subscription") == 2 }.count == 3)
  }

  @Test func `an error is no match in a snapshot and in a list, too`() throws {
    let server = try TestServer()
    try server.store.transact(["a": #"{"n":1}"#, "b": "2", "c": #"{"n":"3"}"#])
    let client = try LiveClient(server)
    #expect(try client.subscribe(#""match":"**","where":"value.n == 1""#).map(\.path) == ["", "a", ""])
    let list = try server.connect().request("GET", "/properties?where=value.n%20%3D%3D%201")
    #expect(try LiveMessage(list.text).objects("properties").map(\.path) == ["a"])
  }
}
