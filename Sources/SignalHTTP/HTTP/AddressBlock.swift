// SPDX-License-Identifier: MIT

/// Addresses that begin with the same bits (RFC 4632 §3.1): `10.0.0.0/8`, `fd00::/8`, or a single `192.0.2.1`.
///
/// A block of IPv4 contains the IPv6 addresses to which its addresses are mapped, and the other way round.
public struct AddressBlock: Sendable, Hashable, CustomStringConvertible {
  /// The first address.
  let first: IPAddress
  /// How many bits are the same, of 128.
  let prefix: Int

  /// Why a text is no block, as a clause about it.
  public enum Fault: Error, Equatable, Sendable, CustomStringConvertible {
    /// It is no address, with or without a number of bits behind it.
    case malformed
    /// Bits behind the prefix are set: this block may be meant.
    case bitsBehindPrefix(AddressBlock)

    /// A clause: "is not an address …".
    public var description: String {
      switch self {
      case .malformed: "is not an address or a block such as 10.0.0.0/8"
      case .bitsBehindPrefix(let block): "has bits behind its prefix; is it \(block)?"
      }
    }
  }

  /// Reads an address, or an address and the number of its bits that are the same.
  public init(_ text: String) throws(Fault) {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard let address = Array(parts[0].utf8).withView({ IPAddress($0) }) else { throw .malformed }
    // Written as IPv4, it counts the bits of IPv4.
    let isIPv4 = !parts[0].contains(":")
    var prefix = 128
    if parts.count == 2 {
      guard let bits = Self.number(parts[1]), bits <= (isIPv4 ? 32 : 128) else { throw .malformed }
      prefix = isIPv4 ? IPAddress.mappedBits + bits : bits
    }
    let block = AddressBlock(containing: address, prefix: prefix)
    guard block.first == address else { throw .bitsBehindPrefix(block) }
    self = block
  }

  private init(containing address: IPAddress, prefix: Int) {
    let (high, low) = Self.mask(prefix)
    first = IPAddress(high: address.high & high, low: address.low & low)
    self.prefix = prefix
  }

  /// Decimal digits without a leading zero.
  private static func number(_ text: Substring) -> Int? {
    guard (1...3).contains(text.utf8.count), text.utf8.allSatisfy(ASCII.isDigit) else { return nil }
    return text.first == "0" && text.utf8.count > 1 ? nil : Int(text)
  }

  private static func mask(_ prefix: Int) -> (high: UInt64, low: UInt64) {
    // A shift by all 64 bits gives zero.
    (UInt64.max << UInt64(64 - min(prefix, 64)), UInt64.max << UInt64(128 - max(prefix, 64)))
  }

  /// Whether an address begins with its bits.
  func contains(_ address: IPAddress) -> Bool {
    let (high, low) = Self.mask(prefix)
    return address.high & high == first.high && address.low & low == first.low
  }

  /// As it is read, a single address without its number of bits.
  public var description: String {
    if prefix == 128 { return "\(first)" }
    let isIPv4 = first.ipv4 != nil && prefix >= IPAddress.mappedBits
    return "\(first)/\(isIPv4 ? prefix - IPAddress.mappedBits : prefix)"
  }
}

/// The proxies whose word about a client counts: who they are, by the address that their connections come from.
public struct TrustedProxies: Sendable, Equatable {
  /// Their addresses.
  public var blocks: [AddressBlock]
  /// Whether every peer on a unix socket is one.
  public var includesUnixSockets: Bool

  /// None unless given.
  public init(_ blocks: [AddressBlock] = [], includesUnixSockets: Bool = false) {
    self.blocks = blocks
    self.includesUnixSockets = includesUnixSockets
  }

  /// Whether there are none.
  public var isEmpty: Bool { blocks.isEmpty && !includesUnixSockets }

  /// Whether a peer with this address is one of them.
  func contains(_ address: IPAddress) -> Bool { blocks.contains { $0.contains(address) } }
}
