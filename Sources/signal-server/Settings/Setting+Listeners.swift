// SPDX-License-Identifier: MIT
import SignalHTTP

extension Setting {
  /// Where to listen: URLs on one line, or groups in the file, which say more.
  static func listeners(_ name: String, _ field: Field<[ListenerConfiguration]>, _ summary: String) -> Setting {
    list(
      name, field, atMost: ServerConfiguration.mostListeners,
      expected: "a list of URLs such as http://127.0.0.1:8080 or unix:/run/signal/socket", summary,
      read: { text in (try? Endpoint(text, lowestPort: 0)).map { ListenerConfiguration($0) } },
      readGroup: { group, name, groups throws(ConfigurationError) in try ListenerConfiguration(group, name, groups) },
      write: { $0.text })
  }
}

extension ListenerConfiguration {
  /// The members of a group, with what they take.
  private static let members = [
    "url": "a URL such as http://127.0.0.1:8080, https://[::]:8443 or unix:/run/signal/socket",
    "mode": "permissions such as 0660", "certificates": "a list of files", "keys": "a list of files",
    "client-ca": "a file", "client-certificate": "one of none, optional, required",
    "redirect": "an origin such as https://live.example", "proxy-protocol": "true or false",
    "console": "true or false",
  ]

  /// Reads one group of a file.
  ///
  /// - Parameter name: What errors call it.
  fileprivate init(
    _ group: SettingsFile.Group, _ name: String, _ groups: SettingsFile.Groups
  ) throws(ConfigurationError) {
    var given: [String: (texts: [String], source: SettingSource)] = [:]
    for entry in group.entries {
      given[entry.name] = (try Self.texts(of: entry, name, groups), groups.source(entry.line))
    }
    func error(_ member: String, _ rule: String) -> ConfigurationError {
      .contradiction("\(name).\(member)", given[member]?.source ?? groups.source(group.line), rule: rule)
    }
    func wrong(_ member: String) -> ConfigurationError {
      .badValue(
        "\(name).\(member)", text: given[member]?.texts.joined(separator: ", ") ?? "",
        expected: Self.members[member] ?? "", given[member]?.source ?? groups.source(group.line))
    }
    guard let url = given["url"]?.texts[0] else {
      throw .noValue("\(name).url", expected: Self.members["url"] ?? "", groups.source(group.line))
    }
    do throws(EndpointError) {
      self.init(try Endpoint(url, lowestPort: 0))
    } catch {
      throw .contradiction(
        "\(name).url", given["url"]?.source ?? .builtIn, rule: "'\(url.printable)' \(error.reason)")
    }
    if let text = given["mode"]?.texts[0] {
      guard let mode = Self.mode(text) else { throw wrong("mode") }
      guard case .unix = endpoint else { throw error("mode", "is for unix sockets only") }
      self.mode = mode
    }
    let secured = ["certificates", "keys", "client-ca", "client-certificate"].first { given[$0] != nil }
    if let secured, !endpoint.isSecured { throw error(secured, "is for https URLs only") }
    if let certificates = given["certificates"]?.texts {
      guard let tls = TLSConfiguration(certificates, keys: given["keys"]?.texts ?? []) else {
        throw error("keys", TLSConfiguration.ruleOfKeys)
      }
      self.tls = tls
    } else if let secured {
      throw error(secured, "needs certificates beside it")
    }
    if let text = given["client-certificate"]?.texts[0] {
      guard let value = TLSConfiguration.ClientCertificates(rawValue: text) else { throw wrong("client-certificate") }
      tls?.clientCertificates = value
    }
    if let file = given["client-ca"]?.texts[0] {
      tls?.clientAuthorities = file
      if given["client-certificate"] == nil { tls?.clientCertificates = .required }
    } else if tls?.clientCertificates != TLSConfiguration.ClientCertificates.none, tls != nil {
      throw error("client-certificate", "needs client-ca, the authorities that sign them")
    }
    if let text = given["redirect"]?.texts[0] {
      guard text.hasPrefix("https://"), Setting.isOrigin(text) else { throw wrong("redirect") }
      guard case .tcp = endpoint else { throw error("redirect", "is for http URLs only") }
      redirect = text
    }
    if let text = given["proxy-protocol"]?.texts[0] {
      guard text == "true" || text == "false" else { throw wrong("proxy-protocol") }
      proxyProtocol = text == "true"
    }
    if let text = given["console"]?.texts[0] {
      guard text == "true" || text == "false" else { throw wrong("console") }
      console = text == "true"
    }
  }

  /// The values of a name in a group.
  private static func texts(
    of entry: SettingsFile.Entry, _ name: String, _ groups: SettingsFile.Groups
  ) throws(ConfigurationError) -> [String] {
    let (member, source) = ("\(name).\(entry.name)", groups.source(entry.line))
    guard let expected = members[entry.name] else {
      throw .unknownSetting(member, source, nearest: Suggestion.nearest(to: entry.name, among: members.keys.sorted()))
    }
    switch entry.value {
    case .scalar(let value): return [value]
    case .nothing: throw .noValue(member, expected: expected, source)
    case .list(let values) where entry.name == "certificates" || entry.name == "keys": return values
    case .list(let values):
      throw .badValue(member, text: "[\(values.joined(separator: ", "))]", expected: expected, source)
    case .groups: throw .badValue(member, text: "[{…}]", expected: expected, source)
    }
  }

  /// Reads octal digits, as `chmod` takes them.
  private static func mode(_ text: String) -> UInt16? {
    guard (3...4).contains(text.utf8.count), let mode = UInt16(text, radix: 8), mode <= 0o777 else { return nil }
    return mode
  }

  /// As it is written in a file.
  fileprivate var text: String {
    var members = ["url: \"\(endpoint)\""]
    if case .unix = endpoint, mode != Self.defaultMode {
      let digits = String(mode, radix: 8)
      members.append("mode: \"\(String(repeating: "0", count: 4 - digits.count))\(digits)\"")
    }
    if let tls {
      func list(_ files: [String]) -> String { files.map { "\"\($0)\"" }.joined(separator: ", ") }
      members.append("certificates: [\(list(tls.certificates.map(\.chain)))]")
      if tls.certificates.contains(where: { $0.key != $0.chain }) {
        members.append("keys: [\(list(tls.certificates.map(\.key)))]")
      }
      if let file = tls.clientAuthorities { members.append("client-ca: \"\(file)\"") }
      if tls.clientCertificates != .none { members.append("client-certificate: \(tls.clientCertificates.rawValue)") }
    }
    if let redirect { members.append("redirect: \"\(redirect)\"") }
    if proxyProtocol { members.append("proxy-protocol: true") }
    if !console { members.append("console: false") }
    return "{\(members.joined(separator: ", "))}"
  }
}

extension TLSConfiguration {
  /// What is wrong when ``init(_:keys:)`` gives nothing.
  static let ruleOfKeys = "must name one file for each certificate, or none when the keys are in the same files"

  /// Chains with their keys; nil when there is not one key for each, unless there are none.
  init?(_ certificates: [String], keys: [String]) {
    guard keys.isEmpty || keys.count == certificates.count, !certificates.isEmpty else { return nil }
    self.init(
      certificates: certificates.enumerated().map { index, chain in
        Certificate(chain: chain, key: keys.isEmpty ? nil : keys[index])
      })
  }
}
