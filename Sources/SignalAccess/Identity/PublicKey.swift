// SPDX-License-Identifier: MIT
import COpenSSL

/// A public key of libcrypto, used by several threads.
// Unchecked: nothing changes a key once it is made, and checking a signature uses a context of its own.
@safe final class PublicKey: @unchecked Sendable {
  private let key: OpaquePointer

  /// Takes the key over.
  private init(owning key: OpaquePointer) { unsafe self.key = key }

  deinit { unsafe EVP_PKEY_free(key) }

  // MARK: Making

  /// Reads PEM: a public key (RFC 7468 §13), or a certificate, whose key it is; nil when it is neither.
  convenience init?(pem: [UInt8]) {
    defer { ERR_clear_error() }
    guard pem.count < 1 << 20 else { return nil }
    // Without this callback the library would ask for a passphrase on the terminal.
    let noPassphrase: @convention(c) (UnsafeMutablePointer<CChar>?, Int32, Int32, UnsafeMutableRawPointer?) -> Int32 = {
      _, _, _, _ in -1
    }
    let found: OpaquePointer? = unsafe pem.withUnsafeBytes { bytes in
      func read(_ body: (OpaquePointer) -> OpaquePointer?) -> OpaquePointer? {
        // The bytes outlive it.
        guard let input = unsafe BIO_new_mem_buf(bytes.baseAddress, Int32(bytes.count)) else { return nil }
        defer { unsafe BIO_free(input) }
        return unsafe body(input)
      }
      if let key = unsafe read({ unsafe PEM_read_bio_PUBKEY($0, nil, noPassphrase, nil) }) { return unsafe key }
      return unsafe read { input in
        guard let certificate = unsafe PEM_read_bio_X509(input, nil, noPassphrase, nil) else { return nil }
        defer { unsafe X509_free(certificate) }
        return unsafe X509_get_pubkey(certificate)
      }
    }
    guard let found = unsafe found else { return nil }
    unsafe self.init(owning: found)
  }

  /// An RSA key from its modulus and its exponent, the most significant byte first (RFC 7518 §6.3.1).
  convenience init?(modulus: [UInt8], exponent: [UInt8]) {
    guard modulus.count <= 1024, exponent.count <= 8, let n = DER.integer(modulus), let e = DER.integer(exponent) else {
      return nil
    }
    // rsaEncryption, without parameters (RFC 8017 appendix A.1).
    let algorithm = DER.sequence([0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01, 0x05, 0x00])
    self.init(information: DER.sequence(algorithm + DER.bits(DER.sequence(n + e))))
  }

  /// A key on the curve P-256 from its coordinates, 32 bytes each (RFC 7518 §6.2.1); nil when the point is not on it.
  convenience init?(x: [UInt8], y: [UInt8]) {
    guard x.count == 32, y.count == 32 else { return nil }
    // id-ecPublicKey on prime256v1, and an uncompressed point (RFC 5480 §2).
    let algorithm = DER.sequence([
      0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07,
    ])
    self.init(information: DER.sequence(algorithm + DER.bits([4] + x + y)))
  }

  /// A key as X.509 has it (RFC 5280 §4.1.2.7).
  private convenience init?(information: [UInt8]) {
    defer { ERR_clear_error() }
    let key = unsafe information.withUnsafeBufferPointer { bytes in
      var position = bytes.baseAddress
      return unsafe d2i_PUBKEY(nil, &position, bytes.count)
    }
    guard let key = unsafe key else { return nil }
    unsafe self.init(owning: key)
  }

  /// A key for Ed25519 from its 32 bytes (RFC 8037 §2).
  convenience init?(ed25519 x: [UInt8]) {
    defer { ERR_clear_error() }
    guard x.count == 32 else { return nil }
    let key = unsafe x.withUnsafeBufferPointer {
      unsafe EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, $0.baseAddress, $0.count)
    }
    guard let key = unsafe key else { return nil }
    unsafe self.init(owning: key)
  }

  // MARK: Properties

  /// The size of an RSA modulus, in bits; nil for another kind of key.
  var rsaBits: Int? { unsafe EVP_PKEY_is_a(key, "RSA") == 1 ? Int(unsafe EVP_PKEY_get_bits(key)) : nil }

  var isEd25519: Bool { unsafe EVP_PKEY_is_a(key, "ED25519") == 1 }

  /// Whether it is one on the curve P-256, for ECDSA.
  var isP256: Bool {
    guard unsafe EVP_PKEY_is_a(key, "EC") == 1 else { return false }
    var name = [CChar](repeating: 0, count: 64)
    var count = 0
    // The call writes at most the given count with a zero at the end.
    let works = unsafe name.withUnsafeMutableBufferPointer {
      unsafe EVP_PKEY_get_group_name(key, $0.baseAddress, $0.count, &count) == 1
    }
    return works && name.prefix(count).elementsEqual("prime256v1".utf8.map { CChar($0) })
  }

  /// The SHA-256 of the key as X.509 has it (RFC 5280 §4.1.2.7).
  var fingerprint: Digest? {
    var bytes: UnsafeMutablePointer<UInt8>?
    let count = unsafe i2d_PUBKEY(key, &bytes)
    guard count > 0, let bytes = unsafe bytes else { return nil }
    defer { unsafe CRYPTO_free(bytes, "", 0) }
    return Digest(of: unsafe Span(_unsafeStart: bytes, count: Int(count)))
  }

  // MARK: Signatures

  /// Whether a signature of a message is good: PKCS #1 v1.5 with SHA-256 for RSA, ECDSA with SHA-256 in DER on P-256,
  /// and Ed25519.
  func verifies(_ signature: [UInt8], of message: Span<UInt8>) -> Bool {
    guard let context = unsafe EVP_MD_CTX_new() else { return false }
    defer {
      unsafe EVP_MD_CTX_free(context)
      ERR_clear_error()
    }
    // The pointers are valid during the calls, which keep none of them but the key's.
    guard unsafe EVP_DigestVerifyInit(context, nil, isEd25519 ? nil : EVP_sha256(), nil, key) == 1 else { return false }
    return unsafe message.withUnsafeBufferPointer { message in
      unsafe signature.withUnsafeBufferPointer { signature in
        unsafe EVP_DigestVerify(
          context, signature.baseAddress, signature.count, message.baseAddress, message.count) == 1
      }
    }
  }
}
