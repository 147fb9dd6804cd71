// SPDX-License-Identifier: MIT

/// Why a WebSocket ends (RFC 6455 §7.4), and therefore what the client should do next.
///
/// The application's codes are assigned by range, so that a client that does not know a code still knows what to do:
/// 4000–4399 reconnect later, 4400–4799 fix something first, 4800–4999 do not. See ``advice``.
public struct CloseCode: RawRepresentable, Equatable, Hashable, Sendable {
  /// The number on the wire.
  public let rawValue: UInt16

  /// Any number; ``isLegalOnWire`` says whether it may be sent.
  public init(rawValue: UInt16) { self.rawValue = rawValue }

  /// 1000: the purpose of the connection is fulfilled.
  public static let normal = CloseCode(rawValue: 1000)
  /// 1001: the server shuts down, or the page was left.
  public static let goingAway = CloseCode(rawValue: 1001)
  /// 1002: the peer violated RFC 6455.
  public static let protocolError = CloseCode(rawValue: 1002)
  /// 1003: a kind of message that is not understood, for example binary where text is expected.
  public static let unsupportedData = CloseCode(rawValue: 1003)
  /// 1007: text, or a close reason, that is not UTF-8.
  public static let invalidData = CloseCode(rawValue: 1007)
  /// 1008: a message that the server's rules forbid and that no other code describes.
  public static let policyViolation = CloseCode(rawValue: 1008)
  /// 1009: a message or frame over a limit.
  public static let tooLarge = CloseCode(rawValue: 1009)
  /// 1011: the server failed.
  public static let internalError = CloseCode(rawValue: 1011)
  /// 1012: the server restarts.
  public static let serviceRestart = CloseCode(rawValue: 1012)
  /// 1013: the server is overloaded.
  public static let tryAgainLater = CloseCode(rawValue: 1013)

  /// 4800: an administrator has ended the connection.
  public static let ended = CloseCode(rawValue: 4800)
  /// 4008: the client receives too slowly; it resumes from its last cursor.
  public static let tooSlow = CloseCode(rawValue: 4008)

  /// 4029: the client has sent more than it may for too long; the reason says when it may connect again.
  public static let tooMuch = CloseCode(rawValue: 4029)

  /// 4401: the client has not proven in time who it is, or no longer is that; it gets a token and connects again.
  public static let unauthenticated = CloseCode(rawValue: 4401)

  /// Whether the code may stand in a close frame (RFC 6455 §7.4.1, §7.4.2 and the IANA registry up to 1014).
  ///
  /// 1004 is reserved, 1005, 1006 and 1015 are only for reporting to an application, 1016–2999 belong to future
  /// revisions of the protocol, and below 1000 and above 4999 nothing is defined.
  public var isLegalOnWire: Bool {
    switch rawValue {
    case 1000...1003, 1007...1014, 3000...4999: true
    default: false
    }
  }
}

extension CloseCode {
  /// What a client that receives a close code should do.
  public enum Advice: Equatable, Sendable {
    /// Connect again, with a growing and randomly varied delay, and resume from the last cursor.
    case reconnectLater
    /// Something that the client sent was refused and would be again: change it, then connect.
    case reconnectAfterFixing
    /// The purpose of the connection is fulfilled, or the server will not serve this client.
    case doNotReconnect
  }

  /// What a client should do after receiving this code; by its range when the code itself is not known.
  public var advice: Advice {
    switch rawValue {
    case 1000, 4800...4999: .doNotReconnect
    case 1002, 1003, 1007...1010, 3000...3999, 4400...4799: .reconnectAfterFixing
    default: .reconnectLater
    }
  }
}
