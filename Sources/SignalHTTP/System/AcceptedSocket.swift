// SPDX-License-Identifier: MIT

/// An accepted connection that has no owner yet.
struct AcceptedSocket: Sendable {
  let descriptor: Int32
  let peer: PeerAddress
  /// The index of the listener among those of the server.
  let listener: UInt8
}
