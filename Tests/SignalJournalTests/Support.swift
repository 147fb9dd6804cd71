// SPDX-License-Identifier: MIT

import Foundation
import JSON
import Synchronization
import Testing

@testable import SignalJournal
@testable import SignalStore
@testable import journal_writer

/// A folder that is gone when the test is.
final class TemporaryFolder {
  let path: String

  init() throws {
    path = FileManager.default.temporaryDirectory.appending(path: "journal-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func file(_ name: String) -> String { path + "/" + name }

  func bytes(_ name: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(filePath: file(name)))) }

  func write(_ bytes: [UInt8], to name: String) throws { try Data(bytes).write(to: URL(filePath: file(name))) }

  /// The names of the files, in order.
  var names: [String] { get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() } }

  /// The files of a storage that is open, as a process that is killed now leaves them.
  func copyAlive() throws -> TemporaryFolder {
    let copy = try TemporaryFolder()
    // The log first: what is moved out of it meanwhile is then in both.
    for name in try names.sorted(by: >) where name != "lock" && !name.hasSuffix("-shm") {
      try copy.write(try bytes(name), to: name)
    }
    return copy
  }
}

/// Limits so small that state, journal and log change hands all the time.
func smallLimits(_ sync: JournalLimits.Sync = .commit) -> JournalLimits {
  var limits = JournalLimits(sync: sync, queueBytes: 1 << 18, journalBytes: 1 << 16)
  limits.rowBytes = 1 << 12
  limits.logFrames = 24
  limits.transactionBytes = 1 << 13
  limits.retryInterval = .milliseconds(2)
  return limits
}

func configuration(
  _ folder: TemporaryFolder, _ limits: JournalLimits = smallLimits(), history: Int = 100, system: String? = nil,
  isReadOnly: Bool = false
) -> StorageConfiguration {
  StorageConfiguration(
    folder: folder.path, isReadOnly: isReadOnly, journal: limits, store: StoreLimits(historyChanges: history),
    system: system)
}

/// The first difference of two replicas that should be equal but for their epochs; nil when there is none.
func difference(_ a: Replica, _ b: Replica) -> String? {
  func properties(_ replica: Replica) -> [StoredValue] {
    Array(StoreSnapshot(epoch: replica.epoch, revision: replica.revision, tree: replica.tree).scan())
  }
  let (left, right) = (properties(a), properties(b))
  if left.map(\.path) != right.map(\.path) { return "paths \(left.map(\.path)) and \(right.map(\.path))" }
  for (left, right) in zip(left, right) where left != right || left.lease != right.lease { return "at \(left.path)" }
  if a.revision != b.revision { return "revisions \(a.revision) and \(b.revision)" }
  if a.time != b.time { return "times \(a.time) and \(b.time)" }
  if a.signals != b.signals { return "kept signals" }
  if a.lastOperations != b.lastOperations { return "last operations" }
  if a.timers.count != b.timers.count { return "\(a.timers.count) timers and \(b.timers.count)" }
  for (path, left) in a.timers {
    guard let right = b.timers[path], left.schedule == right.schedule, left.message == right.message,
      left.start == right.start, left.count == right.count
    else { return "timer \(path)" }
  }
  // One may reach further back than the other.
  let from = max(a.commits.after, b.commits.after)
  guard let left = a.commits(after: from), let right = b.commits(after: from) else { return "histories" }
  for (left, right) in zip(Array(left), Array(right)) where Array(left) != Array(right) {
    return "the history at \(left.revision)"
  }
  return nil
}

/// What a journal has said, with the moment of each.
final class Told: Sendable {
  private let state = Mutex((places: [Journal.Place](), healths: [Journal.Health](), steps: [Int]()))
  private let clock: @Sendable () -> Int

  /// - Parameter clock: Tells what is noted beside each place.
  init(clock: @escaping @Sendable () -> Int = { 0 }) { self.clock = clock }

  var observer: Journal.Observer {
    Journal.Observer(
      durable: { [self] place in
        let now = clock()
        state.withLock { state in
          state.places.append(place)
          state.steps.append(now)
        }
      }, changed: { [self] health in state.withLock { $0.healths.append(health) } })
  }

  var places: [Journal.Place] { state.withLock { $0.places } }
  var steps: [Int] { state.withLock { $0.steps } }
  var healths: [Journal.Health] { state.withLock { $0.healths } }
  var position: UInt64 { places.last?.position ?? 0 }
}

/// Waits until something is so, for some seconds at most.
func wait(_ what: String, until condition: () -> Bool) async throws {
  for _ in 0..<4000 {
    if condition() { return }
    try await Task.sleep(for: .milliseconds(5))
  }
  Issue.record("\(what) did not happen")
}

/// The records of a seed up to a position, and what they come to.
func expected(_ seed: UInt64, through position: UInt64) -> RandomRecords {
  var records = RandomRecords(seed: seed)
  for _ in 0..<position { _ = records.next() }
  return records
}
