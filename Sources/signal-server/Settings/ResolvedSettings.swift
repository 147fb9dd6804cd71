// SPDX-License-Identifier: MIT
import JSON
import SignalAccess
import SignalHTTP

/// The settings of one start, and where each value came from.
///
/// Later sources win: defaults, file, environment, flags. Any mistake, such as an unknown name or a value of
/// the wrong type or out of range, stops the start: a typo that silently becomes a default is found in production.
struct ResolvedSettings: Equatable, Sendable {
  private(set) var settings = Settings()
  private var sources: [String: SettingSource] = [:]

  /// Applies the sources to the defaults, in order.
  init(
    file: SettingsFile? = nil, environment: [String: String] = [:], flags: [String] = []
  ) throws(ConfigurationError) {
    if let file { try apply(file) }
    try apply(environment: environment)
    try apply(flags: flags)
    try checkTogether()
    try compileAccess()
  }

  /// Where the value of a setting came from.
  func source(of setting: Setting) -> SettingSource { sources[setting.name] ?? .builtIn }

  // MARK: File

  private mutating func apply(_ file: SettingsFile) throws(ConfigurationError) {
    var lines: [String: Int] = [:]
    for entry in file.entries {
      let source = file.source(entry.line)
      guard let setting = Settings.byName[entry.name] else {
        let isGroup = Settings.table.contains { $0.name.hasPrefix(entry.name + ".") }
        if isGroup, entry.value == .nothing { continue }
        if isGroup { throw .groupWithValue(entry.name, source) }
        throw .unknownSetting(entry.name, source, nearest: Self.nearest(to: entry.name)?.name)
      }
      if let first = lines.updateValue(entry.line, forKey: entry.name) {
        throw .setTwice(entry.name, firstLine: first, source)
      }
      switch entry.value {
      case .nothing: throw .noValue(setting.name, expected: setting.expected, source)
      case .scalar(let text): try assign([text], to: setting, from: source)
      case .list(let texts) where setting.isList: try assign(texts, to: setting, from: source)
      case .groups(let items):
        if let assign = setting.assignGroups {
          try assign(SettingsFile.Groups(items: items, line: entry.line, path: file.path), &settings)
          sources[setting.name] = source
          continue
        }
        throw .badValue(setting.name, text: "[{…}]", expected: setting.expected, source)
      case .list(let texts):
        let text = "[\(texts.joined(separator: ", "))]"
        throw .badValue(setting.name, text: text, expected: setting.expected, source)
      }
    }
  }

  // MARK: Environment

  private mutating func apply(environment: [String: String]) throws(ConfigurationError) {
    let byVariable = Dictionary(uniqueKeysWithValues: Settings.table.map { ($0.variable, $0) })
    // In a fixed order, so that of two mistakes always the same one is reported.
    for (name, text) in environment.sorted(by: { $0.key < $1.key }) {
      guard name.hasPrefix(Setting.variablePrefix), !Self.isForeign(name, text) else { continue }
      guard let setting = byVariable[name] else {
        let nearest = Self.nearest(to: String(name.dropFirst(Setting.variablePrefix.count)))
        throw .unknownVariable(name, nearest: nearest?.variable)
      }
      // A container image says where to listen; an empty variable cancels that.
      if setting.name == "host", text.isEmpty { continue }
      try assign(setting.isList ? Self.items(of: text) : [text], to: setting, from: .environment(name))
    }
  }

  /// Variables with our prefix that are not settings of the server.
  private static func isForeign(_ name: String, _ value: String) -> Bool {
    // Of the client verbs, and of `serve` itself.
    if [
      "SIGNAL_SERVER", "SIGNAL_CONFIG", "SIGNAL_CA", "SIGNAL_CERT", "SIGNAL_KEY", "SIGNAL_TOKEN", "SIGNAL_TOKEN_FILE",
    ].contains(name) {
      return true
    }
    // Kubernetes describes a service named signal-server, or signal, to every container beside it.
    for service in ["SIGNAL_SERVER", "SIGNAL"] {
      if name.hasPrefix(service + "_SERVICE_HOST") || name.hasPrefix(service + "_SERVICE_PORT") { return true }
      if name == service + "_PORT" || name.hasPrefix(service + "_PORT_") {
        if ["tcp://", "udp://", "sctp://"].contains(where: value.hasPrefix) { return true }
        let tail = name.dropFirst(service.count + "_PORT_".count)
        if tail.first?.isNumber == true { return true }
      }
    }
    return false
  }

  // MARK: Flags

