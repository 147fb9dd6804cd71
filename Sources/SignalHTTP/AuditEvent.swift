// SPDX-License-Identifier: MIT
package import SignalAccess
package import SignalStore

/// Something that an audit log notes: who was refused, has proven who it is, or has changed something.
///
/// It holds no value, no field of a request, no query and nothing that proves who somebody is.
package struct AuditEvent: Sendable {
  /// What happened.
  package enum Kind: String, CaseIterable, Sendable {
    /// The rules did not allow something, or something was asked for by nobody known, or by a foreign page.
    case refused
    /// What was given as a proof of who asks was not accepted.
    case authenticationFailed = "authentication-failed"
    /// A token was sent without TLS, where others may have read it.
    case tokenExposed = "token-exposed"
    /// A WebSocket or an event stream of somebody known began, or is from now on that of somebody known.
    case sessionBegan = "session-began"
    case sessionEnded = "session-ended"
    case tokenCreated = "token-created"
    /// A token has other claims, another end or another secret.
    case tokenChanged = "token-changed"
    case tokenRevoked = "token-revoked"
    case ticketIssued = "ticket-issued"
    /// A client has used up what it may do, or a quota what there may be.
    case limitExceeded = "limit-exceeded"
    /// An administrator has ended a connection.
    case connectionEnded = "connection-ended"
    case settingsReloaded = "settings-reloaded"
    /// New settings could not be used.
    case settingsRefused = "settings-refused"
    case started
    case stopped
    /// Something was set, deleted, defined or sent.
    case write

    /// What it belongs to.
    package var topic: AuditTopic {
      switch self {
      case .refused: .refusals
      case .authenticationFailed, .tokenExposed: .failures
      case .sessionBegan, .sessionEnded: .sessions
      case .tokenCreated, .tokenChanged, .tokenRevoked, .ticketIssued: .tokens
      case .limitExceeded: .limits
      case .connectionEnded, .settingsReloaded, .settingsRefused, .started, .stopped: .settings
      case .write: .writes
      }
    }
  }

  /// The longest text that a client has a say in, in bytes; what is longer is cut.
  package static let mostText = 512

  package let kind: Kind
  package let time: Timestamp
  /// Who it was; nil for somebody unknown.
  package var identity: Identity?
  /// Where from.
  package var peer: Peer?
  /// The method and the path of the request, without its query, or the command of the live protocol.
  package var request: String?
  /// What was to be done, as the rules name it.
  package var operation: String?
  /// The path or pattern of what it was about.
  package var path: String?
  /// The code of the refusal, what a write has done, or the reason of an end.
  package var outcome: String?
  /// The pattern of the rule, the name of the limit or the quota, or the names of settings.
  package var subject: String?
  /// The id of a token, of the key that it names, or of a connection.
  package var key: String?

  /// - Parameter request: Cut where it is too long, as are the other texts.
  package init(
    _ kind: Kind, identity: Identity? = nil, peer: Peer? = nil, request: String? = nil, operation: String? = nil,
    path: String? = nil, outcome: String? = nil, subject: String? = nil, key: String? = nil
  ) {
    self.kind = kind
    time = .now
    self.identity = identity
    self.peer = peer
    self.request = request.map(Self.cut)
    self.operation = operation
    self.path = path.map(Self.cut)
    self.outcome = outcome
    self.subject = subject.map(Self.cut)
    self.key = key.map(Self.cut)
  }

  private static func cut(_ text: String) -> String {
    text.utf8.count <= mostText ? text : String(decoding: text.utf8.prefix(mostText), as: UTF8.self) + "…"
  }
}

/// What an audit log can be asked to note.
package enum AuditTopic: String, CaseIterable, Sendable {
  case refusals, failures, sessions, tokens, limits, settings, writes

  fileprivate var bit: UInt8 {
    switch self {
    case .refusals: 1
    case .failures: 2
    case .sessions: 4
    case .tokens: 8
    case .limits: 16
    case .settings: 32
    case .writes: 64
    }
  }
}

extension Collection<AuditTopic> {
  var bits: UInt8 { reduce(0) { $0 | $1.bit } }
}

extension AuditTopic {
  func isIn(_ bits: UInt8) -> Bool { bits & bit != 0 }
}
