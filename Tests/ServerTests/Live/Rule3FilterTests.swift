// SPDX-License-Identifier: MIT
import SignalStore
import TestSupport
import Testing

@Suite("Live protocol §4 rule 3, state filters and transition filters")
struct Rule3FilterTests {
  /// What a subscription with these members is told of: 10, 20, 30, 15, deleted, 40, deleted.
  private func events(_ members: String) throws -> [String] {
    let server = try TestServer()
    let client = try LiveClient(server)
    let beginning = try client.subscribe(members)
    try #require(beginning.last?.type == "live", "\(beginning)")
    for value in ["10", "20", "30", "15"] { try server.store.set("a", value) }
    try server.store.delete("a")
    try server.store.set("a", "40")
    try server.store.delete("a")
    return try client.settle().map(\.description)
  }

  @Test func `without a filter every change is told`() throws {
    #expect(
      try events(#""match":"a""#) == [
        "didSet 1 a=10 @1", "didSet 1 a=20 was=10 @2", "didSet 1 a=30 was=20 @3", "didSet 1 a=15 was=30 @4",
        "didDelete 1 a was=15 @5", "didSet 1 a=40 @6", "didDelete 1 a was=40 @7",
      ])
  }

  @Test func `a state filter tells of entering, staying and leaving, by set and by deletion`() throws {
    #expect(
      try events(#""match":"a","where":"value >= 20""#) == [
        "didSet 1 a=20 was=10 entered @2", "didSet 1 a=30 was=20 @3", "didExit 1 a=15 was=30 set @4",
        "didSet 1 a=40 entered @6", "didExit 1 a was=40 delete @7",
      ])
  }

  @Test func `a property that is new and matches has entered`() throws {
    #expect(try events(#""match":"a","where":"value == 10""#).first == "didSet 1 a=10 entered @1")
  }

  @Test func `without exit, leaving by a set is not told and a deletion is a didDelete`() throws {
    #expect(
      try events(#""match":"a","where":"value >= 20","exit":false"#) == [
        "didSet 1 a=20 was=10 entered @2", "didSet 1 a=30 was=20 @3", "didSet 1 a=40 entered @6",
        "didDelete 1 a was=40 @7",
      ])
  }

  @Test func `a filter over the path alone is a state filter`() throws {
    #expect(
      try events(#""match":"**","where":"path == 'a'""#).suffix(2)
        == ["didSet 1 a=40 entered @6", "didExit 1 a was=40 delete @7"])
  }

  @Test func `a transition filter tells of the changes for which it holds`() throws {
    #expect(
      try events(#""match":"a","where":"oldValue != null && value != null && value > oldValue""#)
        == ["didSet 1 a=20 was=10 @2", "didSet 1 a=30 was=20 @3"])
  }

  @Test(arguments: [
    (#"op == 'delete'"#, ["didDelete 1 a was=15 @5", "didDelete 1 a was=40 @7"]),
    (#"op == 'set' && value == 40"#, ["didSet 1 a=40 @6"]),
    (#"revision == 3"#, ["didSet 1 a=30 was=20 @3"]),
    (#"time == time && value == 15"#, ["didSet 1 a=15 was=30 @4"]),
    (#"oldValue == null"#, ["didSet 1 a=10 @1", "didSet 1 a=40 @6"]),
    (#"value == null && op == 'delete'"#, ["didDelete 1 a was=15 @5", "didDelete 1 a was=40 @7"]),
  ])
  func `oldValue, op, revision and time make a filter one of transitions`(
    _ filter: String, _ expected: [String]
  ) throws {
    #expect(try events(#""match":"a","where":"\#(filter)""#) == expected)
    #expect(try events(#""match":"a","where":"\#(filter)","exit":false"#) == expected)
  }

  @Test(arguments: ["oldValue < 1", "op == 'set'", "revision > 1", "time == time"])
  func `exit of a transition filter is an error`(_ filter: String) throws {
    let client = try LiveClient(try TestServer())
    let members = #""match":"a","where":"\#(filter)","exit":true"#
    #expect(try client.subscribe(members).map(\.description) == ["error 1 400 exit_needs_state_filter"])
  }

  @Test func `exit of a state filter, and of none, can be asked for`() throws {
    let client = try LiveClient(try TestServer())
    #expect(try client.subscribe(#""match":"a","where":"value > 1","exit":true"#).last?.type == "live")
    #expect(try client.subscribe(#""match":"a","exit":true"#, id: 2).last?.type == "live")
  }

  @Test func `in a snapshot a transition filter sees each property as just set`() throws {
    let server = try TestServer()
    try server.store.set("a", "1")
    try server.store.set("a", "2")
    try server.store.set("b", "3")
    let client = try LiveClient(server)
    let filters = [
      #"op == 'set'"#: ["a", "b"], #"oldValue == null && value > 2"#: ["b"], #"op == 'delete'"#: [],
      #"revision == 2"#: ["a"],
    ]
    for (number, (filter, paths)) in filters.enumerated() {
      let messages = try client.subscribe(#""match":"**","where":"\#(filter)""#, id: number)
      #expect(messages.dropFirst().dropLast().map(\.path) == paths)
    }
  }

  @Test func `without oldValue no event has one, and filters see it nevertheless`() throws {
    #expect(
      try events(#""match":"a","where":"value >= 20","oldValue":false"#) == [
        "didSet 1 a=20 entered @2", "didSet 1 a=30 @3", "didExit 1 a=15 set @4", "didSet 1 a=40 entered @6",
        "didExit 1 a delete @7",
      ])
    #expect(
      try events(#""match":"a","where":"oldValue == 20","oldValue":false"#) == ["didSet 1 a=30 @3"])
  }
}
