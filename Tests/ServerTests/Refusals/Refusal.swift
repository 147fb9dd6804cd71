// SPDX-License-Identifier: MIT
import SignalHTTP
import TestSupport
import Testing

/// One row of the table of what is refused: what a client does, what it is answered, and what becomes of the connection.
struct Refusal: Sendable, CustomTestStringConvertible {
  enum Deed: Sendable {
    /// These bytes, as they are, over a new connection.
    case bytes([UInt8])
    /// A request in due form.
    case request(String, String, fields: [String], body: String)
    /// A handshake of a WebSocket with these fields in place of the right ones.
    case handshake(String, fields: [String])
    /// A text message of the live protocol, on a connection that has a subscription to `a`.
    case message(String)
    /// Bytes behind the handshake.
    case frames([UInt8])
  }

  enum Answer: Sendable {
    /// An HTTP response with a problem document.
    case status(Int, String)
    /// An `error` with the `id` 1, or without one.
    case error(Int, String, hasID: Bool)
    /// A close frame.
    case close(UInt16)
  }

  let rule: String
  let deed: Deed
  let answer: Answer
  /// Whether the connection takes another request or command.
  let lives: Bool

  var testDescription: String { rule }

  // MARK: Rows

  /// What breaks RFC 9112 or 9110: the connection closes.
  static func bytes(_ rule: String, _ text: String, _ status: Int, _ code: String = "bad_request") -> Refusal {
    Refusal(rule: rule, deed: .bytes(Array(text.utf8)), answer: .status(status, code), lives: false)
  }

  static func bytes(_ rule: String, _ bytes: [UInt8], _ status: Int, _ code: String = "bad_request") -> Refusal {
    Refusal(rule: rule, deed: .bytes(bytes), answer: .status(status, code), lives: false)
  }

  /// A request that is well-formed and refused: the connection goes on.
  static func request(
    _ rule: String, _ method: String, _ target: String, _ status: Int, _ code: String, fields: String...,
    body: String = "", lives: Bool = true
  ) -> Refusal {
    Refusal(
      rule: rule, deed: .request(method, target, fields: fields, body: body), answer: .status(status, code),
      lives: lives)
  }

  static func handshake(_ rule: String, _ target: String, _ fields: String..., status: Int, _ code: String) -> Refusal {
    Refusal(rule: rule, deed: .handshake(target, fields: fields), answer: .status(status, code), lives: true)
  }

  static func message(_ rule: String, _ text: String, _ status: Int, _ code: String, hasID: Bool = true) -> Refusal {
    Refusal(rule: rule, deed: .message(text), answer: .error(status, code, hasID: hasID), lives: true)
  }

  static func frames(_ rule: String, _ bytes: [UInt8], _ code: UInt16) -> Refusal {
    Refusal(rule: rule, deed: .frames(bytes), answer: .close(code), lives: false)
  }
}

/// A frame of a client, masked, of any shape.
func frame(_ first: UInt8, _ payload: [UInt8] = []) -> [UInt8] {
  var bytes = [first]
  if payload.count < 126 {
    bytes.append(0x80 | UInt8(payload.count))
  } else {
    bytes += [0x80 | 126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
  }
  let mask: [UInt8] = [0x11, 0x22, 0x33, 0x44]
  return bytes + mask + payload.enumerated().map { $1 ^ mask[$0 & 3] }
}
