// SPDX-License-Identifier: MIT

import Foundation
import Processes
import Testing

@testable import SignalJournal
@testable import SignalStore
@testable import journal_writer

/// A process that writes, and is killed again and again.
///
/// `JOURNAL_KILLS` says how often.
@Suite("Kills") struct KillTests {
  private static let kills = ProcessInfo.processInfo.environment["JOURNAL_KILLS"].flatMap { Int($0) } ?? 2

  private static let executable: URL = {
    var folder = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
    // Some runners are started inside a bundle.
    while folder.path != "/", !FileManager.default.fileExists(atPath: folder.appending(path: "journal-writer").path) {
      folder.deleteLastPathComponent()
    }
    return folder.appending(path: "journal-writer")
  }()

  @Test(arguments: [nil, "3"] as [String?])
  func `what a process has said before it was killed is there`(interval: String?) async throws {
    let folder = try TemporaryFolder()
    var random = SystemRandomNumberGenerator()
    var records = RandomRecords(seed: 11)
    var position: UInt64 = 0
    var epochs: [Cursor] = []
    for kill in 0..<Self.kills {
      let output = Pipe()
      let process = try ChildProcess(
        Self.executable.path, [folder.path, "11"] + (interval.map { [$0] } ?? []), output: .pipe(output))
      try await Task.sleep(for: .milliseconds(Int.random(in: 20...250, using: &random)))
      process.send(SIGKILL)
      let said = try #require(String(data: output.fileHandleForReading.readDataToEndOfFile(), encoding: .utf8))
      process.waitUntilExit()
      let numbers = said.split(separator: "\n").compactMap { UInt64($0.split(separator: " ")[1]) }
      let told = numbers.last ?? 0
      let recovery = try Recovery(StorageConfiguration(folder: folder.path, store: StoreLimits(historyChanges: 300)))
      #expect(recovery.position >= told && recovery.position >= position, "kill \(kill)")
      #expect(recovery.lost == nil && zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 }, "kill \(kill)")
      while position < recovery.position {
        _ = records.next()
        position += 1
      }
      let replica = recovery.takeReplica()
      if let difference = difference(records.replica, replica) { Issue.record("kill \(kill): \(difference)") }
      for cursor in epochs {
        #expect(recovery.ancestry.resolve(cursor, newest: replica.revision) == .revision(cursor.revision))
      }
      epochs.append(Cursor(epoch: recovery.ancestry.current.epoch, revision: replica.revision))
    }
    #expect(position > 0)
  }
}
