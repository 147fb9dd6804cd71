// SPDX-License-Identifier: MIT
import Synchronization

/// The accounts of the clients of a server, for all loops: those that were asked for last.
final class RateTable: Sendable {
  /// The maximum number of accounts; those that have not been asked for longest are forgotten, as if they were full.
  static let mostAccounts = 65_536

  /// Two halves: when the young one is full, it becomes the old one, and what was in that and has not been asked for since
  /// is forgotten, unless something of it is open.
  private struct Halves {
    var young: [RateKey: RateAccount] = [:]
    var old: [RateKey: RateAccount] = [:]
  }

  private let halves = Mutex(Halves())
  /// Another number after something has been forgotten, which loops may still hold.
  private let forgotten = Atomic<UInt64>(0)

  var generation: UInt64 { forgotten.load(ordering: .relaxed) }
  var count: Int { halves.withLock { $0.young.count + $0.old.count } }

  /// The account of a client.
  func account(of key: RateKey) -> RateAccount {
    // Released behind the lock.
    var dropped: [RateKey: RateAccount] = [:]
    defer { dropped = [:] }
    return halves.withLock { halves in
      if let known = halves.young[key] { return known }
      let account = halves.old.removeValue(forKey: key) ?? RateAccount()
      if halves.young.count >= Self.mostAccounts / 2 {
        dropped = halves.old
        halves.old = halves.young
        halves.young = [:]
        // At most half of the room, so that this happens seldom.
        for (key, account) in dropped where account.isHeld && halves.young.count < Self.mostAccounts / 4 {
          halves.young[key] = account
        }
        forgotten.add(1, ordering: .relaxed)
      }
      halves.young[key] = account
      return account
    }
  }
}

/// The accounts that the clients of one loop have used last: they are found without a lock.
final class LoopRates {
  /// The maximum number of accounts that are kept; then all are asked for anew.
  private static let mostKept = 4096

  private let table: RateTable
  private var kept: [RateKey: RateAccount] = [:]
  private var generation: UInt64 = 0
  /// One client asks again and again.
  private var last: (key: RateKey, account: RateAccount)?

  init(_ table: RateTable) { self.table = table }

  /// The account of a client.
  func account(of key: RateKey) -> RateAccount {
    if table.generation != generation {
      generation = table.generation
      kept = [:]
      last = nil
    }
    if let last, last.key == key { return last.account }
    let account = kept[key] ?? table.account(of: key)
    if kept.count >= Self.mostKept { kept.removeAll(keepingCapacity: true) }
    kept[key] = account
    last = (key, account)
    return account
  }
}
