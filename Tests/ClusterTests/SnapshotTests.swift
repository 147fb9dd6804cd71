// SPDX-License-Identifier: MIT
import JSON
import SignalStore
import TestSupport
import Testing

@testable import SignalCluster

/// Snapshots say what a replica has, and where the log is then.
struct SnapshotTests {
  private let key = ChainKey(Array("secret".utf8))
  private let position = LogPosition(
    sequence: 77, term: 3, leader: "a", number: 5, revision: 9, link: ChainLink(word: 0xFEED),
    epoch: Epoch("e") ?? .random(),
    entries: 123)

  private func store() throws -> PropertyStore {
    let store = PropertyStore(epoch: Epoch("e") ?? .random())
    let holder = store.makeHolder()
    try store.set("a", JSONText(validating: #"{"x":[1,"\u00e9\n\"",null]}"#))
    try store.set("b", JSONText(1), ttl: .milliseconds(90_500))
    try store.set("held", JSONText("here"), holder: holder)
    try store.define(
      "sum",
      Formula(source: #"properties["b"]"#, inputs: ["b"]) { $0("b").map { .value($0.value) } ?? .failure("no b") })
    try store.signals.send("bell", JSONText("front"), remember: true)
    try store.signals.send("bell", JSONText("back"))
    try store.signals.send("door", JSONText("open"), remember: true)
    try store.timers.set("tea", .every(.seconds(3600)), message: JSONText("ready"))
    store.keep(lastOperations: try JSONText(validating: #"{"type":"onDisconnect","operations":[]}"#), of: holder)
    for number in 0..<5 { try store.set("last", JSONText(number)) }
    return store
  }

  private func parts(_ replica: Replica) -> [[UInt8]] {
    var writer = SnapshotWriter(replica, at: position, session: "s", key: key)
    var parts: [[UInt8]] = []
    while let part = writer.next() { parts.append(part) }
    return parts
  }

  @Test func `what was written is read again, all of it`() throws {
    let replica = try store().replica
    var reader = SnapshotReader(key: key)
    for part in parts(replica) { try reader.take(part) }
    let (read, place) = try #require(reader.result(limits: StoreLimits()))
    #expect(place == position && read.epoch == replica.epoch && read.revision == position.revision)
    #expect(read.time == replica.time && read.signals == replica.signals)
    #expect(Array(read.snapshot.scan()) == Array(replica.snapshot.scan()))
    #expect(Array(read.snapshot.scan()).map(\.lease) == Array(replica.snapshot.scan()).map(\.lease))
    #expect(read.lastOperations == replica.lastOperations && read.timers.keys == replica.timers.keys)
    #expect(read.timers["tea"]?.start == replica.timers["tea"]?.start)
  }

  @Test func `much is written in parts, and none of them can be missing, twice or another one`() throws {
    let store = PropertyStore(epoch: Epoch("e") ?? .random())
    for number in 0..<40 {
      try store.set(PropertyPath("k/\(number)"), JSONText(String(repeating: "x", count: 100_000)))
    }
    let parts = parts(store.replica)
    #expect(parts.count == 5)
    func isRead(_ parts: some Sequence<[UInt8]>, _ key: ChainKey) -> Bool {
      var reader = SnapshotReader(key: key)
      do throws(LogEntryError) {
        for part in parts { try reader.take(part) }
      } catch {
        return false
      }
      return reader.result(limits: StoreLimits()) != nil
    }
    #expect(isRead(parts, key))
    #expect(!isRead(parts, ChainKey(Array("other".utf8))))
    #expect(!isRead(parts.dropLast(), key) && !isRead(parts.dropFirst(), key))
    #expect(!isRead(parts + [parts[1]], key) && !isRead([parts[0], parts[0]], key))
    #expect(!isRead([parts[0], parts[2], parts[1], parts[3], parts[4]], key))
    var damaged = parts
    damaged[1][5000] ^= 1
    #expect(!isRead(damaged, key))
  }

  @Test func `nothing is a snapshot, too`() throws {
    var reader = SnapshotReader(key: key)
    for part in parts(Replica(epoch: Epoch("e") ?? .random())) { try reader.take(part) }
    #expect(reader.result(limits: StoreLimits())?.0.snapshot.count == 0)
  }

  @Test(arguments: ["5", ".s", "x.s", "5.", "5.s.t", ""])
  func `what is no name is none`(_ text: String) { #expect(SnapshotName(text[...]) == nil) }
}
