// SPDX-License-Identifier: MIT

import Glibc
import SignalJournal
import SignalStore

/// Writes random records into a folder until it is killed, and says on standard output what is durable.
///
///     journal-writer FOLDER SEED [INTERVAL]
///
/// The records are those of ``RandomRecords``, so whoever knows the seed knows what has to be in the folder. The interval is
/// in milliseconds. What a history costs is measured instead with ``HistoryMeasurement``.
@main
struct JournalWriterProgram {
  static func main() throws {
    let arguments = CommandLine.arguments
    if arguments.count > 3, ["history", "plain"].contains(arguments[2]), let sensors = Int(arguments[3]) {
      return try HistoryMeasurement.run(arguments[1], keeps: arguments[2] == "history", sensors: sensors)
    }
    guard arguments.count > 2, let seed = UInt64(arguments[2]) else { exit(64) }
    let interval = arguments.count > 3 ? Int64(arguments[3]) : nil
    // Little of everything, so that state, journal and log change hands all the time.
    var journal = JournalLimits(sync: interval.map { .interval(.milliseconds($0)) } ?? .commit)
    journal.queueBytes = 1 << 18
    journal.journalBytes = 1 << 18
    journal.rowBytes = 1 << 14
    journal.logFrames = 64
    journal.transactionBytes = 1 << 15
    let configuration = StorageConfiguration(
      folder: arguments[1], journal: journal, store: StoreLimits(historyChanges: 300))
    let recovery = try Recovery(configuration)
    say("recovered", recovery.position)
    var records = RandomRecords(seed: seed)
    for _ in 0..<recovery.position { _ = records.next() }
    let storage = try recovery.start(
      Journal.Observer { say("durable", $0.position) })
    var random = RandomRecords.Generator(seed: seed ^ recovery.position)
    while true {
      while storage.journal.isFull { usleep(200) }
      storage.journal.append(records.next())
      if random.next() % 64 == 0 { usleep(UInt32(random.next() % 400)) }
    }
  }

  /// Writes a line in one call, so that it is whole, and with the kernel when this process is killed.
  private static func say(_ word: String, _ number: UInt64) {
    let line = Array("\(word) \(number)\n".utf8)
    // The bytes live as long as the call.
    _ = unsafe line.withUnsafeBytes { unsafe write(1, $0.baseAddress, $0.count) }
  }
}
