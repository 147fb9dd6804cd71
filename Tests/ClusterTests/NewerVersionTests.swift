// SPDX-License-Identifier: MIT
import SignalStore
import Testing

@testable import SignalCluster

/// Records of a program that is newer.
struct NewerVersionTests {
  private static let key = ChainKey(Array("secret".utf8))

  /// A node that has read a claim of another, and what it has claimed.
  private func follower() throws -> (machine: ClusterMachine, claim: LogRecord) {
    let machine = ClusterMachine(node: "y", session: "t", key: Self.key, seed: 1, epoch: { _ in Epoch.random() })
    let claim = LogRecord(
      ClaimHead(term: 1, node: "x", session: "s", last: 0, previous: .none, epoch: Epoch.random()))
    machine.start(at: 0)
    let tags = machine.takeActions().compactMap { if case .read(_, let tag) = $0 { tag } else { nil } }
    machine.read(.records([(sequence: UInt64(1), bytes: claim.bytes)], last: 1), tag: try #require(tags.first), at: 1)
    _ = machine.takeActions()
    return (machine, claim)
  }

  private func newer(after previous: ChainLink) -> [UInt8] {
    Array(#"{"v":2,"kind":"other","term":1,"node":"x","prev":"\#(previous.text)"}"#.utf8)
  }

  @Test func `a newer record that follows stops the node, which ends no history of others`() throws {
    let (machine, claim) = try follower()
    machine.received(2, newer(after: Self.key.link(after: .none, claim.bytes)), at: 2)
    #expect(machine.role == .diverged && machine.newerVersion == 2 && !machine.hasOtherSecret)
    #expect(machine.position.sequence == 1)
    let appended = machine.takeActions().contains { if case .append = $0 { true } else { false } }
    #expect(!appended)
  }

  @Test func `a newer record that follows from something else is skipped`() throws {
    let (machine, _) = try follower()
    machine.received(2, newer(after: ChainLink(word: 7)), at: 2)
    #expect(machine.role == .following && machine.newerVersion == nil)
    #expect(machine.position.sequence == 2 && machine.counts.stale == 1)
  }

  @Test func `records that wait are bounded in bytes as well`() {
    var times = ClusterTimes()
    times.waitingBytes = 100
    var waiting = WaitingRecords()
    waiting.add([UInt8](repeating: 1, count: 60), at: 5, times)
    waiting.add([UInt8](repeating: 2, count: 60), at: 6, times)
    #expect(waiting.take(6) == nil && waiting.take(5)?.count == 60)
    waiting.add([UInt8](repeating: 3, count: 100), at: 6, times)
    waiting.dropAll(through: 6, times)
    #expect(waiting.take(6) == nil)
    waiting.add([UInt8](repeating: 4, count: 100), at: 7, times)
    #expect(waiting.take(7)?.first == 4)
  }
}
