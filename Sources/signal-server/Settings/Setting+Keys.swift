// SPDX-License-Identifier: MIT
import SignalAccess

extension Setting {
  /// Where keys for JSON Web Tokens come from: `ES256 idp.pem`, `jwks.json` or a URL on one line, or groups in the file.
  static func keys(
    _ name: String, _ field: Field<[AuthenticationSettings.KeySource]>, _ summary: String
  ) -> Setting {
    list(
      name, field, atMost: AuthenticationSettings.mostKeys,
      expected: "a list of keys such as \"ES256 idp.pem\", jwks.json or https://idp.example/jwks", summary,
      read: { AuthenticationSettings.KeySource($0) },
      readGroup: { group, name, groups throws(ConfigurationError) in
        try AuthenticationSettings.KeySource(group, name, groups)
      },
      write: { $0.text })
  }
}

extension AuthenticationSettings {
  /// The maximum number of keys in the settings.
  fileprivate static let mostKeys = 16
}

extension AuthenticationSettings.KeySource {
  private static let members = [
    "alg": "one of \(SignatureAlgorithm.allCases.map(\.rawValue).joined(separator: ", "))", "file": "a file",
    "secret-file": "a file", "url": "a URL such as https://idp.example/jwks",
  ]

  /// Reads the short form; nil when it is none.
  fileprivate init?(_ text: String) {
    let words = text.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
    guard words.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy { $0 > 0x20 } }) else { return nil }
    switch words.count {
    case 1 where KeySetURL(words[0]) != nil: self = .url(words[0])
    case 1 where !words[0].contains("://") && SignatureAlgorithm(rawValue: words[0]) == nil: self = .keySet(words[0])
    case 2:
      guard let algorithm = SignatureAlgorithm(rawValue: words[0]) else { return nil }
      self = algorithm == .hs256 ? .secret(words[1]) : .pem(words[1], algorithm)
    default: return nil
    }
  }

  /// Reads one group of a file.
  ///
  /// - Parameter name: What errors call it.
  fileprivate init(
    _ group: SettingsFile.Group, _ name: String, _ groups: SettingsFile.Groups
  ) throws(ConfigurationError) {
    var given: [String: (text: String, source: SettingSource)] = [:]
    for entry in group.entries {
      let (member, source) = ("\(name).\(entry.name)", groups.source(entry.line))
      guard let expected = Self.members[entry.name] else {
        let nearest = Suggestion.nearest(to: entry.name, among: Self.members.keys.sorted())
        throw .unknownSetting(member, source, nearest: nearest)
      }
      guard case .scalar(let text) = entry.value else { throw .noValue(member, expected: expected, source) }
      given[entry.name] = (text, source)
    }
    func error(_ member: String, _ rule: String) -> ConfigurationError {
      .contradiction("\(name).\(member)", given[member]?.source ?? groups.source(group.line), rule: rule)
    }
    let places = ["file", "secret-file", "url"].filter { given[$0] != nil }
    guard places.count == 1, let place = places.first, let text = given[place]?.text else {
      throw .contradiction(name, groups.source(group.line), rule: "needs one of file, secret-file and url")
    }
    let algorithm = try given["alg"].map { text, source throws(ConfigurationError) in
      guard let algorithm = SignatureAlgorithm(rawValue: text) else {
        throw .badValue("\(name).alg", text: text, expected: Self.members["alg"] ?? "", source)
      }
      return algorithm
    }
    switch place {
    case "secret-file":
      guard algorithm ?? .hs256 == .hs256 else { throw error("alg", "is HS256 for a secret") }
      self = .secret(text)
    case "url":
      guard KeySetURL(text) != nil else { throw error("url", "is not a URL that begins with https://") }
      guard algorithm == nil else { throw error("alg", "is said by the keys of a set themselves") }
      self = .url(text)
    default:
      guard algorithm != .hs256 else { throw error("alg", "needs secret-file instead of file") }
      self = algorithm.map { .pem(text, $0) } ?? .keySet(text)
    }
  }

  /// As it is written in a file.
  fileprivate var text: String {
    switch self {
    case .pem(let file, let algorithm): "{alg: \(algorithm.rawValue), file: \"\(file)\"}"
    case .secret(let file): "{secret-file: \"\(file)\"}"
    case .keySet(let file): "{file: \"\(file)\"}"
    case .url(let url): "{url: \"\(url)\"}"
    }
  }
}
