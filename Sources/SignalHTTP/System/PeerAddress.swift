// SPDX-License-Identifier: MIT
import CReadiness
import Glibc

/// The numeric address of a peer, in a quarter of the size of a `SocketAddress` and without a system call; or the
/// credentials of one that came through a unix socket.
struct PeerAddress: Sendable, Hashable {
  enum Family: UInt8, Sendable {
    case unix, ipv4, ipv6
    /// Not known: there is no address, and there are no credentials.
    case unknown
    /// A unix socket whose credentials are known.
    case identified
  }

  /// The bytes of the address in network order, those of an IPv4 address in the first four; or user and process.
  private let words: (UInt64, UInt64)
  private let zone: UInt32
  let port: UInt16
  let family: Family

  private init(_ family: Family, _ words: (UInt64, UInt64) = (0, 0), zone: UInt32 = 0, port: UInt16 = 0) {
    self.words = words
    self.zone = zone
    self.port = port
    self.family = family
  }

  /// Takes what `creadiness_accept` has filled in.
  init(_ peer: creadiness_peer) {
    if peer.has_credentials != 0 {
      self.init(user: peer.user, process: peer.process)
    } else {
      self.init(Family(rawValue: peer.family) ?? .unknown, peer.address, zone: peer.zone, port: peer.port)
    }
  }

  /// The other end of a unix socket.
  init(user: UInt32, process: UInt32) { self.init(.identified, (UInt64(user), UInt64(process))) }

  /// - Parameter bytes: Those of an IPv6 address, or of an IPv4 address in the first four, in network order.
  init(bytes: (UInt64, UInt64), isIPv4: Bool, port: UInt16) { self.init(isIPv4 ? .ipv4 : .ipv6, bytes, port: port) }

  /// Not known.
  static let none = PeerAddress(.unknown)

  /// Whether it came through a unix socket.
  var isUnix: Bool { family == .unix || family == .identified }

  /// The bytes of an IP address in network order, those of an IPv4 address in the first four; nil when there is none.
  var bytes: (UInt64, UInt64)? { family == .ipv4 || family == .ipv6 ? words : nil }

  /// The user and the process at the other end of a unix socket, as the system tells them.
  var credentials: (user: UInt32, process: Int32)? {
    guard family == .identified else { return nil }
    return (UInt32(truncatingIfNeeded: words.0), Int32(truncatingIfNeeded: words.1))
  }

  /// The full form of the address; nil when there is none.
  var socketAddress: SocketAddress? {
    switch family {
    case .ipv4: SocketAddress(ipv4: words.0, port: port)
    case .ipv6: SocketAddress(ipv6: words, zone: zone, port: port)
    case .unix, .identified, .unknown: nil
    }
  }

  static func == (a: PeerAddress, b: PeerAddress) -> Bool {
    a.words == b.words && a.zone == b.zone && a.port == b.port && a.family == b.family
  }

  func hash(into hasher: inout Hasher) {
    hasher.combine(words.0)
    hasher.combine(words.1)
    hasher.combine(zone)
    hasher.combine(port)
    hasher.combine(family)
  }
}

/// The user that this process acts as.
let ownUser: UInt32 = geteuid()
