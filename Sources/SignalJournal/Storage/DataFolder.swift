// SPDX-License-Identifier: MIT

internal import Glibc
internal import SignalStore

/// The files of a folder, opened and checked to belong together.
struct DataFolder {
  let journal: JournalFile
  let state: StateFile
  /// The history; nil when none is kept.
  let history: HistoryFile?

  /// Opens the files; those of a new folder are created.
  init(_ configuration: StorageConfiguration) throws(StorageError) {
    let folder = configuration.folder
    let (journalPath, statePath) = (folder + "/" + DataFile.journal.name, folder + "/" + DataFile.state.name)
    // The journal is created first, so if only the state exists, the journal was lost.
    if !SystemCall.exists(journalPath), SystemCall.exists(statePath) {
      throw .damaged(.init(journalPath, "the file", "it is missing"))
    }
    if configuration.isReadOnly, !SystemCall.exists(journalPath) {
      throw .system(operation: "open", file: journalPath, code: ENOENT)
    }
    let access = DataFolder.access(configuration)
    if case .immutable = access {
      // Without a writable index file SQLite cannot use the log, and would ignore its contents.
      for path in [journalPath, statePath] where SystemCall.size(path + "-wal") > 0 {
        throw .system(operation: "read the log beside it", file: path, code: EROFS)
      }
    }
    let (journal, isNewJournal) = try DataFile.journal.open(in: folder, access, system: configuration.system)
    if isNewJournal {
      if SystemCall.size(statePath) > 0 || configuration.isReadOnly {
        throw .damaged(.init(journalPath, "the file", "it is empty"))
      }
      try journal.prepareForWriting(logLimit: JournalLimits.logBytes)
      try DataFile.journal.create(journal) { () throws(StorageError) in
        try journal.prepare("INSERT INTO storage VALUES (?, NULL)").run(.text(DataFolder.newIdentity()))
      }
    }
    let (state, isNewState) = try DataFile.state.open(
      in: folder, access, system: configuration.system, cache: JournalLimits.stateCache)
    let rows = try JournalFile(journal)
    let identity = try rows.identity()
    if isNewState {
      // A journal without a start is left from a crash after its creation.
      guard try rows.generations().isEmpty, !configuration.isReadOnly else {
        throw .damaged(.init(statePath, "the file", "it is empty or missing"))
      }
      try state.prepareForWriting(logLimit: JournalLimits.logBytes)
      try DataFile.state.create(state) { () throws(StorageError) in try StateHead(identity: identity).write(state) }
      try SystemCall.syncFolder(folder)
    }
    if !configuration.isReadOnly {
      try journal.prepareForWriting(logLimit: JournalLimits.logBytes)
      try state.prepareForWriting(logLimit: JournalLimits.logBytes)
    }
    self.journal = rows
    self.state = try StateFile(state)
    guard self.state.head.identity == identity else {
      throw .damaged(.init(statePath, "the table state", "it belongs to the journal of another folder"))
    }
    let keepsHistory = !configuration.history.rules.isEmpty && !configuration.isReadOnly
    history = keepsHistory ? try DataFolder.history(configuration, identity) : nil
  }

  /// Opens the history, or creates an empty one.
  private static func history(
    _ configuration: StorageConfiguration, _ identity: [UInt8]
  ) throws(StorageError) -> HistoryFile {
    let (database, isNew) = try DataFile.history.open(
      in: configuration.folder, .write, system: configuration.system, cache: HistoryLimits.cache)
    try database.prepareForWriting(logLimit: JournalLimits.logBytes)
    if isNew {
      try DataFile.history.create(database) { () throws(StorageError) in
        try HistoryHead(identity: identity).write(database)
      }
      try SystemCall.syncFolder(configuration.folder)
    }
    let history = try HistoryFile(database)
    guard history.head.identity == identity else {
      throw .damaged(.init(database.file, "the table history", "it belongs to the journal of another folder"))
    }
    return history
  }

  /// Opens the history of a read-only folder; nil when there is none, or it has not started.
  static func readHistory(
    _ configuration: StorageConfiguration, end: JournalPlace
  ) throws(StorageError) -> (Database, HistoryHead)? {
    let path = configuration.folder + "/" + DataFile.history.name
    guard SystemCall.exists(path) else { return nil }
    let access = access(configuration)
    if case .immutable = access, SystemCall.size(path + "-wal") > 0 {
      throw .system(operation: "read the log beside it", file: path, code: EROFS)
    }
    let (database, isNew) = try DataFile.history.open(
      in: configuration.folder, access, system: configuration.system, cache: HistoryLimits.readCache)
    if isNew { return nil }
    let head = try HistoryHead(database)
    guard head.journal.position <= end.position else {
      throw .damaged(
        .init(
          path, "the table history",
          "it goes to position \(head.journal.position), and the journal only to \(end.position)",
          after: end.revision))
    }
    return head.rules.isEmpty ? nil : (database, head)
  }

  /// Whether the journal continues where the history ends, and the rules are the same.
  ///
  /// - Parameter end: The end of the journal.
  /// - Throws: A damage, when it is ahead of the journal, or belongs to another one.
  func historyFits(_ configuration: HistoryConfiguration, end: JournalPlace) throws(StorageError) -> Bool {
    guard let history else { return true }
    let place = history.head.journal
    func damage(_ reason: String) -> StorageError {
      .damaged(.init(history.database.file, "the table history", reason, after: end.revision))
    }
    guard place.position <= end.position else {
      throw damage("it goes to position \(place.position), and the journal only to \(end.position)")
    }
    if history.head.rules != configuration.text { return false }
    if place.position == end.position {
      guard place == end else { throw damage("it belongs to another journal than the one that is there") }
      return true
    }
    // Otherwise the journal has deleted what follows, as it was used without a history.
    return try journal.begins(at: place.position + 1)
  }

  /// Loads and checks everything in the files.
  ///
  /// - Returns: The replica, and the end of the journal.
  func load(epoch: Epoch, limits: StoreLimits) throws(StorageError) -> (Replica, JournalPlace) {
    var replica = try state.load(epoch: epoch, limits: limits)
    let start = state.head.journal
    let end = try journal.read(after: start, isComplete: true) { row throws(StorageError) in
      try row.replay(to: &replica, from: journal.database.file)
      return true
    }
    if let last = try journal.lastPosition(), last < start.position {
      throw .damaged(
        .init(
          state.database.file, "the table state",
          "it goes to position \(start.position), and the journal only to \(last)", after: start.revision))
    }
    return (replica, end)
  }

  /// To read a file that others may write, SQLite has to write beside it; where it cannot, nobody else can either.
  static func access(_ configuration: StorageConfiguration) -> Database.Access {
    guard configuration.isReadOnly else { return .write }
    return SystemCall.isWritable(configuration.folder) ? .read : .immutable
  }

  private static func newIdentity() -> [UInt8] {
    let text = String(UInt64.random(in: .min ... .max), radix: 36)
    return Array(text.utf8)
  }
}
