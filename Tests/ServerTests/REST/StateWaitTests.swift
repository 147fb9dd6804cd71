// SPDX-License-Identifier: MIT
import Glibc
import SignalHTTP
import SignalStore
import Synchronization
import TestSupport
import Testing

@Suite("REST §2.13, the state that is asked for")
struct StateWaitTests {
  /// A node of a cluster that follows: the test changes its store as the log would.
  private final class Follower: ClusterNode {
    /// Clients who wait to know who watches elsewhere.
    let questions = Mutex<[@Sendable () -> Void]>([])
    private let open = Mutex<[@Sendable (ForwardedOutcome) -> Void]>([])
    let isLeading: Bool
    let status = ClusterStatus()

    init(isLeading: Bool = false) { self.isLeading = isLeading }

    func forward(_ command: ForwardedCommand, _ answer: @escaping @Sendable (ForwardedOutcome) -> Void) {
      open.withLock { $0.append(answer) }
    }

    /// How many commands are open.
    var count: Int { open.withLock { $0.count } }

    /// Waits for a command, and answers it.
    func answer(_ outcome: ForwardedOutcome) throws {
      let deadline = ContinuousClock.now + LiveClient.patience
      while true {
        if let answer = open.withLock({ $0.popLast() }) { return answer(outcome) }
        try #require(ContinuousClock.now < deadline, "nothing was forwarded")
        sched_yield()
      }
    }

    func serve(by executor: any ForwardedExecutor, watchers: Watchers) { watchers.setComplete(false) }
    func awaitWatchers(_ done: @escaping @Sendable () -> Void) { questions.withLock { $0.append(done) } }
    func stepDown() -> Bool { false }
  }

  private let node = Follower()
  private let server: TestServer

  init() throws {
    server = try TestServer(cluster: node)
    try server.store.set("a", "1")
  }

  /// Waits until so many loops observe the store.
  private func settle(at observers: Int) throws {
    try eventually { server.store.commits.observerCount == observers }
  }

  @Test(arguments: ["/properties/a", "/properties"])
  func `a server that is alone has got as far as it can`(path: String) throws {
    let server = try TestServer()
    try server.store.set("a", "1")
    let client = try server.connect()
    for query in ["at=e.1", "at=e.0", "fresh=true", "fresh=false", "at=e.1&fresh=true"] {
      #expect(try client.request("GET", "\(path)?\(query)").status == 200, "\(query)")
    }
    let refused = try client.request("GET", "\(path)?at=e.2")
    #expect(refused.status == 503 && refused.text.contains(#""code":"not_reached""#))
    #expect(refused.text.contains(#""temporary":true"#))
    for (query, code) in [("at=f.1", "bad_cursor"), ("at=1", "bad_cursor"), ("fresh=1", "bad_query")] {
      let refused = try client.request("GET", "\(path)?\(query)")
      #expect(refused.status == 400 && refused.text.contains(code), "\(query)")
    }
  }

  @Test(arguments: [
    "/properties/a?at=e.3", "/properties/a?since=e.2&wait=1m&at=e.3", "/properties?at=e.3&fields=value",
  ])
  func `a node that is behind answers when it has got to the cursor`(target: String) throws {
    let client = try server.connect(
      sending: "GET \(target) HTTP/1.1\r\nHost: x\r\n\r\nGET /health/live HTTP/1.1\r\nHost: x\r\n\r\n")
    try settle(at: 1)
    try server.store.set("a", "2")
    try server.store.set("a", "3")
    let response = try client.receive()
    #expect(response.status == 200 && response.value("Signal-Revision") == "e.3")
    #expect(response.text.contains("3"))
    // What came behind it has waited.
    #expect(try client.receive().text.contains("live"))
    try settle(at: 0)
  }

  @Test func `a wait for what is newer than a cursor does not take an older value for it`() throws {
    let client = try server.connect(sending: "GET /properties/a?since=e.3&wait=1m HTTP/1.1\r\nHost: x\r\n\r\n")
    try settle(at: 1)
    try server.store.set("a", "2")
    try server.store.set("a", "3")
    try server.store.set("a", "4")
    #expect(try client.receive().text == "4")
  }

