// SPDX-License-Identifier: MIT

internal import CSQLite

/// A connection to an SQLite database.
///
/// It belongs to one thread at a time. In WAL mode a connection that writes never waits for those that read, nor these for
/// it; a second one that writes is refused after ``busyTimeout``. No pointer leaves it.
@safe final class Database {
  /// How a file is opened.
  enum Access {
    /// For reading, of a file that others may be writing.
    case read
    /// For reading, of a file that nobody can write: its log cannot be used either and has to be empty.
    case immutable
    /// For writing; the file is made if there is none.
    case write
  }

  /// How long a connection waits for a lock of another one; those of ours hold theirs for less.
  private static let busyTimeout: Int32 = 10_000

  let file: String
  /// How many frames the log has after the last commit of this connection.
  private(set) var frames = 0
  fileprivate let handle: OpaquePointer

  /// Opens a file.
  ///
  /// - Parameters:
  ///   - system: The name of SQLite's layer of system calls, for tests; nil takes that of the platform.
  ///   - cache: About how many bytes of pages are kept in memory.
  init(_ file: String, _ access: Access, system: String? = nil, cache: Int = 2 << 20) throws(StorageError) {
    self.file = file
    var handle: OpaquePointer?
    let flags =
      switch access {
      case .read: SQLITE_OPEN_READONLY
      case .immutable: SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
      case .write: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
      }
    let name = if case .immutable = access { Database.immutableName(file) } else { file }
    // The handle is written by the call, and is there even when it failed, to be asked why; the texts live as long.
    let code = unsafe sqlite3_open_v2(name, &handle, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, system)
    guard let handle = unsafe handle, code == SQLITE_OK else {
      let error = unsafe StorageError(DatabaseError(file, "open", code, handle))
      unsafe sqlite3_close_v2(handle)
      throw error
    }
    unsafe self.handle = unsafe handle
    unsafe sqlite3_busy_timeout(handle, Database.busyTimeout)
    try execute("PRAGMA cache_size = -\(cache >> 10)")
    // A row that does not fit its page is noticed when the page is read.
    try execute("PRAGMA cell_size_check = ON")
    if case .write = access { countFrames() }
  }

  deinit {
    // Statements that are still there keep the connection until they go.
    unsafe sqlite3_close_v2(handle)
  }

  /// Makes the file one that is written ahead: a commit is durable when its call returns, and the log is moved into the
  /// file by ``checkpoint()`` only.
  ///
  /// - Parameter logLimit: To how many bytes the log is cut when it is begun anew.
  func prepareForWriting(logLimit: Int) throws(StorageError) {
    try execute("PRAGMA journal_mode = WAL")
    try execute("PRAGMA synchronous = FULL")
    try execute("PRAGMA wal_autocheckpoint = 0")
    // That of the connection is replaced by the line before.
    countFrames()
    try execute("PRAGMA journal_size_limit = \(logLimit)")
  }

