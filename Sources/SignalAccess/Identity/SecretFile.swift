// SPDX-License-Identifier: MIT
import Glibc

/// Files that hold secrets, or what secrets are checked with.
package enum SecretFile {
  /// Who may read a file besides its owner.
  package enum Readers {
    /// Nobody: its mode is 0600 or less.
    case ownerOnly
    /// Anybody: it holds public keys.
    case anybody
  }

  /// Reads a whole file.
  ///
  /// - Parameter limit: The maximum number of bytes.
  package static func read(
    _ path: String, atMost limit: Int, readers: Readers
  ) throws(IdentityError) -> [UInt8] {
    // The system reads the name during the call and keeps nothing.
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw IdentityError(path, reason(of: errno)) }
    defer { close(descriptor) }
    var status = stat()
    // The system fills in the structure and keeps nothing.
    guard unsafe fstat(descriptor, &status) == 0 else { throw IdentityError(path, reason(of: errno)) }
    guard status.st_mode & S_IFMT == S_IFREG else { throw IdentityError(path, "is not a file") }
    if readers == .ownerOnly, status.st_mode & 0o077 != 0 {
      let mode = String(status.st_mode & 0o777, radix: 8)
      throw IdentityError(path, "can be read or changed by others (mode 0\(mode)): chmod 600 it")
    }
    guard status.st_size <= limit else { throw IdentityError(path, "has more than \(limit) bytes") }
    var bytes = [UInt8](repeating: 0, count: Int(status.st_size) + 1)
    var count = 0
    while count < bytes.count {
      // The call writes at most the rest of the array.
      let read = unsafe bytes.withUnsafeMutableBytes { buffer in
        unsafe Glibc.read(descriptor, buffer.baseAddress! + count, buffer.count - count)
      }
      if read == 0 { return Array(bytes[..<count]) }
      if read > 0 { count += read } else if errno != EINTR { throw IdentityError(path, reason(of: errno)) }
    }
    throw IdentityError(path, "has grown while it was read")
  }

  /// Whether there is something with this name.
  package static func exists(_ path: String) -> Bool {
    // The system reads the name during the call and keeps nothing.
    unsafe access(path, F_OK) == 0
  }

  /// Calls `body` while no other process changes files of the same folder in this way.
  ///
  /// The folder itself is locked, so that no further file is needed for it.
  package static func changing<Result>(
    _ path: String, _ body: () throws(IdentityError) -> Result
  ) throws(IdentityError) -> Result {
    // The system reads the name during the call and keeps nothing.
    let descriptor = unsafe open(folder(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw IdentityError(folder(of: path), reason(of: errno)) }
    defer { close(descriptor) }
    while flock(descriptor, LOCK_EX) != 0 {
      guard errno == EINTR else { throw IdentityError(folder(of: path), reason(of: errno)) }
    }
    return try body()
  }

  /// Replaces a file, or creates it, so that it has either its old or its new content, whatever happens; only its owner
  /// can read it, who stays the same.
  package static func replace(_ name: String, with bytes: [UInt8]) throws(IdentityError) {
    // Of a symbolic link what it leads to, so that the link stays one.
    let path =
      unsafe realpath(name, nil).map { resolved in
        defer { unsafe free(resolved) }
        return unsafe String(cString: resolved)
      } ?? name
    let temporary = "\(path).\(getpid()).new"
    do throws(IdentityError) {
      try write(bytes, to: temporary, asOwnerOf: path)
    } catch {
      // The system reads the name during the call and keeps nothing.
      _ = unsafe unlink(temporary)
      throw error
    }
    guard unsafe rename(temporary, path) == 0 else {
      let code = errno
      _ = unsafe unlink(temporary)
      throw IdentityError(path, reason(of: code))
    }
    let folder = unsafe open(folder(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard folder >= 0 else { return }
    fsync(folder)
    close(folder)
  }

  private static func write(
    _ bytes: [UInt8], to temporary: String, asOwnerOf path: String
  ) throws(IdentityError) {
    // What a process with this number has left behind.
    _ = unsafe unlink(temporary)
    let descriptor = unsafe open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw IdentityError(temporary, reason(of: errno)) }
    defer { close(descriptor) }
    var status = stat()
    // An administrator changes the file of the server's user: it has to stay readable to that.
    if unsafe stat(path, &status) == 0, status.st_uid != geteuid() || status.st_gid != getegid() {
      guard fchown(descriptor, status.st_uid, status.st_gid) == 0 else {
        throw IdentityError(path, "belongs to another user")
      }
    }
    var rest = bytes[...]
    while !rest.isEmpty {
      // The call reads at most the slice's own count from it.
      let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno != EINTR { throw IdentityError(temporary, reason(of: errno)) }
      rest = rest.dropFirst(max(0, count))
    }
    guard fsync(descriptor) == 0 else { throw IdentityError(temporary, reason(of: errno)) }
  }

  private static func folder(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  private static func reason(of code: Int32) -> String {
    // The buffer is copied into the String before anything else can call it on this thread.
    unsafe strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
  }
}
