// SPDX-License-Identifier: MIT

import JSON
import Synchronization
import Testing

@testable import SignalJournal
@testable import SignalStore
@testable import journal_writer

/// All changes of some properties, and what they come to, reckoned from all of them each time.
struct HistoryModel {
  struct Change: Equatable {
    let time: Int64
    let revision: UInt64
    /// nil for a deletion.
    let value: String?
  }

  private(set) var changes: [PropertyPath: [Change]] = [:]

  mutating func take(_ record: Record) {
    guard case .commit(let commit) = record else { return }
    for change in commit {
      changes[change.path, default: []].append(
        Change(
          time: change.time.milliseconds, revision: change.revision.number,
          value: change.new.map { $0.value.description }))
    }
  }

  /// A row: what is in a bucket and has been known up to a time.
  struct Row: Equatable {
    let start: Int64
    var count = 0
    var numbers: [Double] = []
    var integral = 0.0
    var known: Int64 = 0
    var values: [String] = []
  }

  func rows(_ path: PropertyPath, step: Int64, from: Int64, to end: Int64) -> [Row] {
    let changes = changes[path] ?? []
    var rows: [Row] = []
    var start = from
    while start < end {
      let over = min(start + step, end)
      var row = Row(start: start)
      let inside = changes.filter { start..<over ~= $0.time }
      row.count = inside.count
      // What was there at the beginning, unless it was changed at that very moment.
      if let before = changes.last(where: { $0.time < start })?.value, inside.first?.time != start {
        row.values.append(before)
      }
      row.values += inside.compactMap(\.value)
      row.numbers = row.values.compactMap(Self.number)
      // Millisecond by millisecond is slow, and from change to change is what is being tested: between all times.
      let times = [start] + inside.map(\.time) + [over]
      for (time, next) in zip(times, times.dropFirst()) where next > time {
        guard let value = changes.last(where: { $0.time <= time })?.value, let number = Self.number(value) else {
          continue
        }
        row.integral += number * Double(next - time)
        row.known += next - time
      }
      if row.count > 0 || !row.values.isEmpty { rows.append(row) }
      start += step
    }
    return rows
  }

  /// The same of a part of each value: without the changes that leave it as it is.
  func part(_ pointer: JSONPointer) -> HistoryModel {
    var model = HistoryModel()
    for (path, changes) in changes {
      var last: String?
      for change in changes {
        let part = change.value.flatMap { text -> String? in
          guard let json = try? JSONText(validating: text) else { return nil }
          let tree = JSONTree(json)
          return tree.node(at: pointer).map { tree.text(of: $0).description }
        }
        guard part != last else { continue }
        last = part
        model.changes[path, default: []].append(Change(time: change.time, revision: change.revision, value: part))
      }
    }
    return model
  }

  private static func number(_ text: String) -> Double? {
    guard let json = try? JSONText(validating: text) else { return nil }
    let tree = JSONTree(json)
    return tree.double(tree.root)
  }
}

extension SeriesPage {
  var buckets: [SeriesBucket] { if case .buckets(let buckets) = rows { buckets } else { [] } }
  var changes: [SeriesChange] { if case .changes(let changes) = rows { changes } else { [] } }
}

/// Why the rows of an answer are not those of the model; nil when they are.
func difference(_ rows: [HistoryModel.Row], _ buckets: [SeriesBucket]) -> String? {
  if rows.map(\.start) != buckets.map(\.start) { return "starts \(rows.map(\.start)) and \(buckets.map(\.start))" }
  func isClose(_ a: Double, _ b: Double) -> Bool { abs(a - b) <= 1e-9 * max(1, abs(a), abs(b)) }
  for (row, bucket) in zip(rows, buckets) {
    let isRight =
      row.count == bucket.count && row.numbers.min() == bucket.minimum && row.numbers.max() == bucket.maximum
      && row.known == bucket.known && isClose(row.integral, bucket.integral)
      && row.values.first == bucket.first?.description && row.values.last == bucket.last?.description
    if !isRight { return "\(row) and \(bucket)" }
  }
  return nil
}

extension SeriesValue {
  var description: String { String(decoding: text, as: UTF8.self) }
}

extension SeriesSource {
  /// The answer to a question, waited for.
  func page(_ query: SeriesQuery) async -> Result<SeriesPage, SeriesRefusal> {
    await withCheckedContinuation { continuation in
      answer(query, unless: { false }) { continuation.resume(returning: $0) }
    }
  }
}

/// Records of a few properties whose times go on by up to some seconds.
struct SensorRecords {
  static let paths: [PropertyPath] = ["s/a", "s/b", "s/c/d"]
  static let other: PropertyPath = "other"

  private(set) var model = HistoryModel()
  private(set) var time: Int64
  private(set) var revision: UInt64 = 0
  private var values: [PropertyPath: StoredValue] = [:]
  private var random: RandomRecords.Generator

  init(seed: UInt64, time: Int64 = 1_700_000_000_123) {
    random = RandomRecords.Generator(seed: seed)
    self.time = time
  }

  mutating func next() -> Record {
    revision += 1
    // Often the same millisecond, sometimes a while later.
    time += [0, 0, 1, 100, 1500, 9000, 200_000][Int(random.next() % 7)]
    var changes: [Change] = []
    for path in (Self.paths + [Self.other]) where changes.isEmpty || random.next() % 4 == 0 {
      if random.next() % 3 == 0, !(path == Self.other && changes.isEmpty) { continue }
      changes.append(change(path))
    }
    let record = Record.commit(Commit(changes[0], rest: Array(changes.dropFirst())))
    model.take(record)
    return record
  }

  private mutating func change(_ path: PropertyPath) -> Change {
    let old = values[path]
    let (revision, time) = (Revision(revision), Timestamp(milliseconds: time))
    if let old, random.next() % 5 == 0 {
      values[path] = nil
      return Change(delete: old, revision: revision, time: time)
    }
    let texts = [
      "21.5", "-3", "0", #""off""#, #"{"x":[1,2]}"#, #"{"x":1}"#, #"{"x":1,"y":2}"#, #"{"x":1.5}"#, "null",
      "\(random.next() % 1000)", "1e3",
    ]
    let text = texts[Int(random.next() % UInt64(texts.count))]
    guard let value = try? JSONText(validating: text) else { preconditionFailure("\(text) is JSON") }
    let new = StoredValue(path: path, value: value, revision: revision, time: time)
    values[path] = new
    return Change(set: new, replacing: old)
  }
}

/// Limits under which blocks, questions and transactions are small, and nothing waits long.
func historyConfiguration(
  _ rules: [String] = ["s/** raw 100y, 5s 100y, 1m 100y"], _ change: (inout HistoryLimits) -> Void = { _ in }
) throws -> HistoryConfiguration {
  var limits = HistoryLimits()
  limits.interval = .milliseconds(5)
  limits.transactionBytes = 1 << 12
  limits.patience = .seconds(60)
  change(&limits)
  return HistoryConfiguration(rules: try rules.map { try HistoryRule($0) }, limits: limits)
}
