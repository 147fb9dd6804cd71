// SPDX-License-Identifier: MIT

/// Bounds on what a peer can send over a WebSocket; each is checked before memory is taken.
///
/// The number of fragments of a message is not bounded: a fragment without payload is legal and costs nothing, and
/// their memory is bounded by ``messageBytes``.
public struct WebSocketLimits: Sendable, Equatable {
  /// Bytes of one message, all its fragments together; default 1 114 112 (1 MiB + 64 KiB).
  ///
  /// That is the largest value the store takes, plus room for the command around it: its path, conditions and
  /// filter. Raise it together with the store's value limit. A connection that is in the middle of a fragmented
  /// message can hold up to twice as much, because the buffer grows by doubling. Over it: close code 1009.
  public var messageBytes = (1 << 20) + (64 << 10)

  /// Bytes of the payload of one data frame; default 1 114 112.
  ///
  /// It is compared as soon as the length is known. Lower than ``messageBytes`` it forces peers to fragment; higher has no effect. Over it: close code 1009.
  public var frameBytes = (1 << 20) + (64 << 10)

  /// All defaults.
  public init() {}
}
