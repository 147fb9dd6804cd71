// SPDX-License-Identifier: MIT
import SignalHTTP
import SignalStore
import TestSupport
import Testing

@Suite("REST §2.7, hosts")
struct HostTests {
  private static let targets = ["/properties/a", "/properties", "/events?match=a&take=1", "/health/live", "/none"]

  private func status(_ server: TestServer, _ host: String, _ target: String = "/properties/a") throws -> Int {
    try server.connect().request("GET", target, fields: [("Host", host)]).status
  }

  private func server(_ hosts: String...) throws -> TestServer {
    let server = try TestServer(hosts: hosts)
    try server.store.set("a", "1")
    return server
  }

  @Test(arguments: [
    "localhost", "LOCALHOST:8080", "localhost.", "127.0.0.1", "127.0.0.1:1", "127.8.9.10", "[::1]", "[::1]:8080",
  ])
  func `the loopback interface's own names are served, with any port`(_ host: String) throws {
    #expect(try status(try server(), host) == 200)
  }

  @Test(arguments: [
    "evil.example", "evil.example:8080", "localhost.evil.example", "evil-localhost", "127.0.0.1.evil.example",
    "192.0.2.1", "0.0.0.0", "[::]", "[2001:db8::1]", "a", "127.0.0", "localhost..",
  ])
  func `any other is misdirected, on every route`(_ host: String) throws {
    let server = try server()
    for target in Self.targets {
      let response = try server.connect().request("GET", target, fields: [("Host", host)])
      #expect(response.status == 421 && response.code == "misdirected", "\(target)")
      #expect(response.text.contains("hosts"))
    }
  }

  /// Host and origin agree, as they do for a page of a name that has been rebound to this machine.
  @Test func `a rebound page neither reads, writes nor opens a WebSocket`() throws {
    let server = try server()
    let port = server.port
    let fields = [("Host", "evil.example:\(port)"), ("Origin", "http://evil.example:\(port)")]
    let client = try server.connect()
    for (method, target) in [
      ("GET", "/properties/a"), ("PUT", "/properties/a"), ("DELETE", "/properties/a"), ("POST", "/signals/a"),
      ("POST", "/transactions"), ("OPTIONS", "/properties/a"), ("GET", "/events?match=a"),
    ] {
      #expect(try client.request(method, target, fields: fields, body: "2").status == 421)
    }
    let handshake = [
      ("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Version", "13"),
      ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ]
    #expect(try client.request("GET", "/events", fields: fields + handshake).status == 421)
    #expect(server.store.contents == ["a": "1"])
    #expect(client.isAlive())
  }

  @Test func `listed names are served besides, in any case of letters`() throws {
    let server = try server("signals.example.com", "192.0.2.7", "2001:db8::7")
    for host in ["signals.example.com", "Signals.Example.COM:443", "192.0.2.7", "[2001:db8::7]:80", "localhost"] {
      #expect(try status(server, host) == 200, "\(host)")
    }
    for host in ["example.com", "a.signals.example.com", "192.0.2.8"] { #expect(try status(server, host) == 421) }
  }

  @Test func `a star serves any name`() throws { #expect(try status(try server("*"), "evil.example") == 200) }

  @Test func `the host of an absolute target counts, not that of the field`() throws {
    let server = try server()
    #expect(try status(server, "evil.example", "http://localhost/properties/a") == 200)
    #expect(try status(server, "localhost", "http://evil.example/properties/a") == 421)
  }

  @Test func `HTTP 1.0 without a host is served`() throws {
    let client = try server().connect(sending: "GET /properties/a HTTP/1.0\r\n\r\n")
    #expect(try client.receive().text == "1")
    let evil = try server().connect(sending: "GET /properties/a HTTP/1.0\r\nHost: evil.example\r\n\r\n")
    #expect(try evil.receive().status == 421)
  }

  /// As in a container, whose port is forwarded from an address that it does not know.
  @Test func `a server that listens everywhere serves every address, and no other name`() throws {
    let server = Server(
      ServerConfiguration(host: "0.0.0.0", port: 0, loops: 1), store: .forTests(), live: LiveConfiguration())
    try server.start()
    defer { server.shutdown() }
    let port = server.address?.port ?? 0
    func status(_ host: String) throws -> Int {
      try HTTPClient(.tcp(host: "127.0.0.1", port: port)).request("GET", "/health/live", fields: [("Host", host)])
        .status
    }
    for host in ["localhost:8080", "127.0.0.1", "10.1.2.3:8080", "192.0.2.1", "[2001:db8::1]:8080"] {
      #expect(try status(host) == 200, "\(host)")
    }
    for host in ["evil.example", "signals", "1.2.3.4.example", "1.2.3", "1.2.3.256"] {
      #expect(try status(host) == 421, "\(host)")
    }
  }

  @Test func `the name that was given to listen on is served`() throws {
    let server = Server(
      ServerConfiguration(host: "localhost", port: 0, loops: 1), store: .forTests(), live: LiveConfiguration())
    try server.start()
    defer { server.shutdown() }
    let address = try #require(server.address)
    let client = try HTTPClient(.tcp(host: address.host, port: address.port))
    #expect(try client.request("GET", "/health/live", fields: [("Host", "localhost")]).status == 200)
    #expect(try client.request("GET", "/health/live").status == 200)
  }
}
