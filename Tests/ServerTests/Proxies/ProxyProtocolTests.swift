// SPDX-License-Identifier: MIT
import Foundation
import SignalHTTP
import SignalStore
import TestSupport
import Testing

@testable import SignalHTTP

@Suite("Listeners that take the PROXY protocol")
struct ProxyProtocolTests {
  private static let plain = ListenerConfiguration(.tcp(host: "127.0.0.1", port: 0), proxyProtocol: true)
  private static let text = Array("PROXY TCP4 192.0.2.1 198.51.100.2 50000 443\r\n".utf8)
  private static let signature = Array("\r\n\r\n\0\r\nQUIT\n".utf8)
  private static let ipv6 =
    signature + [0x21, 0x21, 0, 41] + [0x20, 0x01, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 11) + [1]
    + [UInt8](repeating: 7, count: 16) + [0xC3, 0x50, 0x01, 0xBB] + [0x04, 0, 2, 9, 9]
  private static let request = Array("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)

  /// A connection to a server, as a proxy would have it.
  private func connect(_ server: PeerServer) throws -> HTTPClient {
    try HTTPClient(.tcp(host: "127.0.0.1", port: server.port), timeout: LiveClient.patience)
  }

  @Test(arguments: [
    (text, "192.0.2.1"), (ipv6, "2001:db8::1"), (Array("PROXY UNKNOWN\r\n".utf8), "127.0.0.1"),
    (signature + [0x20, 0, 0, 0], "127.0.0.1"), (signature + [0x21, 0, 0, 0], "127.0.0.1"),
  ])
  func `the client is whom the header names, however it arrives`(header: [UInt8], text: String) throws {
    let server = try PeerServer([Self.plain], trusting: .forTests)
    // With the request, apart from it, and in two pieces.
    for cuts in [[header + Self.request], [header, Self.request], [Array(header[..<9]), header[9...] + Self.request]] {
      let client = try connect(server)
      for (number, piece) in cuts.enumerated() {
        if number > 0 { usleep(2000) }
        try client.send(piece, timeout: LiveClient.patience)
      }
      #expect(try client.receive(timeout: LiveClient.patience).text == text)
      // There is one header, and then requests.
      #expect(try client.request("GET", "/", timeout: LiveClient.patience).text == text)
    }
  }

  @Test func `whom a proxy relays may be a proxy of HTTP itself, if it is trusted`() throws {
    let server = try PeerServer([Self.plain], trusting: .forTests)
    for (address, text) in [("10.0.0.1", "192.0.2.9 forwarded"), ("192.0.2.1", "192.0.2.1")] {
      let client = try connect(server)
      try client.send(Array("PROXY TCP4 \(address) 10.0.0.2 1 2\r\n".utf8), timeout: LiveClient.patience)
      let response = try client.request(
        "GET", "/", fields: [("X-Forwarded-For", "192.0.2.9")], timeout: LiveClient.patience)
      #expect(response.text == text)
    }
  }

  @Test(arguments: [
    (request, "no header of the PROXY protocol"), ([0x16, 3, 1], "no header of the PROXY protocol"),
    (Array("PROXY TCP4 1.2.3.4 1.2.3.4 1\r\n".utf8), "a malformed header of the PROXY protocol"),
    (
      signature + [0x31, 0x11, 0, 12] + [UInt8](repeating: 0, count: 12),
      "a version or command of the PROXY protocol that is not served"
    ),
    (signature + [0x21, 0x11, 0xFF, 0xFF], "a header of the PROXY protocol that is too long"),
  ])
  func `without a header the connection is closed without an answer, and the next is served`(
    bytes: [UInt8], reason: String
  ) throws {
    let server = try PeerServer([Self.plain], trusting: .forTests)
    let client = try connect(server)
    try client.send(bytes, timeout: LiveClient.patience)
    #expect(throws: ClientError.self) { try client.receive(timeout: LiveClient.patience) }
    #expect(server.reasons(1) == [reason])
    #expect(server.clients { if case .proxyRefused = $0 { true } else { false } }[0].hasPrefix("127.0.0.1:"))
    let next = try connect(server)
    try next.send(Self.text, timeout: LiveClient.patience)
    #expect(try next.request("GET", "/", timeout: LiveClient.patience).text == "192.0.2.1")
  }

  @Test func `a proxy that ends before its header is complete is closed`() throws {
    let server = try PeerServer([Self.plain], trusting: .forTests)
    let socket = try BlockingSocket(.tcp(host: "127.0.0.1", port: server.port), timeout: LiveClient.patience)
    try socket.send(Array("PROXY TCP4".utf8), by: Deadline(after: LiveClient.patience))
    socket.endSending()
    #expect(socket.awaitEnd(by: Deadline(after: LiveClient.patience)))
    #expect(server.reasons(1) == ["the proxy has ended the connection before its header"])
  }

  @Test func `a header that does not come in time is the end`() throws {
    var limits = Limits()
    limits.proxyHeaderTimeout = .milliseconds(50)
    let server = try PeerServer([Self.plain], trusting: .forTests, limits: limits)
    for bytes in [[], Array("PROXY TCP4 1.2.3.4".utf8)] {
      let socket = try BlockingSocket(.tcp(host: "127.0.0.1", port: server.port), timeout: LiveClient.patience)
      try socket.send(bytes, by: Deadline(after: LiveClient.patience))
      #expect(socket.awaitEnd(by: Deadline(after: LiveClient.patience)))
    }
    #expect(server.reasons(2).allSatisfy { $0 == "no complete header of the PROXY protocol within 0.05 seconds" })
    #expect(Limits().proxyHeaderTimeout == .seconds(3))
  }

  @Test func `who is no trusted proxy is closed, whatever it says`() throws {
    for trusted in [TrustedProxies(), TrustedProxies([try AddressBlock("10.0.0.0/8")], includesUnixSockets: true)] {
      let server = try PeerServer([Self.plain], trusting: trusted)
      let client = try connect(server)
      try? client.send(Self.text + Self.request, timeout: LiveClient.patience)
      #expect(throws: ClientError.self) { try client.receive(timeout: LiveClient.patience) }
      #expect(server.reasons(1) == ["it is none of the trusted proxies"])
    }
  }

  @Test func `the header comes before TLS, which is the client's own`() throws {
    let certificate = TestTransport.certificate
    let listener = ListenerConfiguration(
      .tls(host: "127.0.0.1", port: 0), tls: TLSConfiguration(certificates: [certificate.file]), proxyProtocol: true)
    let server = try PeerServer([listener], trusting: .forTests)
    for (header, text) in [(Self.text, "192.0.2.1 secured"), (Self.ipv6, "2001:db8::1 secured")] {
      let relay = try TestRelay(to: server.port, header: header)
      let client = try HTTPClient(
        .tls(host: "127.0.0.1", port: relay.port), tls: certificate.trust, timeout: LiveClient.patience)
      let response = try client.request("GET", "/", timeout: LiveClient.patience)
      #expect(response.text == text && response.value("Strict-Transport-Security") == "max-age=7")
    }
    #expect(throws: ClientError.self) {
      try HTTPClient(.tls(host: "127.0.0.1", port: server.port), tls: certificate.trust, timeout: LiveClient.patience)
    }
    #expect(server.reasons(1) == ["no header of the PROXY protocol"])
  }

  @Test func `connections that wait for their header end with the server, and count as connections`() async throws {
    var limits = Limits()
    limits.connections = 1
    limits.proxyHeaderTimeout = .seconds(600)
    let server = try PeerServer([Self.plain], trusting: .forTests, limits: limits)
    let silent = try BlockingSocket(.tcp(host: "127.0.0.1", port: server.port), timeout: LiveClient.patience)
    let client = try connect(server)
    try client.send(Self.text + Self.request, timeout: LiveClient.patience)
    #expect(try client.receive(timeout: LiveClient.patience).status == 503)
    server.server.shutdown()
    try await server.server.run()
    #expect(silent.awaitEnd(by: Deadline(after: LiveClient.patience)))
    #expect(server.reasons(0).isEmpty)
  }
}
