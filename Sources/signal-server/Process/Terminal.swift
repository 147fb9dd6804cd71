// SPDX-License-Identifier: MIT
import Glibc
import SignalHTTP

/// The process's standard streams.
///
/// Every line is one system call: never interleaved with other writers, and never buffered, so that a reader that waits
/// for a line receives it at once.
enum Terminal {
  /// Writes a line to the standard output.
  static func print(_ line: String) { write(Array((line + "\n").utf8), to: STDOUT_FILENO) }

  /// Writes bytes and a line end to the standard output.
  static func print(bytes: [UInt8]) { write(bytes + [UInt8(ascii: "\n")], to: STDOUT_FILENO) }

  /// Writes several lines to the standard output, with one call.
  static func print(lines: [[UInt8]]) {
    write(lines.flatMap { $0 + [UInt8(ascii: "\n")] }, to: STDOUT_FILENO)
  }

  /// Writes bytes to the standard output, as they are.
  static func print(raw bytes: [UInt8]) { write(bytes, to: STDOUT_FILENO) }

  /// The size of the terminal that the standard output is; nil when it is none, or one whose cursor cannot be moved.
  ///
  /// A terminal that does not say its size has the one of a VT100.
  static var size: Canvas.Size? {
    guard isOutput, ProcessEnvironment.variables["TERM"] != "dumb" else { return nil }
    var size = winsize()
    // The system writes into the variable during the call.
    guard unsafe ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
      return Canvas.Size(columns: 80, rows: 24)
    }
    return Canvas.Size(columns: Int(size.ws_col), rows: Int(size.ws_row))
  }

  /// Whether the standard output is a terminal, so that a person reads it.
  static var isOutput: Bool { isatty(STDOUT_FILENO) == 1 }

  /// Whether colours can be shown on it, and are wanted (no-color.org).
  static var isColoured: Bool {
    let variables = ProcessEnvironment.variables
    return isOutput && (variables["NO_COLOR"] ?? "").isEmpty && variables["TERM"] != "dumb"
  }

  /// Writes a line to the standard error.
  static func printToError(_ line: String) { write(Array((line + "\n").utf8), to: STDERR_FILENO) }

  /// Replaces the last line of the standard error, if that is a terminal; an empty text clears it.
  static func replaceLine(_ line: String) {
    guard isatty(STDERR_FILENO) == 1 else { return }
    write(Array("\r\u{1B}[K\(line)".utf8), to: STDERR_FILENO)
  }

  /// Writes a line to the standard error, begun with the program's name.
  static func complain(_ line: String) { printToError("signal-server: \(line)") }

  /// All of the standard input.
  static func readAll() throws(SystemFailure) -> [UInt8] { try readAll(from: STDIN_FILENO) }

  /// All of a file, or of what a name such as `/dev/fd/3` stands for.
  ///
  /// - Parameter limit: How much of it is read.
  static func readFile(_ path: String, atMost limit: Int = .max) throws(SystemFailure) -> [UInt8] {
    // The system reads the name during the call and keeps nothing.
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw SystemFailure(code: errno) }
    defer { close(descriptor) }
    return try readAll(from: descriptor, atMost: limit)
  }

  private static func readAll(
    from descriptor: Int32, atMost limit: Int = .max
  ) throws(SystemFailure) -> [UInt8] {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      // The call writes at most the chunk's own count into it.
      let count = unsafe chunk.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
      if count == 0 || bytes.count >= limit { return Array(bytes.prefix(limit)) }
      if count > 0 {
        bytes.append(contentsOf: chunk[..<count])
      } else if errno != EINTR {
        throw SystemFailure(code: errno)
      }
    }
  }

  /// Copies everything from a descriptor to the standard output.
  static func copy(from descriptor: Int32) throws(SystemFailure) {
    var chunk = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      // The call writes at most the chunk's own count into it.
      let count = unsafe chunk.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
      if count == 0 { return }
      if count < 0 {
        if errno == EINTR { continue }
        throw SystemFailure(code: errno)
      }
      try send(chunk[..<count])
    }
  }

  /// Writes bytes to the standard output, and throws on failure, unlike output for people.
  static func send(_ bytes: some Collection<UInt8>) throws(SystemFailure) { try send(bytes, to: STDOUT_FILENO) }

  private static func send(_ bytes: some Collection<UInt8>, to descriptor: Int32) throws(SystemFailure) {
    var rest = Array(bytes)[...]
    while !rest.isEmpty {
      // The call reads at most the slice's own count from it.
      let written = unsafe rest.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if written < 0, errno != EINTR { throw SystemFailure(code: errno) }
      rest = rest.dropFirst(max(0, written))
    }
  }

  /// Writes a new file that only this user can read; what is there already stays.
  static func writeSecret(_ bytes: [UInt8], to path: String) throws(SystemFailure) {
    // The system reads the name during the call and keeps nothing.
    let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw SystemFailure(code: errno) }
    defer { close(descriptor) }
    try send(bytes, to: descriptor)
  }

  /// Writes bytes to a descriptor, and waits for its reader; nothing is reported when there is none left.
  static func write(_ bytes: [UInt8], to descriptor: Int32) {
    var rest = bytes[...]
    while !rest.isEmpty {
      // The call reads at most the slice's own count from it.
      let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count > 0 {
        rest = rest.dropFirst(count)
      } else if errno != EINTR {
        // There is no reader left to report the error to.
        return
      }
    }
  }
}

/// A system call that failed, with the system's message.
struct SystemFailure: Error, Equatable, Sendable, CustomStringConvertible {
  let code: Int32

  var description: String { SystemError.reason(of: code) }
}