  private mutating func apply(flags arguments: [String]) throws(ConfigurationError) {
    let byFlag = Dictionary(uniqueKeysWithValues: Settings.table.map { ($0.flag, $0) })
    var given: Set<String> = []
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      guard argument.hasPrefix("-"), argument.count > 1 else {
        throw .unexpectedArgument(argument, nearestVerb: Suggestion.nearest(to: argument, among: SignalServer.verbs))
      }
      let equals = argument.firstIndex(of: "=")
      let flag = String(argument[..<(equals ?? argument.endIndex)])
      guard let setting = byFlag[flag] else {
        let own = Suggestion.nearest(to: flag, among: ["--config", "--check-config", "--print-config"])
        throw .unknownFlag(flag, nearest: own ?? Self.nearest(to: flag)?.flag)
      }
      guard given.insert(flag).inserted else { throw .repeatedFlag(flag) }
      let text: String
      if let equals {
        text = String(argument[equals...].dropFirst())
      } else if let next = rest.popFirst() {
        text = next
      } else {
        throw .flagWithoutValue(flag, expected: setting.expected)
      }
      try assign(setting.isList ? Self.items(of: text) : [text], to: setting, from: .flag(flag))
    }
  }

  // MARK: Combinations

  /// Checks rules that involve several settings.
  private func checkTogether() throws(ConfigurationError) {
    if !settings.listen.isEmpty {
      for name in ["host", "port"] {
        guard let source = sources[name] else { continue }
        throw .contradiction(name, source, rule: "does not go together with listen (\(sources["listen"] ?? .builtIn))")
      }
    }
    try checkTLS()
    try checkAuthentication()
    if settings.data.readOnly, settings.data.dir.isEmpty {
      throw .contradiction(
        "data.read-only", sources["data.read-only"] ?? .builtIn, rule: "needs data.dir, the folder that is read")
    }
    if !settings.data.rules.isEmpty, settings.data.dir.isEmpty {
      let source = sources["data.rules"] ?? .builtIn
      throw .contradiction("data.rules", source, rule: "needs data.dir, the folder that everything else is kept in")
    }
    if !settings.data.history.isEmpty, settings.data.dir.isEmpty {
      let source = sources["data.history"] ?? .builtIn
      throw .contradiction("data.history", source, rule: "needs data.dir, the folder that it is kept in")
    }
    try checkCluster()
    let quiet = settings.limits
    if quiet.idleTimeout <= quiet.pingInterval {
      throw contradiction(
        "websocket.idle-timeout", "websocket.ping-interval", "must be longer than",
        "or every quiet client is dropped")
    }
    // Smaller bodies alone are a choice; larger values alone are a mistake that shows only when one is set.
    if settings.live.values.bytes > settings.limits.http.bodyBytes, sources["store.value-bytes"] != nil {
      throw contradiction(
        "store.value-bytes", "http.body-bytes", "must not be larger than", "or no request can set such a value")
    }
    if settings.live.limits.listDefault > settings.live.limits.listLimit {
      throw contradiction("store.list-default", "store.list-limit", "must not be larger than", "the largest page")
    }
  }

  /// Compiles the access rules.
  private mutating func compileAccess() throws(ConfigurationError) {
    let access = settings.access
    let name = access.rules.isEmpty ? "access.admin" : "access.rules"
    let source = sources[name] ?? .builtIn
    if access.given == nil, !access.metrics.isEmpty {
      throw .contradiction(
        "access.metrics", sources["access.metrics"] ?? .builtIn,
        rule: "needs access.admin or access.rules, without which whoever reaches the server may see the metrics")
    }
    if let rules = access.given {
      if access.open {
        throw .contradiction(
          "access.open", sources["access.open"] ?? .builtIn, rule: "does not go together with \(name)")
      }
      do throws(AccessFault) {
        settings.live.policy = try AccessPolicy(
          rules, expressions: settings.live.expressions, paths: settings.live.paths)
      } catch {
        throw .contradiction(name, source, rule: "cannot be used: \(error.description)")
      }
    }
  }

  /// Refuses to serve other machines without having been told what they may do.
  func checkServing() throws(ConfigurationError) {
    guard settings.access.given == nil, !settings.access.open,
      let listener = settings.listeners.first(where: { $0.servesOthers })
    else { return }
    throw .contradiction(
      "access", sources["listen"] ?? sources["host"] ?? .builtIn,
      rule: "has to be said, as other machines reach \(listener.endpoint): rules, or `access: open` for whoever does")
  }

  private func checkCluster() throws(ConfigurationError) {
    let cluster = settings.cluster
    func error(_ name: String, _ rule: String) -> ConfigurationError {
      .contradiction(name, sources[name] ?? .builtIn, rule: rule)
    }
    guard !cluster.name.isEmpty else {
      guard !cluster.engine.isEmpty else { return }
      throw error("cluster.engine", "needs cluster.name, the name that all nodes of the cluster have")
    }
    if cluster.engine.isEmpty { throw error("cluster.name", "needs cluster.engine, the servers that keep the log") }
    if cluster.secretFile.isEmpty {
      throw error("cluster.name", "needs cluster.secret-file, a file with the same secret on all nodes")
    }
    if !settings.data.dir.isEmpty {
      throw error("data.dir", "does not go together with cluster.name: the log of a cluster keeps the store")
    }
    // What one request changes has to fit into one message of the engine, with what follows from it.
    for (name, bytes) in [
      ("http.body-bytes", settings.limits.http.bodyBytes),
      ("websocket.message-bytes", settings.limits.webSocket.messageBytes),
    ] where bytes > Settings.Cluster.requestBytes {
      throw error(name, "is at most \(SettingText.text(bytes: Settings.Cluster.requestBytes)) in a cluster")
    }
  }

  private func checkTLS() throws(ConfigurationError) {
    let tls = settings.tls
    func error(_ name: String, _ rule: String) -> ConfigurationError {
      .contradiction(name, sources[name] ?? .builtIn, rule: rule)
    }
    if !tls.keys.isEmpty, tls.keys.count != tls.certificates.count {
      throw error("tls.keys", TLSConfiguration.ruleOfKeys)
    }
    if tls.client.certificate != .none, tls.client.ca.isEmpty {
      throw error("tls.client-certificate", "needs tls.client-ca, the authorities that sign them")
    }
    if settings.trustedProxies.isEmpty, let listener = settings.listeners.first(where: \.proxyProtocol) {
      throw error(
        "listen", "has proxy-protocol for \(listener.endpoint), which nobody may speak: set trusted-proxies")
    }
    if let listener = settings.listeners.first(where: { $0.endpoint.isSecured && $0.tls == nil }) {
      throw error("listen", "has \(listener.endpoint), which needs a certificate: set tls.certificates")
    }
  }

  private func checkAuthentication() throws(ConfigurationError) {
    let auth = settings.auth
    func error(_ name: String, _ rule: String) -> ConfigurationError {
      .contradiction(name, sources[name] ?? .builtIn, rule: rule)
    }
    let required = [
      ("auth.jwt.issuer", auth.requirements.issuer), ("auth.jwt.audience", auth.requirements.audience),
    ]
    if auth.keys.isEmpty, let (name, _) = required.first(where: { !$0.1.isEmpty }) {
      throw error(name, "needs auth.jwt.keys, the keys of who makes the tokens")
    }
    guard auth.tokens.isEmpty, auth.keys.isEmpty else { return }
    if !auth.cookie.isEmpty { throw error("auth.cookie", "needs auth.jwt.keys, with which it is verified") }
    let asksForCertificates = settings.listeners.contains { ($0.tls?.clientCertificates ?? .none) != .none }
    if auth.required, !asksForCertificates {
      throw error(
        "auth.required", "needs auth.tokens or auth.jwt.keys, or certificates of clients, or nobody can be served")
    }
  }

  /// Two contradicting settings; the reported source is that of the first that was set.
  private func contradiction(
    _ name: String, _ other: String, _ relation: String, _ reason: String
  ) -> ConfigurationError {
    let value = Settings.byName[other].map { $0.text(in: settings) } ?? ""
    let source = sources[name] ?? sources[other] ?? .builtIn
    return .contradiction(name, source, rule: "\(relation) \(other), \(value), \(reason)")
  }

  private static func nearest(to name: String) -> Setting? {
    Suggestion.nearest(to: name, among: Settings.table.map(\.name)).flatMap { Settings.byName[$0] }
  }

  private mutating func assign(
    _ texts: [String], to setting: Setting, from source: SettingSource
  ) throws(ConfigurationError) {
    guard setting.assign(texts, &settings) else {
      if let reason = setting.fault?(texts) { throw .contradiction(setting.name, source, rule: reason) }
      let text = texts.joined(separator: ",")
      throw .badValue(setting.name, text: text, expected: setting.expected, source)
    }
    sources[setting.name] = source
  }

  /// The items of a list on one line; nothing at all is the empty list.
  private static func items(of text: String) -> [String] {
    guard !text.isEmpty else { return [] }
    return text.split(separator: ",", omittingEmptySubsequences: false).map { item in
      String(item.drop { $0 == " " })
    }
  }
}

extension ListenerConfiguration {
  /// Whether it serves other machines, and does more than to send them elsewhere.
  fileprivate var servesOthers: Bool {
    guard redirect == nil, let host = endpoint.hostAndPort?.host else { return false }
    return host != "localhost" && host != "::1" && host != "[::1]" && !host.hasPrefix("127.")
  }
}
