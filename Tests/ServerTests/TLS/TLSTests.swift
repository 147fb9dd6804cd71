// SPDX-License-Identifier: MIT
import Foundation
import SignalStore
import Synchronization
import TestSupport
import Testing

@testable import SignalHTTP

/// A server of TLS, and what clients of it need.
private struct SecuredServer {
  let server: Server
  let store = PropertyStore.forTests()
  var port: UInt16 { server.address?.port ?? 0 }
  var endpoint: Endpoint { .tls(host: "127.0.0.1", port: port) }

  init(
    _ tls: TLSConfiguration, limits: Limits = Limits(), loops: Int = 2, others: [ListenerConfiguration] = [],
    live: LiveConfiguration = LiveConfiguration(), observer: (@Sendable (ServerEvent) -> Void)? = nil
  ) throws {
    let listener = ListenerConfiguration(.tls(host: "127.0.0.1", port: 0), tls: tls)
    server = Server(
      ServerConfiguration(listeners: [listener] + others, loops: loops, limits: limits, observer: observer),
      store: store, live: live)
    try server.start()
  }

  func get(_ target: String, trusting context: TLSContext, host: String = "127.0.0.1", fields: [(String, String)] = [])
    throws -> HTTPClientResponse
  {
    try HTTPClient(.tls(host: host, port: port), tls: context, timeout: LiveClient.patience)
      .request("GET", target, fields: fields, timeout: LiveClient.patience)
  }
}

private func configuration(_ certificates: TestCertificate...) -> TLSConfiguration {
  TLSConfiguration(certificates: certificates.map(\.file))
}

@Suite("TLS")
struct TLSTests {
  private let certificate = TestTransport.certificate

