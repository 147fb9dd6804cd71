// SPDX-License-Identifier: MIT
import Logging
import SignalHTTP

/// Writes what happens on connections to the log, at the level `debug`.
struct ServerEventLog {
  let logger: Logger

  /// Writes one event; a connection that was not served is in the log anyway (``RefusalLog``).
  func write(_ event: ServerEvent) {
    if event.kind.isRefusedConnection { return }
    let (message, fields) = Self.text(of: event.kind)
    var metadata = Logger.Metadata(uniqueKeysWithValues: fields.map { ($0, .string($1)) })
    if let peer = event.peer { metadata["peer"] = "\(peer)" }
    if let trace = event.trace { metadata["trace"] = .string(trace.traceID) }
    logger.debug("\(message)", metadata: metadata)
  }

  /// The words for an event, and its particulars.
  static func text(of kind: ServerEvent.Kind) -> (message: String, fields: [(String, String)]) {
    switch kind {
    case .opened: ("connection opened", [])
    case .closed: ("connection closed", [])
    case .turnedAway(let reason): ("connection turned away", [("reason", reason)])
    case .handshakeFailed(let reason): ("no TLS", [("reason", reason)])
    case .proxyRefused(let reason): ("no proxy", [("reason", reason)])
    case .refused(let method, let path, let status, let code):
      (
        "request refused",
        [("method", method), ("path", path), ("status", "\(status)"), ("code", code)].filter { !$0.1.isEmpty }
      )
    case .tokenRefused(let reason, let id):
      ("token refused", [("reason", reason), ("id", id ?? "")].filter { !$0.1.isEmpty })
    case .refusedCommand(let status, let code): ("command refused", [("status", "\(status)"), ("code", code)])
    case .closing(let code, let reason):
      ("closing", [("code", "\(code.rawValue)"), ("reason", reason)].filter { !$0.1.isEmpty })
    case .filterFailed(let path, let filters): ("filter failed", [("path", path), ("filters", "\(filters)")])
    }
  }
}

extension ServerEvent.Kind {
  /// Whether it is about a connection that was not served.
  fileprivate var isRefusedConnection: Bool {
    switch self {
    case .turnedAway, .handshakeFailed, .proxyRefused: true
    default: false
    }
  }
}
