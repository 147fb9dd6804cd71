// SPDX-License-Identifier: MIT
// The settings of the server. What each limit is and its default stand in the type of the library that keeps it; here
// is the table of everything else there is to say about them. A new setting is a row here and an entry in
// Config/signal-server.yaml, which a test compares with this.
import CEL
import JSON
import SignalAccess
import SignalHTTP
import SignalJournal
import SignalStore

/// What an operator can choose; `Settings()` holds the defaults.
struct Settings: Equatable, Sendable {
  var host = ServerConfiguration.defaultHost
  var port = Int(ServerConfiguration.defaultPort)
  /// Instead of host and port: where to listen, and how.
  var listen: [ListenerConfiguration] = []
  /// Who may say whom they serve.
  var trustedProxies = ServerConfiguration().trustedProxies
  var tls = TLS()
  var loops = ServerConfiguration().loops
  /// Bytes of memory that the process may have; 0 for three quarters of what there is.
  var memory = 0
  /// Bounds of sockets, HTTP and WebSocket.
  var limits = Limits()
  /// How properties are served.
  var live = LiveConfiguration()
  /// Bounds of what is held.
  var store = StoreLimits()
  var data = Data()
  var cluster = Cluster()
  /// How callers prove who they are.
  var auth = AuthenticationSettings()
  var access = Access()
  /// What may be beneath some paths.
  var quotas: [Quota] = []
  var audit = Audit()
  var log = Log()

  /// What is noted of what matters to security.
  struct Audit: Equatable, Sendable {
    /// The file; empty for none.
    var file = ""
    var events: [AuditTopic] = [.refusals, .failures, .tokens, .limits, .settings]
  }

  /// Who may do what.
  struct Access: Equatable, Sendable {
    /// Whether whoever reaches the server may do everything, also from other machines.
    var open = false
    /// The condition for those who may do everything; empty for nobody.
    var admin = ""
    /// The condition for those who may see the metrics besides; empty for nobody.
    var metrics = ""
    var rules: [AccessRule] = []

    /// The rules to be compiled; nil when there are none.
    var given: AccessRules? {
      guard !admin.isEmpty || !rules.isEmpty else { return nil }
      return AccessRules(admin: admin.isEmpty ? nil : admin, metrics: metrics.isEmpty ? nil : metrics, rules: rules)
    }
  }

  /// What listeners with TLS have that say nothing else themselves.
  struct TLS: Equatable, Sendable {
    /// Files of chains; the first is for those who ask for no name, or for another.
    var certificates: [String] = []
    /// Files of keys, one for each; none when they are in the same files.
    var keys: [String] = []
    var client = Client()
    var profile = TLSConfiguration.Profile.intermediate
    /// How long browsers shall use nothing else; zero makes them forget it, nil says nothing.
    var hsts = ServerConfiguration().hsts

    /// Certificates of clients.
    struct Client: Equatable, Sendable {
      /// A file of the authorities that sign them; empty for none.
      var ca = ""
      var certificate = TLSConfiguration.ClientCertificates.none
    }

    /// nil when there is no certificate.
    var configuration: TLSConfiguration? {
      var configuration = TLSConfiguration(certificates, keys: keys)
      configuration?.clientAuthorities = client.ca.isEmpty ? nil : client.ca
      configuration?.clientCertificates = client.certificate
      return configuration
    }
  }

  /// Where the store is kept.
  struct Data: Equatable, Sendable {
    /// The folder; empty when a restart forgets everything.
    var dir = ""
    /// The longest delay from sending a change to its sync; zero when nothing is sent before it is on disk.
    var sync = Duration.zero
    /// Maximum number of bytes of changes that wait to be written.
    var queueBytes = JournalLimits().queueBytes
    /// Nothing is written to the folder, and writes are refused.
    var readOnly = false
    /// Of which properties not everything is kept over a restart.
    var rules: [PersistenceRule] = []
    /// What is kept of which properties.
    var history: [HistoryRule] = []
  }

  /// What is logged, and how.
  struct Log: Equatable, Sendable {
    var level = Level.info
    var format = Format.text
    /// Which requests are logged, whatever the level.
    var requests = RequestLog().scope
    /// Of requests answered with a status below 400, one in so many is logged.
    var sample = RequestLog().sample

    /// The levels of swift-log, by its names.
    enum Level: String, CaseIterable, Sendable { case trace, debug, info, notice, warning, error, critical }
    /// A line for people, or one JSON object per line for machines.
    enum Format: String, CaseIterable, Sendable { case text, json }
  }

