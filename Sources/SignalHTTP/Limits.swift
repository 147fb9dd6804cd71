// SPDX-License-Identifier: MIT

/// Every bound of the socket server, in one place.
///
/// What exceeds a limit is refused before memory is allocated for it.
///
/// The bounds of the live service (subscriptions, pages, filters) are in `LiveConfiguration`; those of the store in
/// `StoreLimits`.
public struct Limits: Sendable, Equatable {
  /// Heads, targets, fields and bodies of requests.
  public var http = HTTPLimits()
  /// Frames and messages.
  public var webSocket = WebSocketLimits()

  /// Bytes of memory that the process may have; at least 64 MiB.
  ///
  /// It is divided into shares (`MemoryShares`): for incoming requests, for connections and subscriptions, and for
  /// output. What exceeds a share is refused, with 503 or 1013; when most of the whole is used, connections are dropped
  /// whose peers do not accept their pending output. The store has limits of its own.
  ///
  /// Default: no limit.
  public var memory = Int.max

  /// Open connections of the whole server; one more is answered 503 and closed.
  ///
  /// Default 15 000, which leaves room under a descriptor limit of 20 000.
  public var connections = 15_000
  /// Connections that may wait in the system's accept queue.
  ///
  /// Default 4096; the system may allow fewer.
  public var acceptQueue = 4096
  /// Bytes that the system takes for a peer beyond what it can send at present (`TCP_NOTSENT_LOWAT`); more of them wait in
  /// the server, where ``memory`` sees them, and events are shared with other peers.
  ///
  /// A peer that takes more than that between two turns of a loop waits for the next one. Default 128 KiB. Unix sockets
  /// have a buffer of the system's own size.
  public var unsentBytes = 128 << 10
  /// Bytes that may be pending for a slow peer before its requests are no longer parsed, and before a subscriber counts
  /// as lagging: of later changes it gets the newest of each path, or, if it asked for all, is closed with 4008.
  ///
  /// Default 1 MiB.
  public var highWaterMark = 1 << 20
  /// Bytes received from one connection before other connections are served; fewer, while requests that take long leave
  /// the others little time.
  ///
  /// Default 512 KiB.
  public var turnBytes = 512 << 10
  /// Work of each kind (lists, beginnings of subscriptions, changes to be filtered, …) that a loop does in one turn
  /// before its other connections are served, in the units of `CELLimits.budget`.
  ///
  /// Default 100 000, about a millisecond.
  public var turnWork = TurnWork.defaultLimit

  /// Time from the first byte of a request's head to its last.
  ///
  /// Default 10 s.
  public var headTimeout: Duration = .seconds(10)
  /// Time from a connection's beginning to the end of its PROXY header, where a listener takes one; then it is closed.
  ///
  /// Default 3 s, as long as it takes for a lost packet to be sent again.
  public var proxyHeaderTimeout: Duration = .seconds(3)
  /// Time between two receptions of a request's body.
  ///
  /// Default 30 s.
  public var bodyTimeout: Duration = .seconds(30)
  /// Time from a response to the next request on the same connection.
  ///
  /// Default 75 s.
  public var keepAliveTimeout: Duration = .seconds(75)
  /// Time from a request to an answer that the application deferred; then 503.
  ///
  /// Default 60 s.
  public var responseTimeout: Duration = .seconds(60)
  /// Time during which a peer accepts no pending output; then the connection is dropped.
  ///
  /// Default 30 s.
  public var sendTimeout: Duration = .seconds(30)
  /// How long the peer's remaining bytes are received and thrown away after our last byte.
  ///
  /// Default 2 s.
  public var lingerTimeout: Duration = .seconds(2)
  /// How many such bytes are thrown away.
  ///
  /// Default 4 MiB.
  public var lingerBytes = 4 << 20
  /// Time from the beginning of an orderly shutdown until remaining connections are dropped.
  ///
  /// Default 10 s.
  public var drainTimeout: Duration = .seconds(10)

  /// Silence on a WebSocket after which it is pinged.
  ///
  /// Default 25 s.
  public var pingInterval: Duration = .seconds(25)
  /// Silence on a WebSocket, despite pings, after which it is dropped.
  ///
  /// Default 60 s.
  public var idleTimeout: Duration = .seconds(60)
  /// Time from our close frame to the peer's.
  ///
  /// Default 5 s.
  public var closeTimeout: Duration = .seconds(5)

  /// What one client may do in a time.
  public var rates = RateLimits()

  /// Which clients get compressed output.
  ///
  /// Default: none.
  public var compression = CompressionPolicy.off

  /// All defaults.
  public init() {}

  /// How often deadlines are checked: a quarter of the shortest timeout, between 10 ms and one second.
  var sweepMilliseconds: Int {
    let timeouts = [
      headTimeout, proxyHeaderTimeout, bodyTimeout, keepAliveTimeout, responseTimeout, sendTimeout, lingerTimeout,
      drainTimeout, pingInterval, idleTimeout, closeTimeout,
    ]
    let shortest = timeouts.map(\.nanosecondsClamped).min() ?? 0
    return min(max(Int(shortest / 4_000_000), 10), 1000)
  }
}

extension Duration {
  /// Nanoseconds, at least 0 and at most about 146 years, so that adding it to a clock never overflows.
  var nanosecondsClamped: UInt64 {
    let (seconds, attoseconds) = components
    guard seconds >= 0, attoseconds >= 0 else { return 0 }
    guard seconds < 4_600_000_000 else { return UInt64(Int64.max) / 2 }
    return UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000)
  }
}
