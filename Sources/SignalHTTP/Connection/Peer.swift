// SPDX-License-Identifier: MIT

/// Names one of a server's listeners, by its place in ``ServerConfiguration/listeners``.
public struct ListenerID: Sendable, Hashable {
  /// Counted from zero.
  public var index: Int { Int(number) }
  private let number: UInt8

  init(_ number: UInt8) { self.number = number }
}

/// The other end of a connection, and which listener it came to.
///
/// A few words without references: to hand it on with every request costs nothing.
public struct Peer: Sendable, Hashable, CustomStringConvertible {
  private let numeric: PeerAddress
  /// The listener that accepted the connection.
  public let listener: ListenerID

  init(_ socket: AcceptedSocket) {
    numeric = socket.peer
    listener = ListenerID(socket.listener)
  }

  /// The other end of a connection that we have made ourselves.
  static let ofOutgoing = Peer(AcceptedSocket(descriptor: -1, peer: .none, listener: 0))

  /// Whether there is a network in between, if only that of this machine.
  var isRemote: Bool { numeric.family != .unix }

  /// Its address; nil when it came through a unix socket.
  public var address: SocketAddress? { numeric.socketAddress }

  /// Address and port as they stand in a URL, or `unix`.
  public var description: String { address?.description ?? "unix" }
}
