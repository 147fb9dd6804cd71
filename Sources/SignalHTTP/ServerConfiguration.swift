// SPDX-License-Identifier: MIT

/// Where a server listens and how much it takes on.
public struct ServerConfiguration: Sendable {
  /// The address of a server that is not told another one: this machine only.
  public static let defaultHost = "127.0.0.1"
  /// The port of a server that is not told another one.
  public static let defaultPort: UInt16 = 8080

  /// The address to listen on: an IPv4 or IPv6 literal or a name.
  ///
  /// Default `127.0.0.1`: this machine only.
  public var host: String
  /// The TCP port; 0 lets the system pick one, which `Server.address` then tells.
  ///
  /// Default 8080.
  public var port: UInt16
  /// Event loops, each with its own share of the connections; 0 means one per core.
  ///
  /// Default 0.
  public var loops: Int
  /// Every bound on what clients can make the server hold, do or wait for.
  public var limits: Limits
  /// Told of connections and refusals, for a log or for metrics; nil, the default, costs nothing.
  ///
  /// Called on the loop where it happens, at the moment it does: it must not block, and whatever it calls must be usable
  /// from several threads.
  public var observer: (@Sendable (ServerEvent) -> Void)?

  /// A configuration in which everything has its default unless given.
  public init(
    host: String = defaultHost, port: UInt16 = defaultPort, loops: Int = 0, limits: Limits = Limits(),
    observer: (@Sendable (ServerEvent) -> Void)? = nil
  ) {
    self.host = host
    self.port = port
    self.loops = loops
    self.limits = limits
    self.observer = observer
  }
}
