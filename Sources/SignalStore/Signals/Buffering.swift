// SPDX-License-Identifier: MIT

/// How many messages may wait for a busy consumer, and which are dropped when there are more.
///
/// It bounds the pending queue of a ``Signal`` or ``Property`` (messages sent from inside an observer, or from another
/// thread while one is delivering) and the buffer of an asynchronous sequence. In every policy the newest message is
/// kept, so the last message that a consumer sees is always the last one that was sent.
public enum Buffering: Sendable, Hashable {
  /// Every message waits; memory grows with the backlog of the consumer.
  case all

  /// At most this many messages wait (at least 1); the oldest waiting one is dropped for a new one.
  case newest(Int)

  /// Only the newest message waits: consumers always catch up in one step.
  public static var latest: Buffering { .newest(1) }

  /// The largest number of messages that may wait.
  @inlinable
  package var limit: Int {
    switch self {
    case .all: .max
    case .newest(let limit): max(1, limit)
    }
  }
}
