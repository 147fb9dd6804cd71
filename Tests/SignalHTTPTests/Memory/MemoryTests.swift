// SPDX-License-Identifier: MIT
import Synchronization
import Testing

@testable import SignalHTTP

@Suite("Memory") struct MemoryTests {
  @Test(arguments: [MemoryShares.least, 256 << 20, 1 << 30, 1 << 40])
  func `the shares leave something for output`(total: Int) {
    let shares = MemoryShares(of: total)
    let sum =
      shares.properties + shares.history + shares.remembered + shares.queue + shares.requests + shares.connections
      + shares.subscriptions
    #expect(shares.total == total && sum > 0 && sum <= (total - (32 << 20)) / 100 * 85)
  }

  @Test func `what exceeds an account is not taken, and what is given back can be taken again`() {
    let account = MemoryAccount(limit: 100)
    #expect(account.take(60))
    #expect(!account.take(41))
    #expect(account.take(40) && account.inUse == 100)
    account.giveBack(60)
    #expect(account.take(-20) && account.inUse == 20)
    var claim = MemoryClaim(80, from: account)
    #expect(claim != nil && MemoryClaim(1, from: account) == nil && account.inUse == 100)
    claim = nil
    #expect(claim == nil && account.inUse == 20)
  }

  @Test func `it is short from nine tenths on, and no longer when something was given back`() {
    let bytes = Atomic<Int>(100)
    let gauge = MemoryGauge(limit: 1000) { bytes.load(ordering: .relaxed) }
    gauge.look()
    #expect(!gauge.isShort && gauge.inUse == 100)
    bytes.store(900, ordering: .relaxed)
    gauge.look()
    #expect(gauge.isShort && gauge.inUse == 900)
    bytes.store(899, ordering: .relaxed)
    gauge.look()
    #expect(!gauge.isShort)
  }

  @Test func `the system tells what the process has, and what it may have`() {
    #expect(residentBytes() > 1 << 20)
    #expect(availableMemory() > residentBytes())
  }

  @Test(arguments: [
    ("0::/a/b", ["memory.max", "a/memory.max", "a/b/memory.max"]),
    (
      "5:cpu,cpuacct:/x\n4:memory:/m/n",
      ["memory/memory.limit_in_bytes", "memory/m/memory.limit_in_bytes", "memory/m/n/memory.limit_in_bytes"]
    ),
    ("1:name=systemd:/\n", []),
  ])
  func `the limits of a group are those of all groups that it is in`(groups: String, files: [String]) {
    #expect(memoryLimitFiles(ofGroups: groups) == files.map { "/sys/fs/cgroup/" + $0 })
  }

  private final class Shortages: Sendable {
    let told = Mutex<[MemoryShortage]>([])
  }

  /// Those that have taken nothing for longest go first, and no more than a quarter at a time.
  @Test func `while memory is short, those are dropped that take nothing`() async throws {
    let bytes = Atomic<Int>(0)
    let gauge = MemoryGauge(limit: 1000) { bytes.load(ordering: .relaxed) }
    let shortages = Shortages()
    let budget = MemoryBudget(MemoryShares(of: MemoryShares.least), gauge: gauge) { shortage in
      shortages.told.withLock { $0.append(shortage) }
    }
    let loop = try EventLoop(label: "test", sweepMilliseconds: 100, memory: budget)
    try await check(loop, bytes)
    #expect(shortages.told.withLock { $0.first } == MemoryShortage(inUse: 950, limit: 1000, dropped: 2))
  }

  private func check(_ loop: isolated EventLoop, _ bytes: borrowing Atomic<Int>) async throws {
    guard let keeper = loop.memory else { preconditionFailure("The loop has a budget.") }
    var members: [ProbeMember] = []
    for index in 0..<10 {
      let pair = SocketPair()
      let member = ProbeMember(pair.first)
      member.peer = pair.second
      if index < 8 { member.blockedTime = UInt64(100 - index) }
      _ = try loop.add(member)
      members.append(member)
    }
    loop.now += 1_000_000_000
    _ = keeper.turnEnds(on: loop)
    #expect(members.allSatisfy { !$0.isAborted })
    bytes.store(950, ordering: .relaxed)
    // Not looked at before the time has come, unless much has begun to wait.
    _ = keeper.turnEnds(on: loop)
    #expect(!keeper.isShort)
    keeper.note(1 << 20)
    #expect(keeper.isShort)
    loop.now += 100_000_000
    _ = keeper.turnEnds(on: loop)
    #expect(members.map(\.isAborted) == (0..<10).map { $0 == 7 || $0 == 6 })
    loop.stop()
  }

  @Test func `connections beyond the share are counted as refused until they end`() async throws {
    let budget = MemoryBudget(MemoryShares(of: MemoryShares.least))
    let keeper = MemoryKeeper(budget)
    var taken: [Int] = []
    while let bytes = keeper.takeConnection(isSecured: false) { taken.append(bytes) }
    #expect(taken.count == budget.connections.limit / MemoryBudget.connectionBytes)
    #expect(budget.refusedConnections == 1)
    keeper.release(input: 0, connection: nil)
    for bytes in taken { keeper.release(input: 0, connection: bytes) }
    #expect(budget.refusedConnections == 0 && budget.connections.inUse == 0)
  }
}
