// SPDX-License-Identifier: MIT
import JSON
import SignalCluster
import SignalStore
import TestSupport
import Testing

@testable import SignalHTTP

/// A leader that does not know yet that another node decides.
@Suite(.enabled(if: Engine.program != nil))
struct DeposedLeaderTests {
  @Test func `that nothing has changed is told by nobody who may have been deposed`() throws {
    let engine = try Engine()
    let nodes = [try TestNode("a", engine), try TestNode("b", engine)]
    try eventually("one leads") { nodes.contains { $0.member.isLeading } }
    let old = try #require(nodes.first { $0.member.isLeading })
    let new = try #require(nodes.first { $0 !== old })
    let put = try old.server.connect()
    let match = try old.server.connect()
    let live = try LiveClient(old.server)
    for path in ["put", "match", "set", "transact"] {
      #expect(try put.request("PUT", "/properties/\(path)", body: "1").status == 201)
    }
    try eventually("the other one has it") { new.store.revision == 4 }

    old.member.cutOff()
    try eventually("the other one leads") { new.member.isLeading }
    let other = try new.server.connect()
    for path in ["put", "set", "transact"] {
      #expect(try other.request("PUT", "/properties/\(path)", body: "2").status == 204)
    }
    let tag = try #require(try other.request("PUT", "/properties/match", body: "2").value("ETag"))
    #expect(try other.request("PUT", "/properties/delete", body: "2").status == 201)

    // By what it has, nothing changes, or the condition does not hold.
    #expect(old.member.isLeading)
    try put.send("PUT /properties/put HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n1")
    try match.send("PUT /properties/match HTTP/1.1\r\nHost: x\r\nIf-Match: \(tag)\r\nContent-Length: 1\r\n\r\n3")
    try live.send(#"{"type":"set","id":1,"path":"set","value":1}"#)
    try live.send(#"{"type":"transaction","id":2,"operations":[{"op":"set","path":"transact","value":1}]}"#)
    try live.send(#"{"type":"delete","id":3,"path":"delete"}"#)
    try live.send(#"{"type":"get","id":4,"path":"set"}"#)
    #expect(try live.next(within: .milliseconds(300)) == nil)
    #expect(try put.receive(within: .milliseconds(1)) == nil)
    #expect(try match.receive(within: .milliseconds(1)) == nil)

    old.member.reconnect()
    #expect(try put.receive().status == 204)
    #expect(try match.receive().status == 204)
    let replies = try live.next(4)
    #expect(replies.map(\.type) == ["ok", "ok", "ok", "ok"], "\(replies)")
    #expect(replies.map { $0.int("id") } == [1, 2, 3, 4])
    #expect(replies[3].int("value") == 1)
    for (path, value) in [("put", 1), ("match", 3), ("set", 1), ("transact", 1)] {
      #expect(new.store.get(try PropertyPath(path))?.value == JSONText(value), "\(path)")
    }
    #expect(new.store.get("delete") == nil)
    #expect(!old.events.all.contains { if case .ended = $0 { true } else { false } })
  }

  @Test func `a leader that is none any more refuses what changes nothing when it cannot know in time`() throws {
    let engine = try Engine()
    let node = try TestNode("a", engine) { $0.writeTimeout = 500 }
    try eventually("it leads") { node.member.isLeading }
    let client = try node.server.connect()
    #expect(try client.request("PUT", "/properties/k", body: "1").status == 201)
    #expect(try client.request("PUT", "/properties/k", body: "1").status == 204)
    #expect(try client.request("PUT", "/properties/k", fields: [("If-None-Match", "*")], body: "1").status == 412)
    #expect(try client.request("PUT", "/properties/k", body: "{").status == 400)
    node.member.cutOff()
    let answer = try client.request("PUT", "/properties/k", fields: [("If-None-Match", "*")], body: "1")
    #expect(answer.status == 503)
    #expect(try client.request("GET", "/properties/k").text == "1")
  }

  @Test(arguments: [OperationResult.Outcome.unchanged, .replaced])
  func `whether something has changed is known also where it is not told`(_ outcome: OperationResult.Outcome) {
    let result = OperationResult(outcome: outcome, value: nil, revision: 3)
    for action in [PropertyStore.Operation.Action.set(JSONText(1), always: false), .delete] {
      let told = result.concealed(action)
      #expect(told.outcome != .unchanged && told.isChange == (outcome != .unchanged))
    }
  }
}
