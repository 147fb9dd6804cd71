// SPDX-License-Identifier: MIT
import JSON
import SignalAccess
import SignalHTTP

/// Which claims callers can have, as far as the settings say it.
struct KnownClaims {
  let claims: AccessReview.Claims
  /// Why less is known than could be.
  private(set) var remark: String?

  init(_ settings: Settings) {
    let auth = settings.auth
    // Those who issue JSON Web Tokens decide what they hold.
    guard auth.keys.isEmpty else {
      claims = .any
      return
    }
    var names: Set<String> = []
    if !auth.tokens.isEmpty {
      do throws(IdentityError) {
        for entry in try TokenFile(reading: auth.tokens).entries {
          let tree = JSONTree(entry.claims)
          names.formUnion(tree.keys(of: .root).compactMap { tree.string($0) })
        }
      } catch {
        claims = .any
        remark = "claims are not checked: \(error.description.printable)"
        return
      }
    }
    let hasCertificates = settings.listeners.contains { $0.tls?.clientAuthorities != nil }
    if hasCertificates { names.formUnion(["commonName", "names", "fingerprint"]) }
    guard hasCertificates || !auth.tokens.isEmpty else {
      claims = .nobody
      return
    }
    claims = .named(names.union(["kind", "id", "expires"]))
  }

  /// The known claim that a name was probably meant to be.
  func nearest(to name: String) -> String? {
    guard case .named(let names) = claims else { return nil }
    return Suggestion.nearest(to: name, among: names.sorted())
  }
}
