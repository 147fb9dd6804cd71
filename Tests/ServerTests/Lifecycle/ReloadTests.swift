// SPDX-License-Identifier: MIT
import SignalHTTP
import SignalStore
import Synchronization
import TestSupport
import Testing

@Suite("Other limits while a server runs")
struct ReloadTests {
  private static let many = (0..<20).map { ("X-\($0)", "1") }

  private func reload(
    _ test: TestServer, observer: (@Sendable (ServerEvent) -> Void)? = nil, hosts: [String] = ["*"],
    _ change: (inout Limits, inout LiveConfiguration) -> Void
  ) throws {
    var limits = Limits()
    var live = LiveConfiguration(hosts: hosts)
    change(&limits, &live)
    try test.server.reload(ServerConfiguration(loops: 7, limits: limits, observer: observer), live: live)
    // Each loop takes it over in its turn: a request on a new connection, of which each loop gets some, comes behind it.
    let others = try (0..<4).map { _ in try test.connect() }
    for client in others { #expect(client.isAlive()) }
  }

  @Test func `new connections get new limits, established ones keep theirs`() throws {
    let test = try TestServer()
    let old = try (0..<4).map { _ in try test.connect() }
    for client in old { #expect(client.isAlive()) }
    let socket = try LiveClient(test)
    try reload(test) { limits, live in
      limits.http.fields = 10
      live.limits.patternsPerSubscription = 1
    }
    for client in old { #expect(try client.request("GET", "/health/live", fields: Self.many).status == 200) }
    for _ in 0..<4 {
      #expect(try test.connect().request("GET", "/health/live", fields: Self.many).status == 431)
    }
    _ = try socket.subscribe(#""match":["a","b"]"#)
    let next = try LiveClient(test)
    #expect(
      try next.ask(#"{"id":1,"type":"subscribe","match":["a","b"]}"#).object("error")?.string("code")
        == "too_many_patterns")
    #expect(try test.connect().isAlive())
  }

  @Test func `hosts and origins change for requests on all connections`() throws {
    let test = try TestServer()
    let client = try test.connect()
    let page = [("Host", "signals.example"), ("Origin", "https://app.example")]
    #expect(try client.request("PUT", "/properties/a", fields: page, body: "1").status == 403)
    try reload(test) { _, live in live.origins = ["https://app.example"] }
    #expect(try client.request("PUT", "/properties/a", fields: page, body: "1").status == 201)
    try reload(test, hosts: ["other.example"]) { _, live in live.origins = ["https://app.example"] }
    #expect(try client.request("PUT", "/properties/a", fields: page, body: "1").status == 421)
  }

  @Test func `the number of connections counts those that were there before`() throws {
    let test = try TestServer(loops: 1)
    let old = try (0..<3).map { _ in try test.connect() }
    for client in old { #expect(client.isAlive()) }
    var limits = Limits()
    limits.connections = 2
    try test.server.reload(ServerConfiguration(limits: limits), live: LiveConfiguration(hosts: ["*"]))
    // The connection may have been accepted before.
    while try test.connect().request("GET", "/health/live").status != 503 {}
    for client in old { #expect(client.isAlive()) }
  }

  @Test func `an observer that comes later hears of the connections that follow`() throws {
    let test = try TestServer(loops: 1)
    let heard = Mutex<[ServerEvent.Kind]>([])
    let old = try test.connect()
    #expect(old.isAlive())
    try reload(test, observer: { event in heard.withLock { $0.append(event.kind) } }) { _, _ in }
    #expect(try old.request("GET", "/none").status == 404)
    #expect(try test.connect().request("GET", "/none").status == 404)
    let refused = heard.withLock { $0.filter { if case .refused = $0 { true } else { false } } }
    #expect(refused == [.refused(method: "GET", path: "/none", status: 404, code: "no_such_route")])
  }

  @Test func `before the start and after the shutdown it does nothing`() async throws {
    let server = Server(ServerConfiguration(port: 0, loops: 1), store: .forTests())
    try server.reload(ServerConfiguration(), live: LiveConfiguration())
    try server.start()
    server.shutdown()
    try server.reload(ServerConfiguration(), live: LiveConfiguration())
    try await server.run()
  }
}