  /// Where to listen; host and port are the short form for one place.
  var listeners: [ListenerConfiguration] {
    let all = listen.isEmpty ? [ListenerConfiguration(.tcp(host: host, port: UInt16(clamping: port)))] : listen
    return all.map { given in
      var listener = given
      guard listener.endpoint.isSecured else { return listener }
      listener.tls = listener.tls ?? tls.configuration
      listener.tls?.profile = tls.profile
      return listener
    }
  }

  /// All files that listeners with TLS are made of.
  var certificateFiles: [String] {
    let all = listeners.compactMap(\.tls).flatMap { tls in
      tls.certificates.flatMap { [$0.chain, $0.key] } + [tls.clientAuthorities].compactMap(\.self)
    }
    return Array(Set(all)).sorted()
  }

  /// Where the store is kept; nil when a restart forgets everything.
  var storage: StorageConfiguration? {
    guard !data.dir.isEmpty else { return nil }
    let sync: JournalLimits.Sync = data.sync == .zero ? .commit : .interval(data.sync)
    return StorageConfiguration(
      folder: data.dir, isReadOnly: data.readOnly, journal: JournalLimits(sync: sync, queueBytes: data.queueBytes),
      store: store, history: HistoryConfiguration(rules: data.history), rules: data.rules)
  }

  /// What a server is made with; the program adds its observers.
  var server: ServerConfiguration {
    var server = ServerConfiguration(listeners: listeners, loops: loops, limits: limits)
    server.trustedProxies = trustedProxies
    server.hsts = tls.hsts
    server.requestLog.scope = log.requests
    server.requestLog.sample = log.sample
    return server
  }

  /// The same with the limits that follow from the memory that there is.
  func within(available: Int) -> Settings {
    var settings = self
    // In whole MiB, for those who read it in the log.
    let total = memory == 0 ? max(MemoryShares.least, (available / 4 * 3) & ~0xF_FFFF) : memory
    let shares = MemoryShares(of: total)
    settings.memory = total
    settings.limits.memory = total
    settings.store.propertyBytes = shares.properties
    settings.store.historyBytes = min(store.historyBytes, shares.history)
    settings.store.rememberedBytes = min(store.rememberedBytes, shares.remembered)
    settings.data.queueBytes = min(data.queueBytes, shares.queue)
    return settings
  }
}

