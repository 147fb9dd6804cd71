// SPDX-License-Identifier: MIT
import Foundation
import JSON
import SignalAccess
import SignalStore

/// Makes JSON Web Tokens with HS256 (RFC 2104 over SHA-256), also those that no issuer should.
struct TokenMaker {
  static let secret = Array("a secret that has more than 32 bytes".utf8)
  var secret = TokenMaker.secret

  /// A token with these texts, signed whatever they are.
  func token(_ header: String = #"{"alg":"HS256"}"#, _ claims: String) -> String {
    let signed = "\(Base64URL.encode(Array(header.utf8))).\(Base64URL.encode(Array(claims.utf8)))"
    return "\(signed).\(signature(signed))"
  }

  /// The third part for the first two.
  func signature(_ signed: String) -> String {
    let key = secret.count <= 64 ? secret : bytes(Digest(of: secret.span))
    func hash(_ pad: UInt8, _ text: [UInt8]) -> [UInt8] {
      let block = (0..<64).map { ($0 < key.count ? key[$0] : 0) ^ pad }
      return bytes(Digest(of: (block + text).span))
    }
    return Base64URL.encode(hash(0x5C, hash(0x36, Array(signed.utf8))))
  }

  private func bytes(_ digest: Digest) -> [UInt8] {
    var rest = digest.hexadecimal[...]
    var bytes: [UInt8] = []
    while !rest.isEmpty {
      bytes.append(UInt8(rest.prefix(2), radix: 16) ?? 0)
      rest = rest.dropFirst(2)
    }
    return bytes
  }
}

extension Authenticator {
  /// Who a text says the caller is.
  func identity(of text: String, at now: Timestamp) throws(TokenFault) -> Identity {
    try identity(of: text.utf8.span, at: now)
  }
}

extension TokenVerifier {
  /// Who a text says the caller is.
  func identity(of text: String, at now: Timestamp) throws(TokenFault) -> Identity {
    try identity(of: text.utf8.span, at: now)
  }
}

/// A folder that is removed with it.
final class Folder {
  let path = FileManager.default.temporaryDirectory.appending(path: "signal-\(UUID().uuidString)").path

  init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false) }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// Writes a file, for its owner unless told otherwise.
  func write(_ name: String, _ text: String, mode: Int = 0o600) throws -> String {
    let file = "\(path)/\(name)"
    try Data(text.utf8).write(to: URL(filePath: file))
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
    return file
  }
}

// The same with texts and arrays, as macros of tests take no spans.

extension Base64URL {
  /// The bytes of a text.
  static func bytes(_ text: String) -> [UInt8]? { decode(text.utf8.span) }
}

extension Token {
  /// The id in a text.
  static func id(of text: String) -> String? { id(in: text.utf8.span) }
}

extension VerificationKey {
  /// Whether a signature of a text is good.
  func hasSigned(_ text: String, _ signature: [UInt8]) -> Bool { verifies(signature, of: text.utf8.span) }
}
