// SPDX-License-Identifier: MIT

/// Which clients get compressed output: permessage-deflate on WebSockets (RFC 7692), gzip for responses (RFC 9110
/// §8.4.1.3).
///
/// The size of compressed output depends on what is in it. Who can see how much is sent to someone, and make others'
/// values appear beside a secret, can guess the secret (the attacks CRIME and BREACH): compress only what whoever
/// receives it may know as a whole, and together with it.
public enum CompressionPolicy: String, CaseIterable, Sendable {
  /// None; offers are declined.
  case off
  /// Those without an identity of their own: they see what everyone may see.
  case `public`
  /// All.
  case all

  /// Whether a client gets compressed output.
  func permits(identified: Bool) -> Bool {
    switch self {
    case .off: false
    case .public: !identified
    case .all: true
    }
  }
}
