// SPDX-License-Identifier: MIT
package import SignalStore
import Synchronization

/// Verifies JSON Web Tokens with known keys, and remembers those that were good.
package final class TokenVerifier: Sendable {
  /// By how much the clocks of issuers may differ, in milliseconds.
  package static let leeway: Int64 = 30_000
  /// The maximum number of tokens that are remembered.
  package static let mostRemembered = 20_000
  /// How many keys are tried for one token: of more that could have signed it, none is.
  package static let mostTried = 4
  /// The longest subject, in bytes.
  package static let mostSubjectBytes = 256

  /// What is required of the claims, besides times.
  package struct Requirements: Equatable, Sendable {
    /// The claim `iss`; empty for any.
    package var issuer: String
    /// What has to be in the claim `aud`; empty for anything.
    package var audience: String

    package init(issuer: String = "", audience: String = "") {
      self.issuer = issuer
      self.audience = audience
    }
  }

  package let keys: [VerificationKey]
  package let requirements: Requirements
  /// By the digest of their text.
  private let remembered = Mutex(RecentlyUsed<Digest, Identity>(capacity: mostRemembered / 2))

  package init(_ keys: [VerificationKey], _ requirements: Requirements = Requirements()) {
    self.keys = keys
    self.requirements = requirements
  }

  /// Who a token says the caller is, if it is good.
  package func identity(of text: Span<UInt8>, at now: Timestamp) throws(TokenFault) -> Identity {
    guard text.count <= JSONWebToken.mostBytes else { throw .tooLong }
    let digest = Digest(of: text)
    if let known = remembered.withLock({ $0.find(digest) }) {
      guard known.isAccepted(at: now) else { throw .expired }
      return known
    }
    let identity = try verify(text, at: now)
    remembered.withLock { $0.insert(identity, for: digest) }
    return identity
  }

  /// Whether a token that an identity comes from would be accepted with these keys and requirements.
  func accepts(_ key: Digest, _ required: Requirements) -> Bool {
    required == requirements && keys.contains { $0.fingerprint == key }
  }

  private func verify(_ text: Span<UInt8>, at now: Timestamp) throws(TokenFault) -> Identity {
    let token = try JSONWebToken(text)
    let key = try key(of: token, text)
    guard let expires = try token.time("exp"), let subject = try token.string("sub"), !subject.isEmpty,
      subject.utf8.count <= Self.mostSubjectBytes
    else { throw .badClaims }
    if let begin = try token.time("nbf"), now.milliseconds + Self.leeway < begin.milliseconds { throw .notYet }
    _ = try token.time("iat")
    let (issuer, audience) = (requirements.issuer, requirements.audience)
    if !issuer.isEmpty, try token.string("iss") != issuer { throw .wrongIssuer }
    if !audience.isEmpty, try !token.isFor(audience) { throw .wrongAudience }
    let identity = Identity(
      .jwt, id: subject, claims: token.claims, expires: expires, leeway: Self.leeway,
      proof: .key(key.fingerprint, requirements))
    guard identity.isAccepted(at: now) else { throw .expired }
    return identity
  }

  /// The key that has signed a token.
  private func key(of token: JSONWebToken, _ text: Span<UInt8>) throws(TokenFault) -> VerificationKey {
    // A key without a name is one of a file, whose issuer may call it as it likes.
    let named = keys.filter { token.keyID == nil || $0.id == nil || $0.id == token.keyID }
    guard !named.isEmpty else { throw .unknown }
    let candidates = named.filter { $0.algorithm == token.algorithm }
    guard !candidates.isEmpty else {
      // A key of this name may be in the next set of keys.
      if let id = token.keyID, !named.contains(where: { $0.id == id }) { throw .unknown }
      throw .wrongAlgorithm
    }
    guard candidates.count <= Self.mostTried else { throw .unknown }
    let signed = text.extracting(..<token.signedCount)
    guard let key = candidates.first(where: { $0.verifies(token.signature, of: signed) }) else {
      if let id = token.keyID, !candidates.contains(where: { $0.id == id }) { throw .unknown }
      throw .badSignature
    }
    return key
  }
}
