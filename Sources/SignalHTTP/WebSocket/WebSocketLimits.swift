// SPDX-License-Identifier: MIT

/// Limits on what a peer can send over a WebSocket; each is checked before memory is allocated.
///
/// The number of fragments of a message is not limited: a fragment without payload is legal and costs nothing, and the
/// memory of the others is limited by ``messageBytes``.
public struct WebSocketLimits: Sendable, Equatable {
  /// Bytes of one message, all its fragments together; default 1 114 112 (1 MiB + 64 KiB).
  ///
  /// That is the largest value that the store accepts, plus room for the command around it: its path, conditions and
  /// filter. Raise it together with the store's value limit. A connection that is in the middle of a fragmented message
  /// can hold up to twice as much, because the buffer grows by doubling. A frame is checked as soon as its length is
  /// known. Over it: close code 1009.
  public var messageBytes = (1 << 20) + (64 << 10)

  /// All defaults.
  public init() {}
}
