// SPDX-License-Identifier: MIT
internal import COpenSSL

/// The parts of a request's head that decide about an upgrade: the values of all fields of a name, in order.
package struct UpgradeRequest: Equatable, Sendable {
  /// The method is `GET`.
  package var isGet: Bool
  /// The version is HTTP/1.1 (or a later 1.x).
  package var isVersion1_1: Bool
  /// Values of `Upgrade`.
  package var upgrade: [[UInt8]]
  /// Values of `Connection`.
  package var connection: [[UInt8]]
  /// Values of `Sec-WebSocket-Key`.
  package var key: [[UInt8]]
  /// Values of `Sec-WebSocket-Version`.
  package var version: [[UInt8]]
  /// Values of `Sec-WebSocket-Protocol`.
  package var protocols: [[UInt8]]
  /// Values of `Sec-WebSocket-Extensions`.
  package var extensions: [[UInt8]]

  /// Creates a request from its parts; a field that the request does not have is an empty list.
  package init(
    isGet: Bool, isVersion1_1: Bool, upgrade: [[UInt8]], connection: [[UInt8]], key: [[UInt8]], version: [[UInt8]],
    protocols: [[UInt8]] = [], extensions: [[UInt8]] = []
  ) {
    self.isGet = isGet
    self.isVersion1_1 = isVersion1_1
    self.upgrade = upgrade
    self.connection = connection
    self.key = key
    self.version = version
    self.protocols = protocols
    self.extensions = extensions
  }
}

/// The answer to an upgrade request.
package enum UpgradeOutcome: Equatable, Sendable {
  /// Send 101 with this accept value and, unless nil, this subprotocol and this compression; then speak WebSocket.
  case accept(key: [UInt8], subprotocol: String?, deflate: MessageDeflate? = nil)
  /// Send an ordinary response with the status and the fields of the refusal.
  case refuse(UpgradeRefusal)
}

/// Why an upgrade request is refused.
package enum UpgradeRefusal: Equatable, Sendable {
  /// Another method than `GET` (RFC 6455 §4.1).
  case method
  /// The request does not ask for an upgrade to `websocket`, or is HTTP/1.0, in which `Upgrade` is ignored (RFC 9110
  /// §7.8).
  case notAnUpgrade
  /// Not version 13, or none at all (RFC 6455 §4.4).
  case version
  /// `Sec-WebSocket-Version` twice (§11.3.5).
  case repeatedVersion
  /// No `Sec-WebSocket-Key`, two of them, or not the Base64 of 16 bytes (§4.1, §11.3.1).
  case key
  /// An element of `Sec-WebSocket-Protocol` that is not a token (§4.1).
  case subprotocol
  /// `Sec-WebSocket-Extensions` that violates its syntax (§9.1).
  case extensions

  /// The status of the response.
  package var status: Int {
    switch self {
    case .method: 405
    case .notAnUpgrade, .version: 426
    case .repeatedVersion, .key, .subprotocol, .extensions: 400
    }
  }

  /// Fields that the response must have, apart from those of every response.
  package var fields: [(name: String, value: String)] {
    switch self {
    case .method: [("Allow", "GET")]
    case .notAnUpgrade, .version:
      [("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Version", "13")]
    case .repeatedVersion, .key, .subprotocol, .extensions: []
    }
  }
}

extension UpgradeRefusal: CustomStringConvertible {
  /// One sentence for the developer of the client.
  package var description: String {
    switch self {
    case .method: "a WebSocket begins with GET (RFC 6455 section 4.1)"
    case .notAnUpgrade:
      "the request does not ask for an upgrade to websocket over HTTP/1.1 (RFC 6455 section 4.1); a proxy on the way has to pass Upgrade and Connection on"
    case .version: "Sec-WebSocket-Version must be 13 (RFC 6455 section 4.4)"
    case .repeatedVersion: "Sec-WebSocket-Version must not appear twice (RFC 6455 section 11.3.5)"
    case .key: "Sec-WebSocket-Key must be one value, the Base64 of 16 bytes (RFC 6455 section 4.1)"
    case .subprotocol: "Sec-WebSocket-Protocol must be a list of tokens (RFC 6455 section 4.1)"
    case .extensions: "Sec-WebSocket-Extensions must be a list of names with parameters (RFC 6455 section 9.1)"
    }
  }
}

