// SPDX-License-Identifier: MIT

/// Where a server listens, and its limits.
public struct ServerConfiguration: Sendable {
  /// The default address: this machine only.
  public static let defaultHost = "127.0.0.1"
  /// The default port.
  public static let defaultPort: UInt16 = 8080

  /// The maximum number of listeners of a server.
  public static let mostListeners = 64

  /// Where the server listens: on all of these or, when one of them fails, on none.
  ///
  /// Default: ``defaultPort`` of ``defaultHost``. With port 0 the system picks one, which `Server.endpoints` then
  /// contains.
  public var listeners: [ListenerConfiguration]
  /// Event loops, each with its own share of the connections; 0 means one per core.
  ///
  /// Default 0.
  public var loops: Int
  /// All limits on what clients can make the server hold, do or wait for.
  public var limits: Limits
  /// The proxies that may say who their peers are: in `Forwarded`, `X-Forwarded-For` and `X-Forwarded-Proto` of requests,
  /// and by the PROXY protocol where a listener takes it.
  ///
  /// Default: none, so that these fields mean nothing.
  public var trustedProxies = TrustedProxies()
  /// How long browsers that have been answered over TLS shall use nothing else for the same name (`max-age` of RFC 6797
  /// §6.1.1), in whole seconds; zero makes them forget it, nil says nothing.
  ///
  /// Default: a year.
  public var hsts: Duration? = .seconds(365 * 86_400)
  /// Called on events of connections and on refusals, for a log or for metrics; nil, the default, costs nothing.
  ///
  /// Called on the loop where it happens, at the moment it does: it must not block, and whatever it calls must be usable
  /// from several threads.
  public var observer: (@Sendable (ServerEvent) -> Void)?
  /// The number of lines that the program's log has dropped so far, for the metrics; nil by default.
  ///
  /// Called on a loop: it must not block.
  public var droppedLogLines: (@Sendable () -> Int)?
  /// Which answered requests are reported, and to whom; none by default.
  public var requestLog = RequestLog()
  /// Called on connections that are not served: ``ServerEvent/Kind/turnedAway(reason:)``,
  /// ``ServerEvent/Kind/handshakeFailed(reason:)`` and ``ServerEvent/Kind/proxyRefused(reason:)``; nil by default.
  ///
  /// Called as ``observer`` is.
  public var refusalObserver: (@Sendable (ServerEvent) -> Void)?
  /// Called at most once a second while most of ``Limits/memory`` is used; nil by default.
  ///
  /// Called on a loop, as ``observer`` is.
  public var memoryObserver: (@Sendable (MemoryShortage) -> Void)?
  /// Called when a client has sent a token to a listener that only redirects, without TLS, where others may have read
  /// it; nil by default.
  ///
  /// It is given the id in a token of the server's own, nil for any other, and the sender. Called on a loop, as
  /// ``observer`` is.
  public var exposedTokenObserver: (@Sendable (String?, Peer) -> Void)?
  /// Takes what an audit log notes; nil, the default, costs nothing.
  package var audit: AuditQueue?

  /// A configuration in which everything has its default unless given.
  public init(
    listeners: [ListenerConfiguration], loops: Int = 0, limits: Limits = Limits(),
    observer: (@Sendable (ServerEvent) -> Void)? = nil
  ) {
    self.listeners = listeners
    self.loops = loops
    self.limits = limits
    self.observer = observer
  }

  /// A configuration with one listener, in which everything has its default unless given.
  public init(
    host: String = defaultHost, port: UInt16 = defaultPort, loops: Int = 0, limits: Limits = Limits(),
    observer: (@Sendable (ServerEvent) -> Void)? = nil
  ) {
    self.init(
      listeners: [ListenerConfiguration(.tcp(host: host, port: port))], loops: loops, limits: limits,
      observer: observer)
  }
}

/// One place where a server listens, and how.
public struct ListenerConfiguration: Sendable, Equatable {
  /// The default permissions of a unix socket: its owner and its group may connect.
  public static let defaultMode: UInt16 = 0o660

  /// The address and port, or the path of the unix socket.
  ///
  /// The path must not exist, or be the socket of a server that has died; it is removed when the server shuts down.
  public var endpoint: Endpoint
  /// The permissions of a unix socket: connecting requires write permission.
  public var mode: UInt16
  /// The TLS settings, required for an endpoint with TLS and ignored for others.
  public var tls: TLSConfiguration?
  /// Where requests are redirected instead of being served: the origin of a listener with TLS, such as
  /// `https://live.example`; nil serves them.
  ///
  /// GET and HEAD are answered 308 (RFC 9110 §15.4.9), others 403 `tls_required`, because they have already sent their
  /// content unencrypted.
  ///
  /// Whoever speaks `https` to a trusted proxy, as that proxy says, is served.
  public var redirect: String?
  /// Whether each connection has to begin with a header of the PROXY protocol, version 1 or 2, before TLS if there is TLS;
  /// only ``ServerConfiguration/trustedProxies`` can connect then.
  public var proxyProtocol: Bool
  /// Whether it serves the console, where there is one (``LiveConfiguration/console``).
  ///
  /// Default true.
  public var console = true

  /// A listener with defaults for what is not given.
  public init(
    _ endpoint: Endpoint, mode: UInt16 = defaultMode, tls: TLSConfiguration? = nil, redirect: String? = nil,
    proxyProtocol: Bool = false
  ) {
    self.endpoint = endpoint
    self.mode = mode
    self.tls = tls
    self.redirect = redirect
    self.proxyProtocol = proxyProtocol
  }
}
