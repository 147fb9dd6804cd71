// SPDX-License-Identifier: MIT

/// What one client may do in a time, over all loops of a server: each identity, and each address of somebody unknown.
///
/// An address of IPv6 is a network of 64 bits, as one machine has as many addresses of it as it likes. Behind trusted
/// proxies the address is that of the client whom they name. What is allowed is saved up to a burst; 0 is no limit.
public struct RateLimits: Sendable, Equatable {
  /// What a client may do.
  public struct Allowance: Sendable, Equatable {
    /// Requests, and messages of WebSockets, per second; 429, and the WebSocket is not read for a while.
    public var requests: Int
    /// How many of them may come at once, after a quiet time.
    public var burst: Int
    /// Bytes of these requests and messages per second; as many may come at once, and one that is larger makes the
    /// following wait.
    public var bytes: Int
    /// Connections at a time.
    public var connections: Int
    /// New connections per second; as many may come at once.
    public var arrivals: Int
    /// Subscriptions at a time, over all connections; 429.
    public var subscriptions: Int

    /// An allowance of these.
    public init(requests: Int, burst: Int, bytes: Int, connections: Int, arrivals: Int, subscriptions: Int) {
      self.requests = requests
      self.burst = burst
      self.bytes = bytes
      self.connections = connections
      self.arrivals = arrivals
      self.subscriptions = subscriptions
    }
  }

  /// Whether clients on this machine, by the loopback interface and by unix sockets, are limited as others are.
  ///
  /// Default: false.
  public var local = false
  /// An identity; its connections are its WebSockets and event streams (429).
  ///
  /// Default: 500 requests per second and 1000 at once, 8 MiB per second, 64 connections and 20 new ones per second, 1000
  /// subscriptions.
  public var identity = Allowance(
    requests: 500, burst: 1000, bytes: 8 << 20, connections: 64, arrivals: 20, subscriptions: 1000)
  /// An address, with what is not by an identity; its connections are all of them, whoever uses them, and one too many is
  /// closed without a response.
  ///
  /// Default: 50 requests per second and 100 at once, 1 MiB per second, 256 connections and 50 new ones per second, 100
  /// subscriptions.
  public var address = Allowance(
    requests: 50, burst: 100, bytes: 1 << 20, connections: 256, arrivals: 50, subscriptions: 100)
  /// Tokens and tickets of an address per minute that are not accepted; then none is looked at for a while (429).
  ///
  /// Default 10.
  public var failures = 10
  /// Time during which a WebSocket is not read because its client has used up what it may, or during which messages of a
  /// piece that the server has received wait for that reason though some are read; then it is closed with 4029.
  ///
  /// Default 10 s.
  public var pauseTimeout: Duration = .seconds(10)

  /// All defaults.
  public init() {}
}
