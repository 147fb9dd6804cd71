// SPDX-License-Identifier: MIT

internal import Glibc

/// The system calls on files that SQLite does not make for us.
enum SystemCall {
  /// The system's message for an `errno`.
  static func message(_ code: Int32) -> String {
    // The buffer of strerror is copied into the String before another call on this thread.
    unsafe strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
  }

  /// Creates a folder in an existing parent, unless it exists.
  static func makeFolder(_ path: String) throws(StorageError) {
    // The strings in this file outlive the calls.
    if unsafe mkdir(path, 0o750) != 0, errno != EEXIST { throw failure("make the folder", path) }
  }

  /// Makes sure that the names in a folder survive a power failure.
  static func syncFolder(_ path: String) throws(StorageError) {
    let descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure("open the folder", path) }
    defer { close(descriptor) }
    // Some file systems have nothing to sync for a folder, and report EINVAL.
    if fsync(descriptor) != 0, errno != EINVAL { throw failure("sync the folder", path) }
  }

  static func exists(_ path: String) -> Bool { unsafe access(path, F_OK) == 0 }

  static func isWritable(_ path: String) -> Bool { unsafe access(path, W_OK) == 0 }

  /// The size of a file in bytes; 0 when it cannot be found.
  static func size(_ path: String) -> Int {
    var status = stat()
    // The pointer is to the local variable.
    return unsafe stat(path, &status) == 0 ? Int(status.st_size) : 0
  }

  /// Deletes a file, if it exists.
  static func remove(_ path: String) { _ = unsafe unlink(path) }

  /// Renames a file, replacing an existing one with that name.
  static func rename(_ path: String, to other: String) throws(StorageError) {
    if unsafe Glibc.rename(path, other) != 0 { throw failure("rename to \(other)", path) }
  }

  /// Creates an empty file that only its owner can read.
  static func makePrivateFile(_ path: String) throws(StorageError) {
    let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw failure("make", path) }
    close(descriptor)
  }

  /// Makes sure that the contents of a file survive a power failure.
  static func syncFile(_ path: String) throws(StorageError) {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure("open", path) }
    defer { close(descriptor) }
    if fsync(descriptor) != 0 { throw failure("sync", path) }
  }

  /// The folder that a file is in.
  static func folder(of path: String) -> String {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// The names in a folder, without `.` and `..`, in no particular order.
  static func names(in folder: String) throws(StorageError) -> [String] {
    guard let stream = unsafe opendir(folder) else { throw failure("open the folder", folder) }
    defer { unsafe closedir(stream) }
    var names: [String] = []
    // The entry is valid until the next call on the stream; its name is copied before.
    while let entry = unsafe readdir(stream) {
      let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { name in
        unsafe name.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names
  }

  static func failure(_ operation: String, _ file: String) -> StorageError {
    .system(operation: operation, file: file, code: errno)
  }
}

/// A file for reading and writing a few bytes, closed when it is released.
final class SmallFile: Sendable {
  let path: String
  private let descriptor: Int32

  init(_ path: String, canWrite: Bool) throws(StorageError) {
    self.path = path
    descriptor = unsafe open(path, (canWrite ? O_RDWR | O_CREAT : O_RDONLY) | O_CLOEXEC, 0o640)
    guard descriptor >= 0 else { throw SystemCall.failure("open", path) }
  }

  deinit {
    // A child of this process that has been forked and not yet executed anything shares the descriptor, and with it the
    // lock: closing ours alone would leave the file locked until then.
    flock(descriptor, LOCK_UN)
    close(descriptor)
  }

  /// Takes the lock of the file, for as long as it is open; false when another process has it.
  ///
  /// - Parameter isShared: Whether it is a shared lock.
  func lock(isShared: Bool = false) throws(StorageError) -> Bool {
    if flock(descriptor, (isShared ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0 { return true }
    if errno == EWOULDBLOCK { return false }
    throw SystemCall.failure("lock", path)
  }

  /// The bytes from the beginning on, at most `count`.
  func read(_ count: Int) -> [UInt8] {
    unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      // An unreadable file counts as empty.
      filled = max(0, unsafe pread(descriptor, buffer.baseAddress, count, 0))
    }
  }

  /// Writes bytes at the beginning; false when that is not possible.
  @discardableResult
  func write(_ bytes: [UInt8]) -> Bool {
    unsafe bytes.withUnsafeBytes { unsafe pwrite(descriptor, $0.baseAddress, $0.count, 0) } == bytes.count
  }

  /// Makes what was written durable, as far as the system can.
  func sync() { _ = fdatasync(descriptor) }

  func truncate() { _ = ftruncate(descriptor, 0) }
}
