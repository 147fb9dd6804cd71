// SPDX-License-Identifier: MIT

/// Identifies a connection of a loop without keeping it alive; the identity of a closed connection is never reused.
struct ConnectionID: Sendable, Hashable {
  /// Its place among those of the loop, counted from zero.
  let slot: UInt32
  /// How many there have been at this place before.
  let generation: UInt32

  /// Identifies no connection: the value before a loop has registered the connection.
  static var none: ConnectionID { ConnectionID(slot: .max, generation: .max) }

  /// By which the set of a loop reports it.
  var token: UInt64 { UInt64(generation) << 32 | UInt64(slot) }
}
