// SPDX-License-Identifier: MIT
import SignalHTTP

/// A connection to the live protocol, as `watch` needs it: text messages out and in, and an end.
protocol LiveLink: AnyObject {
  /// Sends a text message.
  func send(_ message: [UInt8]) throws(LinkFailure)

  /// The next text message; nil when none comes in time.
  func receive(within timeout: Duration) throws(LinkFailure) -> [UInt8]?
}

/// The reason there is no connection, or no longer one.
enum LinkFailure: Error, Equatable, Sendable {
  /// There is no answer, or the connection broke: worth a retry.
  case broken(String)
  /// The upgrade was answered with an HTTP status and a problem.
  case refused(status: Int, text: String)
  /// The server closed with a code of docs/protocol.md §7, or with none.
  case closed(code: CloseCode?, reason: String)

  /// Whether a new connection may succeed: also where a proxy says that its server is not there.
  var invitesReconnect: Bool {
    switch self {
    case .broken: true
    case .refused(let status, _): status >= 500 || status == 429
    case .closed(let code, _): code.map { $0.advice == .reconnectLater } ?? true
    }
  }

  /// What happened, for people.
  var text: String {
    switch self {
    case .broken(let text), .refused(_, let text): text
    case .closed(let code, let reason):
      "the server closed the connection" + (code.map { " with \($0.rawValue)" } ?? "")
        + (reason.isEmpty ? "" : " (\(reason.printable))")
    }
  }
}
