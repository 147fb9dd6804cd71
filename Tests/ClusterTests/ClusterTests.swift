// SPDX-License-Identifier: MIT
import JSON
import SignalCluster
import SignalHTTP
import SignalStore
import Testing
import TestSupport

/// Three nodes with a real engine.
@Suite(.enabled(if: Engine.program != nil), .serialized)
struct ClusterTests {
  private func nodes(_ engine: Engine, _ names: String...) throws -> [TestNode] {
    try names.map { try TestNode($0, engine) }
  }

  private func leader(of nodes: [TestNode]) throws -> TestNode {
    var leader: TestNode?
    try eventually("one leads") {
      leader = nodes.first { $0.member.isLeading }
      return leader != nil
    }
    return try #require(leader)
  }

  @Test func `what is written at any node is at all of them, with one cursor, and those who watch are told`() throws {
    let engine = try Engine()
    let nodes = try nodes(engine, "a", "b", "c")
    let watchers = try nodes.map { try LiveClient($0.server) }
    for watcher in watchers { _ = try watcher.subscribe(#""match":"k/**""#) }
    _ = try leader(of: nodes)
    var tags: [String] = []
    for (index, node) in nodes.enumerated() {
      let response = try node.server.connect().request("PUT", "/properties/k/\(index)", body: "\(index)")
      #expect(response.status == 201)
      tags.append(try #require(response.value("ETag")))
    }
    for watcher in watchers {
      let events = try watcher.next(3)
      #expect(events.map(\.type) == ["didSet", "didSet", "didSet"])
      #expect(events.map { $0.int("revision") } == [1, 2, 3])
    }
    for node in nodes {
      try eventually("all is there") { node.store.revision == 3 }
      for index in 0..<3 {
        let response = try node.server.connect().request("GET", "/properties/k/\(index)")
        #expect(response.text == "\(index)" && response.value("ETag") == tags[index])
      }
    }
    #expect(Set(nodes.map { "\($0.store.cursor)" }).count == 1)
  }

  @Test func `a follower forwards every kind of write, and refusals come back as they are`() throws {
    let engine = try Engine()
    let nodes = try nodes(engine, "a", "b")
    let leader = try leader(of: nodes)
    let follower = try #require(nodes.first { $0 !== leader })
    let client = try follower.server.connect()
    #expect(try client.request("PUT", "/properties/t", body: "20").status == 201)
    #expect(try client.request("PUT", "/properties/t", fields: [("If-None-Match", "*")], body: "20").status == 412)
    #expect(try client.request("PUT", "/properties/t?if=value%20%3E%2030", body: "21").status == 412)
    #expect(try client.request("PUT", "/properties/t?if=value%20%3C%2030", body: "21").status == 204)
    let formula = try client.request(
      "PUT", "/properties/f", fields: [("Content-Type", "application/cel")], body: #"properties["t"] * 2"#)
    #expect(formula.status == 201)
    #expect(try client.request("GET", "/properties/f").text == "42")
    let patch = try client.request(
      "PATCH", "/properties/o", fields: [("Content-Type", "application/merge-patch+json")], body: #"{"x":1}"#)
    #expect(patch.status == 201)
    let both = try client.request(
      "POST", "/transactions",
      body: #"{"operations":[{"op":"set","path":"t","value":5},{"op":"delete","path":"o"}]}"#)
    #expect(both.status == 200, "\(both.text)")
    #expect(try client.request("GET", "/properties/f").text == "10")
    #expect(try client.request("DELETE", "/properties/t").status == 204)
    #expect(try client.request("DELETE", "/properties/t").status == 404)
    #expect(try client.request("PUT", "/properties/bad%2F", body: "1").status == 400)
    #expect(try client.request("PUT", "/properties/t", body: "{").status == 400)
    #expect(try client.request("PUT", "/timers/tea", body: #"{"after":"1h"}"#).status == 201)
    #expect(try client.request("GET", "/timers/tea").status == 200)
    #expect(try client.request("GET", "/properties/t?watchers=true").text.contains("not_in_cluster"))
    let live = try LiveClient(follower.server)
    try live.send(#"{"id":1,"type":"set","path":"w","value":1}"#)
    try live.send(#"{"id":2,"type":"get","path":"w"}"#)
    try live.send(#"{"id":3,"type":"delete","path":"nothing"}"#)
    try live.send(#"{"id":4,"type":"set","path":"w","value":2}"#)
    let replies = try live.next(4)
    #expect(replies.map { $0.int("id") } == [1, 2, 3, 4])
    #expect(replies.map(\.type) == ["ok", "ok", "error", "ok"])
    #expect(leader.store.cursor == follower.store.cursor)
  }

  @Test func `signals are sent on all nodes, in one order`() throws {
    let engine = try Engine()
    let nodes = try nodes(engine, "a", "b")
    _ = try leader(of: nodes)
    let listeners = try nodes.map { try LiveClient($0.server) }
    for listener in listeners { _ = try listener.ask(#"{"id":1,"type":"subscribe","signals":"bell"}"#) }
    for number in 0..<6 {
      let response = try nodes[number % 2].server.connect().request("POST", "/signals/bell", body: "\(number)")
      #expect(response.status < 300)
    }
    for listener in listeners {
      let messages = try listener.next { $0.int("message") == 5 }
      #expect(messages.compactMap { $0.int("message") } == Array(0..<6))
    }
  }

  @Test func `when the leader leaves, another one leads, and clients resume there without a hole`() throws {
    let engine = try Engine()
    var nodes = try nodes(engine, "a", "b")
    let first = try leader(of: nodes)
    #expect(try first.server.connect().request("PUT", "/properties/k", body: "1").status == 201)
    let cursor = "\(first.store.cursor)"
    first.leave()
    nodes.removeAll { $0 === first }
    let second = try leader(of: nodes)
    #expect(try second.server.connect().request("PUT", "/properties/k", body: "2").status == 204)
    let watcher = try LiveClient(second.server)
    let resumed = try watcher.subscribe(#""match":"**","since":"\#(cursor)""#)
    #expect(
      resumed.last?.text.contains(#""recovered":true"#) == true
        || resumed.contains { $0.text.contains(#""recovered":true"#) })
    // A new process of the first node reads what there is.
    let again = try TestNode(first === nodes.first ? "a" : "c", engine)
    try eventually("it has everything") { again.store.cursor == second.store.cursor }
    #expect(again.store.get("k")?.value == JSONText(2))
  }

  @Test func `what clients of a node hold that is gone ends, and the others notice by themselves`() throws {
    let engine = try Engine()
    let nodes = try nodes(engine, "a", "b")
    let leader = try leader(of: nodes)
    let follower = try #require(nodes.first { $0 !== leader })
    let client = try LiveClient(follower.server)
    #expect(try client.ask(#"{"id":1,"type":"set","path":"p","value":1,"hold":true}"#).type == "ok")
    try client.send(
      #"{"id":2,"type":"onDisconnect","operations":[{"op":"set","path":"seen","value":"gone"}]}"#)
    _ = try client.next()
    #expect(leader.store.get("p") != nil)
    // Silent, though it runs: as one that is cut off.
    follower.member.cutOff()
    try eventually("it is released") { leader.store.get("p") == nil && leader.store.get("seen") != nil }
    try eventually("the node that comes back ends") {
      follower.member.reconnect()
      return follower.events.all.contains { if case .ended = $0 { true } else { false } }
    }
  }

  @Test func `a time to live ends once, whoever leads`() throws {
    let engine = try Engine()
    var nodes = try nodes(engine, "a", "b")
    let first = try leader(of: nodes)
    #expect(try first.server.connect().request("PUT", "/properties/k?ttl=2s", body: "1").status == 201)
    first.leave()
    nodes.removeAll { $0 === first }
    let second = try leader(of: nodes)
    try eventually("it has ended") { second.store.get("k") == nil && second.store.revision == 2 }
  }
}
