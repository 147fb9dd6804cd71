// SPDX-License-Identifier: MIT
import Synchronization

/// Whose account it is.
enum RateKey: Hashable, Sendable {
  /// An identity: what proves it, and its id.
  case identity(String, String)
  /// An IPv4 address in `low`, or the first 64 bits of an IPv6 address in `high`.
  case address(high: UInt64, low: UInt64)
}

/// What a client has used of its allowance, for all loops.
///
/// The limits themselves are given with each use, as they change when the settings are read anew.
final class RateAccount: Sendable {
  /// One of the things that a client can have too much of.
  enum Kind: String, Sendable {
    case requests, bytes, connections, arrivals, subscriptions, failures
  }

  /// That a client has used up its allowance.
  struct Refusal: Error {
    let kind: Kind
    /// How many there may be: at once, or at a time.
    let quota: Int
    /// In what time they are earned anew, in whole seconds; nil for a number that may be there at a time.
    let window: Int?
    /// How long to wait, in nanoseconds; nil when nobody knows.
    let wait: UInt64?

    init(_ kind: Kind, _ rate: Rate, wait: UInt64) {
      self.kind = kind
      quota = rate.burst
      window = Int((rate.time(of: rate.burst) + 999_999_999) / 1_000_000_000)
      self.wait = wait
    }

    init(_ kind: Kind, atMost quota: Int) {
      self.kind = kind
      self.quota = quota
      window = nil
      wait = nil
    }
  }

  private let requests = RateBucket()
  private let bytes = RateBucket()
  private let arrivals = RateBucket()
  private let failures = RateBucket()
  fileprivate let connections = Atomic<Int>(0)
  fileprivate let subscriptions = Atomic<Int>(0)

  /// Whether something of it is open, which has to be counted on.
  var isHeld: Bool { connections.load(ordering: .relaxed) > 0 || subscriptions.load(ordering: .relaxed) > 0 }

  /// Takes a request of a size.
  func take(_ size: Int, _ allowance: RateLimits.Allowance, at now: UInt64) throws(Refusal) {
    let (rate, byteRate) = (allowance.requestRate, allowance.byteRate)
    let wait = bytes.wait(byteRate, at: now)
    guard wait == 0 else { throw Refusal(.bytes, byteRate, wait: wait) }
    let other = requests.take(1, rate, at: now)
    guard other == 0 else { throw Refusal(.requests, rate, wait: other) }
    bytes.debit(size, byteRate, at: now)
  }

  /// Takes a message that has been received.
  ///
  /// - Returns: How long there is no room for another one, in nanoseconds.
  func debit(_ size: Int, _ allowance: RateLimits.Allowance, at now: UInt64) -> UInt64 {
    requests.debit(1, allowance.requestRate, at: now)
    bytes.debit(size, allowance.byteRate, at: now)
    return wait(allowance, at: now)
  }

  /// How long there is no room for a message, in nanoseconds.
  func wait(_ allowance: RateLimits.Allowance, at now: UInt64) -> UInt64 {
    max(requests.wait(allowance.requestRate, at: now), bytes.wait(allowance.byteRate, at: now))
  }

  /// Opens a connection, which is one until the claim is gone.
  func connect(_ allowance: RateLimits.Allowance, at now: UInt64) throws(Refusal) -> RateClaim {
    guard let claim = RateClaim(self, .connections, atMost: allowance.connections) else {
      throw Refusal(.connections, atMost: allowance.connections)
    }
    let rate = Rate(allowance.arrivals)
    let wait = arrivals.take(1, rate, at: now)
    guard wait == 0 else { throw Refusal(.arrivals, rate, wait: wait) }
    return claim
  }

  /// Begins a subscription, which is one until the claim is gone.
  func subscribe(_ allowance: RateLimits.Allowance) throws(Refusal) -> RateClaim {
    guard let claim = RateClaim(self, .subscriptions, atMost: allowance.subscriptions) else {
      throw Refusal(.subscriptions, atMost: allowance.subscriptions)
    }
    return claim
  }

  /// Refuses to look at a proof of who asks, after too many that were not accepted.
  func checkFailures(_ limits: RateLimits, at now: UInt64) throws(Refusal) {
    let rate = limits.failureRate
    let wait = failures.wait(rate, at: now)
    guard wait == 0 else { throw Refusal(.failures, rate, wait: wait) }
  }

  /// Notes a proof that was not accepted.
  func noteFailure(_ limits: RateLimits, at now: UInt64) { failures.debit(1, limits.failureRate, at: now) }
}

/// One of a number that may be there at a time, given back with the last reference.
final class RateClaim: Sendable {
  let account: RateAccount
  private let kind: RateAccount.Kind

  /// - Parameter limit: 0 for none.
  /// - Returns: nil when there are as many as there may be.
  fileprivate init?(_ account: RateAccount, _ kind: RateAccount.Kind, atMost limit: Int) {
    self.account = account
    self.kind = kind
    let count = add(1)
    // Given back by `deinit`.
    if limit > 0, count > limit { return nil }
  }

  deinit { _ = add(-1) }

  private func add(_ number: Int) -> Int {
    switch kind {
    case .subscriptions: account.subscriptions.add(number, ordering: .relaxed).newValue
    default: account.connections.add(number, ordering: .relaxed).newValue
    }
  }
}

extension RateLimits {
  fileprivate var failureRate: Rate { Rate(failures, per: 60_000_000_000) }
}

extension RateLimits.Allowance {
  fileprivate var requestRate: Rate { Rate(requests, burst: burst) }
  fileprivate var byteRate: Rate { Rate(bytes) }
}
