// SPDX-License-Identifier: MIT

internal import CSQLite

/// A connection to an SQLite database.
///
/// It belongs to one thread at a time. In WAL mode a writing connection never waits for readers, nor they for it; a
/// second writer is refused after ``busyTimeout``. No pointer escapes from it.
@safe final class Database {
  /// How a file is opened.
  enum Access {
    /// For reading, of a file that others may be writing.
    case read
    /// For reading, of a file that nobody can write: its log cannot be used either, so it has to be empty.
    case immutable
    /// For writing; the file is created if it does not exist.
    case write
  }

  /// How long a connection waits for the lock of another one; ours hold theirs for less.
  private static let busyTimeout: Int32 = 10_000

  let file: String
  /// The number of frames in the log after the last commit of this connection.
  private(set) var frames = 0
  fileprivate let handle: OpaquePointer

  /// Opens a file.
  ///
  /// - Parameters:
  ///   - system: The name of SQLite's layer of system calls, for tests; nil for that of the platform.
  ///   - cache: The approximate size of the page cache in bytes.
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
    // The call sets the handle, even when it fails, so that its error can be read; the strings outlive the call.
    let code = unsafe sqlite3_open_v2(name, &handle, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, system)
    guard let handle = unsafe handle, code == SQLITE_OK else {
      let error = unsafe StorageError(DatabaseError(file, "open", code, handle))
      unsafe sqlite3_close_v2(handle)
      throw error
    }
    unsafe self.handle = unsafe handle
    unsafe sqlite3_busy_timeout(handle, Database.busyTimeout)
    try execute("PRAGMA cache_size = -\(cache >> 10)")
    // Detects a row that does not fit its page when the page is read.
    try execute("PRAGMA cell_size_check = ON")
    if case .write = access { countFrames() }
  }

  deinit {
    // Statements that still exist keep the connection open until they are finalized.
    unsafe sqlite3_close_v2(handle)
  }

  /// Puts the file in WAL mode: a commit is durable when its call returns, and only ``checkpoint()`` moves the log into
  /// the file.
  ///
  /// - Parameter logLimit: The size in bytes to which the log is truncated when it restarts.
  func prepareForWriting(logLimit: Int) throws(StorageError) {
    try execute("PRAGMA journal_mode = WAL")
    try execute("PRAGMA synchronous = FULL")
    try execute("PRAGMA wal_autocheckpoint = 0")
    // The statement before has replaced the connection's own hook.
    countFrames()
    try execute("PRAGMA journal_size_limit = \(logLimit)")
  }

  private func countFrames() {
    // The pointer is to this object, and the hook is not called after the handle is closed.
    unsafe sqlite3_wal_hook(
      handle,
      { context, _, _, frames in
        guard let context = unsafe context else { return SQLITE_OK }
        unsafe Unmanaged<Database>.fromOpaque(context).takeUnretainedValue().frames = Int(frames)
        return SQLITE_OK
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  /// Moves the log into the file as far as no reader needs it, without waiting.
  ///
  /// - Returns: Whether all of the log was moved, so that the next commit restarts it.
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

  /// Whether commits from now on are durable when their calls return, together with all earlier ones.
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

  /// Rolls back to `BEGIN`, if SQLite has not done so by itself.
  func rollBack() {
    guard unsafe sqlite3_get_autocommit(handle) == 0 else { return }
    // It fails only when there is no transaction.
    try? execute("ROLLBACK")
  }

  /// The number of rows inserted, changed or deleted by the last statement.
  var changes: Int64 { unsafe sqlite3_changes64(handle) }

  fileprivate func check(_ code: Int32, _ operation: String) throws(StorageError) {
    guard code == SQLITE_OK else { throw unsafe StorageError(DatabaseError(file, operation, code, handle)) }
  }

  /// The name of a file as a URI with `immutable=1`.
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
  /// The error of the last call on a handle; without a handle, there was no memory for it.
  fileprivate init(_ file: String, _ operation: String, _ code: Int32, _ handle: OpaquePointer?) {
    self.file = file
    self.operation = operation
    // The handle may have a more specific code than was returned; its text is copied before the next call.
    let known = unsafe handle.map { unsafe sqlite3_extended_errcode($0) } ?? code
    self.code = known & 0xFF == code & 0xFF ? known : code
    systemCode = unsafe handle.map { unsafe sqlite3_system_errno($0) } ?? 0
    message = unsafe sqlite3_errstr(code).map { unsafe String(cString: $0) } ?? "error"
  }
}

/// A prepared statement, which can be executed repeatedly.
@safe final class Statement {
  /// The value of a parameter.
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

  /// Executes it with these parameters to completion.
  func run(_ values: Value...) throws(StorageError) { try run(values) }

  func run(_ values: [Value]) throws(StorageError) {
    try bind(values)
    defer { reset() }
    while try step() {}
  }

  /// Starts executing it with these parameters: ``step()`` returns the rows, ``reset()`` ends it.
  func begin(_ values: Value...) throws(StorageError) { try bind(values) }

  func begin(_ values: [Value]) throws(StorageError) { try bind(values) }

  /// Executes it and returns the first column of the first row; nil when there is no row, or NULL in it.
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
          // An empty array may have no address, and without one the parameter is NULL.
          bytes.isEmpty
            ? unsafe sqlite3_bind_zeroblob(statement, place, 0)
            : unsafe bytes.withUnsafeBytes { bytes in
              unsafe sqlite3_bind_blob64(statement, place, bytes.baseAddress, UInt64(bytes.count), Statement.copied)
            }
        }
      try database.check(code, sql)
    }
  }

  /// SQLite's constant for "copy the bytes", which is not an address.
  private static var copied: sqlite3_destructor_type { unsafe unsafeBitCast(-1, to: sqlite3_destructor_type.self) }

  /// Advances to the next row; false when there is none.
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

  /// Ends the execution; its locks are released.
  func reset() {
    // It returns the error of the last step, which has been thrown already.
    unsafe sqlite3_reset(statement)
  }

  // MARK: Columns of the row

  func integer(_ column: Int32) -> Int64 { unsafe sqlite3_column_int64(statement, column) }

  func real(_ column: Int32) -> Double { unsafe sqlite3_column_double(statement, column) }

  func isNull(_ column: Int32) -> Bool { unsafe sqlite3_column_type(statement, column) == SQLITE_NULL }

  /// The columns of the row, to be inserted into another table unchanged.
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

  /// Calls a closure with the bytes of a blob or a text, without a copy.
  func withBytes<Result, Failure>(
    _ column: Int32, _ body: (Span<UInt8>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    // In this order, as SQLite may convert the value for the first call. The bytes are valid until the next step.
    let start = unsafe sqlite3_column_blob(statement, column)
    let count = Int(unsafe sqlite3_column_bytes(statement, column))
    let bytes = unsafe UnsafeRawBufferPointer(start: start, count: unsafe start == nil ? 0 : count)
    return try body(unsafe bytes.assumingMemoryBound(to: UInt8.self).span)
  }
}
