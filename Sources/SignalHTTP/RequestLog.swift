// SPDX-License-Identifier: MIT

/// Which answered requests are reported, and to whom.
public struct RequestLog: Sendable {
  /// Requests that are reported.
  public enum Scope: String, CaseIterable, Sendable {
    /// None.
    case none
    /// Those answered with a status of 400 or more.
    case errors
    /// All.
    case all
  }

  /// Default: none.
  public var scope = Scope.none
  /// Of requests answered with a status below 400, one in so many is reported on each loop; of others every one.
  ///
  /// Default 1: every one.
  public var sample = 1
  /// Called with each request that is reported, on the loop of its connection: it must not block, and whatever it calls
  /// must be usable from several threads.
  public var observer: @Sendable (AnsweredRequest) -> Void = { _ in }

  /// Reports nothing.
  public init() {}
}

/// A request that was answered, for a log of requests.
///
/// It contains nothing that a client keeps secret or stores: no query, no fields, no values.
public struct AnsweredRequest: Sendable {
  /// The client.
  public let peer: Peer
  /// The method; empty when the request could not be read.
  public let method: String
  /// The path as it was sent, without the query; empty when the request could not be read.
  public let path: String
  /// The status of the answer: 101 for what has become a WebSocket.
  public let status: Int
  /// The code of the refusal, one of `docs/protocol.md` §6; empty for others.
  public let code: String
  /// Bytes of the answer, with its head; of a WebSocket or a stream those of the head.
  public let bytes: Int
  /// From the beginning of the turn in which the request was complete to the answer.
  public let duration: Duration
  /// The trace that the client says the request belongs to.
  public let trace: TraceParent?
}

/// Chooses the requests of one loop that are reported.
final class RequestReporter {
  private let log: RequestLog
  /// Requests since the last one that was reported of those that are sampled.
  private var passed = 0

  /// nil when none are.
  init?(_ log: RequestLog) {
    guard log.scope != .none else { return nil }
    self.log = log
  }

  /// Whether a request that was answered with this status is reported.
  func takes(_ status: Int) -> Bool {
    if status >= 400 { return true }
    guard log.scope == .all else { return false }
    passed += 1
    guard passed >= log.sample else { return false }
    passed = 0
    return true
  }

  func report(_ request: AnsweredRequest) { log.observer(request) }
}
