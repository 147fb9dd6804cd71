// SPDX-License-Identifier: MIT

import Foundation
import Testing

@testable import SignalJournal
@testable import SignalStore
@testable import journal_writer

/// A disk that fails at one call, or from one call on.
///
/// `JOURNAL_FAULTS` says at how many calls this is tried.
@Suite("Faults") struct FaultTests {
  private static let count = ProcessInfo.processInfo.environment["JOURNAL_FAULTS"].flatMap { Int($0) } ?? 4

  struct Fault: Sendable, CustomTestStringConvertible {
    let call: DiskFaults.Call
    let failure: DiskFaults.Failure
    let isLasting: Bool

    /// Whether it goes away when there is room; of a sync nobody knows what it has done.
    var isTemporary: Bool { failure != .io && call == .write }

    var testDescription: String { "\(call), \(failure)\(isLasting ? ", lasting" : "")" }
  }

  private static let faults = [
    (DiskFaults.Call.read, [DiskFaults.Failure.io]), (.sync, [.io, .full]), (.truncate, [.io]),
    (.write, [.io, .full, .short]),
  ].flatMap { call, failures in
    failures.flatMap { failure in
      [false, true].map { Fault(call: call, failure: failure, isLasting: $0) }
    }
  }

  @Test(arguments: faults)
  func `every run ends well, waits for room, or stops saying that something is durable`(fault: Fault) async throws {
    var at = 1
    for round in 0..<Self.count {
      let place: Comment = "call \(at)"
      let folder = try TemporaryFolder()
      let faults = DiskFaults()
      let told = Told()
      var isWhole = false
      faults.fail(fault.call, fault.failure, at: at, isLasting: fault.isLasting)
      do {
        let recovery = try Recovery(configuration(folder, system: faults.name))
        let storage = try recovery.start(told.observer)
        var records = RandomRecords(seed: 5)
        for index in 0..<1500 {
          while storage.journal.isFull, storage.journal.health == .ok { usleep(100) }
          storage.journal.append(records.next())
          if index % 64 == 0 { usleep(100) }
        }
        try await wait("an end") {
          if case .full = storage.journal.health { return true }
          if case .failed = storage.journal.health { return true }
          return storage.journal.durable == 1500
        }
        if case .full(let error) = storage.journal.health {
          #expect(error.isTemporary, place)
          #expect(fault.isTemporary, place)
          // Room is made: what was kept is written now.
          faults.clear()
          try await wait("the rest") { storage.journal.durable == 1500 }
          #expect(storage.journal.health == .ok, place)
        }
        let failure = storage.close()
        if case .failed(let error) = storage.journal.health {
          #expect(failure != nil && !error.isTemporary, place)
          #expect(!fault.isTemporary, place)
        } else {
          isWhole = true
          #expect(told.position == 1500, place)
        }
      } catch is StorageError {
        #expect(told.places.isEmpty, place)
      }
      faults.clear()
      do {
        let recovery = try Recovery(configuration(folder))
        #expect(recovery.position >= told.position, place)
        #expect(recovery.lost == nil, place)
        if isWhole { #expect(recovery.position == 1500, place) }
        let replica = expected(5, through: recovery.position).replica
        if let difference = difference(replica, recovery.takeReplica()) { Issue.record("\(place): \(difference)") }
      } catch {
        Issue.record("\(place): \(error)")
      }
      // The first calls one by one, the later ones here and there.
      at += 1 + round * round / 20
    }
  }

  @Test func `a disk that is full is said to be, until there is room`() async throws {
    let folder = try TemporaryFolder()
    let faults = DiskFaults()
    let told = Told()
    let storage = try Recovery(configuration(folder, system: faults.name)).start(told.observer)
    var records = RandomRecords(seed: 6)
    storage.journal.append(records.next())
    try await wait("a sync") { storage.journal.durable == 1 }
    faults.fail(.write, .full, file: "journal.sqlite-wal")
    for _ in 0..<20 { storage.journal.append(records.next()) }
    try await wait("a full disk") { storage.journal.health != .ok }
    try await wait("some attempts") { faults.calls > 5 }
    #expect(told.position == 1 && storage.journal.position == 21)
    faults.clear()
    try await wait("room") { storage.journal.health == .ok }
    try await wait("the rest") { storage.journal.durable == 21 }
    #expect(told.healths.count == 2 && told.healths[1] == .ok)
    #expect(storage.close() == nil)
    #expect(difference(try Recovery(configuration(folder)).takeReplica(), records.replica) == nil)
  }

  @Test func `what waits for room is bounded by those who ask`() async throws {
    let folder = try TemporaryFolder()
    let faults = DiskFaults()
    var limits = smallLimits()
    limits.queueBytes = 10_000
    let storage = try Recovery(configuration(folder, limits, system: faults.name)).start()
    var records = RandomRecords(seed: 7)
    faults.fail(.write, .full, file: "journal.sqlite-wal")
    var count = 0
    while !storage.journal.isFull, count < 1000 {
      storage.journal.append(records.next())
      count += 1
    }
    #expect(storage.journal.isFull && count < 200)
    // It ends also when there is no room, and says that something is missing.
    let failure = try #require(storage.close())
    #expect(failure.isTemporary)
    #expect(!(try Recovery(configuration(folder)).isClean))
  }

  @Test func `a journal that the state cannot follow is full`() async throws {
    let folder = try TemporaryFolder()
    let faults = DiskFaults()
    let storage = try Recovery(configuration(folder, system: faults.name)).start()
    faults.fail(.write, .full, file: "state.sqlite-wal")
    var records = RandomRecords(seed: 8)
    for _ in 0..<5000 where !storage.journal.isFull { storage.journal.append(records.next()) }
    try await wait("everything durable") { storage.journal.durable == storage.journal.position }
    try await wait("a full journal") {
      if !storage.journal.isFull { storage.journal.append(records.next()) }
      return storage.journal.isFull && storage.journal.durable == storage.journal.position
    }
    #expect(storage.journal.health == .ok)
    faults.clear()
    try await wait("the state") { !storage.journal.isFull }
    #expect(storage.close() == nil)
    #expect(difference(try Recovery(configuration(folder)).takeReplica(), records.replica) == nil)
  }
}
