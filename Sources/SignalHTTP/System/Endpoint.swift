// SPDX-License-Identifier: MIT

/// Where a server listens, or can be reached.
public enum Endpoint: Sendable, Hashable, CustomStringConvertible {
  /// A port of an address: an IPv4 or IPv6 literal, in brackets or not, or a name.
  case tcp(host: String, port: UInt16)
  /// The same with TLS.
  case tls(host: String, port: UInt16)
  /// A socket in the file system.
  case unix(path: String)

  /// As a URL: `http://127.0.0.1:8080`, `https://[::1]:8443`, `unix:/run/signal/socket`.
  public var description: String {
    switch self {
    case .tcp: "http://\(authority)"
    case .tls: "https://\(authority)"
    case .unix(let path): "unix:\(path)"
    }
  }

  /// Whether it uses TLS.
  package var isSecured: Bool { if case .tls = self { true } else { false } }

  /// Host and port; nil for a unix socket.
  package var hostAndPort: (host: String, port: UInt16)? {
    switch self {
    case .tcp(let host, let port), .tls(let host, let port): (host, port)
    case .unix: nil
    }
  }

  /// What a client puts into `Host`: host and port, or `localhost` for a unix socket, which has neither.
  public var authority: String {
    switch self {
    case .tcp(let host, let port), .tls(let host, let port):
      host.contains(":") && !host.hasPrefix("[") ? "[\(host)]:\(port)" : "\(host):\(port)"
    case .unix: "localhost"
    }
  }
}
