// SPDX-License-Identifier: MIT

package import JSON
package import SignalStore

/// Who a caller is, as a token, a JSON Web Token, a client certificate or the operating system has proven it.
///
/// It is what `auth` means in access rules: the claims, with the members `kind`, `id` and, where it ends, `expires`.
package final class Identity: Sendable {
  /// What has proven an identity.
  package enum Kind: String, Sendable, CaseIterable {
    /// A token of the server's own file.
    case token
    /// A JSON Web Token (RFC 7519).
    case jwt
    /// The verified certificate of a TLS client.
    case certificate
    /// The user of a process on this machine, known by its Unix socket.
    case user
  }

  /// What has to stay as it is for an identity to be accepted: of a connection that lasts, it is looked at again when
  /// the tokens or the keys have changed.
  enum Proof: Sendable, Equatable {
    /// An entry of the file of tokens.
    case token(TokenFile.Entry)
    /// A key that has signed a JSON Web Token, and what was required of its claims.
    case key(Digest, TokenVerifier.Requirements)
    /// Something that the connection itself has.
    case connection
  }

  package let kind: Kind
  /// The name by which logs, limits and refusals know it: the id of a token, the subject of a JSON Web Token or of a
  /// certificate, the number of a user.
  package let id: String
  /// The end of its time, as it says itself; nil when it has none of its own.
  package let expires: Timestamp?
  /// The time from which it is not accepted any more: somewhat after ``expires`` where clocks may differ.
  package let end: Timestamp?
  let proof: Proof
  /// The value of `auth`: an object.
  ///
  /// `kind`, `id` and `expires` are the last members, so that claims of these names cannot replace them.
  package let auth: JSONTree

  /// Creates an identity.
  ///
  /// - Parameter claims: An object; any other value counts as an empty one.
  package convenience init(_ kind: Kind, id: String, claims: JSONTree, expires: Timestamp? = nil) {
    self.init(kind, id: id, claims: claims, expires: expires, leeway: 0, proof: .connection)
  }

  /// Creates an identity with what proves it.
  ///
  /// - Parameter leeway: For how long it is accepted after its end, in milliseconds.
  init(_ kind: Kind, id: String, claims: JSONTree, expires: Timestamp?, leeway: Int64, proof: Proof) {
    self.kind = kind
    self.id = id
    self.expires = expires
    end = expires.map { Timestamp(milliseconds: $0.milliseconds + leeway) }
    self.proof = proof
    var text: [UInt8] = [UInt8(ascii: "{")]
    func add(_ name: String, _ value: JSONText) {
      if text.count > 1 { text.append(UInt8(ascii: ",")) }
      text.append(contentsOf: JSONText(name).bytes)
      text.append(UInt8(ascii: ":"))
      text.append(contentsOf: value.bytes)
    }
    if claims.kind(of: .root) == .object {
      for key in claims.keys(of: .root) {
        guard let name = claims.string(key), let value = claims.value(ofKey: key) else { continue }
        if name != "kind", name != "id", name != "expires" { add(name, claims.text(of: value)) }
      }
    }
    add("kind", JSONText(kind.rawValue))
    add("id", JSONText(id))
    if let expires { add("expires", JSONText("\(expires)")) }
    text.append(UInt8(ascii: "}"))
    auth = JSONTree(JSONText(alreadyCompact: text))
  }
  /// Whether its time is not over.
  package func isAccepted(at now: Timestamp) -> Bool { end.map { now < $0 } ?? true }
}
