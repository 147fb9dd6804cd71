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

  @Test func `who watches is known at every node, and to those who ask for demand`() throws {
    let engine = try Engine()
    var nodes = try nodes(engine, "a", "b", "c")
    let leader = try leader(of: nodes)
    #expect(try leader.server.connect().request("PUT", "/properties/k/x", body: "1").status == 201)
    let clients = try nodes.map { try LiveClient($0.server) }
    for client in clients { _ = try client.subscribe(#""match":["k/*","k/x"]"#) }
    let single = try LiveClient(nodes[0].server)
    _ = try single.subscribe(#""match":"k/x""#)
    // An optimized build releases, and with that closes, what is not used any more.
    defer { withExtendedLifetime((clients, single)) {} }
    try eventually("all have it") { nodes.allSatisfy { $0.store.get("k/x") != nil } }
    // The first who asks waits for the answers of the others.
    for node in nodes {
      let asked = try node.server.connect().request("GET", "/properties/k/x?watchers=true")
      #expect(asked.status == 200 && asked.value("Signal-Watchers") == "4")
      let live = try LiveClient(node.server)
      try live.send(#"{"id":1,"type":"get","path":"k/x","watchers":true}"#)
      try live.send(#"{"id":2,"type":"ping"}"#)
      let replies = try live.next(2)
      #expect(replies.map { $0.int("id") } == [1, 2] && replies[0].int("watchers") == 4)
      try live.send(#"{"id":3,"type":"get","path":"nothing","watchers":true}"#)
      #expect(try live.next().text.contains(#""code":"not_found""#))
    }
    let provider = try LiveClient(nodes[1].server)
    _ = try provider.subscribe(#""demand":["k/**"]"#)
    let elsewhere = try #require(nodes.firstIndex { $0 !== leader && $0 !== nodes[1] })
    let late = try LiveClient(nodes[elsewhere].server)
    _ = try late.subscribe(#""match":"k/late""#)
    _ = try provider.next { $0.string("match") == "k/late" && $0.raw("watched") == "true" }
    _ = try late.ask(#"{"id":9,"type":"unsubscribe","subscription":1}"#)
    _ = try provider.next { $0.string("match") == "k/late" && $0.raw("watched") == "false" }
    _ = try late.subscribe(#""match":"k/late""#)
    _ = try provider.next { $0.string("match") == "k/late" && $0.raw("watched") == "true" }
    // What a node has told is forgotten once it is gone, and comes back with it.
    nodes[elsewhere].member.cutOff()
    _ = try provider.next { $0.string("match") == "k/late" && $0.raw("watched") == "false" }
    nodes[elsewhere].member.reconnect()
    _ = try provider.next { $0.string("match") == "k/late" && $0.raw("watched") == "true" }
    let refused = try nodes[0].server.connect().request("GET", "/properties/k/x?watchers=true&fresh=true")
    #expect(refused.status == 400 && refused.code == "bad_query")
    nodes.removeAll()
  }

  @Test func `reads get the state that they ask for`() throws {
    let engine = try Engine()
    let nodes = try ["a", "b"].map { name in
      try TestNode(name, engine) { configuration in
        // A node that is cut off does not try to lead meanwhile.
        configuration.times.takeover = 5000
        configuration.writeTimeout = 1000
      }
    }
    let leader = try leader(of: nodes)
    let follower = try #require(nodes.first { $0 !== leader })
    let (here, there) = (try leader.server.connect(), try follower.server.connect())
    for number in 0..<40 {
      let written = try here.request("PUT", "/properties/k", body: "\(number)")
      let tag = try #require(written.value("ETag")).filter { $0 != "\"" }
      let ask = number % 2 == 0 ? "fresh=true" : "at=\(tag)"
      #expect(try there.request("GET", "/properties/k?\(ask)").text == "\(number)")
      #expect(try here.request("GET", "/properties/k?\(ask)").text == "\(number)")
    }
    follower.member.cutOff()
    #expect(try here.request("PUT", "/properties/k", body: "40").status == 204)
    let cursor = leader.store.cursor
    #expect(try there.request("GET", "/properties/k").text == "39")
    #expect(try there.request("GET", "/properties/k?fresh=true").text.contains("no_leader"))
    let watcher = try LiveClient(follower.server)
    try watcher.send(#"{"id":1,"type":"subscribe","match":"k","since":"\#(cursor)"}"#)
    try there.send("GET /properties/k?at=\(cursor) HTTP/1.1\r\nHost: x\r\n\r\n")
    follower.member.reconnect()
    #expect(try there.receive().text == "40")
    #expect(try watcher.next { $0.type == "live" }.contains { $0.text.contains(#""recovered":true"#) })
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

  @Test(arguments: [true, false])
  func `what clients of a node hold that is gone ends, and the others notice by themselves`(_ holds: Bool) throws {
    let engine = try Engine()
    let nodes = try nodes(engine, "a", "b")
    let leader = try leader(of: nodes)
    let follower = try #require(nodes.first { $0 !== leader })
    let client = try LiveClient(follower.server)
    #expect(try client.ask(#"{"id":1,"type":"set","path":"p","value":1,"hold":\#(holds)}"#).type == "ok")
    try client.send(
      #"{"id":2,"type":"onDisconnect","operations":[{"op":"set","path":"seen","value":"gone"}]}"#)
    _ = try client.next()
    #expect(leader.store.get("p") != nil)
    // One who takes it back himself, and one who goes, are no reason.
    for end in [#"{"id":1,"type":"onDisconnect","operations":[]}"#, ""] {
      let other = try LiveClient(follower.server)
      _ = try other.ask(
        #"{"id":1,"type":"onDisconnect","operations":[{"op":"set","path":"other","value":1}]}"#)
      if !end.isEmpty { _ = try other.ask(end) }
    }
    try eventually("it is done") { follower.store.get("other") != nil }
    #expect(!follower.events.all.contains { if case .ended = $0 { true } else { false } })
    // Silent, though it runs: as one that is cut off.
    follower.member.cutOff()
    try eventually("it is released") { (leader.store.get("p") == nil) == holds && leader.store.get("seen") != nil }
    try eventually("the node that comes back ends") {
      follower.member.reconnect()
      return follower.events.all.contains { if case .ended = $0 { true } else { false } }
    }
  }

  @Test(arguments: [false, true]) func `the engine is talked to by TLS, whoever speaks first`(_ handshakesFirst: Bool)
    throws
  {
    let certificate = TestCertificate()
    let engine = try Engine(certificate: certificate.file.chain, handshakesFirst: handshakesFirst)
    let node = try TestNode("a", engine) { configuration in
      configuration.nats.servers = [.tls(host: "127.0.0.1", port: engine.port)]
      configuration.nats.authorities = certificate.trust
    }
    _ = try leader(of: [node])
    let client = try node.server.connect()
    #expect(try client.request("PUT", "/properties/k", body: "1").status == 201)
    // Also when the connection is made anew.
    node.member.cutOff()
    node.member.reconnect()
    try eventually("changes can be made again") { try client.request("PUT", "/properties/k", body: "2").status == 204 }
    // A server whom the node does not trust gets nothing.
    var stranger = TestNode.configuration("b", engine)
    stranger.nats.servers = [.tls(host: "127.0.0.1", port: engine.port)]
    stranger.nats.authorities = TestCertificate().trust
    let log = TestNode.EventLog()
    let other = try ClusterMember(stranger, session: "s", seed: 1) { log.add($0) }
    other.start { _ in }
    try eventually("it says so") {
      log.all.contains { if case .engineLost(let reason) = $0 { reason.contains("no TLS") } else { false } }
    }
    #expect(!log.all.contains(.engineConnected))
    other.end {}
  }

  @Test func `of two nodes with one name the later one ends, and the other goes on`() throws {
    let engine = try Engine()
    let node = try TestNode("a", engine)
    _ = try leader(of: [node])
    let log = TestNode.EventLog()
    let second = try ClusterMember(TestNode.configuration("a", engine), session: "second", seed: 1) { log.add($0) }
    second.start { _ in }
    try eventually("the second one ends") {
      log.all.contains { if case .misconfigured(let reason) = $0 { reason.contains("cluster.node") } else { false } }
    }
    try eventually("the first one says so") { node.events.all.contains(.namesake(session: "second")) }
    #expect(try node.server.connect().request("PUT", "/properties/k", body: "1").status == 201)
    #expect(!node.events.all.contains { if case .misconfigured = $0 { true } else { false } })
    second.end {}
  }

  @Test func `a node that was killed is started again at once`() throws {
    let engine = try Engine()
    let first = try TestNode("a", engine)
    _ = try leader(of: [first])
    #expect(try first.server.connect().request("PUT", "/properties/k", body: "1").status == 201)
    first.member.cutOff()
    let second = try TestNode("a", engine)
    _ = try leader(of: [second])
    #expect(try second.server.connect().request("GET", "/properties/k").text == "1")
    #expect(!second.events.all.contains { if case .misconfigured = $0 { true } else { false } })
  }

  @Test func `a node with another secret says so, and ends`() throws {
    let engine = try Engine()
    let node = try TestNode("a", engine)
    _ = try leader(of: [node])
    #expect(try node.server.connect().request("PUT", "/properties/k", body: "1").status == 201)
    var configuration = TestNode.configuration("b", engine)
    configuration.secret = Array("another".utf8)
    let log = TestNode.EventLog()
    let stranger = try ClusterMember(configuration, session: "s", seed: 1) { log.add($0) }
    stranger.start { _ in }
    try eventually("it says so") {
      log.all.contains { if case .misconfigured(let reason) = $0 { reason.contains("secret-file") } else { false } }
    }
    #expect(!log.all.contains { if case .ended = $0 { true } else { false } })
    #expect(try node.server.connect().request("PUT", "/properties/k", body: "2").status == 204)
    stranger.end {}
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

  @Test func `what the engine does not confirm is answered in time, and reads go on`() throws {
    let engine = try Engine()
    let node = try TestNode("a", engine) { $0.writeTimeout = 1500 }
    _ = try leader(of: [node])
    let client = try node.server.connect()
    #expect(try client.request("PUT", "/properties/k", body: "1").status == 201)
    #expect(try client.request("GET", "/health/writable").status == 200)
    let live = try LiveClient(node.server)
    let watcher = try LiveClient(node.server)
    _ = try watcher.subscribe(#""match":"**""#)
    engine.stop(true)
    try live.send(#"{"id":1,"type":"set","path":"w","value":1}"#)
    let refused = try client.request("PUT", "/properties/k", body: "2")
    #expect(refused.status == 503 && refused.code == "no_answer", "\(refused.text)")
    #expect(try live.awaitClose().code == .tryAgainLater)
    // While it is being taken back a read can tell neither, and is refused.
    try eventually("reads show what is committed") {
      let read = try node.server.connect().request("GET", "/properties/k")
      #expect(read.text == "1" || read.status == 503 && read.code == "no_answer", "\(read)")
      return read.status == 200
    }
    let reader = try node.server.connect()
    #expect(try reader.request("GET", "/health/ready").status == 200)
    #expect(try reader.request("GET", "/health/writable").status == 503)
    let late = try reader.request("PUT", "/properties/k", body: "3")
    #expect(late.status == 503 && late.code == "no_leader")
    engine.stop(false)
    try eventually("changes can be made again") {
      try reader.request("PUT", "/properties/k", body: "4").status == 204
    }
    // What was decided before has come, or has not; each change was told once.
    let events = try watcher.next { $0.raw("value") == "4" }.filter { $0.string("path") == "k" }
    #expect([["4"], ["2", "4"]].contains(events.compactMap { $0.raw("value") }))
  }

  @Test func `a change that is too large for the engine is refused, and nothing happens`() throws {
    let engine = try Engine(maxPayload: "4MB")
    var limits = Limits()
    limits.http.bodyBytes = 4 << 20
    let nodes = try ["a", "b"].map { try TestNode($0, engine, limits) }
    let leader = try leader(of: nodes)
    for node in nodes {
      let client = try node.server.connect()
      func set(_ count: Int) throws -> HTTPClientResponse {
        let text = String(repeating: node === leader ? "x" : "y", count: 1_000_000)
        let set = (0..<count).map { #"{"op":"set","path":"k/\#($0)","value":"\#(text)"}"# }.joined(separator: ",")
        return try client.request("POST", "/transactions", body: #"{"operations":[\#(set)]}"#)
      }
      let revision = leader.store.revision
      // A busy machine may be so slow that another node leads meanwhile.
      try eventually("it is refused") {
        let refused = try set(3)
        #expect([413, 503].contains(refused.status), "\(refused.text.prefix(300))")
        return refused.status == 413 && refused.code == "body_too_large"
      }
      #expect(leader.store.revision == revision)
      try eventually("what is smaller is not") { try set(1).status == 200 }
    }
    #expect(!nodes.flatMap(\.events.all).contains { if case .ended = $0 { true } else { false } })
    try eventually("all have it") { nodes.allSatisfy { $0.store.cursor == leader.store.cursor } }
  }

  @Test func `a leader that is asked to lets another one lead`() throws {
    let engine = try Engine()
    let nodes = try nodes(engine, "a", "b")
    let first = try leader(of: nodes)
    let other = try #require(nodes.first { $0 !== first })
    let refused = try other.server.connect().request("POST", "/server/step-down")
    #expect(refused.status == 409 && refused.code == "not_leading")
    #expect(try first.server.connect().request("PUT", "/properties/k", body: "1").status == 201)
    #expect(try first.server.connect().request("POST", "/server/step-down").status == 204)
    try eventually("the other one leads") { other.member.isLeading && !first.member.isLeading }
    #expect(try first.server.connect().request("PUT", "/properties/k", body: "2").status == 204)
    #expect(other.store.get("k")?.value == JSONText(2))
    let text = try other.server.connect().request("GET", "/metrics").text
    #expect(text.contains("signal_cluster_leader 1\n") && text.contains("signal_cluster_takeovers_total 1\n"))
  }

  @Test(arguments: [true, false])
  func `a start without a living node goes on only where nothing can have been lost`(isSynced: Bool) throws {
    let engine = try Engine()
    let first = try TestNode("a", engine) { $0.isEngineSynced = isSynced }
    _ = try leader(of: [first])
    #expect(try first.server.connect().request("PUT", "/properties/k", body: "1").status == 201)
    let cursor = first.store.cursor
    // A node that lives vouches for what there is.
    let second = try TestNode("b", engine) { $0.isEngineSynced = isSynced }
    first.leave()
    _ = try leader(of: [second])
    #expect(second.store.cursor == cursor)
    second.leave()
    let third = try TestNode("c", engine) { $0.isEngineSynced = isSynced }
    _ = try leader(of: [third])
    #expect((third.store.epoch == cursor.epoch) == isSynced)
    #expect(third.store.get("k")?.value == JSONText(1) && third.store.revision == 1)
    let watcher = try LiveClient(third.server)
    let begin = try watcher.subscribe(#""match":"**","since":"\#(cursor)""#)
    #expect(begin.contains { $0.text.contains(#""recovered":true"#) } == isSynced, "\(begin.map(\.text))")
  }

  @Test func `an engine that takes too small messages is refused`() throws {
    let engine = try Engine(maxPayload: "1MB")
    let events = TestNode.EventLog()
    let member = try ClusterMember(TestNode.configuration("a", engine), session: "s", seed: 1) { events.add($0) }
    member.start { _ in }
    try eventually("it says why") {
      events.all.contains { if case .engineRefused(let reason) = $0 { reason.contains("max_payload") } else { false } }
    }
  }

  @Test func `the log is shortened, and who begins has everything`() throws {
    let engine = try Engine()
    func node(_ name: String) throws -> TestNode {
      try TestNode(name, engine) { configuration in
        configuration.snapshotRecords = 20
        configuration.times.snapshots = 100
      }
    }
    let nodes = try ["a", "b"].map(node)
    let leader = try leader(of: nodes)
    let client = try leader.server.connect()
    #expect(try client.request("PUT", "/timers/tea", body: #"{"after":"1h"}"#).status == 201)
    #expect(try client.request("PUT", "/properties/lease?ttl=1h", body: "1").status == 201)
    #expect(
      try client.request(
        "PUT", "/properties/f", fields: [("Content-Type", "application/cel")], body: #"properties["k"]"#
      )
      .status == 201)
    var number = 0
    func isWritten(_ event: ClusterEvent) -> Bool { if case .snapshotWritten = event { true } else { false } }
    try eventually("three snapshots are written, by who follows") {
      number += 1
      _ = try client.request("PUT", "/properties/k", body: "\(number)")
      // A leader that has not heard of anybody for a while writes one itself.
      let written = nodes.map { ($0 === leader, $0.events.all.count(where: isWritten)) }
      return written.allSatisfy { isLeader, count in isLeader ? count <= 1 : count >= 3 }
    }
    var third: TestNode?
    try eventually("a new node loads one of them") {
      number += 1
      _ = try client.request("PUT", "/properties/k", body: "\(number)")
      third?.leave()
      let node = try node("c")
      third = node
      return node.events.all.contains { if case .snapshotLoaded = $0 { true } else { false } }
    }
    let new = try #require(third)
    try eventually("it has everything") { new.store.cursor == leader.store.cursor }
    let (mine, theirs) = (new.store.replica, leader.store.replica)
    #expect(Array(mine.snapshot.scan()) == Array(theirs.snapshot.scan()))
    #expect(mine.timers.keys == theirs.timers.keys && mine.snapshot.get("lease")?.lease != nil)
    // It can lead as well.
    for node in nodes { node.leave() }
    _ = try self.leader(of: [new])
    #expect(try new.server.connect().request("PUT", "/properties/k", body: "0").status == 204)
    #expect(new.store.get("f")?.value == JSONText(0))
  }
}
