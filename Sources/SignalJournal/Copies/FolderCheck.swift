// SPDX-License-Identifier: MIT

internal import Glibc
package import SignalStore

/// A check of a folder: everything in it is read completely, and all damage is listed.
///
/// What is sound is kept (``replica``, ``place``, ``generations``), so that the folder can be repaired from it.
package struct FolderCheck {
  /// Maximum number of damages that are listed.
  package static let listed = 100

  /// The damages of the journal and the state, in the order in which they were found.
  package private(set) var damages: [StorageError.Damage] = []
  /// The damages of the history, which is for charts and can be started again.
  package var historyDamages: [StorageError.Damage] { history?.damages ?? [] }
  private var history: HistoryCheck?
  /// The paths whose last value was lost, as far as they are readable.
  package private(set) var lostPaths: [String] = []
  /// The revision of the last commit that is sound.
  package var revision: Revision { place.revision }
  /// The last revision that existed, as far as the files show it.
  package private(set) var newest: Revision = 0
  /// The number of properties.
  package var properties: Int { replica.tree.count }
  /// The number of sound rows of the journal.
  package private(set) var journalRows = 0
  /// Whether anything can be recovered: not when the state is unreadable and the journal does not reach back to the
  /// first record.
  package private(set) var isUsable = true

  private(set) var replica: Replica
  private(set) var place = JournalPlace()
  private(set) var generations: [Ancestry.Generation] = []
  private(set) var identity: [UInt8]?
  /// Whether part of the state is lost: then no history can report the loss to clients that have seen it.
  private(set) var stateIsDamaged = false

  /// Reads a folder, even while a server uses it.
  package init(_ folder: String, system: String? = nil) throws(StorageError) {
    replica = Replica(epoch: .random())
    for file in [DataFile.journal, .state] where !SystemCall.exists(folder + "/" + file.name) {
      // Without both there is nothing to check.
      let other = file.name == DataFile.journal.name ? DataFile.state : .journal
      guard SystemCall.exists(folder + "/" + other.name) else {
        throw .system(operation: "open", file: folder + "/" + file.name, code: ENOENT)
      }
    }
    // Read first, so that it is not ahead of the journal of a running server.
    history = try HistoryCheck(folder, system: system)
    do throws(StorageError) {
      let view = try FolderView(folder, system: system)
      read(view.state)
      read(view.journal)
    } catch {
      // One of them cannot be opened: read each on its own.
      try readApart(folder, system, after: error)
    }
    readMark(folder)
    // The end of a damaged journal is unknown.
    if damages.isEmpty { history?.compare(with: place, identity, in: folder) }
  }

  private mutating func readApart(
    _ folder: String, _ system: String?, after error: StorageError
  ) throws(StorageError) {
    switch error {
    case .damaged: break
    case .system(_, _, ENOENT): break
    default: throw error
    }
    func open<File>(
      _ file: DataFile, _ make: (Database) throws(StorageError) -> File
    ) throws(StorageError) -> (File?, StorageError.Damage?) {
      do throws(StorageError) {
        let path = folder + "/" + file.name
        guard SystemCall.exists(path) else { return (nil, .init(path, "the file", "it is missing")) }
        let (database, isNew) = try file.open(in: folder, .read, system: system)
        if isNew { return (nil, .init(path, "the file", "it is empty")) }
        return (try make(database), nil)
      } catch {
        guard case .damaged(let damage) = error else { throw error }
        return (nil, damage)
      }
    }
    let (state, stateDamage) = try open(.state) { database throws(StorageError) in try StateFile(database) }
    if let stateDamage { note(stateDamage) }
    stateIsDamaged = state == nil
    if let state { read(state) }
    let (journal, journalDamage) = try open(.journal) { database throws(StorageError) in try JournalFile(database) }
    if let journalDamage { note(journalDamage) }
    if let journal { read(journal) }
    if state == nil { isUsable = isUsable && journal != nil && place.position > 0 }
  }

  private mutating func note(_ damage: StorageError.Damage) {
    if damages.count < FolderCheck.listed { damages.append(damage) }
  }

  /// Runs a check and records the damage that it throws.
  ///
  /// - Returns: Whether it found none.
  private mutating func attempt(
    _ database: Database, _ body: (inout FolderCheck) throws(StorageError) -> Void
  ) -> Bool {
    do throws(StorageError) {
      try body(&self)
      return true
    } catch {
      if case .damaged(let damage) = error {
        note(damage)
      } else {
        note(.init(database.file, "the file", "\(error)"))
      }
      return false
    }
  }

  /// Runs the integrity check of SQLite.
  private mutating func checkPages(_ database: Database) -> Bool {
    attempt(database) { check throws(StorageError) in
      for text in try database.integrityFaults(limit: FolderCheck.listed) {
        check.note(.init(database.file, "integrity_check", text))
      }
    }
  }

  // MARK: The state

  private mutating func read(_ state: StateFile) {
    let before = damages.count
    _ = checkPages(state.database)
    place = state.head.journal
    identity = state.head.identity
    newest = place.revision
    var rows: Int64 = 0
    var sum: UInt64 = 0
    var properties: [PropertyPath: StoredValue] = [:]
    // Rows after an unreadable page are reached from the other end.
    for order in ["ASC", "DESC"] {
      let isWhole = attempt(state.database) { check throws(StorageError) in
        let statement = try state.database.prepare("SELECT * FROM property ORDER BY path \(order)")
        while try statement.step() {
          if let (property, checksum) = PropertyRow.read(statement) {
            guard properties.updateValue(property, forKey: property.path) == nil else { continue }
            rows += 1
            sum &+= UInt64(checksum)
          } else {
            let path = String(decoding: statement.bytes(0), as: UTF8.self)
            check.note(.init(state.database.file, "the property \(path)", "the checksum does not match"))
            if check.lostPaths.count < FolderCheck.listed { check.lostPaths.append(path) }
          }
        }
      }
      if isWhole { break }
    }
    var contents = StateItems()
    _ = attempt(state.database) { check throws(StorageError) in
      let statement = try state.database.prepare("SELECT * FROM item")
      while try statement.step() {
        if let (item, checksum) = StateItems.Item.read(statement) {
          contents.add(item)
          rows += 1
          sum &+= UInt64(checksum)
        } else {
          check.note(.init(state.database.file, "a row of the table item", "the checksum does not match"))
        }
      }
    }
    if damages.count == before, rows != state.head.rows || sum != state.head.sum {
      note(.init(state.database.file, "the tables property and item", "the number of rows, or their sum, is another"))
    }
    stateIsDamaged = damages.count > before
    replica = Replica(
      epoch: .random(), revision: place.revision, time: place.time, properties: properties.values,
      signals: KeptSignals(number: state.head.signal, time: state.head.signaled, messages: contents.signals),
      timers: contents.timers, lastOperations: contents.lastOperations, rules: contents.rules)
  }

  // MARK: The journal

  private mutating func read(_ journal: JournalFile) {
    _ = checkPages(journal.database)
    readEpochs(journal)
    guard attempt(journal.database, { check throws(StorageError) in try check.checkIdentity(journal) }) else { return }
    // Before the steps that may stop at damage, so that the newest revision is known.
    _ = attempt(journal.database) { check throws(StorageError) in
      if let last = try journal.newestRevision() { check.newest = max(check.newest, last) }
    }
    _ = attempt(journal.database) { check throws(StorageError) in
      let isLenient = check.stateIsDamaged
      _ = try journal.read(after: check.place) { row throws(StorageError) in
        let checksum = row.checksum(after: check.place.checksum)
        try row.replay(to: &check.replica, from: journal.database.file, isLenient: isLenient)
        check.place = JournalPlace(position: row.last, revision: row.through, time: row.time, checksum: checksum)
        check.journalRows += 1
        return true
      }
      if let last = try journal.lastPosition(), last < check.place.position {
        throw .damaged(
          .init(
            journal.database.file, "the table journal",
            "it goes to position \(last), and the state to \(check.place.position)", after: check.place.revision))
      }
    }
  }

  private mutating func checkIdentity(_ journal: JournalFile) throws(StorageError) {
    let found = try journal.identity()
    if let identity, identity != found {
      throw .damaged(.init(journal.database.file, "the table storage", "it belongs to the state of another folder"))
    }
    identity = found
  }

  /// The starts after the last damaged one.
  private mutating func readEpochs(_ journal: JournalFile) {
    if attempt(journal.database, { check throws(StorageError) in check.generations = try journal.generations() }) {
      return
    }
    let database = journal.database
    guard let newest = try? database.integer("SELECT max(number) FROM epoch") else { return }
    // One by one from the newest on, while they are sound.
    var first = newest
    while first > 0, let found = try? journal.generations(from: first) {
      generations = found
      first -= 1
    }
  }

  private mutating func readMark(_ folder: String) {
    let path = folder + "/" + DurableMark.name
    guard SystemCall.exists(path), let file = try? SmallFile(path, canWrite: false),
      let mark = DurableMark(file.read(DurableMark.size))
    else { return }
    // Revisions after the last record are those of omitted commits.
    if mark.position > place.position { newest = max(newest, mark.revision) }
  }

  // MARK: Summary

  /// The revisions that existed and are lost; nil when there are none.
  package var lostRevisions: ClosedRange<UInt64>? {
    newest > revision ? revision.number + 1...newest.number : nil
  }
}
