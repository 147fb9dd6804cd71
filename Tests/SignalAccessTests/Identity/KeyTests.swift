// SPDX-License-Identifier: MIT
import SignalAccess
import Testing

@Suite("Keys for JSON Web Tokens") struct KeyTests {
  private func reason(_ body: () throws(VerificationKey.Fault) -> Void) -> String? {
    do throws(VerificationKey.Fault) {
      try body()
      return nil
    } catch {
      return error.reason
    }
  }

  @Test(arguments: [
    (SignedTokens.rsaKey, SignatureAlgorithm.es256, "holds no key on P-256"),
    (SignedTokens.rsaKey, .edDSA, "holds no key for Ed25519"),
    (SignedTokens.rsaKey, .hs256, "no secret for HS256"),
    (SignedTokens.ecKey, .rs256, "holds no RSA key"),
    (SignedTokens.edKey, .es256, "holds no key on P-256"),
    (SignedTokens.p384Key, .es256, "holds no key on P-256"),
    (SignedTokens.smallRSAKey, .rs256, "RSA key of 1024 bits"),
    ("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----", .rs256, "neither a public key nor"),
    ("", .rs256, "neither a public key nor"),
    (
      "-----BEGIN PUBLIC KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00000000000000000000000000000000\n\n"
        + "AAAA\n-----END PUBLIC KEY-----", .rs256, "neither a public key nor"
    ),
  ])
  func `a PEM file is refused`(_ pem: String, _ algorithm: SignatureAlgorithm, _ expected: String) {
    let reason = reason { () throws(VerificationKey.Fault) in
      _ = try VerificationKey(pem: Array(pem.utf8), algorithm: algorithm)
    }
    #expect(reason?.contains(expected) == true, "\(reason ?? "accepted")")
  }

  @Test(arguments: [0, 31, 5000]) func `a secret is refused for its length`(_ count: Int) {
    #expect(throws: VerificationKey.Fault.self) {
      try VerificationKey(secret: [UInt8](repeating: 1, count: count))
    }
  }

  @Test func `of a set those keys are used that are for verifying`() throws {
    let set = try JSONWebKeySet(Array(SignedTokens.keySet.utf8))
    #expect(set.keys.map(\.algorithm) == [.rs256, .es256, .edDSA])
    #expect(set.keys.map { $0.id.map { String(decoding: $0, as: UTF8.self) } } == ["r", "e", "o"])
    #expect(!set.hasSecret)
    let ec = try VerificationKey(pem: Array(SignedTokens.ecCertificate.utf8), algorithm: .es256)
    #expect(set.keys[1].fingerprint == ec.fingerprint)
  }

  private static let x = "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"
  private static let y = "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"

  @Test(arguments: [
    ("", "is not a JSON Web Key Set"),
    ("[]", "is not a JSON Web Key Set"),
    (#"{"keys":{}}"#, "is not a JSON Web Key Set"),
    (#"{"keys":[]}"#, "has no key for"),
    (#"{"keys":[1]}"#, "key 1 is not an object"),
    (#"{"keys":[{"kty":"RSA","use":"enc","n":"AQ","e":"AQAB"}]}"#, "has no key for"),
    (#"{"keys":[{"kty":"EC","crv":"P-256","key_ops":["sign"]}]}"#, "has no key for"),
    (#"{"keys":[{"kty":"EC","crv":"P-256","alg":"ES384"}]}"#, "has no key for"),
    (#"{"keys":[{"kty":"oct","k":"c2hvcnQ"}]}"#, "a secret of 5 bytes"),
    (#"{"keys":[{"kty":"oct","k":"="}]}"#, #"no valid "k""#),
    (#"{"keys":[{"kty":"oct"}]}"#, #"no valid "k""#),
    (#"{"keys":[{"kty":1}]}"#, #""kty" that is no string"#),
    (#"{"keys":[{"kty":"oct","kty":"RSA"}]}"#, #"the member "kty" twice"#),
    (#"{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB"}]}"#, "RSA key of 17 bits"),
    (#"{"keys":[{"kty":"RSA","n":"","e":"AQAB"}]}"#, "key 1"),
    (#"{"keys":[{"kty":"EC","crv":"P-256","x":"\#(x)","y":"\#(x)"}]}"#, "is no key"),
    (#"{"keys":[{"kty":"EC","crv":"P-256","x":"AQ","y":"\#(y)"}]}"#, "is no key"),
    (#"{"keys":[{"kty":"EC","crv":"P-256","x":"\#(x)"}]}"#, #"no valid "y""#),
    (#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"AQ"}]}"#, "is no key"),
    (#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"\#(x)","kid":1}]}"#, #""kid" that is no string"#),
    (
      #"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"\#(x)","kid":"\#(String(repeating: "k", count: 300))"}]}"#,
      "too long"
    ),
    (#"{"keys":[\#(Array(repeating: "{}", count: 65).joined(separator: ","))]}"#, "more than 64 keys"),
    (#"{"keys":[],"x":"\#(String(repeating: "x", count: 300 << 10))"}"#, "is not a JSON Web Key Set"),
  ])
  func `a set is refused`(_ text: String, _ expected: String) {
    let reason = reason { () throws(VerificationKey.Fault) in _ = try JSONWebKeySet(Array(text.utf8)) }
    #expect(reason?.contains(expected) == true, "\(reason ?? "accepted")")
  }
}
