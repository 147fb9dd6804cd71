// SPDX-License-Identifier: MIT
import Foundation
import JSON
import SignalAccess
import SignalStore
import TestSupport
import Testing

@testable import SignalHTTP

/// A server that asks for certificates, with rules about them, and an authority that signs them.
private struct DeviceServer {
  let server: Server
  let store = PropertyStore.forTests()
  let authenticator = Authenticator()
  private let authority: MadeCertificate
  var endpoint: Endpoint { .tls(host: "127.0.0.1", port: server.address?.port ?? 0) }

  init(
    _ clients: TLSConfiguration.ClientCertificates = .optional, origins: [String] = [],
    _ change: (inout AuthenticationSettings) -> Void = { _ in }
  ) throws {
    authority = try #require(MadeCertificate(subject: "devices", for: .authority, days: 1))
    var tls = TLSConfiguration(certificates: [TestTransport.certificate.file])
    tls.clientCertificates = clients
    tls.clientAuthorities = TestCertificate.write(authority.pem)
    var live = LiveConfiguration(origins: origins)
    live.hosts = ["*"]
    live.policy = try AccessPolicy(
      AccessRules(
        rules: [
          AccessRule(
            match: "devices/{id}/**",
            conditions: ["read": "auth.id == id", "write": "auth.id == id && auth.kind == 'certificate'"]),
          AccessRule(match: "flows/**", conditions: ["read": "'spiffe://example.org/flow' in auth.names"]),
          AccessRule(match: "public/**", conditions: ["read": "true"]),
        ]))
    var settings = AuthenticationSettings()
    change(&settings)
    try authenticator.apply(settings)
    server = Server(
      ServerConfiguration(
        listeners: [ListenerConfiguration(.tls(host: "127.0.0.1", port: 0), tls: tls)], loops: 2),
      store: store, live: live, series: nil, authenticator: authenticator)
    try server.start()
  }

  /// What a client needs that shows a certificate.
  func context(_ name: String?, names: [String] = [], days: Int = 1, seconds: Int = 0) throws -> TLSContext {
    let file = try name.map { name in
      let made = try #require(
        MadeCertificate(subject: name, for: .client(names), days: days, seconds: seconds, signedBy: authority))
      return TLSConfiguration.Certificate(chain: TestCertificate.write(made.pem))
    }
    return try TLSContext(trusting: TestTransport.certificate.file.chain, certificate: file)
  }

  func connect(_ context: TLSContext) throws -> HTTPClient {
    try HTTPClient(endpoint, tls: context, timeout: LiveClient.patience)
  }

  func request(
    _ context: TLSContext, _ method: String, _ target: String, fields: [(String, String)] = [], body: String? = nil
  ) throws -> HTTPClientResponse {
    try connect(context).request(
      method, target, fields: fields, body: body.map { Array($0.utf8) }, timeout: LiveClient.patience)
  }

  func socket(_ context: TLSContext, _ query: String = "", fields: [(String, String)] = []) throws -> WebSocketClient {
    try WebSocketClient(
      endpoint, target: "/events\(query)", tls: context, fields: fields, timeout: LiveClient.patience)
  }
}

private func next(_ socket: WebSocketClient) throws -> LiveMessage {
  switch try socket.receive(timeout: LiveClient.patience) {
  case .text(let bytes)?: return try LiveMessage(String(decoding: bytes, as: UTF8.self))
  case .closed(let frame)?: throw LiveClient.Failure.closed(frame)
  case let event?: throw LiveClient.Failure.unexpected(event)
  case nil: throw LiveClient.Failure.silence
  }
}

