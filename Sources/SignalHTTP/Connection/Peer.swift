// SPDX-License-Identifier: MIT

/// Identifies one of a server's listeners, by its index in ``ServerConfiguration/listeners``.
public struct ListenerID: Sendable, Hashable {
  /// Counted from zero.
  public var index: Int { Int(number) }
  private let number: UInt8

  init(_ number: UInt8) { self.number = number }
}

/// The other end of a connection, and the listener that accepted it.
///
/// A few words without references: passing it on with every request costs nothing.
public struct Peer: Sendable, Hashable, CustomStringConvertible {
  private let numeric: PeerAddress
  /// The listener that accepted the connection.
  public let listener: ListenerID

  init(_ socket: AcceptedSocket) {
    numeric = socket.peer
    listener = ListenerID(socket.listener)
  }

  /// The other end of an outgoing connection.
  static let ofOutgoing = Peer(AcceptedSocket(descriptor: -1, peer: .none, listener: 0))

  /// Whether the peer is on a network, even if only that of this machine.
  var isRemote: Bool { numeric.family != .unix }

  /// Its address; nil when it came through a unix socket.
  public var address: SocketAddress? { numeric.socketAddress }

  /// Address and port as they stand in a URL, or `unix`.
  public var description: String { address?.description ?? "unix" }
}
