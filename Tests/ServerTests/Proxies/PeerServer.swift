// SPDX-License-Identifier: MIT
import Foundation
import SignalHTTP
import Synchronization
import TestSupport

/// A server that answers each request with what it knows of its client, and keeps what it is told of connections.
final class PeerServer: Sendable {
  private final class Events: Sendable { let list = Mutex<[ServerEvent]>([]) }

  let server: Server
  private let events = Events()

  init(
    _ listeners: [ListenerConfiguration] = [ListenerConfiguration(.tcp(host: "127.0.0.1", port: 0))],
    trusting trusted: TrustedProxies = TrustedProxies(), limits: Limits = Limits(), hsts: Duration? = .seconds(7)
  ) throws {
    var configuration = ServerConfiguration(listeners: listeners, loops: 1, limits: limits)
    configuration.trustedProxies = trusted
    configuration.hsts = hsts
    configuration.observer = { [events] event in events.list.withLock { $0.append(event) } }
    server = Server(configuration) { request, responder in
      let status: HTTPStatus = request.path == "/refused" ? .notFound : .ok
      return .response(HTTPResponse(status, body: Array(Self.text(responder.peer).utf8)))
    }
    try server.start()
  }

  deinit { server.shutdown() }

  /// The port of the first listener of TCP.
  var port: UInt16 { server.address?.port ?? 0 }

  /// A client without the port, if it is the system's choice, and what is special about it.
  static func text(_ peer: Peer) -> String {
    let words: [String?] = [
      peer.ipAddress.map { "\($0)" } ?? peer.description, peer.isSecured ? "secured" : nil,
      peer.isForwarded ? "forwarded" : nil, peer.isAdministrator ? "administrator" : nil,
      peer.certificate.map { "certificate \($0.commonName ?? "")" },
    ]
    return words.compactMap(\.self).joined(separator: " ")
  }

  /// Asks on a connection of its own.
  func ask(
    _ fields: [(String, String)] = [], path: String = "/", at endpoint: Endpoint? = nil
  ) throws -> HTTPClientResponse {
    try HTTPClient(endpoint ?? .tcp(host: "127.0.0.1", port: port), timeout: LiveClient.patience)
      .request("GET", path, fields: fields, timeout: LiveClient.patience)
  }

  /// Why connections have been closed for want of a header, when there are so many reasons.
  func reasons(_ count: Int) -> [String] {
    while true {
      let reasons = events.list.withLock { events in
        events.compactMap { event in if case .proxyRefused(let reason) = event.kind { reason } else { nil } }
      }
      if reasons.count >= count { return reasons }
      Thread.sleep(forTimeInterval: 0.002)
    }
  }

  /// The clients that events of a kind were about.
  func clients(of isWanted: (ServerEvent.Kind) -> Bool) -> [String] {
    events.list.withLock { $0.filter { isWanted($0.kind) }.compactMap { $0.peer?.description } }
  }
}

extension TrustedProxies {
  /// The loopback interface, and a network of proxies.
  static var forTests: TrustedProxies {
    get throws { TrustedProxies([try AddressBlock("127.0.0.0/8"), try AddressBlock("10.0.0.0/8")]) }
  }
}
