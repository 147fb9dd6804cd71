// SPDX-License-Identifier: MIT

/// Where a server listens, or is found.
public enum Endpoint: Sendable, Hashable, CustomStringConvertible {
  /// A port of an address: an IPv4 or IPv6 literal, in brackets or not, or a name.
  case tcp(host: String, port: UInt16)
  /// A socket in the file system.
  case unix(path: String)

  /// As a URL: `http://127.0.0.1:8080`, `http://[::1]:8080`, `unix:/run/signal/socket`.
  public var description: String {
    switch self {
    case .tcp: "http://\(authority)"
    case .unix(let path): "unix:\(path)"
    }
  }

  /// What a client puts into `Host`: host and port, or `localhost` for a unix socket, which has neither.
  public var authority: String {
    switch self {
    case .tcp(let host, let port):
      host.contains(":") && !host.hasPrefix("[") ? "[\(host)]:\(port)" : "\(host):\(port)"
    case .unix: "localhost"
    }
  }
}
