// SPDX-License-Identifier: MIT
import SignalAccess

/// What callers may do in a time (`docs/protocol.md` §8).
extension LiveService {
  /// What somebody may do who is known or is not.
  func allowance(of identity: Identity?) -> RateLimits.Allowance {
    identity == nil ? rateLimits.address : rateLimits.identity
  }

  /// The account of a caller: of its identity, else of its address; nil for those who are not limited.
  func account(of identity: Identity?, _ peer: Peer?) -> RateAccount? {
    guard let peer, rateLimits.local || !peer.isLocal else { return nil }
    guard let identity else { return rates.account(of: peer.rateKey) }
    return rates.account(of: .identity(identity.kind.rawValue, identity.id))
  }

  /// Takes a request of a size.
  func take(_ size: Int, _ identity: Identity?, _ peer: Peer, on loop: isolated EventLoop) throws(Problem) {
    guard let account = account(of: identity, peer) else { return }
    do throws(RateAccount.Refusal) {
      try account.take(size, allowance(of: identity), at: loop.now)
    } catch {
      throw Problem(error)
    }
  }

  /// Opens a WebSocket or an event stream of somebody known; those of others are counted as connections of their address.
  ///
  /// - Parameter present: The claim that the connection has already; given back unless it is that identity's.
  func connect(
    _ identity: Identity?, _ peer: Peer?, having present: RateClaim? = nil, on loop: isolated EventLoop
  ) throws(Problem) -> RateClaim? {
    guard let identity, let account = account(of: identity, peer) else { return nil }
    if let present, present.account === account { return present }
    do throws(RateAccount.Refusal) {
      return try account.connect(rateLimits.identity, at: loop.now)
    } catch {
      throw Problem(error)
    }
  }

  /// Begins a subscription.
  func subscribe(_ caller: Caller) throws(Problem) -> RateClaim? {
    guard let account = account(of: caller.identity, caller.peer) else { return nil }
    do throws(RateAccount.Refusal) {
      return try account.subscribe(allowance(of: caller.identity))
    } catch {
      throw Problem(error)
    }
  }

  /// Refuses to look at what a client gives as a proof, after too many from its address that were not accepted.
  func checkFailures(_ peer: Peer?, on loop: isolated EventLoop) throws(Problem) {
    guard let account = account(of: nil, peer) else { return }
    do throws(RateAccount.Refusal) {
      try account.checkFailures(rateLimits, at: loop.now)
    } catch {
      throw Problem(error)
    }
  }

  /// Notes a proof that was not accepted.
  func noteFailure(_ peer: Peer?, on loop: isolated EventLoop) {
    account(of: nil, peer)?.noteFailure(rateLimits, at: loop.now)
  }
}

extension Problem {
  /// A client has used up what it may do.
  fileprivate init(_ refusal: RateAccount.Refusal) {
    let detail =
      switch refusal.kind {
      case .requests: "There were more requests than there may be."
      case .bytes: "Requests were larger together than they may be."
      case .connections: "There are \(refusal.quota) connections, as many as there may be at a time."
      case .arrivals: "There were more new connections than there may be."
      case .subscriptions: "There are \(refusal.quota) subscriptions, as many as there may be at a time."
      case .failures: "More proofs of who asks were not accepted than may be."
      }
    self.init(.tooManyRequests, detail)
    exceeded = refusal
  }
}

extension RateAccount.Refusal {
  /// Whole seconds to wait; nil when nobody knows.
  var seconds: Int? { wait.map { Int(($0 + 999_999_999) / 1_000_000_000) } }

  /// The name of the limit, as a string of RFC 9651.
  private var name: String { "\"\(kind.rawValue)\"" }

  /// The value of `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers-11): how much there may be.
  var policy: String {
    let unit =
      switch kind {
      case .bytes: #";qu="content-bytes""#
      case .connections, .subscriptions: #";qu="concurrent-requests""#
      case .requests, .arrivals, .failures: ""
      }
    return "\(name);q=\(quota)\(unit)" + (window.map { ";w=\($0)" } ?? "")
  }

  /// The value of `RateLimit`: that nothing is left of it, and how long.
  var rest: String { "\(name);r=0" + (seconds.map { ";t=\($0)" } ?? "") }
}
