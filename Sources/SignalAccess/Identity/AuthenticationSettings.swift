// SPDX-License-Identifier: MIT

/// How callers prove who they are.
package struct AuthenticationSettings: Equatable, Sendable {
  /// Where keys for JSON Web Tokens come from.
  package enum KeySource: Equatable, Sendable {
    /// A file in PEM with a public key or a certificate, for one algorithm.
    case pem(String, SignatureAlgorithm)
    /// A file whose bytes are a secret for HS256; a line feed after one line of visible ASCII is not part of it.
    case secret(String)
    /// A file with a JSON Web Key Set.
    case keySet(String)
    /// The https URL of a JSON Web Key Set.
    case url(String)
  }

  /// The file of the server's own tokens; empty for none.
  package var tokens = ""
  /// Whether nothing is answered to callers who have not proven who they are.
  package var required = false
  /// Where the keys for JSON Web Tokens come from.
  package var keys: [KeySource] = []
  /// What is required of the claims of a JSON Web Token.
  package var requirements = TokenVerifier.Requirements()
  /// The name of a cookie that may hold a JSON Web Token; empty for none.
  package var cookie = ""
  /// How long a connection that has to say who it is may take.
  package var timeout: Duration = .seconds(5)

  /// Nothing is asked for, and nothing is accepted.
  package init() {}

  /// Whether anything is accepted or asked for, so that requests have to be looked at.
  package var isActive: Bool { required || !tokens.isEmpty || !keys.isEmpty }

  /// The files whose content decides who is accepted.
  package var files: [String] {
    var files = tokens.isEmpty ? [] : [tokens]
    for key in keys {
      switch key {
      case .pem(let file, _), .secret(let file), .keySet(let file): files.append(file)
      case .url: continue
      }
    }
    return files
  }

  /// The URLs from which sets of keys are fetched.
  package var urls: [String] {
    keys.compactMap { key in
      if case .url(let url) = key { url } else { nil }
    }
  }
}
