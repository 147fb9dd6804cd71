// SPDX-License-Identifier: MIT
import Foundation
import SignalHTTP
import SignalStore
import TestSupport
import Testing

@Suite("Live protocol §3.6, when the connection ends")
struct OnDisconnectTests {
  private let server: TestServer
  private let watcher: LiveClient

  init() throws {
    server = try TestServer()
    watcher = try LiveClient(server)
    _ = try watcher.subscribe(#""match":"**""#)
    _ = try watcher.subscribe(#""signals":"**""#, id: 2)
  }

  private func register(_ operations: String, on client: LiveClient) throws -> LiveMessage {
    try client.ask(#"{"id":1,"type":"onDisconnect","operations":[\#(operations)]}"#)
  }

  @Test func `set, delete and send are carried out when the client closes, each by itself and in order`() throws {
    let client = try LiveClient(server)
    try server.store.set("presence/ann", #""here""#)
    #expect(
      try register(
        """
        {"op":"delete","path":"presence/ann"},{"op":"set","path":"last/ann","value":{"at": 1.0}},\
        {"op":"send","path":"left","message":"ann"}
        """, on: client
      ).text == #"{"id":1,"type":"ok"}"#)
    #expect(try watcher.settle().map(\.type) == ["didSet"])
    try client.socket.close()
    #expect(
      Set(try watcher.next(3).map(\.description)) == [
        #"didDelete 1 presence/ann was="here" @2"#, #"didSet 1 last/ann={"at":1.0} @3"#,
        #"signal 2 left message="ann""#,
      ])
  }

  @Test(arguments: ["reset", "end", "nonsense", "binary"])
  func `whatever the reason, they are carried out once`(reason: String) throws {
    let client = try LiveClient(server)
    _ = try register(#"{"op":"set","path":"gone","value":1,"always":true}"#, on: client)
    switch reason {
    case "reset":
      client.socket.socket.resetAtEnd()
      client.socket.socket.endSending()
    case "end": client.socket.socket.endSending()
    case "nonsense": try client.socket.socket.send([0xFF, 0xFF, 0xFF], by: Deadline(after: LiveClient.patience))
    default: try client.socket.send(.binary, [1])
    }
    #expect(try watcher.next().description == "didSet 1 gone=1 @1")
    #expect(try watcher.settle().isEmpty)
  }

  @Test func `a client that no longer answers has ended, too`() throws {
    var limits = Limits()
    limits.pingInterval = .milliseconds(500)
    limits.idleTimeout = .seconds(1)
    let server = try TestServer(limits: limits)
    let client = try LiveClient(server)
    _ = try register(#"{"op":"set","path":"gone","value":1}"#, on: client)
    // It is not read from any more, so its pings stay unanswered.
    let deadline = ContinuousClock.now + LiveClient.patience
    while server.store.count == 0, ContinuousClock.now < deadline { sched_yield() }
    #expect(server.store.contents == ["gone": "1"])
  }

  @Test func `the shutdown of the server is an end, too`() throws {
    let store = server.store
    let client = try LiveClient(server)
    _ = try register(#"{"op":"set","path":"gone","value":1}"#, on: client)
    server.server.shutdown()
    let deadline = ContinuousClock.now + LiveClient.patience
    while store.count == 0, ContinuousClock.now < deadline { _ = try? client.next(within: .milliseconds(20)) }
    #expect(store.contents == ["gone": "1"])
  }

  @Test func `a registration replaces the one before, and an empty one cancels`() throws {
    let client = try LiveClient(server)
    _ = try register(#"{"op":"set","path":"a","value":1}"#, on: client)
    _ = try register(#"{"op":"set","path":"b","value":1}"#, on: client)
    let other = try LiveClient(server)
    _ = try register(#"{"op":"set","path":"c","value":1}"#, on: other)
    _ = try register("", on: other)
    try other.socket.close()
    try client.socket.close()
    #expect(try watcher.next().path == "b")
    #expect(try watcher.settle().isEmpty)
    #expect(server.store.contents == ["b": "1"])
  }

  @Test func `a condition that does not hold then leaves only its own operation out`() throws {
    let client = try LiveClient(server)
    _ = try register(
      """
      {"op":"delete","path":"presence/ann","if":"value.session == 1"},{"op":"set","path":"x","value":1,"ifNoneMatch":"*"},\
      {"op":"set","path":"y","value":1}
      """, on: client)
    try server.store.set("presence/ann", #"{"session":2}"#)
    try server.store.set("x", "0")
    _ = try watcher.next(2)
    try client.socket.close()
    #expect(try watcher.next().path == "y")
    #expect(server.store.contents == ["presence/ann": #"{"session":2}"#, "x": "0", "y": "1"])
  }

  @Test func `what would be refused then is refused now, and what was registered stays`() throws {
    var live = LiveConfiguration()
    live.limits.disconnectOperations = 2
    let server = try TestServer(live: live)
    let client = try LiveClient(server)
    let good = #"{"op":"set","path":"a","value":1}"#
    #expect(try register("\(good),\(good)", on: client).type == "ok")
    for (operations, code) in [
      ("\(good),\(good),\(good)", "too_many_operations"), (#"{"op":"get","path":"a"}"#, "unknown_type"),
      (#"{"op":"set","path":"a"}"#, "bad_message"), (#"{"op":"delete","path":"a","if":"value >"}"#, "bad_filter"),
      (#"{"op":"delete","path":"a","if":"op == 'set'"}"#, "bad_filter"),
      (#"{"op":"set","path":"a","value":1,"ttl":"0s"}"#, "bad_duration"), (#"{"op":"send"}"#, "bad_message"),
      (#"{"op":"send","path":"a","value":1}"#, "unknown_member"), (#"{"op":"delete","path":"*"}"#, "bad_path"),
      ("1", "bad_message"),
    ] {
      #expect(try register(operations, on: client).object("error")?.string("code") == code, "\(operations)")
    }
    #expect(try client.ask(#"{"id":1,"type":"onDisconnect"}"#).type == "error")
    try client.socket.close()
    let deadline = ContinuousClock.now + LiveClient.patience
    while server.store.revision < 1, ContinuousClock.now < deadline { sched_yield() }
    #expect(server.store.contents == ["a": "1"])
  }

  @Test func `a thousand that end at once are each told once`() throws {
    let count = 1000
    var clients: [LiveClient] = []
    for index in 0..<count {
      let client = try LiveClient(server)
      try server.store.set("presence/\(index)", "1")
      _ = try register(#"{"op":"delete","path":"presence/\#(index)"}"#, on: client)
      client.socket.socket.resetAtEnd()
      clients.append(client)
    }
    _ = try watcher.next(count)
    clients = []
    let gone = try watcher.next(count)
    #expect(gone.allSatisfy { $0.type == "didDelete" })
    #expect(Set(gone.map(\.path)).count == count)
    #expect(try watcher.settle().isEmpty)
    #expect(server.store.revision == Revision(UInt64(2 * count)))
  }
}
