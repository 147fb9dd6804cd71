// SPDX-License-Identifier: MIT
import SignalHTTP

/// The server that a client verb connects to.
struct ServerURL: Equatable, Sendable, CustomStringConvertible {
  let endpoint: Endpoint
  /// The trusted authorities and the client certificate; nil for the system's authorities and no certificate.
  var tls: TLSContext?
  /// Who the verb says it is; nil for nobody.
  var token: ClientToken?

  init(_ endpoint: Endpoint) { self.endpoint = endpoint }

  /// Reads `http://host`, `https://host:port`, the same with a trailing slash, or `unix:/path`.
  ///
  /// - Throws: `Failure` with what is wrong; `source` names the flag or variable.
  init(_ text: String, from source: String) throws(Failure) {
    do throws(EndpointError) {
      endpoint = try Endpoint(text, lowestPort: 1)
    } catch {
      throw Failure(.usage, "\(source): '\(text.printable)' \(error.reason)")
    }
  }

  /// Whether both name the same server, whatever they trust.
  static func == (a: ServerURL, b: ServerURL) -> Bool { a.endpoint == b.endpoint }

  /// What every request to it carries.
  var fields: [(String, String)] { get throws(Failure) { try token?.fields ?? [] } }

  var description: String { endpoint.description }

  /// The address of a server started with the settings of this environment, as seen from this machine: without TLS if
  /// possible, because certificates are for public names.
  init(listeningWith settings: Settings) {
    let listeners = settings.listeners.filter { $0.redirect == nil }
    let nearest = listeners.first { !$0.endpoint.isSecured } ?? listeners.first ?? settings.listeners[0]
    endpoint =
      switch nearest.endpoint {
      case .tcp("0.0.0.0", let port): .tcp(host: "127.0.0.1", port: port)
      case .tcp("::", let port), .tcp("[::]", let port): .tcp(host: "::1", port: port)
      case let other: other
      }
  }

  /// Whether it names a port; 0 is one that the system picks.
  var isKnown: Bool { endpoint.hostAndPort?.port != 0 }
}
