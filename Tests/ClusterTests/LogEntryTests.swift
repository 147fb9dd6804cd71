// SPDX-License-Identifier: MIT
import JSON
import SignalStore
import Synchronization
import Testing

@testable import SignalCluster

/// Entries say what the records of a store say: a store that adopts them has the same.
struct LogEntryTests {
  @Test func `a store that adopts what another one has recorded has the same, byte for byte`() throws {
    let sink = Records()
    let leader = PropertyStore(epoch: Epoch("e") ?? .random())
    leader.record(to: sink)
    let follower = PropertyStore(
      following: Replica(epoch: leader.epoch), lastHolder: 0, sink: ClusterSink(limit: 1 << 20) {})
    let holder = leader.makeHolder()
    try leader.set("a", JSONText(validating: #"{"x":[1,"\u00e9\n\"",null]}"#))
    try leader.set("b", JSONText(1), ttl: .milliseconds(90_500))
    try leader.set("b", JSONText(1), ttl: .seconds(200))
    try leader.set("held", JSONText("here"), holder: holder)
    try leader.define(
      "sum",
      Formula(source: #"properties["b"]"#, inputs: ["b"]) { $0("b").map { .value($0.value) } ?? .failure("no b") })
    try leader.transact([.set("b", JSONText(2)), .delete("a"), .set("c", JSONText(true))])
    try leader.signals.send("bell", JSONText("front"), remember: true)
    try leader.timers.set("tea", .every(.seconds(3600)), message: JSONText("ready"))
    try leader.timers.set("egg", .after(.seconds(3600)))
    leader.timers.remove("egg")
    leader.keep(lastOperations: try JSONText(validating: #"{"type":"onDisconnect","operations":[]}"#), of: holder)
    leader.release(holder)
    var lines: [UInt8] = []
    for record in sink.records { EntryWriter.append(record, operation: "b.s.1", to: &lines) }
    let entries = try lines.split(separator: UInt8(ascii: "\n")).map { try LogEntry($0) }
    #expect(entries.allSatisfy { $0.operation == "b.s.1" })
    #expect(follower.adopt(entries) { $0.record(in: $1) })
    #expect(follower.cursor == leader.cursor)
    let (ours, theirs) = (follower.replica, leader.replica)
    #expect(Array(ours.snapshot.scan()) == Array(theirs.snapshot.scan()))
    #expect(Array(ours.snapshot.scan()).map(\.lease) == Array(theirs.snapshot.scan()).map(\.lease))
    #expect(ours.signals == theirs.signals)
    #expect(ours.timers.keys == theirs.timers.keys)
    #expect(ours.lastOperations == theirs.lastOperations)
    #expect(follower.changes(since: Cursor(epoch: leader.epoch, revision: 0))?.map(\.revision.number) == Array(1...6))
  }

  @Test(arguments: [
    "", "{}", "[]", #"{"c":[]}"#, #"{"c":[["set","a"]],"time":"2026-01-02T03:04:05.678Z"}"#, #"{"c":[["set","a",1]]}"#,
    #"{"c":[["other","a",1]],"time":"2026-01-02T03:04:05.678Z"}"#, #"{"signal":"a","message":1}"#,
    #"{"timer":"a","every":[0,0],"message":1,"start":0,"count":0}"#, #"{"will":-1,"operations":null}"#,
    #"{"c":[["set","/a//",1]],"time":"2026-01-02T03:04:05.678Z"}"#,
  ]) func `what is no entry is refused`(_ text: String) {
    #expect(throws: LogEntryError.self) { try LogEntry(Array(text.utf8)[...]) }
  }
}

/// Keeps records.
private final class Records: RecordSink {
  private let kept = Mutex<[Record]>([])
  var records: [Record] { kept.withLock { $0 } }
  func append(_ record: Record) { kept.withLock { $0.append(record) } }
}
