// SPDX-License-Identifier: MIT

import Foundation
import Testing

@testable import SignalJournal
@testable import SignalStore
@testable import journal_writer

/// Runs that are cut, by a model of the disk.
///
/// `JOURNAL_CUTS` says how often; seeds count from `JOURNAL_SEED`.
@Suite("Crashes") struct CrashTests {
  private static let cuts = ProcessInfo.processInfo.environment["JOURNAL_CUTS"].flatMap { Int($0) } ?? 4
  private static let seed = ProcessInfo.processInfo.environment["JOURNAL_SEED"].flatMap { UInt64($0) } ?? 1
  private static let records = 3000

  /// A run whose every step is known, and what it said when.
  private struct Run {
    let steps: [DiskFaults.Step]
    let told: Told
    /// What there is after each record, the first for none.
    let replicas: [Replica]
  }

  private static func run(_ seed: UInt64, _ sync: JournalLimits.Sync, in folder: TemporaryFolder) throws -> Run {
    let faults = DiskFaults()
    faults.beginSteps()
    let told = Told { faults.stepCount }
    let configuration = configuration(folder, smallLimits(sync), system: faults.name)
    var records = RandomRecords(seed: seed)
    var random = RandomRecords.Generator(seed: seed)
    var replicas = [records.replica]
    // Two starts, so that there are ancestors in the files.
    for _ in 0..<2 {
      let storage = try Recovery(configuration).start(told.observer)
      for _ in 0..<Self.records / 2 {
        while storage.journal.isFull { usleep(100) }
        storage.journal.append(records.next())
        replicas.append(records.replica)
        if random.next() % 16 == 0 { usleep(UInt32(random.next() % 200)) }
      }
      #expect(storage.close() == nil)
    }
    return Run(steps: (0..<faults.stepCount).map(faults.step), told: told, replicas: replicas)
  }

  @Test(arguments: [
    (DiskImage.End.crash, JournalLimits.Sync.commit), (.powerLoss, .commit), (.powerLoss, .interval(.milliseconds(3))),
  ])
  func `what was said to be durable is there, and what is there is a prefix`(
    end: DiskImage.End, sync: JournalLimits.Sync
  ) throws {
    let original = try TemporaryFolder()
    let run = try Self.run(Self.seed, sync, in: original)
    var random = RandomRecords.Generator(seed: Self.seed)
    var beyond = 0
    for cut in 0..<Self.cuts {
      let count = Int(random.next() % UInt64(run.steps.count + 1))
      let folder = try TemporaryFolder()
      let image = DiskImage(run.steps, through: count, end: end, random: &random)
      for (name, bytes) in image.files { try folder.write(bytes, to: name) }
      let told = zip(run.told.places, run.told.steps).reduce(0) { $1.1 <= count ? $1.0.position : $0 }
      let place: Comment = "seed \(Self.seed), cut \(cut) after step \(count) of \(run.steps.count), told \(told)"
      do {
        let recovery = try Recovery(configuration(folder))
        #expect(recovery.position >= told, place)
        guard recovery.position < run.replicas.count else {
          Issue.record("\(place): there is more than was written")
          continue
        }
        if recovery.position > told { beyond += 1 }
        if let difference = difference(run.replicas[Int(recovery.position)], recovery.takeReplica()) {
          Issue.record("\(place): \(difference)")
        }
        // It goes on, and what it says then holds as well.
        let storage = try recovery.start()
        var records = expected(Self.seed, through: recovery.position)
        for _ in 0..<200 { storage.journal.append(records.next()) }
        #expect(storage.close() == nil, place)
        let again = try Recovery(configuration(folder))
        #expect(again.isClean && again.position == recovery.position + 200, place)
        #expect(difference(again.takeReplica(), records.replica) == nil, place)
      } catch {
        Issue.record("\(place): \(error)")
      }
    }
    // Otherwise the cuts were not where something was under way; seldom so with a few.
    if Self.cuts >= 40, sync == .commit { #expect(beyond > 0) }
  }

  @Test func `what was lost though it was said to be durable is noticed`() throws {
    let folder = try TemporaryFolder()
    let first = try Recovery(configuration(folder))
    let storage = try first.start()
    var records = RandomRecords(seed: 9)
    for _ in 0..<50 { storage.journal.append(records.next()) }
    storage.close()
    let kept = try folder.names.filter { $0.hasSuffix(".sqlite") }.map { ($0, try folder.bytes($0)) }
    let middle = records.replica.revision
    let second = try Recovery(configuration(folder))
    let goingOn = try second.start()
    for _ in 0..<50 { goingOn.journal.append(records.next()) }
    goingOn.close()
    // A backup is brought back, beside the mark of the later time.
    for (name, bytes) in kept { try folder.write(bytes, to: name) }
    let third = try Recovery(configuration(folder))
    #expect(
      third.lost
        == Recovery.Loss(
          epoch: second.ancestry.current.epoch, told: records.replica.revision, recovered: middle, records: 50))
    let newest = third.takeReplica().revision
    func resolve(_ recovery: Recovery, _ revision: Revision) -> Ancestry.Meaning {
      third.ancestry.resolve(Cursor(epoch: recovery.ancestry.current.epoch, revision: revision), newest: newest)
    }
    #expect(resolve(first, middle) == .revision(middle))
    #expect(resolve(first, Revision(middle.number + 1)) == .lost)
    #expect(resolve(second, Revision(middle.number + 1)) == .unknown)
    let fourth = { () throws in
      try third.start().close()
      return try Recovery(configuration(folder)).lost
    }
    #expect(try fourth() == nil)
  }
}