  @Test func `requests, streams and WebSockets go over it`() throws {
    let secured = try SecuredServer(configuration(certificate))
    defer { secured.server.shutdown() }
    #expect(secured.server.endpoints == [secured.endpoint])
    try secured.store.set("a", #""é""#)
    let response = try secured.get("/properties/a", trusting: certificate.trust)
    #expect(response.status == 200 && response.text == #""é""#)
    // RFC 6797 §6.1.
    #expect(response.value("Strict-Transport-Security") == "max-age=31536000")
    let socket = try WebSocketClient(
      secured.endpoint, target: "/events?match=**", tls: certificate.trust, timeout: LiveClient.patience)
    var events: [String] = []
    while events.count < 5, case .text(let text)? = try socket.receive(timeout: LiveClient.patience) {
      events.append(String(decoding: text, as: UTF8.self))
      if events.count == 4 { try secured.store.set("b", "1") }
    }
    #expect(events.count == 5 && events[4].contains(#""path":"b""#), "\(events)")
  }

  @Test(arguments: [0, 1, 100, 16_383, 16_384, 16_385, 100_000, 3_000_000])
  func `whatever size goes either way comes out as it went in`(size: Int) throws {
    var limits = Limits()
    limits.http.bodyBytes = 8 << 20
    let server = Server(
      ServerConfiguration(
        listeners: [
          ListenerConfiguration(.tls(host: "127.0.0.1", port: 0), tls: configuration(certificate))
        ], loops: 1, limits: limits)
    ) { request, _ in .response(HTTPResponse(.ok, body: request.body.reversed())) }
    try server.start()
    defer { server.shutdown() }
    let body = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 7) }
    let client = try HTTPClient(
      .tls(host: "127.0.0.1", port: server.address?.port ?? 0), tls: certificate.trust, timeout: LiveClient.patience)
    for _ in 0..<3 {
      let response = try client.request("POST", "/", body: body, timeout: LiveClient.patience)
      #expect(response.body == body.reversed())
    }
  }

  @Test func `a client that reads slowly gets all of it`() throws {
    let secured = try SecuredServer(configuration(certificate))
    defer { secured.server.shutdown() }
    let value = "\"\(String(repeating: "x", count: 900_000))\""
    for index in 0..<8 { try secured.store.set("v/\(index)", value) }
    let socket = try BlockingSocket(
      secured.endpoint, tls: certificate.trust, timeout: LiveClient.patience, receiveBuffer: 4096)
    let client = HTTPClient(socket, authority: secured.endpoint.authority)
    for index in 0..<8 { try client.send(Array("GET /properties/v/\(index) HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)) }
    for _ in 0..<8 {
      usleep(20_000)
      #expect(try client.receive(timeout: LiveClient.patience).body.count == value.utf8.count)
    }
  }

  @Test func `the certificate depends on the name that the client asks for`() throws {
    let (first, second) = (TestCertificate(["first.example"]), TestCertificate(["*.second.example"]))
    let secured = try SecuredServer(configuration(first, second))
    defer { secured.server.shutdown() }
    func handshake(_ name: String, _ trust: TLSContext) throws {
      let transport = try BlockingSocket.open(secured.endpoint, trust, Deadline(after: LiveClient.patience), as: name)
      let isEstablished = transport.isEstablished
      #expect(isEstablished)
    }
    try handshake("first.example", first.trust)
    try handshake("a.second.example", second.trust)
    // Others get the first, which is not theirs.
    #expect(throws: ClientError.self) { try handshake("a.b.second.example", second.trust) }
    #expect(throws: ClientError.self) { try handshake("third.example", first.trust) }
  }

  @Test func `the names of certificates are served hosts`() throws {
    let certificate = TestCertificate(["127.0.0.1", "live.example", "*.wild.example"])
    let secured = try SecuredServer(configuration(certificate))
    defer { secured.server.shutdown() }
    let client = try HTTPClient(secured.endpoint, tls: certificate.trust)
    for (host, status) in [
      ("live.example", 200), ("LIVE.example:1", 200), ("a.wild.example", 200), ("wild.example", 421),
      ("a.b.wild.example", 421), ("evil.example", 421),
    ] {
      let response = try client.request("GET", "/health/live", fields: [("Host", host)], timeout: LiveClient.patience)
      #expect(response.status == status, "\(host)")
    }
  }

  @Test func `an origin is the server's own with https only`() throws {
    let secured = try SecuredServer(configuration(certificate))
    defer { secured.server.shutdown() }
    for (origin, status) in [
      ("https://localhost", 201), ("https://localhost:443", 204), ("http://localhost", 403),
      ("http://localhost:80", 403),
    ] {
      let client = try HTTPClient(secured.endpoint, tls: certificate.trust)
      let response = try client.request(
        "PUT", "/properties/a",
        fields: [("Host", "localhost"), ("Origin", origin), ("Content-Type", "application/json")],
        body: [0x31], timeout: LiveClient.patience)
      #expect(response.status == status, "\(origin)")
    }
    // RFC 9112 §3.2.2.
    #expect(try secured.get("https://localhost/health/live", trusting: certificate.trust).status == 200)
  }

  @Test func `a plain request is told so, and what is no TLS is dropped; the next is served`() throws {
    let secured = try SecuredServer(configuration(certificate))
    defer { secured.server.shutdown() }
    let plain = Endpoint.tcp(host: "127.0.0.1", port: secured.port)
    let response = try HTTPClient(plain).request("GET", "/", timeout: LiveClient.patience)
    #expect(response.status == 400 && response.text == "This port speaks TLS: use https: here\n")
    for bytes in [[0x16, 3, 1, 0, 5, 1, 0, 0, 1, 0], [0xFF] + [UInt8](repeating: 7, count: 100_000)] as [[UInt8]] {
      let socket = try BlockingSocket(plain, timeout: LiveClient.patience)
      try? socket.send(bytes, by: Deadline(after: LiveClient.patience))
      #expect(socket.awaitEnd(by: Deadline(after: LiveClient.patience)))
    }
    #expect(try secured.get("/health/live", trusting: certificate.trust).status == 200)
  }

  @Test func `why there is no TLS with somebody is reported`() throws {
    let reasons = Mutex<[String]>([])
    var tls = configuration(certificate)
    tls.clientCertificates = .required
    tls.clientAuthorities = TestCertificate().file.chain
    let secured = try SecuredServer(tls) { event in
      if case .handshakeFailed(let reason) = event.kind { reasons.withLock { $0.append(reason) } }
    }
    defer { secured.server.shutdown() }
    _ = try HTTPClient(.tcp(host: "127.0.0.1", port: secured.port)).request("GET", "/", timeout: LiveClient.patience)
    #expect(throws: ClientError.self) { try secured.get("/", trusting: certificate.trust) }
    let expected = ["a request without TLS", "peer did not return a certificate"]
    while reasons.withLock({ $0.count }) < expected.count { usleep(1000) }
    #expect(reasons.withLock { $0 } == expected)
  }

  @Test func `a server without TLS is no server with it, and is sent nothing more`() throws {
    let server = Server(ServerConfiguration(port: 0, loops: 1)) { _, _ in .response(HTTPResponse(.ok)) }
    try server.start()
    defer { server.shutdown() }
    let port = server.address?.port ?? 0
    let error = #expect(throws: ClientError.self) {
      try HTTPClient(.tls(host: "127.0.0.1", port: port), tls: certificate.trust, timeout: LiveClient.patience)
    }
    #expect(error == .untrusted(reason: "wrong version number"))
  }

  @Test func `a handshake that does not end in time is dropped`() throws {
    var limits = Limits()
    limits.headTimeout = .milliseconds(100)
    limits.keepAliveTimeout = .milliseconds(100)
    let secured = try SecuredServer(configuration(certificate), limits: limits)
    defer { secured.server.shutdown() }
    let socket = try BlockingSocket(.tcp(host: "127.0.0.1", port: secured.port), timeout: LiveClient.patience)
    try socket.send([0x16, 3, 1, 2, 0, 1], by: Deadline(after: LiveClient.patience))
    #expect(socket.awaitEnd(by: Deadline(after: LiveClient.patience)))
  }

  @Test func `clients without a good certificate are refused where one is required`() throws {
    let authority = try #require(MadeCertificate(subject: "devices", for: .authority, days: 1))
    let device = try #require(MadeCertificate(subject: "sensor-1", for: .client([]), days: 1, signedBy: authority))
    let stranger = try #require(MadeCertificate(subject: "sensor-1", for: .client([]), days: 1))
    var tls = configuration(certificate)
    tls.clientAuthorities = TestCertificate.write(authority.pem)
    func status(_ certificate: MadeCertificate?, _ clients: TLSConfiguration.ClientCertificates) throws -> Int {
      tls.clientCertificates = clients
      let secured = try SecuredServer(tls)
      defer { secured.server.shutdown() }
      let file = certificate.map { TLSConfiguration.Certificate(chain: TestCertificate.write($0.pem)) }
      let context = try TLSContext(trusting: self.certificate.file.chain, certificate: file)
      return try secured.get("/health/live", trusting: context).status
    }
    #expect(try status(device, .required) == 200)
    #expect(try status(device, .optional) == 200)
    #expect(try status(nil, .optional) == 200)
    #expect(throws: ClientError.self) { try status(nil, .required) }
    #expect(throws: ClientError.self) { try status(stranger, .required) }
    #expect(throws: ClientError.self) { try status(stranger, .optional) }
  }

  @Test func `certificates are taken over by those who come, and bad ones change nothing`() throws {
    let (old, new) = (TestCertificate(), TestCertificate(isRSA: true))
    let path = TestCertificate.write(try Array(Data(contentsOf: URL(filePath: old.file.chain))))
    let secured = try SecuredServer(TLSConfiguration(certificates: [.init(chain: path)]))
    defer { secured.server.shutdown() }
    let before = try HTTPClient(secured.endpoint, tls: old.trust)
    #expect(try before.request("GET", "/health/live").status == 200)
    try Data([0x31]).write(to: URL(filePath: path))
    #expect(throws: TLSError.self) {
      try secured.server.reload(secured.server.configuration, live: LiveConfiguration())
    }
    #expect(try secured.get("/health/live", trusting: old.trust).status == 200)
    try Data(contentsOf: URL(filePath: new.file.chain)).write(to: URL(filePath: path))
    try secured.server.reload(secured.server.configuration, live: LiveConfiguration())
    // The loops take it over one after the other, in turns of their own.
    while (try? secured.get("/health/live", trusting: new.trust).status) != 200 { usleep(1000) }
    #expect(try before.request("GET", "/health/live").status == 200)
  }

  @Test func `a server does not start with what it cannot use, and says why`() throws {
    func reason(_ tls: TLSConfiguration) -> String? {
      let error = #expect(throws: ServerError.self) { _ = try SecuredServer(tls) }
      guard case .tls(let reason) = error else { return nil }
      return reason.description
    }
    let missing = "/nowhere/a.pem"
    #expect(
      reason(TLSConfiguration(certificates: [.init(chain: missing)]))
        == "/nowhere/a.pem cannot be read: No such file or directory")
    let open = TestCertificate.write(try Array(Data(contentsOf: URL(filePath: certificate.file.chain))))
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: open)
    #expect(
      reason(TLSConfiguration(certificates: [.init(chain: open)]))
        == "\(open) holds a key that everybody can read or write: chmod o= \(open)")
    let empty = TestCertificate.write([])
    #expect(reason(TLSConfiguration(certificates: [.init(chain: empty)])) == "\(empty) cannot be used: no start line")
    let other = TestCertificate().file.chain
    #expect(
      reason(TLSConfiguration(certificates: [.init(chain: certificate.file.chain, key: other)]))
        == "\(certificate.file.chain) with \(other) cannot be used: key values mismatch")
    #expect(reason(TLSConfiguration(certificates: [])) == "TLS needs a certificate")
    var clients = configuration(certificate)
    clients.clientCertificates = .required
    #expect(reason(clients) == "certificates of clients need a file of authorities")
    clients.clientAuthorities = empty
    #expect(reason(clients)?.hasPrefix("\(empty) cannot be used: ") == true)
  }

  @Test func `a listener without TLS can send on to one with it`() throws {
    let plain = ListenerConfiguration(.tcp(host: "127.0.0.1", port: 0), redirect: "https://live.example:8443")
    let secured = try SecuredServer(configuration(certificate), others: [plain])
    defer { secured.server.shutdown() }
    let client = try HTTPClient(secured.server.endpoints[1])
    for method in ["GET", "HEAD"] {
      let response = try client.request(method, "/properties/a%20b?c=%22d", timeout: LiveClient.patience)
      #expect(
        response.status == 308 && response.value("Location") == "https://live.example:8443/properties/a%20b?c=%22d")
    }
    let refused = try client.request("PUT", "/properties/a", body: [0x31], timeout: LiveClient.patience)
    #expect(refused.status == 403 && refused.text.contains(#""code":"tls_required""#))
    #expect(secured.store.count == 0)
    #expect(throws: ClientError.self) { try WebSocketClient(secured.server.endpoints[1], target: "/events") }
  }
}
