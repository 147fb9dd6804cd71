// SPDX-License-Identifier: MIT
package import JSON
package import SignalStore

/// A JSON Web Token (RFC 7519) as a signed text (RFC 7515 §3.1), taken apart and not yet verified.
package struct JSONWebToken {
  /// The longest token, in bytes.
  package static let mostBytes = 8 << 10
  /// How many levels of arrays and objects the header or the claims have at most.
  package static let mostLevels = 16

  /// Its header.
  package let header: JSONTree
  /// Its claims; to be believed only after the signature has been verified.
  package let claims: JSONTree
  /// The algorithm that the header names.
  let algorithm: SignatureAlgorithm
  /// The key that the header names, if any.
  let keyID: [UInt8]?
  let signature: [UInt8]
  /// How many bytes of the text are signed, from its beginning.
  let signedCount: Int

  /// Takes a text apart.
  package init(_ text: Span<UInt8>) throws(TokenFault) {
    guard text.count <= Self.mostBytes else { throw .tooLong }
    var dots: [Int] = []
    for index in text.indices where text[index] == UInt8(ascii: ".") {
      guard dots.count < 2 else { throw .malformed }
      dots.append(index)
    }
    guard dots.count == 2, let header = Base64URL.decode(text.extracting(..<dots[0])),
      let claims = Base64URL.decode(text.extracting(dots[0] + 1..<dots[1])),
      let signature = Base64URL.decode(text.extracting((dots[1] + 1)...))
    else { throw .malformed }
    self.header = try Self.object(header, orElse: .badHeader)
    (algorithm, keyID) = try Self.read(self.header)
    self.claims = try Self.object(claims, orElse: .badClaims)
    self.signature = signature
    signedCount = dots[1]
  }

  /// The key that the header of a text names, whether the token is good or not; nil when there is none.
  package static func keyID(in text: Span<UInt8>) -> String? {
    (try? JSONWebToken(text))?.keyID.map { String(decoding: $0, as: UTF8.self) }
  }

  /// An object without repeated names, at any level.
  private static func object(_ bytes: [UInt8], orElse fault: TokenFault) throws(TokenFault) -> JSONTree {
    let limits = JSONLimits(bytes: mostBytes, depth: mostLevels)
    guard let text = try? JSONText(validating: bytes, limits: limits) else { throw fault }
    let tree = JSONTree(text)
    guard tree.kind(of: .root) == .object, tree.repeatedName(in: .root) == nil else { throw fault }
    return tree
  }

  private static func read(_ header: JSONTree) throws(TokenFault) -> (SignatureAlgorithm, [UInt8]?) {
    // What would let a token choose its own key, or change what its signature means (RFC 7515 §4.1, RFC 7797).
    for name in ["crit", "jku", "x5u", "jwk", "b64", "zip", "enc"] where header.member(name, of: .root) != nil {
      throw .unsupported
    }
    func string(_ name: String) throws(TokenFault) -> String? {
      guard let node = header.member(name, of: .root) else { return nil }
      guard header.kind(of: node) == .string, let text = header.string(node) else { throw .badHeader }
      return text
    }
    // A token for another purpose must not pass for this one (RFC 8725 §3.11, RFC 9068 §4).
    if let type = try string("typ")?.lowercased(), !["jwt", "at+jwt", "application/at+jwt"].contains(type) {
      throw .unsupported
    }
    guard let name = try string("alg") else { throw .badHeader }
    guard let algorithm = SignatureAlgorithm(rawValue: name) else { throw .wrongAlgorithm }
    let id = try string("kid").map { Array($0.utf8) }
    guard id?.count ?? 0 <= VerificationKey.mostIDBytes else { throw .badHeader }
    return (algorithm, id)
  }

  // MARK: Claims

  /// A claim that is a string; nil when there is none.
  func string(_ name: String) throws(TokenFault) -> String? {
    guard let node = claims.member(name, of: .root) else { return nil }
    guard claims.kind(of: node) == .string, let text = claims.string(node) else { throw .badClaims }
    return text
  }

  /// A claim that is a time, in seconds since 1970, possibly with a fraction; nil when there is none.
  package func time(_ name: String) throws(TokenFault) -> Timestamp? {
    guard let node = claims.member(name, of: .root) else { return nil }
    // Until the year 9999, so that the number of milliseconds is one of 64 bits.
    guard claims.kind(of: node) == .number, let seconds = claims.double(node), (0...253_402_300_799).contains(seconds)
    else { throw .badClaims }
    return Timestamp(milliseconds: Int64(seconds * 1000))
  }

  /// Whether the claim `aud`, a string or an array of them, has this one (RFC 7519 §4.1.3).
  func isFor(_ audience: String) throws(TokenFault) -> Bool {
    guard let node = claims.member("aud", of: .root) else { return false }
    switch claims.kind(of: node) {
    case .string: return claims.string(node, equals: audience.utf8.span) == true
    case .array:
      var isFound = false
      for element in claims.elements(of: node) {
        guard claims.kind(of: element) == .string else { throw .badClaims }
        if claims.string(element, equals: audience.utf8.span) == true { isFound = true }
      }
      return isFound
    default: throw .badClaims
    }
  }
}
