// SPDX-License-Identifier: MIT
internal import Glibc

/// Why a request or a WebSocket of the client failed.
package enum ClientError: Error, Equatable, Sendable {
  /// The request would not be valid HTTP: a target or field with a space, a line end or another control character.
  case malformedRequest
  /// The path is too long for a unix socket.
  case badPath(String)
  /// The host's name cannot be resolved.
  case unresolvable(host: String)
  /// The connection was not accepted; `code` is the `errno`, of the last address tried if the host has several.
  case unreachable(Endpoint, code: Int32)
  /// The timeout has passed.
  case timedOut
  /// The server ended the connection before its answer was complete, or without a close frame.
  case closed
  /// The connection failed; `code` is the `errno`.
  case broken(code: Int32)
  /// No TLS with the server: it does not support it, or its certificate is not valid.
  case untrusted(reason: String)
  /// The response is not HTTP/1.1.
  case malformedResponse
  /// The answer exceeds the client's limit.
  case responseTooLarge
  /// The server answered the upgrade to WebSocket with an ordinary response.
  case upgradeRefused(HTTPClientResponse)
  /// The server's 101 does not answer our handshake (RFC 6455 §4.1).
  case handshakeFailed
  /// The server violated RFC 6455.
  case webSocket(WebSocketError)
}

extension ClientError: CustomStringConvertible {
  /// One line for the user.
  package var description: String {
    switch self {
    case .malformedRequest: "a request cannot contain spaces or control characters there"
    case .unresolvable(let host): "the name \(host) is not known"
    case .badPath(let path): "the path \(path) is too long for a socket"
    case .unreachable(.tcp(let host, let port), let code), .unreachable(.tls(let host, let port), let code):
      "no connection to \(host) port \(port): \(SystemError.reason(of: code))"
    case .unreachable(.unix(let path), let code): "no connection to \(path): \(SystemError.reason(of: code))"
    case .timedOut: "no answer in time"
    case .closed: "the server ended the connection"
    case .broken(let code): "the connection broke: \(SystemError.reason(of: code))"
    case .untrusted(let reason): "no TLS: \(reason)"
    case .malformedResponse: "what the server sent is not HTTP/1.1"
    case .responseTooLarge: "the server's answer is too large"
    case .upgradeRefused(let response): "the server answered \(response.status) and not with a WebSocket"
    case .handshakeFailed: "the server's handshake is wrong (RFC 6455 section 4.1)"
    case .webSocket(let error): "the server broke the protocol: \(error)"
    }
  }
}
