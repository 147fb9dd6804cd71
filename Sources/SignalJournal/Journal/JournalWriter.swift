// SPDX-License-Identifier: MIT

internal import Dispatch
internal import SignalStore

/// The work of the writer thread: one row, one commit and one sync for all records that have come.
// Used by one thread at a time: the recovering one, then its own.
final class JournalWriter: @unchecked Sendable {
  private let journal: Journal
  private let file: JournalFile
  private let mark: SmallFile
  private let epoch: Epoch
  private let level: JournalLevel
  private let keeper: StateKeeper
  private let history: HistoryKeeper?
  private let checkpointer: Checkpointer
  /// The end of the file.
  private var place: JournalPlace
  /// The number of records omitted in this run, which have a position but are not in the file.
  private var omitted: UInt64 = 0
  /// The revision of the last commit, omitted or not.
  private var revision: Revision
  private var deletedThrough: UInt64
  private var writer = RecordWriter()

  init(
    _ journal: Journal, _ file: JournalFile, after place: JournalPlace, revision: Revision, mark: SmallFile,
    epoch: Epoch, level: JournalLevel, keeper: StateKeeper, history: HistoryKeeper?, checkpointer: Checkpointer
  ) {
    self.journal = journal
    self.file = file
    self.place = place
    self.revision = revision
    self.mark = mark
    self.epoch = epoch
    self.level = level
    self.keeper = keeper
    self.history = history
    self.checkpointer = checkpointer
    deletedThrough = 0
  }

  /// Writes until the journal is closed, and leaves the files ready for the next start.
  ///
  /// - Returns: Why the files do not include everything that was appended; nil when they do.
  func run() -> StorageError? {
    var failure: StorageError?
    var spare: [Record] = []
    while failure == nil, let (records, bytes) = journal.take(spare: spare) {
      failure = write(records, bytes)
      spare = records
      // Released on this thread, without a lock; the storage is kept unless it has become large.
      spare.removeAll(keepingCapacity: records.count <= 1 << 14)
    }
    if failure == nil, case .failed(let error) = journal.health { failure = error }
    history?.close(isFailed: failure != nil)
    let keeperFailure = keeper.close(isFailed: failure != nil)
    failure = failure ?? keeperFailure
    if failure == nil {
      do throws(StorageError) { try finish() } catch { failure = error }
    }
    checkpointer.close()
    return failure
  }

  private func write(_ records: [Record], _ bytes: Int) -> StorageError? {
    var index = 0
    while index < records.count {
      if let row = row(of: records, from: &index) {
        if let error = append(row) { return error }
        level.add(bytes: row.records.count, work: row.work)
      }
      // Another thread may have found that a file of the folder is unreliable.
      if case .failed(let error) = journal.health { return error }
      mark.write(DurableMark(epoch: epoch, position: place.position, revision: revision).bytes)
      journal.reached(
        Journal.Place(position: place.position + omitted, revision: revision), written: place.position,
        releasing: index == records.count ? bytes : 0)
    }
    if file.database.frames >= journal.limits.logFrames { checkpointer.request() }
    if keeper.isNeeded { keeper.request() }
    history?.request()
    return nil
  }

  /// As many records as fit in a row; nil when all remaining ones are omitted.
  private func row(of records: [Record], from index: inout Int) -> JournalRow? {
    writer.clear(after: place.revision)
    let first = place.position + 1
    var (last, through, time, changes) = (place.position, place.revision, place.time, 0)
    while index < records.count, writer.bytes.count < journal.limits.rowBytes {
      let record = records[index]
      index += 1
      switch record {
      case .omittedCommit(let commit):
        revision = commit.revision
        omitted += 1
        continue
      case .omittedAmendment:
        omitted += 1
        continue
      case .commit(let commit):
        revision = commit.revision
        (through, time) = (commit.revision, commit.time)
        changes += commit.count
      default: break
      }
      writer.append(record)
      last += 1
    }
    guard last >= first else { return nil }
    return JournalRow(
      first: first, last: last, after: place.revision, through: through, time: time, changes: changes,
      records: writer.bytes)
  }

  /// Makes a row durable, however long that takes; with a full disk, it retries.
  private func append(_ row: JournalRow) -> StorageError? {
    var isLast = false
    while true {
      do throws(StorageError) {
        if checkpointer.takeRest() { try file.database.checkpoint() }
        let unneeded = level.coveredThrough
        let begin = DispatchTime.now().uptimeNanoseconds
        let (end, deleted) = try file.append(
          row, after: place, deletingThrough: unneeded > deletedThrough ? unneeded : nil,
          limit: JournalLimits.deletedRows)
        journal.count(row, taking: DispatchTime.now().uptimeNanoseconds - begin)
        place = end
        if deleted < JournalLimits.deletedRows { deletedThrough = unneeded }
        journal.set(.ok)
        return nil
      } catch {
        guard error.isTemporary else {
          journal.set(.failed(error))
          return error
        }
        journal.set(.full(error))
        if isLast { return error }
        isLast = !journal.waitForRetry()
      }
    }
  }

  /// Records a clean close.
  private func finish() throws(StorageError) {
    while try file.delete(through: level.coveredThrough, limit: 256) > 0 {}
    try file.close(at: place.position)
    // Only the mark has the revisions of the last omitted commits.
    mark.sync()
    try file.database.checkpoint()
  }
}
