// SPDX-License-Identifier: MIT

/// Why a token is not accepted: for logs and tests.
///
/// Clients are told no more than that it is not.
package enum TokenFault: String, Error, CaseIterable, Sendable {
  /// It is longer than ``JSONWebToken/mostBytes``.
  case tooLong
  /// It has not the form of a token, or not three parts in Base64url.
  case malformed
  /// The header is not a JSON object as it has to be.
  case badHeader
  /// The header asks for something that is not done: `crit`, `jku`, `x5u`, `jwk`, or a type that is no access token.
  case unsupported
  /// The algorithm is none of ours, or not that of the key.
  case wrongAlgorithm
  /// There is no token, or no key, of this name.
  case unknown
  /// The signature is not good.
  case badSignature
  /// The claims are not a JSON object as they have to be.
  case badClaims
  /// Its time is over.
  case expired
  /// Its time has not come yet.
  case notYet
  /// It is from another issuer.
  case wrongIssuer
  /// It is for another audience.
  case wrongAudience
}
