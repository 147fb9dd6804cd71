// SPDX-License-Identifier: MIT
import Foundation
import SignalHTTP
import SignalStore
import Synchronization
import TestSupport
import Testing

@testable import SignalHTTP

@Suite("What a server knows of its clients")
struct PeerTests {
  /// A path for a socket; its folder goes with the object.
  private final class Socket {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "signal-\(UUID().uuidString.prefix(8))")
    var path: String { folder.appending(path: "socket").path }
    var endpoint: Endpoint { .unix(path: path) }

    init() throws { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }
    deinit { try? FileManager.default.removeItem(at: folder) }
  }

  @Test func `over a unix socket the system tells user and process, and the server's own user is an administrator`()
    throws
  {
    let socket = try Socket()
    let peers = Mutex<[Peer]>([])
    let listeners = [ListenerConfiguration(socket.endpoint), ListenerConfiguration(.tcp(host: "127.0.0.1", port: 0))]
    let server = Server(ServerConfiguration(listeners: listeners, loops: 1)) { _, responder in
      peers.withLock { $0.append(responder.peer) }
      return .response(HTTPResponse(.ok))
    }
    try server.start()
    defer { server.shutdown() }
    for endpoint in server.endpoints { _ = try HTTPClient(endpoint).request("GET", "/", timeout: LiveClient.patience) }
    let all = peers.withLock { $0 }
    #expect(all[0].credentials == Peer.Credentials(user: getuid(), process: getpid()) && all[0].isAdministrator)
    #expect(all[0].ipAddress == nil && all[0].address == nil && all[0].description == "unix")
    #expect(all[1].credentials == nil && !all[1].isAdministrator && all[1].ipAddress?.description == "127.0.0.1")
    #expect(all.map(\.endpoint) == server.endpoints && all.map(\.listener.index) == [0, 1])
    #expect(all.allSatisfy { !$0.isSecured && !$0.isForwarded && $0.certificate == nil })
    #expect(all[0] != all[1] && all[0] == all[0])
  }

  @Test func `only root and the server's own user are administrators`() {
    let listener = PeerListener(ListenerID(0), .unix(path: "/s"))
    func peer(_ user: UInt32) -> Peer { Peer(PeerAddress(user: user, process: 77), of: listener) }
    #expect(peer(0).isAdministrator && peer(getuid()).isAdministrator)
    #expect(!peer(getuid() + 1).isAdministrator && !peer(65_534).isAdministrator)
    #expect(peer(5).credentials == Peer.Credentials(user: 5, process: 77))
    #expect(!Peer(.none, of: listener).isAdministrator)
  }

  @Test func `a proxy on a unix socket lends nobody its rights`() throws {
    let (socket, other) = (try Socket(), try Socket())
    let trusted = TrustedProxies(includesUnixSockets: true)
    let server = try PeerServer([ListenerConfiguration(socket.endpoint)], trusting: trusted)
    #expect(try server.ask(at: socket.endpoint).text == "unix administrator")
    for (fields, text) in [
      ([("Forwarded", "for=192.0.2.1")], "192.0.2.1 forwarded"), ([("Forwarded", "for=_x")], "unknown forwarded"),
      ([("X-Forwarded-Proto", "https")], "unknown secured forwarded"),
    ] {
      #expect(try server.ask(fields, at: socket.endpoint).text == text)
    }
    let others = try PeerServer([ListenerConfiguration(other.endpoint)], trusting: .forTests)
    #expect(try others.ask([("Forwarded", "for=192.0.2.1")], at: other.endpoint).text == "unix administrator")
  }

  @Test func `nor does one that speaks the PROXY protocol, but for its own connections`() throws {
    let socket = try Socket()
    let server = try PeerServer(
      [ListenerConfiguration(socket.endpoint, proxyProtocol: true)], trusting: TrustedProxies(includesUnixSockets: true)
    )
    for (header, text) in [
      ("PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n", "192.0.2.1"), ("PROXY UNKNOWN\r\n", "unknown"),
      ("\r\n\r\n\0\r\nQUIT\n\u{20}\0\0\0", "unix administrator"), ("\r\n\r\n\0\r\nQUIT\n\u{21}\0\0\0", "unknown"),
    ] {
      let client = try HTTPClient(socket.endpoint, timeout: LiveClient.patience)
      try client.send(Array(header.utf8), timeout: LiveClient.patience)
      #expect(try client.request("GET", "/", timeout: LiveClient.patience).text == text)
    }
    #expect(server.reasons(0).isEmpty)
  }

  @Test func `a certificate is known by its names and its fingerprint, unless a proxy shows it for others`() throws {
    let authority = try #require(MadeCertificate(subject: "devices", for: .authority, days: 1))
    let names = [
      "URI:spiffe://example.org/a", "DNS:a.example", "email:a@example.org", "DNS:*.b.example", "IP:192.0.2.1",
      "URI:urn:x:1",
    ]
    let device = try #require(MadeCertificate(subject: "sensör 1", for: .client(names), days: 1, signedBy: authority))
    var tls = TLSConfiguration(certificates: [TestTransport.certificate.file])
    tls.clientAuthorities = TestCertificate.write(authority.pem)
    tls.clientCertificates = .optional
    let peers = Mutex<[Peer]>([])
    var configuration = ServerConfiguration(
      listeners: [ListenerConfiguration(.tls(host: "127.0.0.1", port: 0), tls: tls)], loops: 1)
    configuration.trustedProxies = try .forTests
    let server = Server(configuration) { request, responder in
      peers.withLock { $0.append(responder.peer) }
      return request.path == "/socket" ? .webSocket(Silent()) : .response(HTTPResponse(.ok))
    }
    try server.start()
    defer { server.shutdown() }
    let file = TLSConfiguration.Certificate(chain: TestCertificate.write(device.pem))
    for context in [
      try TLSContext(trusting: TestTransport.certificate.file.chain, certificate: file),
      TestTransport.certificate.trust,
    ] {
      let client = try HTTPClient(server.endpoints[0], tls: context, timeout: LiveClient.patience)
      for fields in [[], [("X-Forwarded-For", "192.0.2.1")]] {
        #expect(try client.request("GET", "/", fields: fields, timeout: LiveClient.patience).status == 200)
      }
      _ = try WebSocketClient(server.endpoints[0], target: "/socket", tls: context, timeout: LiveClient.patience)
    }
    let all = peers.withLock { $0 }
    let shown = try #require(all[0].certificate)
    #expect(shown.commonName == "sensör 1" && shown.fingerprint.count == 32 && Set(shown.fingerprint).count > 1)
    #expect(shown.dnsNames == ["a.example", "*.b.example"] && shown.mails == ["a@example.org"])
    #expect(shown.uris == ["spiffe://example.org/a", "urn:x:1"])
    #expect(all.map { $0.certificate == shown } == [true, false, true, false, false, false])
    #expect(all.allSatisfy(\.isSecured) && all.map(\.isForwarded) == [false, true, false, false, true, false])
  }

  private final class Silent: WebSocketHandler {
    func received(_ message: Span<UInt8>, _ kind: MessageKind, from socket: WebSocket, on loop: isolated EventLoop) {}
  }
}