@Suite("§10.5 Certificates say who is there") struct CertificateIdentityTests {
  @Test func `the names of a certificate are claims`() throws {
    let devices = try DeviceServer()
    defer { devices.server.shutdown() }
    let context = try devices.context(
      "sensor-1", names: ["DNS:Sensor-1.Example", "URI:spiffe://example.org/Sensor", "email:a@example.org"])
    let me = try devices.request(context, "GET", "/auth/me")
    #expect(
      me.text.hasPrefix(
        #"{"auth":{"commonName":"sensor-1","names":["sensor-1.example","spiffe://example.org/Sensor","a@example.org"],"#
      ))
    #expect(me.text.contains(#/"fingerprint":"[0-9a-f]{64}","kind":"certificate","id":"sensor-1","expires":"2/#))
    #expect(me.values("Cache-Control").contains("no-store") && me.value("Vary") == nil)
    #expect(try devices.request(devices.context(nil), "GET", "/auth/me").text == #"{"auth":null}"#)
  }

  @Test func `each sees and writes what is theirs, over HTTP`() throws {
    let devices = try DeviceServer()
    defer { devices.server.shutdown() }
    let (one, two, nobody) = (
      try devices.context("one"), try devices.context("two", names: ["URI:spiffe://example.org/flow"]),
      try devices.context(nil)
    )
    #expect(try devices.request(one, "PUT", "/properties/devices/one/x", body: "1").status == 201)
    let read = try devices.request(one, "GET", "/properties/devices/one/x")
    #expect(read.text == "1" && read.values("Cache-Control") == ["private", "no-cache"])
    for context in [two, nobody] {
      #expect(try devices.request(context, "GET", "/properties/devices/one/x").code == "forbidden")
      #expect(try devices.request(context, "PUT", "/properties/devices/one/x", body: "2").status == 403)
    }
    try devices.store.set("flows/a", "3")
    #expect(try devices.request(two, "GET", "/properties/flows/a").text == "3")
    #expect(try devices.request(one, "GET", "/properties/flows/a").status == 403)
    #expect(try devices.store.text("devices/one/x") == "1")
  }

  @Test func `a page of an origin listed by name may use the certificate, and is told so before it shows it`() throws {
    let devices = try DeviceServer(origins: ["https://app.example", "*"])
    defer { devices.server.shutdown() }
    let preflight = [("Access-Control-Request-Method", "PUT")]
    for context in [try devices.context("one"), try devices.context(nil)] {
      for (method, fields) in [("GET", []), ("OPTIONS", preflight)] {
        func allowed(_ origin: String) throws -> String? {
          try devices.request(context, method, "/auth/me", fields: fields + [("Origin", origin)])
            .value("Access-Control-Allow-Credentials")
        }
        #expect(try allowed("https://app.example") == "true")
        #expect(try allowed("https://any.example") == nil)
      }
    }
    let without = try DeviceServer(.none, origins: ["https://app.example"])
    defer { without.server.shutdown() }
    let response = try without.request(
      without.context(nil), "GET", "/auth/me", fields: [("Origin", "https://app.example")])
    #expect(response.values("Access-Control-Allow-Credentials").isEmpty)
  }

  @Test func `a WebSocket sees what its certificate may see`() throws {
    let devices = try DeviceServer(.required) { $0.required = true }
    defer { devices.server.shutdown() }
    try devices.store.transact(["devices/one/x": "1", "devices/two/x": "2", "public/x": "3"])
    let socket = try devices.socket(devices.context("one"), "?match=**")
    #expect(try next(socket).type == "hello")
    #expect(try next(socket).type == "ok")
    let paths = try (0..<2).map { _ in try next(socket).string("path") }
    #expect(paths == ["devices/one/x", "public/x"])
    #expect(try next(socket).type == "live")
    try socket.send(#"{"id":2,"type":"set","path":"devices/two/x","value":4}"#)
    #expect(try next(socket).text.contains(#""code":"forbidden""#))
    try socket.send(#"{"id":3,"type":"set","path":"devices/one/y","value":4}"#)
    #expect(try [next(socket), next(socket)].contains { $0.type == "ok" })
    #expect(try devices.store.text("devices/two/x") == "2")
  }

  @Test func `an event stream shows what its certificate may see`() throws {
    let devices = try DeviceServer { $0.required = true }
    defer { devices.server.shutdown() }
    try devices.store.transact(["devices/one/x": "1", "devices/two/x": "2"])
    func paths(_ context: TLSContext) throws -> [String] {
      let client = try devices.connect(context)
      let response = try client.open("GET", "/events?match=**", timeout: LiveClient.patience)
      guard response.status == 200 else { return ["\(response.status)"] }
      var events = ServerSentEvents()
      var paths: [String] = []
      while let piece = try client.nextPiece(timeout: LiveClient.patience) {
        for event in events.receive(piece) {
          let message = try LiveMessage(event.data)
          if let path = message.string("path") { paths.append(path) }
          if message.type == "live" { return paths }
        }
      }
      return paths
    }
    #expect(try paths(devices.context("one")) == ["devices/one/x"])
    #expect(try paths(devices.context(nil)) == ["401"])
  }

  @Test func `a token counts instead of the certificate`() throws {
    let tokens = FileManager.default.temporaryDirectory.appending(path: "tokens-\(UUID().uuidString).json").path
    defer { try? FileManager.default.removeItem(atPath: tokens) }
    let token = try #require(Token(id: "kitchen"))
    let entry = TokenFile.Entry(token, claims: JSONText(alreadyCompact: Array("{}".utf8)), created: .now, expires: nil)
    try TokenFile.change(tokens) { (file) throws(IdentityError) in _ = try file.add(entry) }
    let devices = try DeviceServer { $0.tokens = tokens }
    defer { devices.server.shutdown() }
    let one = try devices.context("one")
    let fields = [("Authorization", "Bearer \(token.text)")]
    #expect(try devices.request(one, "GET", "/auth/me", fields: fields).text.contains(#""id":"kitchen""#))
    #expect(try devices.request(one, "GET", "/auth/me").text.contains(#""id":"one""#))
    // A token that is not accepted is not made up for by the certificate.
    #expect(try devices.request(one, "GET", "/auth/me", fields: [("Authorization", "Bearer x")]).status == 401)
    let socket = try devices.socket(one)
    #expect(try next(socket).type == "hello")
    try socket.send(#"{"id":1,"type":"get","path":"devices/kitchen/x"}"#)
    #expect(try next(socket).text.contains(#""code":"forbidden""#))
    try devices.store.set("devices/kitchen/x", "1")
    try socket.send(#"{"id":2,"type":"auth","token":"\#(token.text)"}"#)
    #expect(try next(socket).text == #"{"id":2,"type":"ok","auth":{"id":"kitchen"}}"#)
    try socket.send(#"{"id":3,"type":"get","path":"devices/kitchen/x"}"#)
    #expect(try next(socket).type == "ok")
    // So does a ticket.
    let ticket = try LiveMessage(devices.request(one, "POST", "/auth/tickets", fields: fields).text).string("ticket")
    let other = try devices.socket(one, "?match=devices/*/x&ticket=\(try #require(ticket))")
    #expect(try next(other).type == "hello")
    #expect(try next(other).type == "ok")
    #expect(try next(other).string("path") == "devices/kitchen/x")
  }

  @Test func `pages of others do not use the certificate of a browser`() throws {
    let devices = try DeviceServer(origins: ["https://app.example", "*"])
    defer { devices.server.shutdown() }
    let one = try devices.context("one")
    let own = "https://127.0.0.1:\(devices.server.address?.port ?? 0)"
    func isKnown(_ fields: [(String, String)]) throws -> Bool {
      try devices.request(one, "GET", "/auth/me", fields: fields).text.contains(#""id":"one""#)
    }
    for (origin, known) in [(own, true), ("https://app.example", true), ("https://evil.example", false)] {
      #expect(try isKnown([("Origin", origin)]) == known, "\(origin)")
    }
    for (site, known) in [("same-origin", true), ("none", true), ("same-site", false), ("cross-site", false)] {
      #expect(try isKnown([("Sec-Fetch-Site", site)]) == known, "\(site)")
    }
    let put = try devices.request(
      one, "PUT", "/properties/devices/one/x", fields: [("Origin", "https://evil.example")], body: "1")
    #expect(put.status == 403 && devices.store.count == 0)
  }

  @Test func `an identity ends with its certificate`() throws {
    let devices = try DeviceServer()
    defer { devices.server.shutdown() }
    let context = try devices.context("one", days: 0, seconds: 6)
    let client = try devices.connect(context)
    func me() throws -> HTTPClientResponse { try client.request("GET", "/auth/me", timeout: LiveClient.patience) }
    #expect(try me().text.contains(#""id":"one""#))
    let socket = try devices.socket(context)
    var reminded = false
    do {
      while true { if try next(socket).type == "authExpires" { reminded = true } }
    } catch LiveClient.Failure.closed(let frame) {
      #expect(frame.code == .unauthenticated && frame.reason == "the certificate has ended")
    }
    #expect(reminded)
    let refusal = try me()
    #expect(refusal.status == 401 && refusal.text.contains("The certificate of the connection has ended"))
    #expect(throws: ClientError.self) { try devices.request(context, "GET", "/auth/me") }
  }

  @Test func `certificates without a common name, or with a long one, have another id`() throws {
    func identity(_ change: (inout ClientCertificate) -> Void) throws -> Identity {
      var certificate = ClientCertificate(fingerprint: [UInt8](repeating: 0x0A, count: 32), end: 4_102_444_800)
      change(&certificate)
      return Identity(certificate)
    }
    let print = String(repeating: "0a", count: 32)
    #expect(try identity { _ in }.id == print)
    #expect(try identity { $0.uris = ["spiffe://a"] }.id == "spiffe://a")
    #expect(try identity { $0.commonName = String(repeating: "x", count: 257) }.id == print)
    #expect(try identity { _ in }.expires?.description == "2100-01-01T00:00:00.000Z")
    // No name can become another member.
    let auth = try identity { $0.commonName = #"a","kind":"user"# }.auth.text(of: .root).description
    #expect(auth.hasPrefix(#"{"commonName":"a\",\"kind\":\"user","names":[],"#))
  }

  @Test func `as many certificates are remembered as may be`() {
    let identities = CertificateIdentities()
    func certificate(_ number: Int) -> ClientCertificate {
      let bytes = (0..<32).map { UInt8(truncatingIfNeeded: number >> (8 * min($0, 7))) }
      return ClientCertificate(fingerprint: bytes, end: 4_102_444_800)
    }
    let first = identities.identity(of: certificate(0))
    #expect(identities.identity(of: certificate(0)) === first)
    for number in 1...CertificateIdentities.mostRemembered { _ = identities.identity(of: certificate(number)) }
    #expect(identities.count <= CertificateIdentities.mostRemembered)
    #expect(identities.identity(of: certificate(0)) !== first)
  }
}
