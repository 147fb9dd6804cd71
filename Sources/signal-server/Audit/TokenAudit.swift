// SPDX-License-Identifier: MIT
import SignalAccess
import SignalHTTP
import Synchronization

/// Notes which tokens of the server's own were made, changed and revoked while it runs, by whichever program.
final class TokenAudit: Sendable {
  private let known: Mutex<[String: TokenFile.Entry]>
  private let authenticator: Authenticator
  private let audit: AuditQueue

  private init(_ authenticator: Authenticator, _ audit: AuditQueue) {
    self.authenticator = authenticator
    self.audit = audit
    known = Mutex(Self.tokens(of: authenticator))
  }

  /// Notes each change from now on, for as long as the process runs.
  static func begin(_ authenticator: Authenticator, _ audit: AuditQueue) {
    let noted = TokenAudit(authenticator, audit)
    authenticator.observe { noted.note() }
  }

  private func note() {
    // One after the other, so that what was there before is what the last one has noted.
    known.withLock { known in
      let now = Self.tokens(of: authenticator)
      for id in Set(known.keys).union(now.keys).sorted() where known[id] != now[id] {
        let kind: AuditEvent.Kind =
          known[id] == nil ? .tokenCreated : now[id] == nil ? .tokenRevoked : .tokenChanged
        audit.record(AuditEvent(kind, key: id))
      }
      known = now
    }
  }

  private static func tokens(of authenticator: Authenticator) -> [String: TokenFile.Entry] {
    Dictionary(authenticator.current.tokenEntries.map { ($0.id, $0) }) { first, _ in first }
  }
}
