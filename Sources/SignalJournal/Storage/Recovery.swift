// SPDX-License-Identifier: MIT

package import SignalStore

/// What a folder holds, read and checked, and the beginning of a new epoch in it.
///
///     let recovery = try Recovery(StorageConfiguration(folder: "/var/lib/signal-server"))
///     let storage = try recovery.start()
///     let store = PropertyStore(restoring: recovery.takeReplica(), sink: storage.journal, compile: compile)
///     ...
///     storage.close()
///
/// 1. It reads the state, and then what the journal has behind it. Both are checked to the last byte; what is not as it was
///    written is thrown as ``StorageError/damaged(_:)``, and nothing is changed.
/// 2. What a crash has cut off is at the end: whole records, and without a hole. When it was said to be durable,
///    ``lost`` says so.
/// 3. Revisions of commits that were omitted behind the last one that was written are known by the durable mark, or by the
///    start that followed; where neither says so, what has seen them counts as lost.
/// 4. The new epoch is durable when the initializer returns, so that no cursor of it is ever given twice.
package final class Recovery {
  /// Something that was said to be durable and is not there: the disk has not kept it, or the files are older.
  package struct Loss: Equatable, Sendable {
    /// The epoch that said so.
    package let epoch: Epoch
    /// What it said.
    package let told: Revision
    /// What is there.
    package let recovered: Revision
    /// How many records are missing; 0 when only the epoch is.
    package let records: UInt64
  }

  /// The present epoch and those before it.
  package let ancestry: Ancestry
  /// Whether everything was written when the folder was used last; true for a new one.
  package let isClean: Bool
  /// What was lost, as far as that is known.
  package let lost: Loss?
  /// The position of the last record.
  package var position: UInt64 { place.position }
  private var replica: Replica?
  private let configuration: StorageConfiguration
  private var open: Open?
  private let place: JournalPlace
  /// That of the last commit, written or omitted.
  private let revision: Revision

  /// What is handed over to those who write.
  private struct Open {
    let lock: FolderLock?
    let files: DataFolder
    let mark: SmallFile?
  }

  /// Reads a folder and begins an epoch in it; one that is read-only gets an epoch that is not written down.
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
      // What was lost has been noticed; from here on it counts anew.
      markFile?.write(DurableMark(epoch: epoch, position: place.position, revision: revision).bytes)
    }
    open = Open(lock: lock, files: files, mark: markFile)
  }

  /// What the store goes on with; to be taken once, so that no second copy makes the first one expensive to change.
  package func takeReplica() -> Replica {
    defer { replica = nil }
    guard let replica else { preconditionFailure("A replica is taken once.") }
    return replica
  }

  /// Begins to write what a store records from now on; to be called once.
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

  /// What answers questions about what properties were, of a folder that is only read; nil when it has no history.
  ///
  /// It goes by the rules that the history was kept by.
  ///
  /// - Parameter unreadable: Called when an answer cannot be read.
  package func readHistory(
    unreadable: @escaping @Sendable (StorageError) -> Void
  ) throws(StorageError) -> HistoryReader? {
    precondition(configuration.isReadOnly, "What is written is read by the storage.")
    guard let (database, head) = try DataFolder.readHistory(configuration, end: place) else { return nil }
    var history = configuration.history
    history.rules = []
    for line in head.rules.split(separator: "\n") {
      do throws(HistoryRule.Fault) {
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

  /// The last revision that anybody may have seen and that is still part of the history.
  private static func lastRevision(
    _ place: JournalPlace, _ generations: [Ancestry.Generation], _ mark: DurableMark?
  ) -> Revision {
    guard let last = generations.last else { return place.revision }
    let started = last.position == place.position ? last.after : 0
    let told = mark.map { $0.epoch == last.epoch && $0.position == place.position ? $0.revision : 0 } ?? 0
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
  /// The file of the ``DurableMark``; nil when there is none to be read.
  fileprivate static func mark(in folder: String, canWrite: Bool) throws(StorageError) -> SmallFile? {
    let path = folder + "/" + DurableMark.name
    return canWrite || SystemCall.exists(path) ? try SmallFile(path, canWrite: canWrite) : nil
  }
}
