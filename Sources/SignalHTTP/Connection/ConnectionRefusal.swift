// SPDX-License-Identifier: MIT

/// Why a connection is not served.
enum ConnectionRefusal {
  /// There are as many as there may be.
  case limit
  /// There is no memory for it.
  case memory
  /// The server shuts down.
  case draining
  /// Its address has used up what it may have, or begin in a time.
  case rate
  /// It does not begin with a header of the PROXY protocol as it has to, or comes from somebody else than a trusted proxy.
  case proxyProtocol(String)
  /// There is no TLS with it.
  case tls(String)

  var counter: Counter {
    switch self {
    case .limit: .refusedAtLimit
    case .memory: .refusedForMemory
    case .draining: .refusedWhileDraining
    case .rate: .refusedByRate
    case .proxyProtocol: .refusedByProxyProtocol
    case .tls: .refusedByTLS
    }
  }

  var event: ServerEvent.Kind {
    switch self {
    case .limit: .turnedAway(reason: "there are as many connections as there may be")
    case .memory: .turnedAway(reason: "there is no memory for another connection")
    case .draining: .turnedAway(reason: "the server shuts down")
    case .rate: .turnedAway(reason: "its address has as many connections, or opens as many in a second, as it may")
    case .proxyProtocol(let reason): .proxyRefused(reason: reason)
    case .tls(let reason): .handshakeFailed(reason: reason)
    }
  }
}
