// SPDX-License-Identifier: MIT
import CProcesses
package import Foundation
import Synchronization

#if canImport(Glibc)
  import Glibc
#endif

/// A program that a test runs beside itself.
///
/// Foundation's `Process` reads beyond the entries of `/proc/self/fd` when it looks for descriptors to close, and traps where
/// many are open, as they are while tests of the server run beside those that start programs.
package final class ChildProcess: Sendable {
  /// What the program reads or writes there.
  package enum Stream {
    /// What the tests have.
    case inherited
    /// The end of the input, and no output.
    case none
    /// The other end is the test's. Its own end is closed once the program has it.
    case pipe(Pipe)
    case file(FileHandle)
  }

  package let processIdentifier: Int32
  /// What it ended with, as `waitpid` says, once that is known.
  private let ended = Mutex<Int32?>(nil)

  /// Starts it, with signals as they are by default, and with none of the test's descriptors but its three.
  ///
  /// - Parameters:
  ///   - program: Its path.
  ///   - environment: With nil the test's own.
  ///   - folder: Where it works; with nil where the test does.
  package init(
    _ program: String, _ arguments: [String], environment: [String: String]? = nil, folder: String? = nil,
    input: Stream = .inherited, output: Stream = .inherited, errors: Stream = .inherited
  ) throws {
    let descriptors = [
      input.descriptor(inherited: STDIN_FILENO, \.fileHandleForReading),
      output.descriptor(inherited: STDOUT_FILENO, \.fileHandleForWriting),
      errors.descriptor(inherited: STDERR_FILENO, \.fileHandleForWriting),
    ]
    // These are freed below, when the call is done with them.
    let words = unsafe Self.pointers([program] + arguments)
    let variables = unsafe Self.pointers((environment ?? ProcessInfo.processInfo.environment).map { "\($0)=\($1)" })
    defer { unsafe (words + variables).forEach { unsafe free($0) } }
    var process = pid_t()
    let failure = unsafe start_process(&process, program, words, variables, folder, descriptors)
    guard failure == 0 else { throw POSIXError(POSIXErrorCode(rawValue: failure) ?? .EINVAL) }
    processIdentifier = process
    // Both outputs may be the same pipe, which is closed then.
    for case .pipe(let pipe) in [output, errors] { try? pipe.fileHandleForWriting.close() }
    if case .pipe(let pipe) = input { try? pipe.fileHandleForReading.close() }
  }

  private static func pointers(_ strings: [String]) -> [UnsafeMutablePointer<CChar>?] {
    // Whoever asks frees them.
    unsafe strings.map { unsafe strdup($0) } + [nil]
  }

  /// Whether it has not ended.
  package var isRunning: Bool { reap() == nil }

  /// Its status once it has ended; of one that was ended by a signal the signal's number.
  package var terminationStatus: Int32 {
    waitUntilExit()
    let status = reap() ?? 0
    return status & 0x7f == 0 ? status >> 8 & 0xff : status & 0x7f
  }

  /// Waits until it has ended.
  package func waitUntilExit() {
    guard isRunning else { return }
    var information = unsafe siginfo_t()
    // The pointer is used during the call. What is found is left there, so that the identifier stays this process' own
    // for those who send signals meanwhile.
    while unsafe waitid(P_PID, id_t(processIdentifier), &information, WEXITED | WNOWAIT) == -1, errno == EINTR {}
    _ = reap()
  }

  /// Asks it to end, as `kill` does.
  package func terminate() { send(SIGTERM) }

  /// Asks it to end, as a terminal does.
  package func interrupt() { send(SIGINT) }

  /// Sends it a signal, unless it is known to have ended.
  package func send(_ signal: Int32) {
    ended.withLock { if $0 == nil { _ = kill(processIdentifier, signal) } }
  }

  /// What it has ended with, if it has.
  private func reap() -> Int32? {
    ended.withLock { ended in
      guard ended == nil else { return ended }
      var status: Int32 = 0
      // The process is ours, and the pointer is used during the call.
      if unsafe waitpid(processIdentifier, &status, WNOHANG) == processIdentifier { ended = status }
      return ended
    }
  }
}

extension ChildProcess.Stream {
  /// What the program gets there; -1 for nothing.
  fileprivate func descriptor(inherited: Int32, _ end: (Pipe) -> FileHandle) -> Int32 {
    switch self {
    case .inherited: inherited
    case .none: -1
    case .pipe(let pipe): end(pipe).fileDescriptor
    case .file(let file): file.fileDescriptor
    }
  }
}
