// SPDX-License-Identifier: MIT
import Synchronization
import TestSupport
import Testing

@testable import SignalHTTP

@Suite("Allowances of clients") struct RateTests {
  private let second: UInt64 = 1_000_000_000

  @Test func `a burst comes at once, and then as many as are earned`() {
    let bucket = RateBucket()
    let rate = Rate(10, burst: 20)
    var now = second
    for _ in 0..<20 { #expect(bucket.take(1, rate, at: now) == 0) }
    #expect(bucket.take(1, rate, at: now) == second / 10)
    now += second / 10 - 1
    #expect(bucket.take(1, rate, at: now) == 1)
    now += 1
    #expect(bucket.take(1, rate, at: now) == 0 && bucket.take(1, rate, at: now) > 0)
    // What is saved up is a burst at most.
    now += 1000 * second
    var taken = 0
    while bucket.take(1, rate, at: now) == 0 { taken += 1 }
    #expect(taken == 20)
  }

  @Test func `what is larger than the room is a debt`() {
    let bucket = RateBucket()
    let rate = Rate(1000)
    #expect(bucket.take(5000, rate, at: second) == 0)
    #expect(bucket.wait(rate, at: second) == 5 * second - rate.time(of: 999))
    #expect(bucket.wait(rate, at: second * 6) == 0)
    bucket.debit(Int.max, rate, at: second)
    #expect(bucket.wait(rate, at: second) > 0 && bucket.wait(rate, at: .max / 2) == 0)
  }

  @Test func `zero is no limit, and clocks of loops may differ`() {
    let bucket = RateBucket()
    for _ in 0..<1000 { #expect(bucket.take(1 << 40, Rate(0), at: 5) == 0) }
    let rate = Rate(1)
    #expect(bucket.take(1, rate, at: 10 * second) == 0)
    #expect(bucket.take(1, rate, at: 9 * second) == 2 * second)
  }

  @Test func `together all threads take what there is, and no more`() throws {
    let (shared, rate) = (SharedBucket(), Rate(1, burst: 10_000))
    try concurrently(4) { _ in
      for _ in 0..<5000 where shared.bucket.take(1, rate, at: second) == 0 { shared.taken.add(1, ordering: .relaxed) }
    }
    #expect(shared.taken.load(ordering: .relaxed) == 10_000)
  }

  @Test func `an address of IPv6 is a network of 64 bits`() throws {
    func key(_ text: String) throws -> RateKey {
      let address = try #require(Array(text.utf8).withView { IPAddress($0) })
      return Peer(PeerAddress(address, port: 1), of: .none).rateKey
    }
    #expect(try key("2001:db8::1") == key("2001:db8::ffff:1"))
    #expect(try key("2001:db8::1") != key("2001:db8:0:1::1"))
    #expect(try key("192.0.2.1") != key("192.0.2.2"))
    #expect(try key("192.0.2.1") == key("::ffff:192.0.2.1"))
    for text in ["127.0.0.1", "127.255.1.2", "::1", "::ffff:127.0.0.1"] {
      let address = try #require(Array(text.utf8).withView { IPAddress($0) })
      #expect(Peer(PeerAddress(address, port: 1), of: .none).isLocal, "\(text)")
    }
    #expect(try #require(Array("::2".utf8).withView { IPAddress($0) }).isLoopback == false)
    #expect(Peer(PeerAddress(user: 1, process: 1), of: .none).isLocal)
  }

  @Test func `as many accounts are kept as may be, and those that are held`() throws {
    let table = RateTable()
    let allowance = RateLimits().address
    let held = table.account(of: .address(high: 0, low: 0))
    let claim = try held.subscribe(allowance)
    let loop = LoopRates(table)
    let used = RateKey.identity("token", "ann")
    let first = loop.account(of: used)
    for number in 1...UInt64(RateTable.mostAccounts * 2) {
      _ = table.account(of: .address(high: number, low: 0))
      #expect(table.count <= RateTable.mostAccounts)
    }
    #expect(table.account(of: .address(high: 0, low: 0)) === held)
    // The loop does not go on with one that is forgotten.
    #expect(loop.account(of: used) !== first && loop.account(of: used) === table.account(of: used))
    withExtendedLifetime(claim) {}
  }

  @Test func `claims are given back, and one too many takes nothing`() throws {
    let account = RateAccount()
    var allowance = RateLimits().address
    allowance.subscriptions = 2
    var claims = [try account.subscribe(allowance), try account.subscribe(allowance)]
    for _ in 0..<3 {
      #expect(throws: RateAccount.Refusal.self) { try account.subscribe(allowance) }
    }
    claims.removeLast()
    claims.append(try account.subscribe(allowance))
    claims = []
    #expect(!account.isHeld)
    allowance.arrivals = 1
    _ = try account.connect(allowance, at: second)
    #expect(throws: RateAccount.Refusal.self) { try account.connect(allowance, at: second) }
    #expect(!account.isHeld)
  }
}

private final class SharedBucket: Sendable {
  let bucket = RateBucket()
  let taken = Atomic<Int>(0)
}
