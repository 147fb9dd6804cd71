// SPDX-License-Identifier: MIT
import Synchronization

/// Accounts for memory of one kind that clients cause the server to use, before it is allocated.
final class MemoryAccount: Sendable {
  let limit: Int
  private let used = Atomic<Int>(0)

  init(limit: Int) { self.limit = limit }

  /// Bytes that are claimed.
  var inUse: Int { used.load(ordering: .relaxed) }

  /// Claims that many bytes; false, and none claimed, when fewer are left.
  func take(_ bytes: Int) -> Bool {
    let sum = used.add(bytes, ordering: .relaxed).newValue
    guard sum > limit, bytes > 0 else { return true }
    used.subtract(bytes, ordering: .relaxed)
    return false
  }

  func giveBack(_ bytes: Int) { used.subtract(bytes, ordering: .relaxed) }
}

/// Bytes claimed from an account, and released with the last reference.
final class MemoryClaim: Sendable {
  private let account: MemoryAccount
  private let bytes: Int

  /// Claims the bytes; nil when fewer are left.
  init?(_ bytes: Int, from account: MemoryAccount) {
    // Before the check, as all properties must be set when the initializer of a class fails.
    self.account = account
    self.bytes = account.take(bytes) ? bytes : 0
    if self.bytes == 0 { return nil }
  }

  deinit { account.giveBack(bytes) }
}

/// Most of the memory that a server may have is used.
public struct MemoryShortage: Sendable, Equatable {
  /// Bytes that the process uses.
  public let inUse: Int
  /// Bytes that it may use.
  public let limit: Int
  /// Connections dropped since the last report, because their peers did not accept their pending output.
  public let dropped: Int
}

/// The memory of a server: the claims of its clients, and the use of the process.
final class MemoryBudget: Sendable {
  /// Incomplete requests and messages.
  let requests: MemoryAccount
  let connections: MemoryAccount
  let subscriptions: MemoryAccount
  let gauge: MemoryGauge
  /// Connections that are open only to be refused, because there is no memory for them.
  private let refused = Atomic<Int>(0)
  private let observer: (@Sendable (MemoryShortage) -> Void)?
  /// Connections dropped since the observer was last notified, and the time of that.
  private let shortage = Mutex((dropped: 0, told: UInt64(0)))

  /// The minimum time between two notifications of the observer.
  private static let tellingInterval: UInt64 = 1_000_000_000

  /// - Parameters:
  ///   - shares: How the memory is divided.
  ///   - observer: Notified of shortages, at most once a second.
  init(
    _ shares: MemoryShares, gauge: MemoryGauge? = nil, observer: (@Sendable (MemoryShortage) -> Void)? = nil
  ) {
    requests = MemoryAccount(limit: shares.requests)
    connections = MemoryAccount(limit: shares.connections)
    subscriptions = MemoryAccount(limit: shares.subscriptions)
    self.gauge = gauge ?? MemoryGauge(limit: shares.total)
    self.observer = observer
  }

  /// The number of connections being refused for lack of memory.
  var refusedConnections: Int { refused.load(ordering: .relaxed) }

  func countRefused(_ change: Int) { refused.add(change, ordering: .relaxed) }

  /// Notes that memory was short, and how many connections have been dropped because of it.
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

  /// What a connection counts for: itself, its session, and its share of the loop.
  static let connectionBytes = 2 << 10
  /// The same for a connection with TLS: OpenSSL's state, with room for an incomplete record.
  static let securedConnectionBytes = 16 << 10
  /// What a subscription counts for apart from its texts: itself, and a group of its own.
  private static let subscriptionBytes = 1536
  /// What a byte of a pattern, or of a filter's source, counts for.
  private static let bytesOfPatternByte = 16
  private static let bytesOfFilterByte = 64

  /// What a subscription counts for.
  static func cost(patternBytes: Int, filterBytes: Int) -> Int {
    subscriptionBytes + bytesOfPatternByte * patternBytes + bytesOfFilterByte * filterBytes
  }
}
