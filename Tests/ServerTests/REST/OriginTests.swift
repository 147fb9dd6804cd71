// SPDX-License-Identifier: MIT
import Foundation
import SignalStore
import TestSupport
import Testing

@testable import SignalHTTP

@Suite("REST §2.7, origins")
struct OriginTests {
  private func server(_ origins: String...) throws -> TestServer {
    let server = try TestServer(live: LiveConfiguration(origins: origins))
    try server.store.set("a", "1")
    return server
  }

  /// The status of a write, and what a browser is told.
  private func put(_ server: TestServer, origin: String?, host: String = "server.example:8080") throws
    -> HTTPClientResponse
  {
    let fields = [("Host", host)] + (origin.map { [("Origin", $0)] } ?? [])
    return try server.connect().request("PUT", "/properties/a", fields: fields, body: "2")
  }

  @Test(arguments: [
    ("http://server.example:8080", "server.example:8080", 204),
    ("https://server.example:8080", "server.example:8080", 403), ("https://server.example", "server.example", 403),
    ("http://SERVER.example:8080", "server.EXAMPLE:8080", 204), ("http://server.example", "server.example", 204),
    ("http://server.example", "server.example:80", 204), ("https://server.example", "server.example:443", 403),
    ("http://server.example:8081", "server.example:8080", 403), ("http://server.example", "server.example:8080", 403),
    ("http://evil.example", "server.example:8080", 403), ("http://server.example.evil", "server.example", 403),
    ("null", "server.example", 403), ("http://[::1]:8080", "[::1]:8080", 204), ("http://127.0.0.1", "localhost", 403),
  ])
  func `a write is for pages of the server's own origin`(_ origin: String, _ host: String, _ status: Int) throws {
    let host = TestTransport.adapted(host)
    let response = try put(try server(), origin: TestTransport.adapted(origin), host: host)
    #expect(response.status == status)
    if status == 403 {
      #expect(response.code == "origin_refused")
      // What the server has seen, and what can be done about it: nobody else can know that a proxy has changed it.
      #expect(
        response.text.contains("\(TestTransport.scheme)://\(host)") && response.text.contains("pass \\\"Host\\\" on"))
    }
    #expect(response.values("Access-Control-Allow-Origin").isEmpty)
  }

  @Test func `a request without an origin does not come from a page`() throws {
    #expect(try put(try server(), origin: nil).status == 204)
  }

  @Test func `a read is answered to anyone, but a page of elsewhere cannot see it`() throws {
    let server = try server("https://listed.example")
    for target in ["/properties/a", "/properties", "/health/live"] {
      let response = try server.connect().request("GET", target, fields: [("Origin", "https://evil.example")])
      #expect(response.status == 200)
      #expect(response.values("Access-Control-Allow-Origin").isEmpty)
      // A cache must not give one origin's answer to another.
      #expect(response.values("Vary").contains("Origin"))
    }
  }

  @Test func `a listed origin writes and reads, and sees the fields it needs`() throws {
    let server = try server("https://listed.example", "http://other.example:99")
    for origin in ["https://listed.example", "http://other.example:99"] {
      let response = try put(server, origin: origin)
      #expect(response.status == 204)
      #expect(response.value("Access-Control-Allow-Origin") == origin)
      let exposed = try #require(response.value("Access-Control-Expose-Headers"))
      for field in ["ETag", "Location", "Retry-After", "Signal-Next", "Signal-Revision", "Signal-Watchers"] {
        #expect(exposed.contains(field))
      }
      #expect(response.values("Access-Control-Allow-Credentials").isEmpty)
    }
    #expect(try put(server, origin: "http://listed.example").status == 403)
    #expect(try put(server, origin: "https://listed.example:444").status == 403)
  }

  @Test func `refusals can be read by a listed origin, too`() throws {
    let server = try server("https://listed.example")
    let response = try server.connect().request(
      "GET", "/properties/none", fields: [("Origin", "https://listed.example")])
    #expect(response.status == 404)
    #expect(response.value("Access-Control-Allow-Origin") == "https://listed.example")
  }

  @Test func `a star lists every origin`() throws {
    let response = try put(try server("*"), origin: "https://any.example")
    #expect(response.status == 204)
    #expect(["*", "https://any.example"].contains(response.value("Access-Control-Allow-Origin")))
    #expect(try put(try server("*"), origin: "null").status == 204)
  }

  @Test func `a preflight of a listed origin is told what it may do`() throws {
    let client = try server("https://listed.example").connect()
    let response = try client.request(
      "OPTIONS", "/properties/a",
      fields: [
        ("Origin", "https://listed.example"), ("Access-Control-Request-Method", "PUT"),
        ("Access-Control-Request-Headers", "content-type,if-match"),
      ])
    #expect(response.status == 204)
    #expect(response.value("Access-Control-Allow-Origin") == "https://listed.example")
    #expect(response.value("Access-Control-Allow-Methods")?.contains("PUT") == true)
    let allowed = try #require(response.value("Access-Control-Allow-Headers")).lowercased()
    #expect(
      allowed.components(separatedBy: ", ").sorted() == [
        "accept", "authorization", "content-encoding", "content-range", "content-type", "if-match", "if-modified-since",
        "if-none-match",
        "if-unmodified-since", "last-event-id", "traceparent",
      ])
    #expect(response.value("Access-Control-Max-Age") != nil)
  }

  /// The texts of the sources that read requests and write responses.
  private static func sources() throws -> [String] {
    let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../Sources/SignalHTTP")
    var texts: [String] = []
    for part in ["API", "Connection", "HTTP"] {
      let files = try FileManager.default.contentsOfDirectory(
        at: folder.appending(path: part), includingPropertiesForKeys: nil)
      for file in files where file.pathExtension == "swift" && file.lastPathComponent != "KnownField.swift" {
        texts.append(try String(contentsOf: file, encoding: .utf8))
      }
    }
    return texts
  }

  /// `head[.field]`, `has(.field)`, and the calls that take a field's name.
  @Test func `a preflight allows every field that the sources read`() throws {
    var read: Set<String> = []
    for text in try Self.sources() {
      for match in text.matches(of: /(?:head\[|[a-zA-Z]\(|of: |in: |KnownField = .*[?:] )\.([a-zA-Z]+)/) {
        read.insert(String(match.1))
      }
      if text.contains("Accept.best(") { read.insert("accept") }
    }
    let fields = KnownField.allCases.filter { read.contains("\($0)") }
    // What a page cannot set (Fetch Standard, "forbidden request-header"), because the browser does.
    let ofTheBrowser: Set<KnownField> = [
      .acceptEncoding, .accessControlRequestHeaders, .accessControlRequestMethod, .connection, .contentLength, .cookie,
      .expect, .host, .keepAlive, .origin, .secFetchSite, .secWebSocketExtensions, .secWebSocketKey,
      .secWebSocketProtocol, .secWebSocketVersion, .te, .trailer, .transferEncoding, .upgrade,
    ]
    // What a proxy sets, and nothing else may.
    let ofTheProxy: Set<KnownField> = [.forwarded, .xForwardedFor, .xForwardedProto]
    #expect(Set(fields).subtracting(ofTheBrowser).subtracting(ofTheProxy) == Set(LiveAPI.readFields))
  }

  /// `field("…")` and `addCommonField("…")`.
  @Test func `a page may read every field that the sources write`() throws {
    var written: Set<String> = []
    for text in try Self.sources() {
      for match in text.matches(of: /[fF]ield\(\s*"([A-Za-z-]+)"/) { written.insert(String(match.1)) }
    }
    // What browsers show anyway (Fetch Standard, "CORS-safelisted response-header name"), and what is for them, for
    // caches and for proxies.
    let ofOthers: Set = [
      "Cache-Control", "Content-Encoding", "Content-Type", "Last-Modified", "Vary", "X-Accel-Buffering",
    ]
    let exposed = OriginPolicy.exposedFields.description.components(separatedBy: ", ")
    #expect(
      written.filter { !ofOthers.contains($0) && !$0.hasPrefix("Access-Control-") } == Set(exposed))
    #expect(exposed == exposed.sorted())
  }

  @Test func `a preflight of another origin is told nothing`() throws {
    let response = try server("https://listed.example").connect().request(
      "OPTIONS", "/properties/a",
      fields: [("Origin", "https://evil.example"), ("Access-Control-Request-Method", "PUT")])
    #expect(response.values("Access-Control-Allow-Origin").isEmpty)
    #expect(response.values("Access-Control-Allow-Methods").isEmpty)
  }

  @Test func `a WebSocket of another origin is refused before the upgrade`() throws {
    let server = try server("https://listed.example")
    func upgrade(_ origin: String?) throws -> Int {
      let handshake = [
        ("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Version", "13"),
        ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
      ]
      return try server.connect().request(
        "GET", "/events", fields: handshake + (origin.map { [("Origin", $0)] } ?? [])
      ).status
    }
    #expect(try upgrade(nil) == 101)
    #expect(try upgrade(TestTransport.adapted("http://127.0.0.1:\(server.port)")) == 101)
    #expect(try upgrade("https://listed.example") == 101)
    #expect(try upgrade("https://evil.example") == 403)
    #expect(try upgrade("null") == 403)
  }

  @Test func `server-sent events can be read by a listed origin only`() throws {
    let server = try server("https://listed.example")
    let listed = try EventStreamClient(server, query: "match=a", fields: [("Origin", "https://listed.example")])
    #expect(listed.response.value("Access-Control-Allow-Origin") == "https://listed.example")
    let other = try EventStreamClient(server, query: "match=a", fields: [("Origin", "https://evil.example")])
    #expect(other.response.values("Access-Control-Allow-Origin").isEmpty)
  }
}
