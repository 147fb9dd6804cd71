// SPDX-License-Identifier: MIT

package import SignalStore

/// The contents of a folder, read and checked, and the beginning of a new epoch in it.
///
///     let recovery = try Recovery(StorageConfiguration(folder: "/var/lib/signal-server"))
///     let storage = try recovery.start()
///     let store = PropertyStore(restoring: recovery.takeReplica(), sink: storage.journal, compile: compile)
///     ...
///     storage.close()
///
/// 1. It reads the state, and then the records of the journal after it. Both are checked completely; damage is thrown
///    as ``StorageError/damaged(_:)``, and nothing is changed.
/// 2. A crash can only cut off the end: whole records, without a gap. When something was lost that had been reported as
///    durable, ``lost`` says so.
/// 3. Revisions of omitted commits after the last written one are known by the durable mark, or by the start that
///    followed; where neither has them, cursors that have seen them count as lost.
/// 4. The new epoch is durable when the initializer returns, so that no cursor of it is ever issued twice.
package final class Recovery {
  /// A loss of something reported as durable: the disk has not kept it, or the files are older.
  package struct Loss: Equatable, Sendable {
    /// The epoch in which it was reported.
    package let epoch: Epoch
    /// The revision that was reported as durable.
    package let told: Revision
    /// The last revision that was recovered.
    package let recovered: Revision
    /// The number of missing records; 0 when only the epoch is.
    package let records: UInt64
  }

  /// The present epoch and those before it.
  package let ancestry: Ancestry
  /// Whether the folder was closed cleanly; true for a new one.
  package let isClean: Bool
  /// The loss that was detected; nil for none.
  package let lost: Loss?
  /// The position of the last record.
  package var position: UInt64 { place.position }
  private var replica: Replica?
  private let configuration: StorageConfiguration
  private var open: Open?
  private let place: JournalPlace
  /// The revision of the last commit, written or omitted.
  private let revision: Revision

  /// What is handed over to the writers.
  private struct Open {
    let lock: FolderLock?
    let files: DataFolder
    let mark: SmallFile?
  }

  /// Reads a folder and begins an epoch in it; a read-only folder gets an epoch that is not written.
  package init(_ configuration: StorageConfiguration, now: Timestamp = .now) throws(StorageError) {
    self.configuration = configuration
    let folder = configuration.folder
    if !configuration.isReadOnly { try SystemCall.makeFolder(folder) }
    let lock = configuration.isReadOnly ? try FolderLock(reading: folder) : try FolderLock(folder)
    let files = try DataFolder(configuration)
    let epoch = Epoch.random()
    var (replica, place) = try files.load(epoch: epoch, limits: configuration.store)
    let generations = try files.journal.generations()
    let markFile = try SmallFile.mark(in: folder, canWrite: !configuration.isReadOnly)
    let mark = markFile.flatMap { DurableMark($0.read(DurableMark.size)) }
    replica.skip(to: Recovery.lastRevision(place, generations, mark))
    let revision = replica.revision
    self.replica = replica
    (self.place, self.revision) = (place, revision)
    let closed = try files.journal.closedPosition()
    isClean = generations.isEmpty || closed == place.position
    let current = Ancestry.Generation(epoch: epoch, after: revision, position: place.position, time: now)
    ancestry = Ancestry(generations.suffix(Ancestry.limit - 1) + [current])
    lost = Recovery.loss(mark, place, generations)
    if !configuration.isReadOnly {
      try files.journal.begin(current)
      // The loss has been detected; from here on the mark starts again.
      markFile?.write(DurableMark(epoch: epoch, position: place.position, revision: revision).bytes)
    }
    open = Open(lock: lock, files: files, mark: markFile)
  }

  /// Moves out the replica for the store; to be called once, as a second copy would make mutating it expensive.
  package func takeReplica() -> Replica {
    defer { replica = nil }
    guard let replica else { preconditionFailure("A replica is taken once.") }
    return replica
  }

  /// Starts writing the records of a store; to be called once.
  package func start(
    _ observer: Journal.Observer = Journal.Observer(), history: HistoryObserver = HistoryObserver()
  ) throws(StorageError) -> Storage {
    guard let open, let lock = open.lock, let mark = open.mark, !configuration.isReadOnly else {
      preconditionFailure("What is read-only is not written, and what is written has one writer.")
    }
    self.open = nil
    return try Storage(
      configuration, lock: lock, files: open.files, mark: mark, after: place, revision: revision,
      epoch: ancestry.current.epoch, observer, history)
  }

  /// Answers queries of past values in a read-only folder; nil when it has no history.
  ///
  /// It uses the rules by which the history was kept.
  ///
  /// - Parameter unreadable: Called when the data of an answer cannot be read.
  package func readHistory(
    unreadable: @escaping @Sendable (StorageError) -> Void
  ) throws(StorageError) -> HistoryReader? {
    precondition(configuration.isReadOnly, "What is written is read by the storage.")
    guard let (database, head) = try DataFolder.readHistory(configuration, end: place) else { return nil }
    var history = configuration.history
    history.rules = []
    for line in head.rules.split(separator: "\n") {
      do throws(RuleFault) {
        history.rules.append(try HistoryRule(String(line)))
      } catch {
        throw .damaged(.init(database.file, "the table history", "the rule '\(line)': \(error.reason)"))
      }
    }
    let reader = HistoryReader(
      reading: try SeriesScan(database, history.limits), history, isWhole: head.journal.position == place.position,
      unreadable: unreadable)
    reader.start()
    return reader
  }

  /// The last revision that a client may have seen and that is still part of the history.
  private static func lastRevision(
    _ place: JournalPlace, _ generations: [Ancestry.Generation], _ mark: DurableMark?
  ) -> Revision {
    guard let last = generations.last else { return place.revision }
    // Records behind them need not have a revision of their own.
    let started = last.position <= place.position ? last.after : 0
    let told = mark.map { $0.epoch == last.epoch && $0.position <= place.position ? $0.revision : 0 } ?? 0
    return max(place.revision, started, told)
  }

  private static func loss(
    _ mark: DurableMark?, _ place: JournalPlace, _ generations: [Ancestry.Generation]
  ) -> Loss? {
    guard let mark else { return nil }
    let isKnown = generations.contains { $0.epoch == mark.epoch }
    if isKnown, mark.position <= place.position { return nil }
    let records = mark.position > place.position ? mark.position - place.position : 0
    return Loss(epoch: mark.epoch, told: mark.revision, recovered: place.revision, records: records)
  }
}

extension SmallFile {
  /// The file of the ``DurableMark``; nil when there is none to read.
  fileprivate static func mark(in folder: String, canWrite: Bool) throws(StorageError) -> SmallFile? {
    let path = folder + "/" + DurableMark.name
    return canWrite || SystemCall.exists(path) ? try SmallFile(path, canWrite: canWrite) : nil
  }
}
