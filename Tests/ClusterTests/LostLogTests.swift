// SPDX-License-Identifier: MIT
import JSON
import SignalCluster
import SignalHTTP
import SignalStore
import TestSupport
import Testing

/// A real engine whose stream loses what nodes have shown.
@Suite(.enabled(if: Engine.program != nil), .serialized)
struct LostLogTests {
  private func node(_ name: String, _ engine: Engine) throws -> TestNode {
    try TestNode(name, engine) { configuration in
      configuration.times.shortage = 4000
      configuration.times.check = 500
    }
  }

  private func leader(of nodes: [TestNode]) throws -> TestNode {
    var leader: TestNode?
    try eventually("one leads") {
      leader = nodes.first { $0.member.isLeading }
      return leader != nil
    }
    return try #require(leader)
  }

  private func hasEnded(_ node: TestNode) -> Bool {
    node.events.all.contains { if case .ended = $0 { true } else { false } }
  }

  @Test(arguments: [0, 3]) func `a stream that was removed begins anew with what nodes have shown, as another epoch`(
    _ writes: Int
  ) throws {
    let engine = try Engine()
    let nodes = try ["a", "b"].map { try node($0, engine) }
    let leader = try leader(of: nodes)
    let client = try leader.server.connect()
    for number in 0..<20 { _ = try client.request("PUT", "/properties/k/\(number)", body: "\(number)") }
    let cursor = leader.store.cursor
    try eventually("both have it") { nodes.allSatisfy { $0.store.cursor == cursor } }
    // Once as it was, and once with records of before, as from an old backup.
    let old = try engine.request("$JS.API.DIRECT.GET.SIGNAL_test", #"{"seq":1}"#)
    _ = try engine.request("$JS.API.STREAM.DELETE.SIGNAL_test", "")
    if writes > 0 {
      try eventually("it is there again") {
        try engine.request("$JS.API.STREAM.INFO.SIGNAL_test", "").contains(#""state""#)
      }
      for _ in 0..<writes { _ = try engine.request("signal.test.log", old) }
    }
    try eventually("both begin anew") { nodes.allSatisfy(hasEnded) }
    #expect(
      nodes.flatMap(\.events.all).count { if case .restartsLog = $0 { true } else { false } } == 1,
      "\(nodes.map(\.events.all))")
    for node in nodes { node.leave() }
    let again = try ["c", "d"].map { try node($0, engine) }
    _ = try self.leader(of: again)
    for node in again {
      #expect(node.store.epoch != cursor.epoch && node.store.revision == cursor.revision)
      for number in 0..<20 {
        let path = try PropertyPath("k/\(number)")
        #expect(node.store.get(path)?.value == JSONText(number))
      }
      let watcher = try LiveClient(node.server)
      let begin = try watcher.subscribe(#""match":"**","since":"\#(cursor)""#)
      #expect(!begin.contains { $0.text.contains(#""recovered":true"#) }, "\(begin.map(\.text))")
    }
    #expect(try again[0].server.connect().request("PUT", "/properties/k/0", body: "1").status == 204)
    try eventually("all have it") { again.allSatisfy { $0.store.get("k/0")?.value == JSONText(1) } }
  }

  @Test func `a log that is removed while no node runs goes on with the snapshot, as another epoch`() throws {
    let engine = try Engine()
    let first = try TestNode("a", engine) { configuration in
      configuration.snapshotRecords = 20
      configuration.times.snapshots = 100
    }
    _ = try leader(of: [first])
    let client = try first.server.connect()
    var number = 0
    try eventually("a snapshot is written") {
      number += 1
      _ = try client.request("PUT", "/properties/k", body: "\(number)")
      return first.events.all.contains { if case .snapshotWritten = $0 { true } else { false } }
    }
    let cursor = first.store.cursor
    first.leave()
    _ = try engine.request("$JS.API.STREAM.DELETE.SIGNAL_test", "")
    let second = try node("a", engine)
    _ = try leader(of: [second])
    #expect(second.store.epoch != cursor.epoch && second.store.get("k") != nil)
    #expect(try second.server.connect().request("PUT", "/properties/k", body: "0").status == 204)
  }
}
