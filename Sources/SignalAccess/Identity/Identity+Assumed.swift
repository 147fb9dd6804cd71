// SPDX-License-Identifier: MIT

package import JSON
import SignalStore

extension Identity {
  /// Somebody who has proven nothing, for questions about what he might do: the value of `auth` that he would have.
  ///
  /// - Parameter auth: Claims. `kind` is `jwt` and `id` is `sub` unless they say otherwise.
  /// - Returns: nil when it is no object, or `kind`, `id` or `expires` is none that there can be.
  package convenience init?(assuming auth: JSONTree) {
    guard auth.kind(of: .root) == .object else { return nil }
    var texts: [String: String] = [:]
    for name in ["kind", "id", "expires"] {
      guard let node = auth.member(name, of: .root) else { continue }
      guard auth.kind(of: node) == .string, let text = auth.string(node) else { return nil }
      texts[name] = text
    }
    guard let kind = Kind(rawValue: texts["kind"] ?? Kind.jwt.rawValue) else { return nil }
    var expires: Timestamp?
    if let text = texts["expires"] {
      guard let time = Timestamp(text) else { return nil }
      expires = time
    }
    let subject = auth.member("sub", of: .root).flatMap { auth.string($0) }
    self.init(kind, id: texts["id"] ?? subject ?? "", claims: auth, expires: expires)
  }
}
