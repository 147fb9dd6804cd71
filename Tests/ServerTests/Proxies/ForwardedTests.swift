// SPDX-License-Identifier: MIT
import Foundation
import SignalHTTP
import SignalStore
import Synchronization
import TestSupport
import Testing

@Suite("Requests that a proxy forwards")
struct ForwardedTests {
  @Test func `the client is whom a trusted proxy names, request by request`() throws {
    let server = try PeerServer(trusting: .forTests)
    let client = try HTTPClient(server.server.endpoints[0], timeout: LiveClient.patience)
    for (fields, text) in [
      ([("Forwarded", "for=192.0.2.1;proto=https")], "192.0.2.1 secured forwarded"),
      ([("X-Forwarded-For", "9.9.9.9, 192.0.2.2, 10.0.0.1")], "192.0.2.2 forwarded"),
      ([("X-Forwarded-For", "2001:db8::1")], "2001:db8::1 forwarded"), ([], "127.0.0.1"),
      ([("Forwarded", "for=unknown")], "unknown forwarded"),
      ([("X-Forwarded-Proto", "https")], "127.0.0.1 secured forwarded"),
    ] as [([(String, String)], String)] {
      #expect(try client.request("GET", "/", fields: fields, timeout: LiveClient.patience).text == text)
    }
    // A body that comes after its head changes nothing.
    let head = "POST / HTTP/1.1\r\nHost: x\r\nForwarded: for=192.0.2.3\r\nContent-Length: 2\r\n\r\n"
    try client.send(Array(head.utf8), timeout: LiveClient.patience)
    try client.send([0x31, 0x32], timeout: LiveClient.patience)
    #expect(try client.receive(timeout: LiveClient.patience).text == "192.0.2.3 forwarded")
  }

  @Test func `from anyone else these fields mean nothing, however they are`() throws {
    for trusted in [TrustedProxies(), TrustedProxies([try AddressBlock("10.0.0.0/8")], includesUnixSockets: true)] {
      let server = try PeerServer(trusting: trusted)
      for value in ["for=192.0.2.1;proto=https", "junk", "for=\""] {
        let response = try server.ask([
          ("Forwarded", value), ("X-Forwarded-For", "192.0.2.9"), ("X-Forwarded-Proto", "https"),
        ])
        #expect(response.status == 200 && response.text == "127.0.0.1")
        #expect(response.value("Strict-Transport-Security") == nil)
      }
    }
  }

  @Test(
    arguments: [
      ([("Forwarded", "for=192.0.2.256")], "malformed", "RFC 7239 §4"),
      ([("Forwarded", "for=10.0.0.1"), ("X-Forwarded-For", "192.0.2.1")], "different clients", "RFC 7239 §7.4"),
    ] as [([(String, String)], String, String)])
  func `what a trusted proxy says and cannot be read, or contradicts, is refused, and the next is served`(
    fields: [(String, String)], word: String, section: String
  ) throws {
    let server = try PeerServer(trusting: .forTests)
    let client = try HTTPClient(server.server.endpoints[0], timeout: LiveClient.patience)
    let response = try client.request("GET", "/", fields: fields, timeout: LiveClient.patience)
    #expect(
      response.status == 400 && response.text.contains(#""code":"bad_request""#) && response.text.contains(section))
    #expect(client.awaitEnd(timeout: LiveClient.patience))
    #expect(try server.ask([("Forwarded", "for=192.0.2.1")]).text == "192.0.2.1 forwarded")
  }

  @Test func `a log names the client`() throws {
    let server = try PeerServer(trusting: .forTests)
    #expect(try server.ask([("Forwarded", #"for="192.0.2.1:4711""#)], path: "/refused").status == 404)
    #expect(try server.ask([("Forwarded", #"for="[2001:db8::1]""#)], path: "/refused").status == 404)
    #expect(
      server.clients { if case .refused = $0 { true } else { false } } == ["192.0.2.1:4711", "[2001:db8::1]"])
  }

  @Test func `browsers are told to stay with TLS where they came by it`() throws {
    let server = try PeerServer(trusting: .forTests)
    let secured = [("X-Forwarded-For", "192.0.2.1"), ("X-Forwarded-Proto", "https")]
    #expect(try server.ask(secured).value("Strict-Transport-Security") == "max-age=7")
    #expect(try server.ask([("X-Forwarded-Proto", "http")]).value("Strict-Transport-Security") == nil)
    #expect(try server.ask().value("Strict-Transport-Security") == nil)
    let silent = try PeerServer(trusting: .forTests, hsts: nil)
    #expect(try silent.ask(secured).value("Strict-Transport-Security") == nil)
  }

  @Test func `the server's own origin is the one that the browser sees`() throws {
    var configuration = ServerConfiguration(port: 0, loops: 1)
    configuration.trustedProxies = try .forTests
    let server = Server(configuration, store: .forTests(), live: LiveConfiguration(hosts: ["live.example"]))
    try server.start()
    defer { server.shutdown() }
    func status(_ origin: String, _ proto: String?) throws -> Int {
      let fields = [("Host", "live.example"), ("Origin", origin)] + (proto.map { [("X-Forwarded-Proto", $0)] } ?? [])
      return try HTTPClient(server.endpoints[0])
        .request("PUT", "/properties/a", fields: fields, body: [0x31], timeout: LiveClient.patience).status
    }
    #expect(try status("https://live.example", "https") == 201)
    #expect(try status("https://live.example", "http") == 403)
    #expect(try status("https://live.example", nil) == 403)
    #expect(try status("http://live.example", "https") == 403)
    #expect(try status("http://live.example", nil) == 204)
    #expect(try status("https://evil.example", "https") == 403)
  }

