// SPDX-License-Identifier: MIT
import JSON
import SignalStore
import Testing

@testable import SignalCluster

/// The form of records, and which of them count.
struct LogRecordTests {
  private let key = ChainKey(Array("secret".utf8))

  private func claim(_ term: UInt64, _ node: String, after position: LogPosition) -> LogRecord {
    LogRecord(
      ClaimHead(
        term: term, node: node, session: "s", last: position.revision, previous: position.link,
        epoch: Epoch("x7k2m9qd") ?? .random()))
  }

  private func batch(_ number: UInt64, after position: LogPosition, node: String? = nil) -> LogRecord {
    LogRecord(
      BatchHead(
        term: position.term, number: number, node: node ?? position.leader,
        first: Revision(position.revision.number + 1), previous: position.link),
      lines: Array(
        "{\"c\":[[\"set\",\"k/t\",22.5]],\"time\":\"2026-01-02T03:04:05.678Z\"}\n{\"will\":7,\"operations\":null}\n"
          .utf8))
  }

  @Test func `a record is lines of JSON, and reads as it was written`() throws {
    var position = LogPosition()
    let first = claim(7, "a", after: position)
    #expect(
      String(decoding: first.bytes, as: UTF8.self)
        == #"{"v":1,"kind":"claim","term":7,"node":"a","session":"s","last":0,"epoch":"x7k2m9qd","prev":"0000000000000000"}"#
        + "\n")
    position.advance(over: first, key)
    let second = batch(1, after: position)
    let read = try LogRecord(second.bytes)
    #expect(read.head == second.head)
    #expect(read.counts == (2, 1))
    #expect(read.lines.map { String(decoding: $0, as: UTF8.self) }.last == #"{"will":7,"operations":null}"#)
  }

  @Test(arguments: [
    "", "{}", "x", #"{"v":1}"#, #"{"v":1,"kind":"batch","term":1,"node":"a","n":1,"first":1,"prev":"00"}"#,
    #"{"v":1,"kind":"other","term":1,"node":"a","n":1,"first":1,"prev":"0000000000000000"}"#,
    #"{"v":1,"kind":"batch","term":-1,"node":"a","n":1,"first":1,"prev":"0000000000000000"}"#,
  ]) func `what is no record is refused`(_ text: String) {
    #expect(throws: LogRecordError.malformed) { try LogRecord(Array(text.utf8)) }
  }

  @Test func `a later version is refused by its number`() {
    #expect(throws: LogRecordError.newer(version: 2, previous: ChainLink(word: 0x1f))) {
      try LogRecord(Array(#"{"v":2,"kind":"new","prev":"000000000000001f"}"#.utf8))
    }
    #expect(throws: LogRecordError.malformed) { try LogRecord(Array(#"{"v":2}"#.utf8)) }
  }

  @Test func `a claim counts if its term is higher and its writer has read everything`() {
    var position = LogPosition()
    position.advance(over: claim(1, "a", after: position), key)
    let other = LogPosition()
    #expect(position.judge(claim(2, "b", after: position).head, key) == .counts)
    #expect(position.judge(claim(1, "b", after: position).head, key) == .stale)
    #expect(position.judge(claim(2, "b", after: other).head, key) == .stale)
  }

  @Test func `a batch counts if it is the next of the leader`() {
    var position = LogPosition()
    position.advance(over: claim(1, "a", after: position), key)
    #expect(position.judge(batch(1, after: position).head, key) == .counts)
    #expect(position.judge(batch(2, after: position).head, key) == .hole)
    #expect(position.judge(batch(1, after: position, node: "b").head, key) == .stale)
    var further = position
    further.advance(over: batch(1, after: position), key)
    #expect(further.judge(batch(1, after: position).head, key) == .stale)
    #expect(position.judge(batch(1, after: further).head, key) == .diverged)
  }

  @Test func `behind a fence nothing counts but a claim with another epoch`() throws {
    var position = LogPosition()
    position.advance(over: claim(1, "a", after: position), key)
    position.sequence = 1
    func fence(after sequence: UInt64, _ key: ChainKey) -> LogRecord {
      LogRecord(FenceHead(term: 9, node: "x", session: "s", after: sequence, key))
    }
    let right = fence(after: 1, key)
    let read = try LogRecord(right.bytes)
    #expect(read.head == right.head)
    #expect(position.judge(right.head, key) == .counts)
    #expect(position.judge(fence(after: 2, key).head, key) == .stale)
    #expect(position.judge(fence(after: 1, ChainKey(Array("other".utf8))).head, key) == .stale)
    let (link, next) = (position.link, batch(1, after: position))
    position.advance(over: right, key)
    position.sequence = 2
    #expect(position.isFenced && position.link == link && position.revision == 0)
    #expect(position.judge(next.head, key) == .stale)
    let same = ClaimHead(
      term: 2, node: "b", session: "s", last: 0, previous: link, epoch: position.epoch ?? .random())
    #expect(position.judge(.claim(same), key) == .stale)
    let other = LogRecord(
      ClaimHead(term: 2, node: "b", session: "s", last: 0, previous: link, epoch: Epoch("other") ?? .random()))
    #expect(position.judge(other.head, key) == .counts)
    position.advance(over: other, key)
    #expect(!position.isFenced && position.leader == "b")
  }

  @Test func `the link depends on the secret, on the record and on those before it`() {
    let (record, other) = (Array("record".utf8), ChainKey(Array("other".utf8)))
    let link = key.link(after: .none, record)
    #expect(link.text.utf8.count == 16)
    #expect(ChainLink(link.text) == link)
    #expect(key.link(after: .none, record) == link)
    #expect(other.link(after: .none, record) != link)
    #expect(key.link(after: link, record) != link)
    #expect(key.link(after: .none, Array("recore".utf8)) != link)
  }
}
