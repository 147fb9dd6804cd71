// SPDX-License-Identifier: MIT
import Synchronization

/// Memory of one kind that clients make the server take, counted before it is taken.
final class MemoryAccount: Sendable {
  let limit: Int
  private let used = Atomic<Int>(0)

  init(limit: Int) { self.limit = limit }

  /// Bytes that are taken.
  var inUse: Int { used.load(ordering: .relaxed) }

  /// Takes so many bytes; false, and none taken, when there are not so many left.
  func take(_ bytes: Int) -> Bool {
    let sum = used.add(bytes, ordering: .relaxed).newValue
    guard sum > limit, bytes > 0 else { return true }
    used.subtract(bytes, ordering: .relaxed)
    return false
  }

  func giveBack(_ bytes: Int) { used.subtract(bytes, ordering: .relaxed) }
}

/// Bytes that are taken from an account, and given back with the last reference.
final class MemoryClaim: Sendable {
  private let account: MemoryAccount
  private let bytes: Int

  /// Takes the bytes; nil when there are not so many left.
  init?(_ bytes: Int, from account: MemoryAccount) {
    // Before the check, as all of a class is there when its initializer fails.
    self.account = account
    self.bytes = account.take(bytes) ? bytes : 0
    if self.bytes == 0 { return nil }
  }

  deinit { account.giveBack(bytes) }
}

/// Most of the memory that a server may have is used.
public struct MemoryShortage: Sendable, Equatable {
  /// Bytes that the process has.
  public let inUse: Int
  /// Bytes that it may have.
  public let limit: Int
  /// Connections that have been dropped since the last time, because their peers did not take what waited for them.
  public let dropped: Int
}

/// The memory of a server: what its clients have taken, and what the process has.
final class MemoryBudget: Sendable {
  /// Requests and messages that have not come as a whole.
  let requests: MemoryAccount
  let connections: MemoryAccount
  let subscriptions: MemoryAccount
  let gauge: MemoryGauge
  /// Connections that are there only to be refused, because there is no memory for them.
  private let refused = Atomic<Int>(0)
  private let observer: (@Sendable (MemoryShortage) -> Void)?
  /// What happened since the observer was told, and when that was.
  private let shortage = Mutex((dropped: 0, told: UInt64(0)))

  /// The time between two shortages that the observer is told of.
  private static let tellingInterval: UInt64 = 1_000_000_000

  /// - Parameters:
  ///   - shares: How it is divided.
  ///   - observer: Told of shortages, at most once a second.
  init(
    _ shares: MemoryShares, gauge: MemoryGauge? = nil, observer: (@Sendable (MemoryShortage) -> Void)? = nil
  ) {
    requests = MemoryAccount(limit: shares.requests)
    connections = MemoryAccount(limit: shares.connections)
    subscriptions = MemoryAccount(limit: shares.subscriptions)
    self.gauge = gauge ?? MemoryGauge(limit: shares.total)
    self.observer = observer
  }

  /// How many connections are being refused for want of memory.
  var refusedConnections: Int { refused.load(ordering: .relaxed) }

  func countRefused(_ change: Int) { refused.add(change, ordering: .relaxed) }

  /// Notes that memory was short, and how many connections have been dropped for it.
  func noteShortage(dropping dropped: Int, at now: UInt64) {
    guard let observer else { return }
    let count: Int? = shortage.withLock { shortage in
      shortage.dropped += dropped
      guard now >= shortage.told + Self.tellingInterval else { return nil }
      defer { shortage = (0, now) }
      return shortage.dropped
    }
    if let count { observer(MemoryShortage(inUse: gauge.inUse, limit: gauge.limit, dropped: count)) }
  }

  /// What a connection is counted with: itself, its session, and what the loop has of it.
  static let connectionBytes = 2 << 10
  /// The same of one with TLS: what OpenSSL keeps of its state, with room for a record that has not come as a whole.
  static let securedConnectionBytes = 16 << 10
  /// What a subscription is counted with beside its texts: itself, and a group of its own.
  private static let subscriptionBytes = 1536
  /// What a byte of a pattern, or of a filter's source, comes to.
  private static let bytesOfPatternByte = 16
  private static let bytesOfFilterByte = 64

  /// What a subscription is counted with.
  static func cost(patternBytes: Int, filterBytes: Int) -> Int {
    subscriptionBytes + bytesOfPatternByte * patternBytes + bytesOfFilterByte * filterBytes
  }
}
