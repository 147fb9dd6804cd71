// SPDX-License-Identifier: MIT
import Glibc
import SignalHTTP

/// A file to which lines are appended, which only its owner can read.
struct AuditFile: ~Copyable {
  private let descriptor: Int32
  /// Whether the last line is not complete.
  private var isTorn = false

  /// Opens a file, or creates it.
  ///
  /// - Throws: Why it cannot be, as a clause.
  init(_ path: String) throws(Failure) {
    // The system reads the name during the call and keeps nothing. A pipe that nobody reads must not stop the start.
    let descriptor = unsafe open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0o600)
    guard descriptor >= 0 else { throw Failure(reason: Self.message(errno)) }
    var status = stat()
    // The system fills in the structure and keeps nothing.
    let isKnown = unsafe fstat(descriptor, &status) == 0
    let kind = status.st_mode & S_IFMT
    guard isKnown, kind == S_IFREG || kind == S_IFCHR else {
      close(descriptor)
      throw Failure(reason: "is no file")
    }
    if kind == S_IFREG, status.st_mode & 0o777 != 0o600, fchmod(descriptor, 0o600) != 0 {
      let code = errno
      close(descriptor)
      throw Failure(reason: "can be read by others, and cannot be closed to them: \(Self.message(code))")
    }
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }

  /// Why a file cannot be used.
  struct Failure: Error, Equatable {
    let reason: String
  }

  /// Appends lines, each with its end.
  ///
  /// - Returns: How many bytes were not written, and why.
  mutating func append(_ lines: [UInt8]) -> (left: Int, failure: Failure)? {
    // What was written of a line before the disk was full is no line: the next one begins behind an end.
    let bytes = isTorn ? [UInt8(ascii: "\n")] + lines : lines
    var rest = bytes[...]
    while !rest.isEmpty {
      // The call reads at most the slice's own count from it.
      let count = unsafe rest.withUnsafeBytes { unsafe write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else {
        let code = errno
        if rest.startIndex > 0 { isTorn = bytes[rest.startIndex - 1] != UInt8(ascii: "\n") }
        return (rest.count, Failure(reason: count == 0 ? "nothing is taken" : Self.message(code)))
      }
      rest = rest.dropFirst(count)
    }
    isTorn = false
    return nil
  }

  /// Waits until what was appended is on the disk.
  func sync() { _ = fdatasync(descriptor) }

  private static func message(_ code: Int32) -> String { SystemError.reason(of: code) }
}