extension Settings {
  /// Every setting, in the order of the reference file.
  static let table: [Setting] = [
    .host("host", \.host, "address to listen on; 0.0.0.0 or :: for all of them").untilRestart,
    .integer("port", \.port, 0...65_535, "port to listen on; 0 lets the system pick one").untilRestart,
    .listeners("listen", \.listen, "several addresses and unix sockets to listen on, instead of host and port")
      .untilRestart,
    .memory("memory", \.memory, "memory of the process; 0 is three quarters of what there is").untilRestart,
    .integer("loops", \.loops, 0...256, "event loops, each a thread of I/O; 0 is one per core").untilRestart,
    .hosts("hosts", \.live.hosts, "names besides those listened on under which the server answers"),
    .origins("origins", \.live.origins, "web origins besides the server's own that may use it"),
    .choice(
      "compression", \.limits.compression, "clients whose output is compressed; see docs/protocol.md §2.12"),

    .flag("console", \.live.console, "serve the console at /console"),
    .flag("metrics", \.live.metrics, "tell at /metrics what the server counts"),

    .proxies("trusted-proxies", \.trustedProxies, "proxies that may say whom they serve: addresses, blocks, unix"),

    .quotas("quotas", \.quotas, "how much there may be beneath some paths (507)"),

    .flag("access.open", \.access.open, "whoever reaches the server may do everything, also from other machines"),
    .condition("access.admin", \.access.admin, "who may do everything"),
    .condition("access.metrics", \.access.metrics, "who besides may see /metrics"),
    .accessRules("access.rules", \.access.rules, "who else may do what"),

    .files(
      "tls.certificates", \.tls.certificates, "certificates for https in listen, with what leads to their authority"
    )
    .untilRestart,
    .files("tls.keys", \.tls.keys, "their keys, unless they are in the same files").untilRestart,
    .file("tls.client-ca", \.tls.client.ca, "authorities that sign certificates of clients").untilRestart,
    .choice("tls.client-certificate", \.tls.client.certificate, "whether clients show certificates").untilRestart,
    .choice("tls.profile", \.tls.profile, "TLS 1.2 and 1.3, or 1.3 alone (modern)").untilRestart,
    .hsts("tls.hsts", \.tls.hsts, .zero ... .seconds(3660 * 86_400), "how long browsers shall use nothing but TLS"),

    .file("auth.tokens", \.auth.tokens, "tokens of the server, as the verb token makes them").untilRestart,
    .flag("auth.required", \.auth.required, "serve only those who have proven who they are (401)"),
    .keys("auth.jwt.keys", \.auth.keys, "keys with which JSON Web Tokens are verified").untilRestart,
    .word(
      "auth.jwt.issuer", \.auth.requirements.issuer, "an issuer such as https://idp.example",
      "issuer that JSON Web Tokens have to name", isValid: isVisible),
    .word(
      "auth.jwt.audience", \.auth.requirements.audience, "an audience such as signal",
      "audience that JSON Web Tokens have to be for", isValid: isVisible),
    .word(
      "auth.cookie", \.auth.cookie, "the name of a cookie", "cookie that may hold a JSON Web Token",
      isValid: isTokenByte),
    .duration("auth.timeout", \.auth.timeout, anyTimeout, "for a WebSocket to say who is there, if required (4401)"),

    .file("audit.file", \.audit.file, "log of what matters to security: refusals, failed proofs, changed settings"),
    .auditTopics("audit.events", \.audit.events, "what is noted in it"),

    .choice("log.level", \.log.level, "least severe event to log"),
    .choice("log.format", \.log.format, "lines for people, or JSON objects").untilRestart,
    .choice("log.requests", \.log.requests, "requests to log: those refused or failed (errors), or all"),
    .integer("log.sample", \.log.sample, 1...1_000_000, "of requests that are not errors, one in so many is logged"),

    .bytes("http.head-bytes", \.limits.http.headBytes, 1 << 10...1 << 20, "request line and fields together (431)"),
    .bytes("http.target-bytes", \.limits.http.targetBytes, 64...1 << 20, "path and query of a request (414)"),
    .bytes("http.method-bytes", \.limits.http.methodBytes, 7...1 << 10, "method of a request (400)"),
    .integer("http.empty-lines", \.limits.http.emptyLines, 0...1000, "empty lines before a request (400)"),
    .integer("http.fields", \.limits.http.fields, 1...10_000, "fields of a request (431)"),
    .bytes("http.body-bytes", \.limits.http.bodyBytes, 1...jsonCeiling, "body of a request (413)"),
    .bytes(
      "http.chunk-extension-bytes", \.limits.http.chunkExtensionBytes, 0...1 << 20,
      "chunk extensions of a body together (400)"
    ),
    .bytes("http.trailer-bytes", \.limits.http.trailerBytes, 0...1 << 20, "trailer section of a body (431)"),
    .duration("http.head-timeout", \.limits.headTimeout, anyTimeout, "from the first byte of a head to its last (408)"),
    .duration(
      "http.proxy-header-timeout", \.limits.proxyHeaderTimeout, anyTimeout,
      "for the header of the PROXY protocol, where a listener takes one"),
    .duration("http.body-timeout", \.limits.bodyTimeout, anyTimeout, "between two arrivals of a request's body (408)"),
    .duration("http.keep-alive-timeout", \.limits.keepAliveTimeout, anyTimeout, "between two requests on a connection"),
    .duration(
      "http.response-timeout", \.limits.responseTimeout, anyTimeout,
      "from a request to an answer that comes later (503)"),
    .duration(
      "http.send-timeout", \.limits.sendTimeout, anyTimeout, "while a client takes nothing; then it is dropped"),
    .duration("http.linger-timeout", \.limits.lingerTimeout, anyTimeout, "for late input after the last answer"),
    .bytes("http.linger-bytes", \.limits.lingerBytes, 0...1 << 30, "how much of it is taken in"),
    .duration("http.drain-timeout", \.limits.drainTimeout, anyTimeout, "for requests under way when the server stops"),
    .integer("http.connections", \.limits.connections, 1...1_000_000, "open connections, of every kind (503)"),
    .integer("http.accept-queue", \.limits.acceptQueue, 1...65_535, "connections that wait to be accepted")
      .untilRestart,
    .bytes(
      "http.unsent-bytes", \.limits.unsentBytes, 16 << 10...1 << 30, "that the system takes for a client beforehand"
    ).untilRestart,
    .bytes("http.turn-bytes", \.limits.turnBytes, 1 << 10...1 << 30, "received from one connection in one turn"),

    .flag("limits.local", \.limits.rates.local, "limit clients on this machine as others"),
    .integer("limits.identity.requests", \.limits.rates.identity.requests, anyRate, "requests and messages per second"),
    .integer("limits.identity.burst", \.limits.rates.identity.burst, 1...1_000_000, "as many of them at once"),
    .bytes("limits.identity.bytes", \.limits.rates.identity.bytes, 0...1 << 40, "their bytes per second"),
    .integer("limits.identity.connections", \.limits.rates.identity.connections, anyRate, "WebSockets and streams"),
    .integer("limits.identity.arrivals", \.limits.rates.identity.arrivals, anyRate, "new ones of them per second"),
    .integer("limits.identity.subscriptions", \.limits.rates.identity.subscriptions, anyRate, "subscriptions"),
    .integer("limits.address.requests", \.limits.rates.address.requests, anyRate, "the same of somebody unknown"),
    .integer("limits.address.burst", \.limits.rates.address.burst, 1...1_000_000, "as many of them at once"),
    .bytes("limits.address.bytes", \.limits.rates.address.bytes, 0...1 << 40, "their bytes per second"),
    .integer("limits.address.connections", \.limits.rates.address.connections, anyRate, "connections of an address"),
    .integer("limits.address.arrivals", \.limits.rates.address.arrivals, anyRate, "new ones of them per second"),
    .integer("limits.address.subscriptions", \.limits.rates.address.subscriptions, anyRate, "subscriptions"),
    .integer("limits.failures", \.limits.rates.failures, anyRate, "tokens of an address that are refused per minute"),
    .duration(
      "limits.pause-timeout", \.limits.rates.pauseTimeout, anyTimeout, "for a WebSocket to be read again (4029)"),

    .bytes(
      "websocket.message-bytes", \.limits.webSocket.messageBytes, 1 << 10...jsonCeiling, "a message of a client (1009)"),
    .duration(
      "websocket.ping-interval", \.limits.pingInterval, anyTimeout, "quiet time after which a client is pinged"),
    .duration(
      "websocket.idle-timeout", \.limits.idleTimeout, anyTimeout, "silence after which a client counts as gone"),
    .duration("websocket.close-timeout", \.limits.closeTimeout, anyTimeout, "for a client to answer a close frame"),

    .bytes("live.high-water-mark", \.limits.highWaterMark, 1 << 10...1 << 30, "output waiting for one slow client"),
    .bytes(
      "live.conflated-bytes", \.live.limits.conflatedBytes, 1 << 10...1 << 30, "kept for one slow subscription (4008)"
    ).untilRestart,
    .duration(
      "live.bookmark-interval", \.live.limits.bookmarkInterval, anyTimeout, "between cursors for a quiet subscription"
    ).untilRestart,
    .duration(
      "live.shortest-bookmark", \.live.limits.shortestBookmark, anyTimeout, "the least of it that a client gets"),
    .duration("live.longest-bookmark", \.live.limits.longestBookmark, anyTimeout, "the most of it that a client gets"),
    .duration(
      "live.shortest-pace", \.live.limits.shortestPace, anyPace, "between events of a path, at the fastest maxRate"),
    .duration(
      "live.longest-pace", \.live.limits.longestPace, anyPace, "between events of a path, at the slowest maxRate"),
    .integer(
      "live.deadband-paths", \.live.limits.deadbandPaths, 1...100_000_000, "paths that a deadband keeps in mind"
    ).untilRestart,
    .integer(
      "live.disconnect-operations", \.live.limits.disconnectOperations, 0...100_000,
      "operations that a connection registers for its end"),
    .integer("live.patch-operations", \.live.limits.patchOperations, 1...1_000_000, "operations of one JSON Patch"),
    .integer(
      "live.patch-work", \.live.limits.patchWork, 1...1_000_000_000,
      "elements that the operations of one JSON Patch pass"),
    .duration(
      "live.wait-limit", \.live.limits.waitLimit, anyTimeout, "longest time that a request may wait for a change"),
    .integer(
      "live.subscriptions-per-connection", \.live.limits.subscriptionsPerConnection, 1...100_000,
      "subscriptions of one connection"),
    .integer(
      "live.patterns-per-subscription", \.live.limits.patternsPerSubscription, 1...10_000,
      "patterns of one subscription"),
    .bytes("live.filter-bytes", \.live.expressions.bytes, 1...1 << 20, "source text of an expression"),
    .integer(
      "live.filter-nodes", \.live.expressions.nodes, 1...100_000, "literals, names and operators of an expression"),
    .integer("live.filter-depth", \.live.expressions.depth, 1...128, "nesting of parentheses in an expression"),
    .integer(
      "live.filter-budget", \.live.limits.filterBudget, 1...1_000_000_000,
      "work of one evaluation, in steps of about 10 ns"),
    .integer("live.formula-budget", \.live.expressions.budget, 1...1_000_000_000, "the same of a formula"),
    .integer(
      "live.filter-work", \.live.limits.filterWork, 1...1_000_000_000,
      "work of a connection's expensive filters in a second"
    ).untilRestart,
    .integer(
      "live.loop-filter-work", \.live.limits.loopFilterWork, 1...1_000_000_000,
      "the same of all connections of a loop"
    ).untilRestart,
    .integer(
      "live.cheap-filter-work", \.live.limits.cheapFilterWork, 0...1_000_000_000,
      "what an evaluation costs that is not counted"
    ).untilRestart,
    .integer("live.request-work", \.live.limits.requestWork, 1...1_000_000_000, "work of one list or explanation"),
    .integer("live.turn-work", \.limits.turnWork, 1...1_000_000_000, "work before others have their turn")
      .untilRestart,
    .bytes(
      "live.filter-created", \.live.expressions.created, 1...1 << 30, "text and elements that one evaluation makes"),
    .integer(
      "live.filter-pattern-steps", \.live.expressions.patternSteps, 1...100_000,
      "steps that a regular expression compiles to"
    ),
    .bytes("live.snapshot-bytes", \.live.limits.snapshotBytes, 1 << 10...1 << 30, "piece of a snapshot made at a time")
      .untilRestart,
    .integer(
      "live.turn-properties", \.live.limits.turnProperties, 1...1_000_000,
      "properties looked at before others have their turn"
    ).untilRestart,

    .folder("data.dir", \.data.dir, "folder that keeps the store; none, and a restart forgets everything").untilRestart,
    .sync("data.sync", \.data.sync, .milliseconds(1) ... .seconds(3600), "when a change is on disk").untilRestart,
    .bytes("data.queue-bytes", \.data.queueBytes, 1 << 20...1 << 40, "changes waiting to be written (503)")
      .untilRestart,
    .flag("data.read-only", \.data.readOnly, "serve what the folder holds, and change nothing").untilRestart,
    .persistence("data.rules", \.data.rules, "what a restart forgets, and what is kept only so often").untilRestart,
    .history("data.history", \.data.history, "what properties were, and for how long that is kept").untilRestart,

    .clusterName(
      "cluster.name", \.cluster.name, "name of the cluster that the server is a node of; none for no cluster"
    )
    .untilRestart,
    .clusterName("cluster.node", \.cluster.node, "name of this node; none for that of the machine").untilRestart,
    .choice("cluster.role", \.cluster.role, "whether the node may lead (member) or only follows (edge)").untilRestart,
    .engine("cluster.engine", \.cluster.engine, "servers of NATS that keep the log").untilRestart,
    .file("cluster.credentials", \.cluster.credentials, "what proves to them who this is").untilRestart,
    .file("cluster.secret-file", \.cluster.secretFile, "secret by which nodes recognize each other's records")
      .untilRestart,
    .file("cluster.ca", \.cluster.ca, "authorities that sign the engine's certificates, for tls://").untilRestart,
    .integer("cluster.replicas", \.cluster.replicas, 1...5, "copies that the engine keeps of the log").untilRestart,
    .choice("cluster.engine-sync", \.cluster.engineSync, "when the engine has on disk what it acknowledges")
      .untilRestart,
    .duration(
      "cluster.takeover", \.cluster.takeover, .milliseconds(300) ... .seconds(60),
      "silence of the leading node after which another one leads"
    ).untilRestart,
    .duration(
      "cluster.node-timeout", \.cluster.nodeTimeout, .seconds(1) ... .seconds(3600),
      "silence after which a node counts as gone"
    ).untilRestart,
    .duration("cluster.write-timeout", \.cluster.writeTimeout, anyTimeout, "for the answer of the leading node (503)")
      .untilRestart,
    .bytes(
      "cluster.log-bytes", \.cluster.logBytes, 1 << 20...1 << 44, "size of the log; when it is full, nothing is taken"
    )
    .untilRestart,
    .bytes(
      "cluster.snapshot-every", \.cluster.snapshotEvery, 1 << 20...1 << 44,
      "size of the log after which it is shortened"
    )
    .untilRestart,

    .integer("store.properties", \.store.properties, 1...1_000_000_000, "properties held (507)").untilRestart,
    .bytes("store.value-bytes", \.live.values.bytes, 1...jsonCeiling, "one value as it is sent (413)"),
    .integer("store.value-depth", \.live.values.depth, 1...1024, "nesting of arrays and objects in a value"),
    // Not less than what the server writes itself: a computed number has 20.
    .integer("store.number-digits", \.live.values.digits, 20...jsonCeiling, "digits of a number in a value"),
    .integer("store.computed-properties", \.store.computedProperties, 0...1_000_000, "computed properties")
      .untilRestart,
    .integer("store.formula-inputs", \.store.formulaInputs, 1...10_000, "properties that one formula may read")
      .untilRestart,
    .integer(
      "store.formula-depth", \.store.formulaDepth, 1...100_000, "computed properties that read each other in a row"
    ).untilRestart,
    .integer("store.formula-units", \.store.formulaUnits, 1...1_000_000_000, "cost of all formulas of a commit")
      .untilRestart,
    .bytes("store.formula-bytes", \.store.formulaBytes, 1...1 << 30, "size of all values computed in a commit")
      .untilRestart,
    .integer("store.history-changes", \.store.historyChanges, 0...100_000_000, "changes kept for clients that resume")
      .untilRestart,
    .bytes("store.history-bytes", \.store.historyBytes, 0...1 << 40, "memory for these changes").untilRestart,
    .shares("store.history", \.store.history, "how much of these some changes may take").untilRestart,
    .integer(
      "store.transaction-operations", \.store.transactionOperations, 1...1_000_000, "operations of one transaction"
    ).untilRestart,
    .duration("store.ttl-limit", \.store.ttlLimit, anyTime, "longest time to live of a property").untilRestart,
    .integer("store.held-properties", \.store.heldProperties, 0...1_000_000, "properties that one connection holds")
      .untilRestart,
    .integer(
      "store.remembered-signals", \.store.rememberedSignals, 0...10_000_000, "signals whose last message is kept"
    ).untilRestart,
    .bytes("store.remembered-bytes", \.store.rememberedBytes, 0...1 << 40, "memory for these messages").untilRestart,
    .integer("store.timers", \.store.timers, 0...1_000_000, "timers").untilRestart,
    .duration("store.timer-interval", \.store.timerInterval, anyTimeout, "shortest interval of a timer").untilRestart,
    .integer(
      "store.list-default", \.live.limits.listDefault, 1...1_000_000, "properties in a page that names no limit"),
    .integer("store.list-limit", \.live.limits.listLimit, 1...1_000_000, "properties in one page of a list"),
    .bytes("store.list-bytes", \.live.limits.listBytes, 1...1 << 30, "size after which a page ends early"),
    .bytes("store.path-bytes", \.live.paths.bytes, 1...1 << 16, "a whole path"),
    .integer("store.path-depth", \.live.paths.depth, 1...256, "segments of a path"),
    .bytes("store.segment-bytes", \.live.paths.segmentBytes, 1...1 << 16, "one segment of a path"),
  ]

  private static func isVisible(_ byte: UInt8) -> Bool {
    byte > UInt8(ascii: " ") && byte < 0x7F && !"\"'#,".utf8.contains(byte)
  }

  private static func isTokenByte(_ byte: UInt8) -> Bool {
    let letter = byte | 0x20
    return (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(letter)
      || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || "-_.".utf8.contains(byte)
  }

  /// Long enough to be met in practice, short enough to be a timeout.
  private static let anyTimeout = Duration.milliseconds(10)...Duration.seconds(24 * 3600)

  /// How many there may be, or come in a time; 0 is no limit.
  private static let anyRate = 0...1_000_000

  private static let anyPace = Duration.milliseconds(1)...Duration.seconds(24 * 3600)

  /// Up to ten years, for what is meant to last.
  private static let anyTime = Duration.seconds(1)...Duration.seconds(3660 * 86_400)

  /// Below what the JSON reader takes at once, 256 MiB.
  private static let jsonCeiling = 128 << 20

  /// The rows by name.
  static let byName = Dictionary(uniqueKeysWithValues: table.map { ($0.name, $0) })
}
