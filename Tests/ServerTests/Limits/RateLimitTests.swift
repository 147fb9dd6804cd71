// SPDX-License-Identifier: MIT
import SignalAccess
import SignalHTTP
import SignalStore
import TestSupport
import Testing

/// What one client may do in a time, with clients of this machine, which are limited for that.
@Suite("§8 What one client may do in a time") struct RateLimitTests {
  /// Limits of which nothing is earned anew while a test runs, but for what it changes.
  private static func limits(_ change: (inout RateLimits) -> Void) -> Limits {
    var limits = Limits()
    limits.rates.local = true
    limits.rates.identity = RateLimits.Allowance(
      requests: 0, burst: 1, bytes: 0, connections: 0, arrivals: 0, subscriptions: 0)
    limits.rates.address = limits.rates.identity
    limits.rates.failures = 0
    change(&limits.rates)
    return limits
  }

  /// Asks until it is refused, and gives that answer.
  private func refusal(atMost count: Int, _ ask: () throws -> HTTPClientResponse) throws -> HTTPClientResponse {
    for _ in 0..<count {
      let response = try ask()
      if response.status == 429 { return response }
    }
    return try ask()
  }

  @Test func `a request too many is 429, with how long to wait`() throws {
    let server = try TestServer(
      limits: Self.limits {
        $0.address.requests = 1
        $0.address.burst = 3
      })
    let client = try server.connect()
    let response = try refusal(atMost: 100) { try client.request("GET", "/properties/a") }
    #expect(response.status == 429 && response.code == "too_many_requests")
    #expect(response.value("Retry-After") == "1" && response.text.contains(#""temporary":true"#))
    #expect(response.value("RateLimit") == #""requests";r=0;t=1"#)
    #expect(response.value("RateLimit-Policy") == #""requests";q=3;w=3"#)
    // The connection goes on; another one, on whichever loop, has the same allowance.
    #expect(try refusal(atMost: 3) { try client.request("GET", "/properties/a") }.status == 429)
    #expect(try refusal(atMost: 3) { try server.connect().request("GET", "/properties") }.status == 429)
  }

  @Test func `whatever is refused counts, too, and what is refused for its number does nothing`() throws {
    let server = try TestServer(
      limits: Self.limits {
        $0.address.requests = 1
        $0.address.burst = 5
      })
    let client = try server.connect()
    for target in ["/nothing", "/properties?x=1", "/nothing", "/properties/a?x=1", "/nothing"] {
      _ = try client.request("GET", target)
    }
    let put = try refusal(atMost: 50) { try client.request("PUT", "/properties/a", body: "1") }
    #expect(put.status == 429)
    let revision = server.store.revision
    let again = try refusal(atMost: 0) { try client.request("PUT", "/properties/b", body: "1") }
    #expect(again.status == 429 ? server.store.revision == revision : server.store.contents["b"] == "1")
  }

  @Test func `an identity has its own allowance, on all of its connections`() throws {
    let server = try TokenServer(
      limits: Self.limits {
        $0.identity.requests = 1
        $0.identity.burst = 10
      })
    let (ann, bob) = (try server.make("ann"), try server.make("bob"))
    #expect(try refusal(atMost: 100) { try server.request("GET", "/properties/a", ann) }.status == 429)
    #expect(try server.request("GET", "/properties/a", bob).status == 200)
    #expect(try server.request("GET", "/properties/a").status == 200)
  }

  @Test func `the bytes of requests are counted`() throws {
    let server = try TestServer(limits: Self.limits { $0.address.bytes = 10_000 })
    let client = try server.connect()
    let body = "\"\(String(repeating: "x", count: 100_000))\""
    #expect(try client.request("PUT", "/properties/a", body: body).status == 201)
    let response = try client.request("GET", "/properties/a")
    #expect(response.status == 429 && response.value("RateLimit-Policy") == #""bytes";q=10000;qu="content-bytes";w=1"#)
    #expect((8...10).contains(Int(response.value("Retry-After") ?? "") ?? 0))
  }

