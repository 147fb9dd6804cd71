// SPDX-License-Identifier: MIT
import JSON

/// The keys of a JSON Web Key Set (RFC 7517 §5).
package struct JSONWebKeySet: Sendable {
  /// The largest set, in bytes.
  package static let mostBytes = 256 << 10
  /// The maximum number of keys, usable or not.
  package static let mostKeys = 64

  /// Those for verifying with one of the algorithms of ``SignatureAlgorithm``; at least one.
  package let keys: [VerificationKey]

  /// Whether one of them is a shared secret, so that the set must not be public.
  package var hasSecret: Bool { keys.contains { $0.algorithm == .hs256 } }

  /// Reads a set.
  ///
  /// Keys for something else are passed over (§5); one that should be for this and is not valid refuses the set.
  package init(_ bytes: [UInt8]) throws(VerificationKey.Fault) {
    let tree: JSONTree
    do throws(JSONError) {
      tree = JSONTree(try JSONText(validating: bytes, limits: JSONLimits(bytes: Self.mostBytes, depth: 16)))
    } catch {
      throw VerificationKey.Fault(reason: "is not a JSON Web Key Set: \(error)")
    }
    guard let list = tree.member("keys", of: .root), tree.kind(of: list) == .array else {
      throw VerificationKey.Fault(reason: "is not a JSON Web Key Set, which has the member \"keys\", an array")
    }
    guard tree.count(of: list) <= Self.mostKeys else {
      throw VerificationKey.Fault(reason: "has more than \(Self.mostKeys) keys")
    }
    var keys: [VerificationKey] = []
    for (index, node) in tree.elements(of: list).enumerated() {
      do throws(VerificationKey.Fault) {
        guard tree.kind(of: node) == .object else { throw VerificationKey.Fault(reason: "is not an object") }
        if let key = try VerificationKey.key(tree, node) { keys.append(key) }
      } catch {
        throw VerificationKey.Fault(reason: "key \(index + 1) \(error.reason)")
      }
    }
    guard !keys.isEmpty else { throw VerificationKey.Fault(reason: "has no key for HS256, RS256, ES256 or EdDSA") }
    self.keys = keys
  }
}
