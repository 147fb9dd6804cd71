// SPDX-License-Identifier: MIT

internal import SignalStore

/// One of the database files of a folder, and how it is recognized.
struct DataFile {
  static let journal = DataFile(
    name: "journal.sqlite", id: 0x5369_674A,
    schema: [
      "CREATE TABLE storage (identity TEXT NOT NULL, closed INTEGER) STRICT",
      """
      CREATE TABLE epoch (
        number INTEGER PRIMARY KEY, name TEXT NOT NULL, after INTEGER NOT NULL, position INTEGER NOT NULL,
        time INTEGER NOT NULL, crc INTEGER NOT NULL) STRICT
      """,
      """
      CREATE TABLE journal (
        first INTEGER PRIMARY KEY, last INTEGER NOT NULL, after INTEGER NOT NULL, through INTEGER NOT NULL,
        time INTEGER NOT NULL, changes INTEGER NOT NULL, format INTEGER NOT NULL, crc INTEGER NOT NULL,
        records BLOB NOT NULL) STRICT
      """,
    ])

  static let state = DataFile(
    name: "state.sqlite", id: 0x5369_6753,
    schema: [
      """
      CREATE TABLE state (
        identity TEXT NOT NULL, position INTEGER NOT NULL, revision INTEGER NOT NULL, time INTEGER NOT NULL,
        signal INTEGER NOT NULL, signaled INTEGER NOT NULL, journal INTEGER NOT NULL, rows INTEGER NOT NULL,
        sum INTEGER NOT NULL, crc INTEGER NOT NULL) STRICT
      """,
      """
      CREATE TABLE property (
        path TEXT PRIMARY KEY, value TEXT NOT NULL, revision INTEGER NOT NULL, time INTEGER NOT NULL, extra BLOB,
        crc INTEGER NOT NULL) STRICT, WITHOUT ROWID
      """,
      """
      CREATE TABLE item (
        kind INTEGER NOT NULL, key BLOB NOT NULL, body BLOB NOT NULL, crc INTEGER NOT NULL,
        PRIMARY KEY (kind, key)) STRICT, WITHOUT ROWID
      """,
    ])

  /// A backup: the tables of both, in one file with any name.
  static let backup = DataFile(name: "", id: 0x5369_6742, schema: journal.schema + state.schema)
  static let history = DataFile(
    name: "history.sqlite", id: 0x5369_6748,
    schema: [
      """
      CREATE TABLE history (
        identity TEXT NOT NULL, position INTEGER NOT NULL, revision INTEGER NOT NULL, time INTEGER NOT NULL,
        journal INTEGER NOT NULL, rules TEXT NOT NULL, crc INTEGER NOT NULL) STRICT
      """,
      """
      CREATE TABLE series (
        number INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, body BLOB NOT NULL, crc INTEGER NOT NULL) STRICT
      """,
      """
      CREATE TABLE raw (
        key INTEGER PRIMARY KEY, first INTEGER NOT NULL, start INTEGER NOT NULL, until INTEGER NOT NULL,
        body BLOB NOT NULL, crc INTEGER NOT NULL) STRICT
      """,
      """
      CREATE TABLE rollup (
        series INTEGER NOT NULL, step INTEGER NOT NULL, start INTEGER NOT NULL, until INTEGER NOT NULL,
        held INTEGER NOT NULL, count INTEGER NOT NULL, min REAL, max REAL, integral REAL,
        known INTEGER NOT NULL, first TEXT, last TEXT, crc INTEGER NOT NULL, PRIMARY KEY (series, step, start)
      ) STRICT, WITHOUT ROWID
      """,
    ])

  /// The newest format that is read, and the one that is written.
  static let format: Int64 = 1

  let name: String
  /// The `application_id` of the file.
  let id: Int64
  let schema: [String]

  /// Opens the file in a folder, and checks that it is one of ours.
  ///
  /// - Returns: The connection, and whether the file is empty, without even its tables.
  func open(
    in folder: String, _ access: Database.Access, system: String?, cache: Int = 2 << 20
  ) throws(StorageError) -> (database: Database, isNew: Bool) {
    try open(path: folder + "/" + name, access, system: system, cache: cache)
  }

  /// Opens the file by its path, and checks that it is one of ours.
  func open(
    path: String, _ access: Database.Access, system: String?, cache: Int = 2 << 20
  ) throws(StorageError) -> (database: Database, isNew: Bool) {
    let database = try Database(path, access, system: system, cache: cache)
    let id = try database.integer("PRAGMA application_id") ?? 0
    let format = try database.integer("PRAGMA user_version") ?? 0
    // Litestream keeps two tables of its own in each file that it replicates.
    let tables =
      try database.integer(
        "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND substr(name, 1, 12) <> '_litestream_'") ?? 0
    if id == 0, format == 0, tables == 0 { return (database, true) }
    if id != self.id { throw .foreign(file: path) }
    if format > DataFile.format { throw .newerFormat(file: path, format: format, newest: DataFile.format) }
    let expected = schema.count { $0.hasPrefix("CREATE TABLE") }
    guard format >= 1, tables == expected else {
      throw .damaged(.init(path, "the list of tables", "it is not that of format \(format)"))
    }
    return (database, false)
  }

  /// Creates the tables, and their initial rows in the same transaction.
  ///
  /// - Parameter log: The journal mode of SQLite.
  func create(
    _ database: Database, log: String = "WAL", _ fill: () throws(StorageError) -> Void
  ) throws(StorageError) {
    try database.execute("PRAGMA journal_mode = \(log)")
    try database.execute("BEGIN IMMEDIATE")
    for statement in schema { try database.execute(statement) }
    try fill()
    try database.execute("PRAGMA application_id = \(id)")
    try database.execute("PRAGMA user_version = \(DataFile.format)")
    try database.execute("COMMIT")
  }
}