  @Test func `streams and subscriptions go on from a cursor that the node has to get to`() throws {
    let target = "/events?match=**&since=e.3"
    let stream = try server.connect(sending: "GET \(target) HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n")
    let socket = try LiveClient(server)
    try socket.send(#"{"id":1,"type":"subscribe","match":"**","since":"e.3"}"#)
    try socket.send(#"{"id":2,"type":"ping"}"#)
    try socket.send(#"{"id":3,"type":"get","path":"a"}"#)
    try socket.send(#"{"id":4,"type":"set","path":"b","value":1}"#)
    try server.store.set("a", "2")
    #expect(try socket.next(within: .milliseconds(100)) == nil)
    #expect(node.count == 0, "what is behind it is not sent before it begins")
    try server.store.set("a", "3")
    let messages = try socket.next { $0.int("id") == 3 }
    #expect(messages.compactMap { $0.int("id") } == [1, 2, 3], "in their order")
    #expect(messages[0].text.contains(#""recovered":true"#))
    #expect(try stream.receive(upTo: #""type":"live""#).contains(#""recovered":true"#))
    try server.store.set("a", "4")
    #expect(try socket.next { $0.type == "didSet" }.last?.int("revision") == 4)
    #expect(try stream.receive(upTo: #""value":4"#).contains("didSet"))
  }

  @Test func `who waits and goes leaves nothing behind`() throws {
    let clients = try ["/properties/a?at=e.9", "/events?match=**&since=e.9"].map { target in
      try server.connect(sending: "GET \(target) HTTP/1.1\r\nHost: x\r\n\r\n")
    }
    let socket = try LiveClient(server)
    try socket.send(#"{"id":1,"type":"subscribe","match":"**","since":"e.9"}"#)
    let deadline = ContinuousClock.now + LiveClient.patience
    while server.store.commits.observerCount == 0, ContinuousClock.now < deadline { sched_yield() }
    withExtendedLifetime((clients, socket)) {}
    _ = consume clients
    _ = consume socket
    try settle(at: 0)
    #expect(try server.connect().request("GET", "/properties/a?at=e.1").status == 200)
  }

  @Test func `a node that does not get there in time says so, and subscriptions begin anew`() throws {
    let client = try server.connect(sending: "GET /properties/a?at=e.9 HTTP/1.1\r\nHost: x\r\n\r\n")
    let socket = try LiveClient(server)
    try socket.send(#"{"id":1,"type":"subscribe","match":"**","since":"e.9"}"#)
    let stream = try EventStreamClient(server, query: "match=**&since=e.9")
    let begin = try socket.next { $0.type == "live" }
    #expect(begin.contains { $0.type == "reset" && $0.text.contains("future") })
    #expect(try stream.next { $0.message?.type == "live" }.contains { $0.message?.type == "reset" })
    let response = try client.receive()
    #expect(response.status == 503 && response.text.contains("not_reached"))
    #expect(try client.request("GET", "/properties/a").status == 200)
  }

  @Test(arguments: ["/properties/a", "/properties"])
  func `what is fresh is asked of the node that decides`(path: String) throws {
    let client = try server.connect(sending: "GET \(path)?fresh=true HTTP/1.1\r\nHost: x\r\n\r\n")
    try server.store.set("a", "2")
    try node.answer(.answered(ForwardedAnswer(message: [])))
    let response = try client.receive()
    #expect(response.status == 200 && response.value("Signal-Revision") == "e.2" && response.text.contains("2"))
    for outcome in [ForwardedOutcome.noLeader, .unknown] {
      try client.send("GET \(path)?fresh=true HTTP/1.1\r\nHost: x\r\n\r\n")
      try node.answer(outcome)
      let refused = try client.receive()
      #expect(refused.status == 503 && refused.text.contains(#""code":"no_leader""#))
    }
    #expect(try client.request("GET", path).status == 200)
  }

  @Test func `who asks for watchers is answered when others have told, and nothing overtakes that`() throws {
    let node = Follower(isLeading: true)
    let server = try TestServer(cluster: node)
    try server.store.set("a", "1")
    let live = try LiveClient(server)
    try live.send(#"{"id":1,"type":"get","path":"a","watchers":true}"#)
    try live.send(#"{"id":2,"type":"set","path":"w","value":1}"#)
    try eventually { node.questions.withLock { $0.count } == 1 }
    #expect(server.store.get("w") == nil)
    node.questions.withLock { $0.popLast() }?()
    let replies = try live.next(2)
    #expect(replies.map { $0.int("id") } == [1, 2] && replies[0].int("watchers") == 0)
    #expect(try server.store.text("w") == "1")
  }

  @Test func `what waits behind a question is not done once the connection is being closed`() throws {
    let node = Follower(isLeading: true)
    let server = try TestServer(cluster: node)
    let live = try LiveClient(server)
    try live.send(#"{"id":1,"type":"get","path":"a","watchers":true}"#)
    try live.send(#"{"id":2,"type":"set","path":"w","value":1}"#)
    try eventually { node.questions.withLock { $0.count } == 1 }
    server.server.shutdown()
    usleep(100_000)
    // The Close frame has been sent, and the client has not answered it yet.
    node.questions.withLock { $0.popLast() }?()
    usleep(100_000)
    #expect(server.store.get("w") == nil)
    #expect(try live.awaitClose().code == .goingAway)
  }
}
