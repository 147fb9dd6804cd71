// SPDX-License-Identifier: MIT

internal import Glibc
package import SignalStore

/// Everything in a folder, read to the last byte, and what is not as it was written.
///
/// What can be trusted is kept (``replica``, ``place``, ``generations``), so that a folder can be repaired from it.
package struct FolderCheck {
  /// Most damages that are listed.
  package static let listed = 100

  /// What is not as it was written in the journal and the state, in the order in which it was found.
  package private(set) var damages: [StorageError.Damage] = []
  /// What is not as it was written in the history, which is for charts and can be begun anew.
  package var historyDamages: [StorageError.Damage] { history?.damages ?? [] }
  private var history: HistoryCheck?
  /// Paths whose last value was lost, as far as they can be read.
  package private(set) var lostPaths: [String] = []
  /// The revision of the last commit that can be trusted.
  package var revision: Revision { place.revision }
  /// The last revision that there was, as far as anything says so.
  package private(set) var newest: Revision = 0
  /// How many properties there are.
  package var properties: Int { replica.tree.count }
  /// How many rows of the journal were read, and are sound.
  package private(set) var journalRows = 0
  /// Whether anything can be trusted: not when the state cannot be read and the journal does not begin at the beginning.
  package private(set) var isUsable = true

  private(set) var replica: Replica
  private(set) var place = JournalPlace()
  private(set) var generations: [Ancestry.Generation] = []
  private(set) var identity: [UInt8]?
  /// Whether something of the state is lost: whoever has seen it cannot be told by a history.
  private(set) var stateIsDamaged = false

  /// Reads a folder, also while a server uses it.
  package init(_ folder: String, system: String? = nil) throws(StorageError) {
    replica = Replica(epoch: .random())
    for file in [DataFile.journal, .state] where !SystemCall.exists(folder + "/" + file.name) {
      // Without both there is nothing to be checked.
      let other = file.name == DataFile.journal.name ? DataFile.state : .journal
      guard SystemCall.exists(folder + "/" + other.name) else {
        throw .system(operation: "open", file: folder + "/" + file.name, code: ENOENT)
      }
    }
    // First, so that it is not ahead of the journal of a server that goes on.
    history = try HistoryCheck(folder, system: system)
    do throws(StorageError) {
      let view = try FolderView(folder, system: system)
      read(view.state)
      read(view.journal)
    } catch {
      // Not both can be opened: each for itself.
      try readApart(folder, system, after: error)
    }
    readMark(folder)
    // Of a journal that is damaged the end is unknown.
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

  /// Executes something that may find damage, and notes that.
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

  /// What SQLite itself finds.
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
    // What is behind a page that cannot be read is found from the other end.
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
    // Before what may stop at damage, so that what was there is known.
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

  /// The starts behind the last damaged one.
  private mutating func readEpochs(_ journal: JournalFile) {
    if attempt(journal.database, { check throws(StorageError) in check.generations = try journal.generations() }) {
      return
    }
    let database = journal.database
    guard let newest = try? database.integer("SELECT max(number) FROM epoch") else { return }
    // One by one from the newest on, as long as they are sound.
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
    // Revisions behind the last record are those of commits that are not kept.
    if mark.position > place.position { newest = max(newest, mark.revision) }
  }

  // MARK: In words

  /// The revisions that were there once and are lost; nil when there are none.
  package var lostRevisions: ClosedRange<UInt64>? {
    newest > revision ? revision.number + 1...newest.number : nil
  }
}