  @Test func `those behind a trusted proxy are told apart, and its connections are not counted`() throws {
    var configuration = ServerConfiguration(
      host: "127.0.0.1", port: 0, loops: 2,
      limits: Self.limits {
        $0.address.requests = 1
        $0.address.burst = 3
        $0.address.connections = 1
      })
    configuration.trustedProxies = TrustedProxies([try AddressBlock("127.0.0.1")])
    let server = Server(configuration, store: .forTests(), live: LiveConfiguration(hosts: ["*"]))
    try server.start()
    defer { server.shutdown() }
    var connections: [HTTPClient] = []
    func ask(_ client: String) throws -> HTTPClientResponse {
      connections.append(try HTTPClient(server.endpoints[0], timeout: LiveClient.patience))
      return try connections[connections.count - 1].request(
        "GET", "/properties", fields: [("Forwarded", "for=\"\(client)\"")], timeout: LiveClient.patience)
    }
    #expect(try refusal(atMost: 100) { try ask("[2001:db8::1]") }.status == 429)
    #expect(try ask("[2001:db8::2]").status == 429)
    #expect(try ask("[2001:db8:0:1::2]").status == 200)
    #expect(try ask("192.0.2.1").status == 200)
  }

  @Test func `on this machine nobody is limited unless it is said`() throws {
    let server = try TestServer(
      limits: Self.limits {
        $0.local = false
        $0.address = RateLimits.Allowance(
          requests: 1, burst: 1, bytes: 1, connections: 1, arrivals: 1, subscriptions: 1)
      })
    let clients = try (0..<3).map { _ in try server.connect() }
    for _ in 0..<20 { for client in clients { #expect(try client.request("GET", "/properties").status == 200) } }
  }

  @Test func `connections too many are closed without an answer`() throws {
    let server = try TestServer(limits: Self.limits { $0.address.connections = 2 })
    var clients = try (0..<2).map { _ in try server.connect() }
    for client in clients { #expect(try client.request("GET", "/properties").status == 200) }
    func isServed() -> Bool {
      (try? server.connect().request("GET", "/properties").status) == 200
    }
    #expect(!isServed())
    clients.removeLast()
    // The loop may not have seen its end yet.
    while !isServed() {}
    #expect(try clients[0].request("GET", "/properties").status == 200)
  }

  @Test func `new connections are counted by the second`() throws {
    let server = try TestServer(limits: Self.limits { $0.address.arrivals = 1 })
    var refused = 0
    while refused == 0 {
      if (try? server.connect().request("GET", "/properties").status) != 200 { refused += 1 }
    }
    // Some are earned anew.
    while (try? server.connect().request("GET", "/properties").status) != 200 {}
  }

  @Test func `subscriptions are counted over all connections`() throws {
    let server = try TestServer(limits: Self.limits { $0.address.subscriptions = 2 })
    let (one, two) = (try LiveClient(server), try LiveClient(server))
    #expect(try one.subscribe(#""match":"a""#).last?.type == "live")
    #expect(try one.subscribe(#""match":"b""#, id: 2).last?.type == "live")
    let refusal = try two.ask(#"{"id":1,"type":"subscribe","match":"c"}"#)
    #expect(refusal.text.contains(#""status":429,"code":"too_many_requests""#))
    let stream = try EventStreamClient(server, query: "match=a")
    #expect(stream.response.status == 429 && stream.response.value("Retry-After") == nil)
    #expect(stream.response.value("RateLimit-Policy") == #""subscriptions";q=2;qu="concurrent-requests""#)
    #expect(try one.ask(#"{"id":3,"type":"unsubscribe","subscription":1}"#).type == "ok")
    #expect(try two.subscribe(#""match":"c""#, id: 4).last?.type == "live")
  }

  @Test func `an identity has so many WebSockets and streams`() throws {
    let server = try TokenServer(limits: Self.limits { $0.identity.connections = 2 })
    let (ann, bob) = (try server.make("ann"), try server.make("bob"))
    let stream = try EventStreamClient(server.server, query: "match=a", fields: TokenServer.fields(ann))
    #expect(stream.response.status == 200)
    let socket = try LiveClient(server.server)
    #expect(try socket.ask(#"{"id":1,"type":"auth","token":"\#(ann)"}"#).type == "ok")
    // Renewing is no further one.
    #expect(try socket.ask(#"{"id":2,"type":"auth","token":"\#(ann)"}"#).type == "ok")
    let third = try EventStreamClient(server.server, query: "match=a", fields: TokenServer.fields(ann))
    #expect(third.response.status == 429)
    let other = try LiveClient(server.server)
    #expect(try other.ask(#"{"id":1,"type":"auth","token":"\#(ann)"}"#).text.contains("too_many_requests"))
    #expect(try other.ask(#"{"id":2,"type":"auth","token":"\#(bob)"}"#).type == "ok")
    // Requests are no connections of an identity.
    #expect(try server.request("GET", "/properties/a", ann).status == 200)
  }

  @Test func `after too many tokens that are not accepted none is looked at`() throws {
    let server = try TokenServer(limits: Self.limits { $0.failures = 3 })
    let good = try server.make("ann")
    #expect(try server.request("GET", "/auth/me", good).status == 200)
    for _ in 0..<2 { #expect(try server.request("GET", "/auth/me", "x").status == 401) }
    #expect(try server.request("GET", "/events?match=a&ticket=x").status == 401)
    let refusal = try server.request("GET", "/auth/me", good)
    #expect(refusal.status == 429 && refusal.value("RateLimit-Policy") == #""failures";q=3;w=60"#)
    #expect(try server.request("GET", "/events?match=a&ticket=x").status == 429)
    let socket = try LiveClient(server.server)
    #expect(try socket.ask(#"{"id":1,"type":"auth","token":"\#(good)"}"#).text.contains("too_many_requests"))
    // Whoever gives nothing is served.
    #expect(try server.request("GET", "/auth/me").status == 200)
  }

  @Test func `a WebSocket is read when there is room, and nothing is lost`() throws {
    let server = try TestServer(
      limits: Self.limits {
        $0.address.requests = 100
        $0.address.burst = 5
      })
    let client = try LiveClient(server)
    let clock = ContinuousClock()
    let begin = clock.now
    for id in 1...50 { try client.send(#"{"id":\#(id),"type":"set","path":"a","value":\#(id)}"#) }
    for id in 1...50 { #expect(try client.next().int("id") == id) }
    // 45 of them had to be earned.
    #expect(clock.now - begin > .milliseconds(400))
    #expect(try server.store.text("a") == "50")
  }

  @Test func `after too long without room a WebSocket is closed with 4029`() throws {
    let server = try TestServer(
      limits: Self.limits {
        $0.address.bytes = 1000
        $0.pauseTimeout = .milliseconds(50)
      })
    let client = try LiveClient(server)
    try client.send(#"{"id":1,"type":"set","path":"a","value":"\#(String(repeating: "x", count: 100_000))"}"#)
    #expect(try client.next().type == "ok")
    try client.send(#"{"id":2,"type":"set","path":"a","value":1}"#)
    let frame = try client.awaitClose()
    #expect(frame.code == .tooMuch && frame.reason.contains(/^too much, connect again in [0-9]+ s$/))
    #expect(client.socket.awaitEnd())
    #expect(try server.store.text("a")?.count == 100_002)
  }

  @Test func `a flood of messages is closed with 4029, though there is room for one again and again`() throws {
    let server = try TestServer(
      limits: Self.limits {
        $0.address.requests = 100
        $0.address.burst = 1
        $0.pauseTimeout = .milliseconds(300)
      })
    let client = try LiveClient(server)
    for id in 1...400 { try client.send(#"{"id":\#(id),"type":"get","path":"a"}"#) }
    let frame = try client.awaitClose()
    #expect(frame.code == .tooMuch && frame.reason.contains(/^too much, connect again in [1-9][0-9]* s$/))
    #expect(try server.connect().request("GET", "/health/live").status == 200)
  }

  @Test func `who waits for replies, or catches up in time, is slowed down and not closed`() throws {
    let server = try TestServer(
      limits: Self.limits {
        $0.address.requests = 20
        $0.address.burst = 1
        $0.pauseTimeout = .milliseconds(600)
      })
    let client = try LiveClient(server)
    let clock = ContinuousClock()
    let begin = clock.now
    for id in 1...20 { #expect(try client.ask(#"{"id":\#(id),"type":"get","path":"a"}"#).int("id") == id) }
    #expect(clock.now - begin > .milliseconds(800))
    for first in [100, 200, 300, 400, 500] {
      for id in first..<first + 5 { try client.send(#"{"id":\#(id),"type":"get","path":"a"}"#) }
      for id in first..<first + 5 { #expect(try client.next().int("id") == id) }
    }
  }

  @Test func `one that is not read can end, and so can the server`() throws {
    let server = try TestServer(limits: Self.limits { $0.address.bytes = 1000 })
    let clients = try (0..<2).map { _ in try LiveClient(server) }
    for client in clients {
      try client.send(#"{"id":1,"type":"set","path":"a","value":"\#(String(repeating: "x", count: 50_000))"}"#)
      #expect(try client.next().type == "ok")
    }
    server.server.shutdown()
    for client in clients { #expect(try client.awaitClose().code == .goingAway) }
  }
}
