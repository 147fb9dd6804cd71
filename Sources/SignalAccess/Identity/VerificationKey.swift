// SPDX-License-Identifier: MIT
import COpenSSL
package import JSON

/// The algorithms of signatures that are accepted (RFC 7518 §3.1, RFC 8037 §3.1).
package enum SignatureAlgorithm: String, CaseIterable, Sendable {
  /// HMAC with SHA-256 and a shared secret.
  case hs256 = "HS256"
  /// RSASSA-PKCS1-v1_5 with SHA-256.
  case rs256 = "RS256"
  /// ECDSA on P-256 with SHA-256.
  case es256 = "ES256"
  /// Ed25519.
  case edDSA = "EdDSA"
}

/// A key with which JSON Web Tokens are verified, for one algorithm.
package final class VerificationKey: Sendable {
  private enum Material: Sendable {
    case secret([UInt8])
    case publicKey(PublicKey)
  }

  /// The only algorithm that it is used for, whatever the header of a token says.
  package let algorithm: SignatureAlgorithm
  /// The name that a token may choose it by (`kid`); nil when it has none.
  package let id: [UInt8]?
  /// Identifies the key and its algorithm.
  package let fingerprint: Digest
  private let material: Material

  /// The shortest secret for HS256, in bytes (RFC 7518 §3.2).
  package static let fewestSecretBytes = 32
  /// The longest secret, in bytes.
  package static let mostSecretBytes = 4096
  /// The sizes of RSA keys, in bits: smaller ones are not safe, larger ones take long.
  package static let rsaBits = 2048...8192
  /// The longest id, in bytes.
  package static let mostIDBytes = 256

  /// Why a key cannot be used: a clause without its subject.
  package struct Fault: Error, Equatable {
    package let reason: String
  }

  private init(_ algorithm: SignatureAlgorithm, _ id: [UInt8]?, _ material: Material, _ fingerprint: Digest) {
    self.algorithm = algorithm
    self.id = id
    self.material = material
    self.fingerprint = fingerprint
  }

  /// A shared secret, for HS256.
  package convenience init(secret: [UInt8], id: [UInt8]? = nil) throws(Fault) {
    guard (Self.fewestSecretBytes...Self.mostSecretBytes).contains(secret.count) else {
      throw Fault(
        reason: "has a secret of \(secret.count) bytes; \(Self.fewestSecretBytes) to \(Self.mostSecretBytes) are needed"
      )
    }
    self.init(.hs256, id, .secret(secret), Digest(of: (Array("HS256:".utf8) + secret).span))
  }

  /// The bytes of a PEM file with a public key or a certificate.
  package convenience init(pem: [UInt8], algorithm: SignatureAlgorithm) throws(Fault) {
    guard let key = PublicKey(pem: pem) else {
      throw Fault(reason: "holds neither a public key nor a certificate in PEM")
    }
    try self.init(key, algorithm, id: nil)
  }

  private convenience init(_ key: PublicKey, _ algorithm: SignatureAlgorithm, id: [UInt8]?) throws(Fault) {
    switch algorithm {
    case .hs256: throw Fault(reason: "holds a public key, which is no secret for HS256")
    case .rs256:
      guard let bits = key.rsaBits else { throw Fault(reason: "holds no RSA key, which RS256 needs") }
      guard Self.rsaBits.contains(bits) else {
        throw Fault(
          reason: "holds an RSA key of \(bits) bits; \(Self.rsaBits.lowerBound) to \(Self.rsaBits.upperBound) are taken"
        )
      }
    case .es256: guard key.isP256 else { throw Fault(reason: "holds no key on P-256, which ES256 needs") }
    case .edDSA: guard key.isEd25519 else { throw Fault(reason: "holds no key for Ed25519, which EdDSA needs") }
    }
    guard let fingerprint = key.fingerprint else { throw Fault(reason: "holds a key that cannot be written") }
    self.init(algorithm, id, .publicKey(key), fingerprint)
  }

  // MARK: JSON Web Keys

  /// A key of a set (RFC 7517 §4); nil when it is for something else than verifying with one of our algorithms, and
  /// therefore to be passed over (§5).
  package static func key(_ tree: JSONTree, _ node: JSONTree.Node) throws(Fault) -> VerificationKey? {
    func member(_ name: String) throws(Fault) -> String? {
      guard let value = tree.member(name, of: node) else { return nil }
      guard tree.kind(of: value) == .string, let text = tree.string(value) else {
        throw Fault(reason: "has a \"\(name)\" that is no string")
      }
      return text
    }
    func bytes(_ name: String) throws(Fault) -> [UInt8] {
      guard let text = try member(name), let bytes = Base64URL.decode(text.utf8.span) else {
        throw Fault(reason: "has no valid \"\(name)\"")
      }
      return bytes
    }
    if let name = tree.repeatedName(in: node) { throw Fault(reason: "has the member \"\(name)\" twice") }
    let (type, curve, named) = (try member("kty"), try member("crv"), try member("alg"))
    guard let algorithm = algorithm(type: type, curve: curve), named == nil || named == algorithm.rawValue,
      try member("use") ?? "sig" == "sig", isForVerifying(tree, node)
    else { return nil }
    let id = try member("kid").map { Array($0.utf8) }
    guard id?.count ?? 0 <= mostIDBytes else { throw Fault(reason: "has a \"kid\" that is too long") }
    let key: PublicKey?
    switch algorithm {
    case .hs256: return try VerificationKey(secret: try bytes("k"), id: id)
    case .rs256: key = PublicKey(modulus: try bytes("n"), exponent: try bytes("e"))
    case .es256: key = PublicKey(x: try bytes("x"), y: try bytes("y"))
    case .edDSA: key = PublicKey(ed25519: try bytes("x"))
    }
    guard let key else { throw Fault(reason: "is no key") }
    return try VerificationKey(key, algorithm, id: id)
  }

  private static func algorithm(type: String?, curve: String?) -> SignatureAlgorithm? {
    switch (type, curve) {
    case ("oct", nil): .hs256
    case ("RSA", nil): .rs256
    case ("EC", "P-256"): .es256
    case ("OKP", "Ed25519"): .edDSA
    default: nil
    }
  }

  /// Whether `key_ops`, if given, includes verifying (RFC 7517 §4.3).
  private static func isForVerifying(_ tree: JSONTree, _ node: JSONTree.Node) -> Bool {
    guard let list = tree.member("key_ops", of: node) else { return true }
    return tree.elements(of: list).contains { tree.string($0, equals: "verify".utf8.span) == true }
  }

  // MARK: Verifying

  /// Whether a signature of a message is good.
  package func verifies(_ signature: [UInt8], of message: Span<UInt8>) -> Bool {
    switch material {
    case .secret(let secret): Self.verifies(signature, of: message, by: secret)
    case .publicKey(let key):
      if algorithm == .es256 {
        ECDSASignature.encoded(signature).map { key.verifies($0, of: message) } ?? false
      } else {
        key.verifies(signature, of: message)
      }
    }
  }

  private static func verifies(_ signature: [UInt8], of message: Span<UInt8>, by secret: [UInt8]) -> Bool {
    guard signature.count == 32 else { return false }
    var code = [UInt8](repeating: 0, count: 32)
    var count: UInt32 = 0
    // The pointers are valid during the calls, which keep none of them; the code has 32 bytes.
    return unsafe message.withUnsafeBufferPointer { message in
      unsafe code.withUnsafeMutableBufferPointer { code in
        unsafe secret.withUnsafeBufferPointer { secret in
          guard
            unsafe HMAC(
              EVP_sha256(), secret.baseAddress, Int32(secret.count), message.baseAddress, message.count,
              code.baseAddress, &count) != nil, count == 32
          else { return false }
          return unsafe signature.withUnsafeBufferPointer {
            unsafe CRYPTO_memcmp($0.baseAddress, code.baseAddress, 32) == 0
          }
        }
      }
    }
  }
}

/// The two numbers of an ECDSA signature: side by side in a token (RFC 7518 §3.4), in DER for libcrypto.
enum ECDSASignature {
  /// The DER of a signature on P-256; nil when it has not 64 bytes, or one of its numbers is zero.
  static func encoded(_ signature: [UInt8]) -> [UInt8]? {
    guard signature.count == 64, let r = DER.integer(signature[..<32]), let s = DER.integer(signature[32...]) else {
      return nil
    }
    return DER.sequence(r + s)
  }
}