/// The opening handshake, both sides (RFC 6455 §4).
package enum WebSocketHandshake {
  // MARK: Server

  /// Whether a request asks for an upgrade to WebSocket: `Upgrade` has `websocket` and `Connection` has `Upgrade`.
  ///
  /// A resource that also answers plain `GET` checks this first; the rest is ``answer(_:offering:)``.
  package static func isUpgrade(upgrade: [[UInt8]], connection: [[UInt8]]) -> Bool {
    HandshakeFields.list(upgrade, has: "websocket") && HandshakeFields.list(connection, has: "upgrade")
  }

  /// Decides about a request (§4.2).
  ///
  /// The subprotocol is the first of `subprotocols` that the client offers, compared byte by byte; none when there is
  /// none in common, and then the client decides whether to keep the connection.
  ///
  /// - Parameter compresses: Whether an offer of permessage-deflate is accepted.
  package static func answer(
    _ request: UpgradeRequest, offering subprotocols: [String], compresses: Bool = false
  ) -> UpgradeOutcome {
    guard request.isGet else { return .refuse(.method) }
    guard request.isVersion1_1, isUpgrade(upgrade: request.upgrade, connection: request.connection) else {
      return .refuse(.notAnUpgrade)
    }
    guard request.version.count <= 1 else { return .refuse(.repeatedVersion) }
    guard let version = request.version.first, HandshakeFields.trimmed(version[...]).elementsEqual("13".utf8) else {
      return .refuse(.version)
    }
    guard request.key.count == 1 else { return .refuse(.key) }
    let key = Array(HandshakeFields.trimmed(request.key[0][...]))
    // Sixteen bytes are always 24 letters; the length is compared first, so that a long value is not decoded.
    guard key.count == 24, Base64.decodedCount(key.span) == 16 else { return .refuse(.key) }
    let offered = HandshakeFields.elements(request.protocols)
    guard offered.allSatisfy(HandshakeFields.isToken) else { return .refuse(.subprotocol) }
    let chosen = subprotocols.first { ours in offered.contains { $0.elementsEqual(ours.utf8) } }
    guard let extensions = ExtensionOffer.parse(request.extensions) else { return .refuse(.extensions) }
    return .accept(
      key: acceptKey(for: key), subprotocol: chosen,
      deflate: compresses ? MessageDeflate.choose(from: extensions) : nil)
  }

  /// The value of `Sec-WebSocket-Accept`: the Base64 of the SHA-1 of the key and a fixed text (§4.2.2).
  package static func acceptKey(for key: [UInt8]) -> [UInt8] {
    let input = key + Array("258EAFA5-E914-47DA-95CA-C5AB0DC85B11".utf8)
    // SHA1() takes 0.44 µs, as long as EVP_Digest() with its implicit fetch. With a digest fetched once it would be
    // 0.20 µs, not worth a pointer that lives forever: a handshake costs a hundred times as much.
    var digest = [UInt8](repeating: 0, count: Int(SHA_DIGEST_LENGTH))
    // It reads `input.count` bytes and writes SHA_DIGEST_LENGTH; both pointers are valid only during the call.
    _ = unsafe SHA1(input, input.count, &digest)
    return Base64.encode(digest.span)
  }

  /// Appends the 101 response (§4.2.2), without any field that the handshake does not need.
  package static func appendResponse(
    acceptKey: [UInt8], subprotocol: String?, deflate: MessageDeflate? = nil, to output: inout [UInt8]
  ) {
    append("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n", to: &output)
    append("Sec-WebSocket-Accept: ", to: &output)
    output.append(contentsOf: acceptKey)
    if let subprotocol { append("\r\nSec-WebSocket-Protocol: \(subprotocol)", to: &output) }
    if let deflate { append("\r\nSec-WebSocket-Extensions: \(deflate.response)", to: &output) }
    append("\r\n\r\n", to: &output)
  }

  // MARK: Client

  /// A fresh `Sec-WebSocket-Key`: the Base64 of 16 unpredictable bytes (§4.1).
  package static func makeKey() -> [UInt8] {
    let bytes = (0..<16).map { _ in UInt8.random(in: .min ... .max) }
    return Base64.encode(bytes.span)
  }

  /// Appends a client's request (§4.1).
  ///
  /// `host` is the value of `Host`; `target` begins with a slash. `fields` are
  /// added as they are; they must not contain line ends.
  package static func appendRequest(
    host: String, target: String, key: [UInt8], subprotocols: [String] = [],
    fields: [(name: String, value: String)] = [],
    to output: inout [UInt8]
  ) {
    append("GET \(target) HTTP/1.1\r\nHost: \(host)\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n", to: &output)
    append("Sec-WebSocket-Key: ", to: &output)
    output.append(contentsOf: key)
    append("\r\nSec-WebSocket-Version: 13\r\n", to: &output)
    if !subprotocols.isEmpty {
      append("Sec-WebSocket-Protocol: \(subprotocols.joined(separator: ", "))\r\n", to: &output)
    }
    for (name, value) in fields { append("\(name): \(value)\r\n", to: &output) }
    append("\r\n", to: &output)
  }

  /// Whether a 101 response answers the request with this key (§4.1), with a subprotocol that was offered.
  ///
  /// - Parameter extensions: values of `Sec-WebSocket-Extensions`; none is offered, so any fails.
  package static func accepts(
    upgrade: [[UInt8]], connection: [[UInt8]], accept: [[UInt8]], protocols: [[UInt8]], extensions: [[UInt8]],
    key: [UInt8], offered: [String]
  ) -> Bool {
    guard isUpgrade(upgrade: upgrade, connection: connection) else { return false }
    guard accept.count == 1, HandshakeFields.trimmed(accept[0][...]).elementsEqual(acceptKey(for: key)) else {
      return false
    }
    guard HandshakeFields.elements(extensions).isEmpty else { return false }
    guard let chosen = protocols.first else { return true }
    let name = HandshakeFields.trimmed(chosen[...])
    return protocols.count == 1 && offered.contains { name.elementsEqual($0.utf8) }
  }

  private static func append(_ text: String, to output: inout [UInt8]) { output.append(contentsOf: text.utf8) }
}
