// SPDX-License-Identifier: MIT

/// Something that happened on a server's connections, for the logs and metrics of the program around it.
///
/// Passed to ``ServerConfiguration/observer``. It contains nothing that a client keeps secret or stores: no values, no
/// queries, no fields of requests; only paths, methods and the server's own words.
public struct ServerEvent: Sendable {
  /// What happened.
  public enum Kind: Sendable, Equatable {
    /// A connection was accepted.
    case opened
    /// A connection is over, whoever ended it; the last event about it.
    case closed
    /// A connection was closed without a response, for this reason.
    ///
    /// ``ServerConfiguration/refusalObserver`` is notified also of one whose first request will be answered 503.
    case turnedAway(reason: String)
    /// There is no TLS with the peer, for this reason: a certificate that is not good, no cipher in common, no TLS at all.
    case handshakeFailed(reason: String)
    /// A connection was closed because it did not begin with a header of the PROXY protocol as it has to on its listener,
    /// or does not come from a trusted proxy, for this reason.
    case proxyRefused(reason: String)
    /// A request was answered with a status of 400 or more.
    ///
    /// `code` is one of `docs/protocol.md` §6, or empty for an application's own answer. Method and path (without the
    /// query, not decoded) are empty when the request could not be parsed or was too late.
    case refused(method: String, path: String, status: Int, code: String)
    /// A token that a client has given was not accepted, for this reason, which the client is not told; `id` is that in
    /// a token of the server's own.
    case tokenRefused(reason: String, id: String?)
    /// A command of the live protocol was answered with an error.
    case refusedCommand(status: Int, code: String)
    /// The server ends a WebSocket, or for `CloseCode.tooSlow` and `CloseCode.unauthenticated` an event stream, with this
    /// code and reason.
    case closing(CloseCode, reason: String)
    /// Filters of subscriptions failed for a change of the property at this path, or for a message of the signal, which
    /// they therefore do not match.
    ///
    /// Filters that an index decides are not evaluated, and do not fail.
    case filterFailed(path: String, filters: Int)
  }

  /// What happened.
  public let kind: Kind
  /// The other end of the connection; nil when the event is not about one.
  public let peer: Peer?
  /// For a request that was refused: the trace that its client says it belongs to.
  public let trace: TraceParent?

  /// An event.
  public init(_ kind: Kind, peer: Peer? = nil, trace: TraceParent? = nil) {
    self.kind = kind
    self.peer = peer
    self.trace = trace
  }
}

/// Reports the events of one connection to the observer.
final class Observation: Sendable {
  private let observer: @Sendable (ServerEvent) -> Void
  private let peer: Peer

  init(_ observer: @escaping @Sendable (ServerEvent) -> Void, peer: Peer) {
    self.observer = observer
    self.peer = peer
  }

  func tell(_ kind: ServerEvent.Kind) { observer(ServerEvent(kind, peer: peer)) }

  /// Reports an event of a request, whose client may be another than the connection's peer.
  func tell(_ kind: ServerEvent.Kind, of client: Peer, trace: TraceParent? = nil) {
    observer(ServerEvent(kind, peer: client, trace: trace))
  }
}
