// SPDX-License-Identifier: MIT
import Glibc

/// The exit status of the process, so that scripts and supervisors can tell the reasons apart (BSD's sysexits).
enum ExitStatus: Int32, Sendable {
  /// All went well; also after Ctrl-C in `watch` and an orderly stop of `serve`.
  case success = 0
  /// The server refused the request.
  case refused = 1
  /// The command line is wrong.
  case usage = 64
  /// The folder of data, or a backup, is damaged, was written by a later version, or does not include what was
  /// requested.
  case damaged = 65
  /// No server answers, or the connection broke.
  case unreachable = 69
  /// The system refuses what `serve` needs: the port is taken, the address is not ours, another process
  /// has the folder of data.
  case system = 71
  /// The disk has failed while the server was running.
  case storage = 74
  /// What was waited for has not come in time.
  case timedOut = 75
  /// A setting is wrong.
  case configuration = 78

  /// Ends the process when the log has been written.
  func end() -> Never {
    LogWriter.standard.flush()
    exit(rawValue)
  }
}

/// A failure that ends the process: one line for the user, and a status.
struct Failure: Error, Equatable, Sendable {
  let status: ExitStatus
  let message: String

  init(_ status: ExitStatus, _ message: String) {
    self.status = status
    self.message = message
  }

  init(_ error: ConfigurationError) {
    self.init(error.isUsage ? .usage : .configuration, error.description)
  }
}
