// SPDX-License-Identifier: MIT
import SignalStore
import Testing

@testable import SignalCluster

/// Records in flight that were lost on their way, and how soon that is looked for.
struct LostAppendTests {
  /// A node that stands alone before an empty log, and what it asks for and appends.
  private struct Node {
    let machine = ClusterMachine(
      node: "a", session: "s", key: ChainKey([1]), seed: 1, epoch: { _ in Epoch.random() })
    var reads: [UInt64] = []
    var appends: [(record: LogRecord, after: UInt64, tag: UInt64)] = []

    mutating func take() {
      (reads, appends) = ([], [])
      for action in machine.takeActions() {
        if case .read(_, let tag) = action { reads.append(tag) }
        if case .append(let record, let after, let tag) = action { appends.append((record, after, tag)) }
      }
    }

    /// Answers the question for records that is open.
    mutating func answer(_ records: [LogRecord] = [], last: UInt64, at now: UInt64) throws {
      let numbered = records.enumerated().map { (sequence: last - UInt64(records.count - 1 - $0), bytes: $1.bytes) }
      machine.read(.records(numbered, last: last), tag: try #require(reads.first), at: now)
      take()
    }

    /// It has read that there is nothing, and has claimed the first term.
    mutating func claim() throws {
      machine.start(at: 0)
      take()
      try answer(last: 0, at: 1)
      machine.tick(at: machine.deadline)
      machine.tick(at: 5000)
      take()
      try answer(last: 0, at: 5001)
      #expect(machine.role == .claiming && appends.count == 1)
    }

    /// It leads, and has a record in flight.
    mutating func propose() throws -> LogRecord {
      try claim()
      let claim = try #require(appends.first)
      machine.appended(.stored(1), tag: claim.tag, at: 5002)
      #expect(machine.role == .leading)
      machine.propose(Array("{\"c\":[]}\n".utf8), at: 5003)
      take()
      #expect(appends.map(\.after) == [1] && reads.isEmpty)
      return claim.record
    }
  }

  enum Notice: CaseIterable { case election, connection }

  @Test(arguments: Notice.allCases)
  func `an append that may be lost is looked for at once, and appended again where it is not there`(
    _ notice: Notice
  ) throws {
    var node = Node()
    let claim = try node.propose()
    let first = try #require(node.appends.first)
    switch notice {
    case .election: node.machine.streamLeaderElected(at: 5010)
    case .connection: node.machine.reconnected(at: 5010)
    }
    node.take()
    #expect(node.reads.count == 1 && node.appends.isEmpty && !node.machine.canPropose)
    try node.answer([claim], last: 1, at: 5011)
    let again = try #require(node.appends.first)
    #expect(again.record.bytes == first.record.bytes && again.after == 1 && again.tag != first.tag)
    // The answer to the first comes late, and says nothing any more.
    node.machine.appended(.failed, tag: first.tag, at: 5012)
    node.machine.appended(.stored(2), tag: again.tag, at: 5013)
    #expect(node.machine.position.sequence == 2 && node.machine.isIdle && node.machine.counts.recoveries == 1)
  }

  @Test func `an append that is there is not appended again`() throws {
    var node = Node()
    let claim = try node.propose()
    let first = try #require(node.appends.first)
    node.machine.streamLeaderElected(at: 5010)
    node.take()
    try node.answer([claim, first.record], last: 2, at: 5011)
    #expect(node.appends.isEmpty && node.machine.position.sequence == 2 && node.machine.isIdle)
  }

  @Test func `a claim that may be lost is looked for at once`() throws {
    var node = Node()
    try node.claim()
    node.machine.streamLeaderElected(at: 5010)
    node.take()
    #expect(node.reads.count == 1)
    try node.answer(last: 0, at: 5011)
    // It may still come, so that the next one is another record, and not at once.
    #expect(node.machine.role == .following && node.appends.isEmpty)
  }

  @Test func `who has nothing in flight asks nothing when a leader is elected`() throws {
    var node = Node()
    let claim = try node.propose()
    let first = try #require(node.appends.first)
    node.machine.appended(.stored(2), tag: first.tag, at: 5004)
    node.take()
    node.machine.streamLeaderElected(at: 5010)
    node.take()
    #expect(node.reads.isEmpty && node.appends.isEmpty)
    let follower = ClusterMachine(
      node: "b", session: "t", key: ChainKey([1]), seed: 1, epoch: { _ in Epoch.random() })
    follower.start(at: 0)
    follower.received(1, claim.bytes, at: 1)
    _ = follower.takeActions()
    follower.streamLeaderElected(at: 2)
    #expect(follower.takeActions().isEmpty)
  }
}