  private func countFrames() {
    // The pointer is that of this object, and the hook is not called after the handle is closed.
    unsafe sqlite3_wal_hook(
      handle,
      { context, _, _, frames in
        guard let context = unsafe context else { return SQLITE_OK }
        unsafe Unmanaged<Database>.fromOpaque(context).takeUnretainedValue().frames = Int(frames)
        return SQLITE_OK
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  /// Moves the log into the file as far as nobody reads it, without waiting for anyone.
  ///
  /// - Returns: Whether all of the log was moved, so that the next commit begins it anew.
  @discardableResult
  func checkpoint() throws(StorageError) -> Bool {
    var frames: Int32 = 0
    var moved: Int32 = 0
    // Both numbers are written before the call returns.
    let code = unsafe sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_PASSIVE, &frames, &moved)
    if code == SQLITE_BUSY { return false }
    try check(code, "checkpoint")
    if frames == moved { self.frames = 0 }
    return frames == moved
  }

  // MARK: Statements

  /// Executes a statement that has neither parameters nor results, or whose result does not matter.
  func execute(_ sql: String) throws(StorageError) {
    let statement = try prepare(sql)
    while try statement.step() {}
  }

  /// Whether commits from now on are durable when their calls return, and with them all that were made before.
  func setDurable(_ isDurable: Bool) throws(StorageError) {
    try execute(isDurable ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL")
  }

  /// The first column of the first row of a result; nil when there is no row.
  func integer(_ sql: String) throws(StorageError) -> Int64? {
    let statement = try prepare(sql)
    return try statement.step() ? statement.integer(0) : nil
  }

  func prepare(_ sql: String) throws(StorageError) -> Statement {
    var statement: OpaquePointer?
    let code = unsafe sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
    try check(code, sql)
    guard let statement = unsafe statement else { preconditionFailure("\"\(sql)\" is no statement.") }
    return unsafe Statement(statement, self, sql)
  }

  /// Executes statements in one commit, or none of them when one fails.
  func transaction(_ body: () throws(StorageError) -> Void) throws(StorageError) {
    do throws(StorageError) {
      try execute("BEGIN IMMEDIATE")
      try body()
      try execute("COMMIT")
    } catch {
      rollBack()
      throw error
    }
  }

  /// Takes back what has been done since `BEGIN`, if SQLite has not done so by itself.
  func rollBack() {
    guard unsafe sqlite3_get_autocommit(handle) == 0 else { return }
    // It fails only when there is nothing to take back.
    try? execute("ROLLBACK")
  }

  /// How many rows the last statement has inserted, changed or deleted.
  var changes: Int64 { unsafe sqlite3_changes64(handle) }

  fileprivate func check(_ code: Int32, _ operation: String) throws(StorageError) {
    guard code == SQLITE_OK else { throw unsafe StorageError(DatabaseError(file, operation, code, handle)) }
  }

  /// The name of a file as a URI that says that nobody writes it.
  private static func immutableName(_ file: String) -> String {
    var name = "file:"
    for byte in file.utf8 {
      switch byte {
      case UInt8(ascii: "%"), UInt8(ascii: "?"), UInt8(ascii: "#"):
        name += "%" + String(byte, radix: 16)
      default: name.unicodeScalars.append(Unicode.Scalar(byte))
      }
    }
    return name + "?immutable=1"
  }
}

extension DatabaseError {
  /// Why the last call on a handle failed; without one, when there was no memory for it.
  fileprivate init(_ file: String, _ operation: String, _ code: Int32, _ handle: OpaquePointer?) {
    self.file = file
    self.operation = operation
    // The handle may know more than the call has returned; its text is copied before the next call.
    let known = unsafe handle.map { unsafe sqlite3_extended_errcode($0) } ?? code
    self.code = known & 0xFF == code & 0xFF ? known : code
    systemCode = unsafe handle.map { unsafe sqlite3_system_errno($0) } ?? 0
    message = unsafe sqlite3_errstr(code).map { unsafe String(cString: $0) } ?? "error"
  }
}

/// A statement that was compiled and can be executed again and again.
@safe final class Statement {
  /// What a parameter can be.
  enum Value {
    case integer(Int64)
    case real(Double)
    case text([UInt8])
    case blob([UInt8])
    case null
  }

  private let statement: OpaquePointer
  private let database: Database
  private let sql: String

  fileprivate init(_ statement: OpaquePointer, _ database: Database, _ sql: String) {
    unsafe self.statement = unsafe statement
    self.database = database
    self.sql = sql
  }

  deinit {
    unsafe sqlite3_finalize(statement)
  }

  /// Executes it with these parameters, to the end.
  func run(_ values: Value...) throws(StorageError) { try run(values) }

  func run(_ values: [Value]) throws(StorageError) {
    try bind(values)
    defer { reset() }
    while try step() {}
  }

  /// Begins to execute it with these parameters: ``step()`` gives the rows, ``reset()`` ends it.
  func begin(_ values: Value...) throws(StorageError) { try bind(values) }

  func begin(_ values: [Value]) throws(StorageError) { try bind(values) }

  /// Executes it with these parameters: the first column of the first row; nil when there is no row, or NULL in it.
  func integer(for values: Value...) throws(StorageError) -> Int64? {
    try bind(values)
    defer { reset() }
    return try step() && !isNull(0) ? integer(0) : nil
  }

  private func bind(_ values: [Value]) throws(StorageError) {
    for index in values.indices {
      let place = Int32(index + 1)
      let code =
        switch values[index] {
        case .integer(let value): unsafe sqlite3_bind_int64(statement, place, value)
        case .real(let value): unsafe sqlite3_bind_double(statement, place, value)
        case .null: unsafe sqlite3_bind_null(statement, place)
        case .text(let bytes):
          // SQLite copies the bytes before the call returns.
          unsafe bytes.withUnsafeBytes { bytes in
            unsafe sqlite3_bind_text64(
              statement, place, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), UInt64(bytes.count),
              Statement.copied, UInt8(SQLITE_UTF8))
          }
        case .blob(let bytes):
          // An empty array has no address, and without one the parameter is NULL.
          bytes.isEmpty
            ? unsafe sqlite3_bind_zeroblob(statement, place, 0)
            : unsafe bytes.withUnsafeBytes { bytes in
              unsafe sqlite3_bind_blob64(statement, place, bytes.baseAddress, UInt64(bytes.count), Statement.copied)
            }
        }
      try database.check(code, sql)
    }
  }

  /// SQLite's constant for "copy the bytes", which is no address.
  private static var copied: sqlite3_destructor_type { unsafe unsafeBitCast(-1, to: sqlite3_destructor_type.self) }

  /// Goes to the next row; false when there is none.
  func step() throws(StorageError) -> Bool {
    switch unsafe sqlite3_step(statement) {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    case let code:
      let error = unsafe StorageError(DatabaseError(database.file, sql, code, database.handle))
      reset()
      throw error
    }
  }

  /// Ends the execution; locks that it held are given back.
  func reset() {
    // What it returns is the failure of the last step, which has been thrown.
    unsafe sqlite3_reset(statement)
  }

  // MARK: Columns of the row

  func integer(_ column: Int32) -> Int64 { unsafe sqlite3_column_int64(statement, column) }

  func real(_ column: Int32) -> Double { unsafe sqlite3_column_double(statement, column) }

  func isNull(_ column: Int32) -> Bool { unsafe sqlite3_column_type(statement, column) == SQLITE_NULL }

  /// The columns of the row, to be put into another table as they are.
  func values() -> [Value] {
    let count = unsafe sqlite3_column_count(statement)
    return (0..<count).map { column in
      switch unsafe sqlite3_column_type(statement, column) {
      case SQLITE_INTEGER: .integer(integer(column))
      case SQLITE_TEXT: .text(bytes(column))
      case SQLITE_BLOB: .blob(bytes(column))
      default: .null
      }
    }
  }

  /// The bytes of a blob or a text; empty for NULL.
  func bytes(_ column: Int32) -> [UInt8] {
    withBytes(column) { span in
      // Copied within the closure.
      unsafe span.withUnsafeBufferPointer { unsafe Array($0) }
    }
  }

  /// Hands the bytes of a blob or a text to a closure, without a copy.
  func withBytes<Result, Failure>(
    _ column: Int32, _ body: (Span<UInt8>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    // In this order, as SQLite may convert the value for the first call. The bytes stay until the next step.
    let start = unsafe sqlite3_column_blob(statement, column)
    let count = Int(unsafe sqlite3_column_bytes(statement, column))
    let bytes = unsafe UnsafeRawBufferPointer(start: start, count: unsafe start == nil ? 0 : count)
    return try body(unsafe bytes.assumingMemoryBound(to: UInt8.self).span)
  }
}