  @Test func `who has come to the proxy by TLS is not redirected`() throws {
    var configuration = ServerConfiguration(listeners: [
      ListenerConfiguration(.tcp(host: "127.0.0.1", port: 0), redirect: "https://live.example")
    ])
    configuration.trustedProxies = try .forTests
    let server = Server(configuration, store: .forTests())
    try server.start()
    defer { server.shutdown() }
    let client = try HTTPClient(server.endpoints[0])
    func status(_ method: String, _ fields: [(String, String)], body: [UInt8] = []) throws -> Int {
      try client.request(method, "/properties/a", fields: fields, body: body, timeout: LiveClient.patience).status
    }
    #expect(try status("PUT", [("X-Forwarded-Proto", "https")], body: [0x31]) == 201)
    #expect(try status("PUT", [("X-Forwarded-Proto", "https"), ("Expect", "100-continue")], body: [0x31]) == 204)
    #expect(try status("GET", [("X-Forwarded-Proto", "https")]) == 200)
    #expect(try status("GET", [("X-Forwarded-Proto", "http")]) == 308)
    #expect(try status("GET", []) == 308)
    #expect(try status("PUT", [], body: [0x32]) == 403)
  }

  @Test func `a WebSocket and a stream are of the client that was named, and what follows a stream is not`() throws {
    let events = Mutex<[ServerEvent]>([])
    var configuration = ServerConfiguration(port: 0, loops: 1)
    configuration.trustedProxies = try .forTests
    configuration.observer = { event in events.withLock { $0.append(event) } }
    let server = Server(configuration, store: .forTests())
    try server.start()
    defer { server.shutdown() }
    func refused() -> [String] {
      events.withLock { events in
        events.compactMap { event in
          switch event.kind {
          case .refused, .refusedCommand: event.peer?.description.prefix { $0 != ":" }.description
          default: nil
          }
        }
      }
    }
    let socket = try WebSocketClient(
      server.endpoints[0], target: "/events", fields: [("Forwarded", "for=192.0.2.1")], timeout: LiveClient.patience)
    _ = try socket.receive(timeout: LiveClient.patience)
    try socket.send(#"{"id":1,"type":"unsubscribe","subscription":9}"#, timeout: LiveClient.patience)
    _ = try socket.receive(timeout: LiveClient.patience)
    #expect(refused() == ["192.0.2.1"])

    let client = try HTTPClient(server.endpoints[0], timeout: LiveClient.patience)
    let stream = "GET /events?match=a&take=1 HTTP/1.1\r\nHost: localhost\r\nForwarded: for=192.0.2.2\r\n\r\n"
    try client.send(
      Array((stream + "GET /none HTTP/1.1\r\nHost: localhost\r\n\r\n").utf8), timeout: LiveClient.patience)
    #expect(
      try HTTPClient(server.endpoints[0]).request("PUT", "/properties/a", body: [0x31], timeout: LiveClient.patience)
        .status == 201)
    #expect(try client.receive(timeout: LiveClient.patience).status == 200)
    #expect(try client.receive(timeout: LiveClient.patience).status == 404)
    #expect(refused() == ["192.0.2.1", "127.0.0.1"])
  }

  @Test func `a token that is refused is the client's that was named`() throws {
    let events = Mutex<[ServerEvent]>([])
    var configuration = ServerConfiguration(port: 0, loops: 1)
    configuration.trustedProxies = try .forTests
    configuration.observer = { event in events.withLock { $0.append(event) } }
    let tokens = try TokenServer()
    let server = Server(
      configuration, store: .forTests(), live: LiveConfiguration(), series: nil, authenticator: tokens.authenticator)
    try server.start()
    defer { server.shutdown() }
    let fields = TokenServer.fields("x") + [("X-Forwarded-For", "192.0.2.1")]
    let client = try HTTPClient(server.endpoints[0], timeout: LiveClient.patience)
    #expect(try client.request("GET", "/auth/me", fields: fields, timeout: LiveClient.patience).status == 401)
    let told = events.withLock { $0.filter { if case .tokenRefused = $0.kind { true } else { false } } }
    #expect(told.map { $0.peer?.description } == ["192.0.2.1"])
  }

  @Test func `other proxies are trusted after a reload, for the connections that follow`() throws {
    let server = try PeerServer()
    let fields = [("Forwarded", "for=192.0.2.1")]
    #expect(try server.ask(fields).text == "127.0.0.1")
    var configuration = server.server.configuration
    configuration.trustedProxies = try .forTests
    try server.server.reload(configuration, live: LiveConfiguration())
    while try server.ask(fields).text != "192.0.2.1 forwarded" { Thread.sleep(forTimeInterval: 0.002) }
  }
}
