// SPDX-License-Identifier: MIT

extension Peer {
  /// Whether it is on this machine: by a unix socket, or by the loopback interface.
  var isLocal: Bool { isUnix || ipAddress?.isLoopback == true }

  /// Whose account counts for it while nothing else is known: that of its address, for IPv6 of its network.
  ///
  /// Those whom a proxy does not know by address have one together.
  var rateKey: RateKey {
    guard let address = ipAddress else { return .address(high: 0, low: 0) }
    return address.ipv4 == nil ? .address(high: address.high, low: 0) : .address(high: 0, low: address.low)
  }
}
