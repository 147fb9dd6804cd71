// SPDX-License-Identifier: MIT

import Foundation
import JSON
import Testing

@testable import SignalJournal
@testable import SignalStore
@testable import journal_writer

@Suite("Records") struct RecordTests {
  /// `JOURNAL_RUNS` says how many seeds are tried.
  private static let runs = ProcessInfo.processInfo.environment["JOURNAL_RUNS"].flatMap { UInt64($0) } ?? 8

  @Test func `records that are written and read make the same replica`() throws {
    for seed in 0..<Self.runs {
      var records = RandomRecords(seed: seed)
      var writer = RecordWriter()
      let start = records.replica
      for _ in 0..<300 { writer.append(records.next()) }
      var copy = start
      var reader = RecordReader(writer.bytes)
      var count = 0
      while !reader.isAtEnd {
        let record = try #require(try reader.record().record(in: copy), "seed \(seed), record \(count)")
        copy.apply(record)
        count += 1
      }
      #expect(count == 300)
      #expect(reader.revision == copy.revision)
      if let difference = difference(records.replica, copy) { Issue.record("seed \(seed): \(difference)") }
    }
  }

  @Test func `every kind of record occurs`() {
    var kinds: Set<UInt8> = []
    for seed in 0..<Self.runs {
      var records = RandomRecords(seed: seed)
      for _ in 0..<100 {
        var writer = RecordWriter()
        writer.clear(after: records.replica.revision)
        writer.append(records.next())
        kinds.insert(writer.bytes[0])
      }
    }
    let changes = (0...5).map { RecordFormat.change | $0 }
    let amendments = (0...2).map { RecordFormat.amendment | $0 }
    #expect(kinds == Set(1...8).union(changes).union(amendments))
  }

  @Test func `a small change takes few bytes beside its path and value`() {
    let property = StoredValue(
      path: "kitchen/temperature", value: JSONText(21), revision: 5, time: Timestamp(milliseconds: 1_700_000_000_000))
    var writer = RecordWriter()
    writer.append(.commit(Commit(Change(set: property, replacing: nil))))
    let first = writer.bytes.count
    writer.append(.commit(Commit(Change(set: property, replacing: nil))))
    #expect(writer.bytes.count - first == 1 + 1 + 1 + 19 + 1 + 2)
  }

  @Test func `whatever the bytes are, they are read or refused`() {
    var refused = 0
    for seed in 0..<Self.runs {
      var records = RandomRecords(seed: seed)
      var random = RandomRecords.Generator(seed: seed)
      var writer = RecordWriter()
      for _ in 0..<10 { writer.append(records.next()) }
      for _ in 0..<200 {
        var bytes = writer.bytes
        for _ in 0...Int(random.next() % 3) {
          let index = Int(random.next() % UInt64(bytes.count))
          switch random.next() % 4 {
          case 0: bytes[index] ^= 1 << UInt8(random.next() % 8)
          case 1: bytes[index] = UInt8(truncatingIfNeeded: random.next())
          case 2: bytes.removeSubrange(index...)
          default: bytes.insert(0xFF, at: index)
          }
          if bytes.isEmpty { bytes = [0] }
        }
        var replica = Replica(epoch: .random())
        var reader = RecordReader(bytes)
        do {
          while !reader.isAtEnd {
            guard let record = try reader.record().record(in: replica) else { break }
            replica.apply(record)
            var again = RecordWriter()
            again.append(record)
          }
        } catch {
          refused += 1
          #expect(error.offset <= bytes.count)
        }
      }
    }
    #expect(refused > 0)
  }

  @Test(
    arguments: [
      ([0], "a kind of record"), ([11], "a kind of record"), ([0x46], "a kind of record"), ([0x60], "a kind of record"),
      ([0x40], "more bytes"), ([0x40, 0, 1], "as many bytes as it says"), ([0x40, 0, 0], "a path"),
      ([0x40, 0, 1, 0x2F], "a path"), ([0x40, 0, 1, 0x61, 2, 0x20, 0x31], "JSON"), ([0x40, 0, 1, 0x61, 0], "JSON"),
      ([1, 0, 0], "a number of changes"), ([1, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F], "a number of changes"),
      ([1, 0, 1, 9], "a kind of change"), ([0x23, 1, 0x61, 1, 0x31], "a property"),
      ([0x41, 0, 1, 0x61, 1, 0x31, 0], "a lease"), ([0x41, 0, 1, 0x61, 1, 0x31, 1, 0, 1, 0], "a length of time"),
      ([0x42, 0, 1, 0x61, 1, 0x31, 1, 0xFF, 0], "UTF-8"), ([0x42, 0, 1, 0x61, 1, 0x31, 0, 9, 0x61], "an error"),
      ([9, 1, 8, 1], "a commit"), ([9, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F], "a number of revisions"),
      ([10, 65], "a number of rules"), ([10, 1, 1, 0x61], "a rule"),
      ([0x30, 1, 0x61, 1, 0x31, 1, 1], "a kind of record"),
      ([4, 1, 0x61, 3], "a schedule"), ([4, 1, 0x61, 2, 0, 0], "an interval"),
      ([8, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 2], "a number"),
      ([8, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1], "a number"),
    ] as [([UInt8], String)])
  func `what is refused is said to be`(bytes: [UInt8], what: String) {
    var reader = RecordReader(bytes)
    do {
      _ = try reader.record()
      Issue.record("\(bytes) were read")
    } catch {
      #expect(error.what == what, "\(bytes)")
    }
  }

  @Test func `a record that removes what is not there fits no replica`() throws {
    var reader = RecordReader([0x43, 0, 1, 0x61])
    #expect(try reader.record().record(in: Replica(epoch: .random())) == nil)
  }
}
