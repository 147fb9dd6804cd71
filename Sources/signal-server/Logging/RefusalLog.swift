// SPDX-License-Identifier: MIT
import Logging
import SignalHTTP
import Synchronization

/// Writes why connections were not served to the log, at the level `notice`: so many in a second, and of the others how
/// many they were.
final class RefusalLog: Sendable {
  /// Lines in a second.
  static let mostLines = 20

  private struct State {
    /// When the present second began.
    var begin: ContinuousClock.Instant
    var written = 0
    /// Connections that were refused since and have no line.
    var left = 0
  }

  private let logger: Logger
  private let clock: @Sendable () -> ContinuousClock.Instant
  private let state: Mutex<State>

  init(_ logger: Logger, clock: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
    self.logger = logger
    self.clock = clock
    state = Mutex(State(begin: clock()))
  }

  func write(_ event: ServerEvent) {
    let now = clock()
    let (isWritten, left): (Bool, Int) = state.withLock { state in
      var left = 0
      if now - state.begin >= .seconds(1) {
        left = state.left
        state = State(begin: now)
      }
      guard state.written < Self.mostLines else {
        state.left += 1
        return (false, left)
      }
      state.written += 1
      return (true, left)
    }
    if left > 0 { logger.notice("more connections were refused", metadata: ["count": "\(left)"]) }
    guard isWritten else { return }
    let (message, fields) = ServerEventLog.text(of: event.kind)
    var metadata = Logger.Metadata(uniqueKeysWithValues: fields.map { ($0, .string($1)) })
    if let peer = event.peer { metadata["peer"] = "\(peer)" }
    logger.notice("\(message)", metadata: metadata)
  }
}
