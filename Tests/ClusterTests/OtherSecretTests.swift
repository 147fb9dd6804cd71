// SPDX-License-Identifier: MIT
import SignalStore
import TestSupport
import Testing

@testable import SignalCluster

/// A node whose secret is not that of the others.
struct OtherSecretTests {
  private static let epoch = Epoch.random()
  private static let right = ChainKey(Array("right".utf8))

  /// Two claims of another node, one after the other.
  private static func claims() -> [LogRecord] {
    let first = LogRecord(
      ClaimHead(term: 1, node: "x", session: "s", last: 0, previous: .none, epoch: epoch))
    let second = LogRecord(
      ClaimHead(
        term: 2, node: "x", session: "s", last: 0, previous: right.link(after: .none, first.bytes), epoch: epoch))
    return [first, second]
  }

  /// A node that has read these records.
  private func machine(_ secret: String, reading records: [LogRecord]) throws -> ClusterMachine {
    let machine = ClusterMachine(
      node: "y", session: "t", key: ChainKey(Array(secret.utf8)), seed: 1, epoch: { _ in Self.epoch })
    machine.start(at: 0)
    let tags = machine.takeActions().compactMap { if case .read(_, let tag) = $0 { tag } else { nil } }
    let numbered = records.enumerated().map { (sequence: UInt64($0.offset + 1), bytes: $0.element.bytes) }
    machine.read(.records(numbered, last: UInt64(records.count)), tag: try #require(tags.first), at: 1)
    return machine
  }

  private func beat(term: UInt64, sequence: UInt64) -> Beat {
    Beat(
      node: "x", session: "s", term: term, isLeading: true, sequence: sequence, revision: 0,
      time: Timestamp(milliseconds: 0))
  }

  @Test func `entries that do not follow from the first record are of another secret`() throws {
    let claim = Self.claims()[0]
    let batch = LogRecord(
      BatchHead(
        term: 1, number: 1, node: "x", first: 1, previous: Self.right.link(after: .none, claim.bytes)), lines: [])
    let stranger = try machine("wrong", reading: [claim, batch])
    #expect(stranger.role == .diverged && stranger.hasOtherSecret)
    #expect(try machine("right", reading: [claim, batch]).role == .following)
  }

  @Test func `a leader whose claim did not count has another secret`() throws {
    let stranger = try machine("wrong", reading: Self.claims())
    #expect(stranger.role == .following)
    // What it has claimed is still to be read.
    stranger.received(beat(term: 3, sequence: 3), at: 2)
    #expect(stranger.role == .following)
    stranger.received(beat(term: 2, sequence: 2), at: 3)
    #expect(stranger.role == .diverged && stranger.hasOtherSecret)
    let member = try machine("right", reading: Self.claims())
    member.received(beat(term: 2, sequence: 2), at: 3)
    #expect(member.role == .following && member.position.term == 2)
  }

  @Test func `who has followed the others has their secret, and another log`() throws {
    let claims = Self.claims()
    let member = try machine("right", reading: claims)
    let batch = LogRecord(BatchHead(term: 2, number: 1, node: "x", first: 1, previous: ChainLink(word: 7)), lines: [])
    member.received(3, batch.bytes, at: 4)
    // Before it ends it looks whether the stream still has what was read from it.
    try answer(member, with: claims[1].bytes, at: 5)
    #expect(member.role == .diverged && !member.hasOtherSecret)
  }

  /// Answers the question for the second record with these bytes.
  private func answer(_ machine: ClusterMachine, with bytes: [UInt8], at now: UInt64) throws {
    let questions = machine.takeActions().compactMap {
      if case .read(let after, let tag) = $0 { (after, tag) } else { nil }
    }
    let question = try #require(questions.last)
    #expect(question.0 == 1)
    machine.read(
      .records([(sequence: UInt64(2), bytes: bytes), (sequence: UInt64(3), bytes: Array("x".utf8))], last: 3),
      tag: question.1, at: now)
  }

  @Test func `who finds another record in the place of the last one fences the log before it ends`() throws {
    let claims = Self.claims()
    let member = try machine("right", reading: claims)
    member.reconnected(at: 10)
    for round in 0..<3 {
      #expect(member.role != .diverged)
      try answer(member, with: claims[0].bytes, at: 11 + UInt64(round) * 1000)
      member.tick(at: 500 + UInt64(round) * 1000)
    }
    let fence = try #require(
      member.takeActions().compactMap { if case .append(let record, 3, let tag) = $0 { (record, tag) } else { nil } }
        .first)
    guard case .fence(let head) = fence.0.head else {
      Issue.record("no fence")
      return
    }
    #expect(head.after == 3 && member.role != .diverged)
    member.appended(.stored(4), tag: fence.1, at: 5000)
    #expect(member.role == .diverged)
  }
}

/// Processes that have the name of a node.
struct NamesakeTests {
  private func beat(_ session: String, age: UInt64) -> Beat {
    Beat(
      node: "a", session: session, age: age, term: 1, isLeading: false, sequence: 0, revision: 0,
      time: Timestamp(milliseconds: 0))
  }

  @Test func `the later one of two gives up when the other is heard for a while, and is reported once`() {
    for (age, findings) in [
      (UInt64(5000), [Namesakes.Finding.nothing, .nothing, .isEarlier, .isEarlier]),
      (100, [.isLater, .nothing, .nothing, .nothing]),
    ] {
      var namesakes = Namesakes()
      let found = [UInt64(0), 10, 150, 300].map { now in
        namesakes.heard(beat("b", age: age + now), by: "s", joined: 9000, at: 10_000 + now, beats: 150)
      }
      #expect(found == findings)
    }
  }

  @Test func `beats of a process that was killed may still come, all at once`() {
    var namesakes = Namesakes()
    for session in ["b", "c", "b", "c"] {
      #expect(
        namesakes.heard(beat(session, age: 90_000), by: "s", joined: 10_000, at: 10_001, beats: 150) == .nothing)
    }
  }

  @Test func `of two that have joined at once one is the later for both`() {
    func findings(_ own: String, _ other: String) -> [Namesakes.Finding] {
      var namesakes = Namesakes()
      return [UInt64(1000), 1150].map { now in
        namesakes.heard(beat(other, age: now - 50), by: own, joined: 0, at: now, beats: 150)
      }
    }
    #expect(findings("s", "t") == [.isLater, .nothing] && findings("t", "s") == [.nothing, .isEarlier])
  }

  @Test func `many names of processes take no memory`() {
    var namesakes = Namesakes()
    for number in 0..<1000 {
      let beat = beat("\(number)", age: 90_000)
      #expect(namesakes.heard(beat, by: "s", joined: 0, at: UInt64(number), beats: 150) == .nothing)
    }
  }
}
