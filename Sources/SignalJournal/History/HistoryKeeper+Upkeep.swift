// SPDX-License-Identifier: MIT

internal import Dispatch
internal import SignalStore
internal import Synchronization

/// The tasks of a ``HistoryKeeper`` besides following the journal: starting, and deleting what is too old.
extension HistoryKeeper {
  // MARK: Beginning

  /// Whether the journal keeps so much for the history alone that it has to continue from the state.
  var isTooFarBehind: Bool {
    get throws(StorageError) {
      guard file.head.journal.position < level.stateCovered else { return false }
      let pages = try rows.database.integer("PRAGMA page_count") ?? 0
      let free = try rows.database.integer("PRAGMA freelist_count") ?? 0
      let size = try rows.database.integer("PRAGMA page_size") ?? 0
      return (pages - free) * size > 2 * Int64(journal.journalBytes)
    }
  }

  /// Continues from the state, if that is at another position than the history, or the rules have changed.
  func begin() throws(StorageError) {
    let state = try openState()
    // One snapshot, whatever is written meanwhile; the journal keeps what follows it.
    try state.execute("BEGIN")
    let place = try StateHead(state).journal
    let old = file.head
    let isGap = !old.rules.isEmpty && old.journal.position < place.position
    if isGap { observer.gap(old.journal.revision, place.revision) }
    // Series that have a rule again have missed the changes since.
    let time = old.journal.time.milliseconds
    var seeding = HistorySeeding(gap: old.rules.isEmpty ? nil : time)
    let properties = try state.prepare("SELECT * FROM property ORDER BY path")
    var missing = Set(isGap ? Array(file.numbers.keys) : [])
    while try properties.step() {
      guard let (property, _) = PropertyRow.read(properties) else {
        throw .damaged(.init(state.file, "the table property", "a checksum does not match"))
      }
      missing.remove(property.path)
      guard isKept(property.path) else { continue }
      seeding.add(property)
      if seeding.isFull { try apply(seeding.take()) }
    }
    try apply(seeding.take())
    // The time at which these were deleted is unknown.
    for path in missing {
      seeding.end(path)
      if seeding.isFull { try apply(seeding.take()) }
    }
    noteCrowd(try file.apply(seeding.take(), configuration, through: place, isDurable: true))
    level.coverHistory(through: place.position)
    mustBegin = false
    hasBegun.store(true, ordering: .releasing)
  }

  private func apply(_ changes: [PropertyPath: HistoryFile.Changes]) throws(StorageError) {
    noteCrowd(try file.apply(changes, configuration, through: nil, isDurable: false))
  }

  // MARK: Sweeping

  /// Deletes what is too old, until there is other work.
  func sweep() throws(StorageError) {
    if toSweep.isEmpty { toSweep = Array(file.numbers.keys) }
    let now = Timestamp.now.milliseconds
    while let path = toSweep.last {
      let rule = configuration.rule(for: path).map { configuration.rules[$0] }
      try file.database.setDurable(false)
      let count = try file.sweep(path, rule, now: now, limit: configuration.limits.slice)
      if count < configuration.limits.slice { toSweep.removeLast() }
      if count > 0, file.database.frames >= HistoryLimits.logFrames { try file.database.checkpoint() }
      // The rest follows directly after the more urgent work.
      if wish.withLock({ $0.isHurried || $0.isWanted && nextRound <= .now() || $0.isClosing }) { return }
    }
    nextSweep = .now() + configuration.limits.sweepInterval.dispatch
  }
}
