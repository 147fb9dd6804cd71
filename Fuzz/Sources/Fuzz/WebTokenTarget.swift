// SPDX-License-Identifier: MIT

import JSON
import SignalAccess
import SignalStore

extension FuzzTarget {
  /// A JSON Web Token: what is accepted has the signature of the key and the claims that are needed; signed with the
  /// key, whatever the header and the claims are, it is accepted or refused by rule, and always alike.
  static let webToken = FuzzTarget(name: "WebToken") { input in
    let now = Timestamp(milliseconds: 1_000_000)
    check(input, at: now)
    // The same header and claims with a good signature, so that the rules behind it are reached.
    var text: [UInt8] = []
    for index in input.indices { text.append(input[index]) }
    guard let dot = text.lastIndex(of: UInt8(ascii: ".")) else { return }
    let signed = Array(text[..<dot])
    check((signed + [UInt8(ascii: ".")] + Array(Base64URL.encode(signature(of: signed)).utf8)).span, at: now)
  }

  private static func check(_ text: Span<UInt8>, at now: Timestamp) {
    func outcome(_ verifier: TokenVerifier) -> Result<Identity, TokenFault> {
      do throws(TokenFault) {
        return .success(try verifier.identity(of: text, at: now))
      } catch {
        return .failure(error)
      }
    }
    let verifier = TokenVerifier([key], TokenVerifier.Requirements(issuer: "idp", audience: "signal"))
    let first = outcome(verifier)
    switch (first, outcome(verifier)) {
    case (.success(let one), .success(let two)): require(one === two, "a token was verified twice")
    case (.failure(let one), .failure(let two)): require(one == two, "one token, two reasons")
    default: fatalError("one token, two answers")
    }
    guard case .success(let identity) = first else { return }
    guard let token = try? JSONWebToken(text) else { fatalError("what is accepted is no token") }
    require(text.count <= JSONWebToken.mostBytes, "an accepted token is too long")
    require(identity.kind == .jwt && !identity.id.isEmpty, "nobody was accepted")
    require(identity.isAccepted(at: now), "an accepted token is over")
    require(token.claims.string(token.claims.member("iss", of: .root) ?? .root) == "idp", "of another issuer")
    require(identity.auth.kind(of: .root) == .object, "auth is no object")
    require((try? JSONText(validating: identity.auth.text.bytes)) == identity.auth.text, "auth is no text")
  }

  private static let secret = [UInt8](repeating: UInt8(ascii: "k"), count: 32)
  private static let key: VerificationKey = {
    guard let key = try? VerificationKey(secret: secret) else { fatalError("32 bytes are a secret") }
    return key
  }()

  /// HMAC with SHA-256 (RFC 2104).
  private static func signature(of text: [UInt8]) -> [UInt8] {
    func hash(_ pad: UInt8, _ text: [UInt8]) -> [UInt8] {
      let block = (0..<64).map { ($0 < secret.count ? secret[$0] : 0) ^ pad }
      let digits = Array(Digest(of: (block + text).span).hexadecimal.utf8)
      return stride(from: 0, to: digits.count, by: 2).map {
        UInt8(String(decoding: digits[$0..<$0 + 2], as: UTF8.self), radix: 16) ?? 0
      }
    }
    return hash(0x5C, hash(0x36, text))
  }

  /// A JSON Web Key Set: an accepted one has keys within the limits, each for one algorithm; none of them accepts
  /// anything at all.
  static let keySet = FuzzTarget(name: "KeySet") { input in
    var bytes: [UInt8] = []
    for index in input.indices { bytes.append(input[index]) }
    guard let set = try? JSONWebKeySet(bytes) else { return }
    require(bytes.count <= JSONWebKeySet.mostBytes, "an accepted set is too large")
    require((1...JSONWebKeySet.mostKeys).contains(set.keys.count), "an accepted set has too many keys or none")
    for key in set.keys {
      require(key.id.map { $0.count <= VerificationKey.mostIDBytes } ?? true, "a name is too long")
      for count in [0, 32, 64, 256] {
        require(!key.verifies([UInt8](repeating: 0, count: count), of: bytes.span), "zeros are no signature")
      }
    }
  }
}
