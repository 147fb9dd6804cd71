// SPDX-License-Identifier: MIT
import CReadiness

/// An accepted connection that has no owner yet.
struct AcceptedSocket: Sendable {
  let descriptor: Int32
  let peer: PeerAddress
  /// The index of the listener among those of the server.
  let listener: UInt8
}

/// The numeric address of a peer, in a quarter of the size of a `SocketAddress` and without a system call.
struct PeerAddress: Sendable, Hashable {
  enum Family: UInt8, Sendable { case unix, ipv4, ipv6 }

  /// The bytes of the address in network order, those of an IPv4 address in the first four.
  private let bytes: (UInt64, UInt64)
  private let zone: UInt32
  let port: UInt16
  let family: Family

  /// Takes the address that `creadiness_accept` has filled in.
  init(_ peer: creadiness_peer) {
    bytes = peer.address
    zone = peer.zone
    port = peer.port
    family = Family(rawValue: peer.family) ?? .unix
  }

  /// The peer of a unix socket, or one that is not known.
  static let none = PeerAddress(creadiness_peer())

  /// The full form of the address; nil for the peer of a unix socket, which has none.
  var socketAddress: SocketAddress? {
    switch family {
    case .unix: nil
    case .ipv4: SocketAddress(ipv4: bytes.0, port: port)
    case .ipv6: SocketAddress(ipv6: bytes, zone: zone, port: port)
    }
  }

  static func == (a: PeerAddress, b: PeerAddress) -> Bool {
    a.bytes == b.bytes && a.zone == b.zone && a.port == b.port && a.family == b.family
  }

  func hash(into hasher: inout Hasher) {
    hasher.combine(bytes.0)
    hasher.combine(bytes.1)
    hasher.combine(zone)
    hasher.combine(port)
    hasher.combine(family)
  }
}
