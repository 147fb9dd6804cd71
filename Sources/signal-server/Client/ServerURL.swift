// SPDX-License-Identifier: MIT
import SignalHTTP

/// The server that a client verb talks to.
struct ServerURL: Equatable, Sendable, CustomStringConvertible {
  let endpoint: Endpoint

  init(_ endpoint: Endpoint) { self.endpoint = endpoint }

  /// Reads `http://host`, `http://host:port`, the same with a slash behind, or `unix:/path`.
  ///
  /// - Throws: `Failure` with what is wrong; `source` names the flag or variable.
  init(_ text: String, from source: String) throws(Failure) {
    do throws(EndpointError) {
      endpoint = try Endpoint(text, lowestPort: 1)
    } catch {
      throw Failure(.usage, "\(source): '\(text.printable)' \(error.reason)")
    }
  }

  var description: String { endpoint.description }

  /// Where a server listens that was started with the settings of this environment, as seen from this machine.
  init(listeningWith settings: Settings) {
    endpoint =
      switch settings.listeners[0].endpoint {
      case .tcp("0.0.0.0", let port): .tcp(host: "127.0.0.1", port: port)
      case .tcp("::", let port), .tcp("[::]", let port): .tcp(host: "::1", port: port)
      case let other: other
      }
  }

  /// Whether it names a port; 0 is one that the system picks.
  var isKnown: Bool { if case .tcp(_, 0) = endpoint { false } else { true } }
}
