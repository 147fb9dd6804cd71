// SPDX-License-Identifier: MIT

public import JSON
import SignalHTTP

/// Why something that was asked of a ``RemoteStore`` failed.
public struct RemoteError: Error, Sendable, CustomStringConvertible {
  /// What has become of a command that failed.
  public enum Outcome: String, Sendable {
    /// The server refused it, and nothing was changed.
    case refused
    /// It was never sent.
    case unsent
    /// It was sent and no reply came: it may have been carried out or not.
    case unknown
  }

  /// A code of the protocol (docs/protocol.md §6), or one that the client found.
  ///
  /// Those of the client are:
  ///
  /// - of a command `timeout`, `disconnected`, `closed`, `cancelled`, `body_too_large`, `too_many_commands`, `other_shape`
  ///   and `not_encodable`,
  /// - of a connection `unreachable`, `untrusted`, `upgrade_refused`, `no_token`, `closed` and `protocol_error`,
  /// - of a store that cannot be made `bad_url`, `bad_certificates` and `unreachable`,
  /// - `refused` where a refusal of the server has no code.
  public let code: String
  /// A sentence for people.
  public let detail: String
  /// What has become of the command; nil when it was none.
  public let outcome: Outcome?
  /// Everything that the server said (docs/protocol.md §2.6); nil when it said nothing.
  public let problem: JSONText?
  /// The code with which the server closed for good; nil when it did not.
  public let closeCode: UInt16?
  /// The epoch of the connection over which the server said so.
  let epoch: String

  init(_ code: String, _ detail: String, _ outcome: Outcome? = nil, closeCode: UInt16? = nil) {
    self.code = code
    self.detail = detail
    self.outcome = outcome
    self.closeCode = closeCode
    problem = nil
    epoch = ""
  }

  /// Why no connection was made.
  init(connecting error: ClientError) {
    let code = if case .untrusted = error { "untrusted" } else { "unreachable" }
    self.init(code, error.description)
  }

  /// What a problem of the server says.
  init(_ problem: Members, _ outcome: Outcome?, epoch: String = "") {
    self.epoch = epoch
    code = problem.string("code") ?? "refused"
    detail = problem.string("detail") ?? problem.string("title") ?? code
    self.outcome = outcome
    self.problem = problem.text
    closeCode = nil
  }

  /// Whether the same may succeed later.
  public var isTemporary: Bool { problem.map { Members($0).bool("temporary") == true } ?? false }

  /// One sentence.
  public var description: String { detail }

  /// What is there, when a condition has failed: the members of the property, or null.
  var current: Members? { problem.flatMap { Members($0).members("current") } }
}
