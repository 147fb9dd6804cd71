// SPDX-License-Identifier: MIT
// The settings of the server: their defaults, and the table of everything else there is to say about them. A new
// setting is a field here, a row below it, and an entry in Config/signal-server.yaml, which a test compares with this.

/// What an operator can choose; `Settings()` holds the defaults.
struct Settings: Equatable, Sendable {
  var host = "127.0.0.1"
  var port = 8080
  var loops = 0
  var hosts: [String] = []
  var origins: [String] = []
  var log = Log()
  var http = HTTP()
  var webSocket = WebSocket()
  var live = Live()
  var store = Store()

  /// What is logged, and how.
  struct Log: Equatable, Sendable {
    var level = Level.info
    var format = Format.text

    /// The levels of swift-log, by its names.
    enum Level: String, CaseIterable, Sendable { case trace, debug, info, notice, warning, error, critical }
    /// A line for people, or one JSON object per line for machines.
    enum Format: String, CaseIterable, Sendable { case text, json }
  }

  /// Limits of HTTP/1.1 connections and requests.
  struct HTTP: Equatable, Sendable {
    var headBytes = 16 << 10
    var targetBytes = 8 << 10
    var methodBytes = 32
    var fields = 100
    var emptyLines = 4
    var bodyBytes = 1088 << 10
    var chunkExtensionBytes = 4 << 10
    var trailerBytes = 4 << 10
    var headTimeout = Duration.seconds(10)
    var bodyTimeout = Duration.seconds(30)
    var keepAliveTimeout = Duration.seconds(75)
    var responseTimeout = Duration.seconds(60)
    var sendTimeout = Duration.seconds(30)
    var lingerTimeout = Duration.seconds(2)
    var lingerBytes = 4 << 20
    var drainTimeout = Duration.seconds(10)
    var connections = 15_000
    var acceptQueue = 4096
    var turnBytes = 512 << 10
  }

  /// Limits of WebSocket connections.
  struct WebSocket: Equatable, Sendable {
    var messageBytes = 1088 << 10
    var pingInterval = Duration.seconds(25)
    var idleTimeout = Duration.seconds(60)
    var closeTimeout = Duration.seconds(5)
  }

  /// Limits of subscriptions.
  struct Live: Equatable, Sendable {
    var highWaterMark = 1 << 20
    var conflatedBytes = 8 << 20
    var bookmarkInterval = Duration.seconds(15)
    var shortestBookmark = Duration.seconds(1)
    var longestBookmark = Duration.seconds(3600)
    var shortestPace = Duration.milliseconds(1)
    var longestPace = Duration.seconds(60)
    var deadbandPaths = 100_000
    var disconnectOperations = 32
    var patchOperations = 1000
    var patchWork = 5_000_000
    var waitLimit = Duration.seconds(300)
    var subscriptionsPerConnection = 128
    var patternsPerSubscription = 32
    var filterBytes = 4 << 10
    var filterNodes = 512
    var filterDepth = 32
    var filterBudget = 1_000_000
    var filterCreated = 1 << 20
    var filterPatternSteps = 2000
    var snapshotBytes = 64 << 10
    var turnProperties = 10_000
  }

  /// Limits of what is held.
  struct Store: Equatable, Sendable {
    var properties = 1_000_000
    var valueBytes = 1 << 20
    var valueDepth = 256
    var numberDigits = 1000
    var computedProperties = 10_000
    var heldProperties = 1000
    var formulaInputs = 64
    var historyChanges = 100_000
    var historyBytes = 64 << 20
    var transactionOperations = 1000
    var ttlLimit = Duration.seconds(365 * 86_400)
    var rememberedSignals = 10_000
    var rememberedBytes = 64 << 20
    var timers = 10_000
    var timerInterval = Duration.milliseconds(10)
    var listDefault = 100
    var listLimit = 1000
    var listBytes = 4 << 20
    var pathBytes = 1024
    var pathDepth = 32
    var segmentBytes = 255
  }
}

extension Settings {
  /// Every setting, in the order of the reference file.
  static let table: [Setting] = [
    .host("host", \.host, "address to listen on; 0.0.0.0 or :: for all of them"),
    .integer("port", \.port, 0...65_535, "port to listen on; 0 lets the system pick one"),
    .integer("loops", \.loops, 0...256, "event loops, each a thread of I/O; 0 is one per core"),
    .hosts("hosts", \.hosts, "names besides those listened on under which the server answers"),
    .origins("origins", \.origins, "web origins besides the server's own that may use it"),

    .choice("log.level", \.log.level, "least severe event to log"),
    .choice("log.format", \.log.format, "lines for people, or JSON objects"),

    .bytes("http.head-bytes", \.http.headBytes, 1 << 10...1 << 20, "request line and fields together (431)"),
    .bytes("http.target-bytes", \.http.targetBytes, 64...1 << 20, "path and query of a request (414)"),
    .bytes("http.method-bytes", \.http.methodBytes, 7...1 << 10, "method of a request (400)"),
    .integer("http.empty-lines", \.http.emptyLines, 0...1000, "empty lines before a request (400)"),
    .integer("http.fields", \.http.fields, 1...10_000, "fields of a request (431)"),
    .bytes("http.body-bytes", \.http.bodyBytes, 1...jsonCeiling, "body of a request (413)"),
    .bytes(
      "http.chunk-extension-bytes", \.http.chunkExtensionBytes, 0...1 << 20, "chunk extensions of a body together (400)"
    ),
    .bytes("http.trailer-bytes", \.http.trailerBytes, 0...1 << 20, "trailer section of a body (431)"),
    .duration("http.head-timeout", \.http.headTimeout, anyTimeout, "from the first byte of a head to its last (408)"),
    .duration("http.body-timeout", \.http.bodyTimeout, anyTimeout, "between two arrivals of a request's body (408)"),
    .duration("http.keep-alive-timeout", \.http.keepAliveTimeout, anyTimeout, "between two requests on a connection"),
    .duration(
      "http.response-timeout", \.http.responseTimeout, anyTimeout, "from a request to an answer that comes later (503)"),
    .duration("http.send-timeout", \.http.sendTimeout, anyTimeout, "while a client takes nothing; then it is dropped"),
    .duration("http.linger-timeout", \.http.lingerTimeout, anyTimeout, "for late input after the last answer"),
    .bytes("http.linger-bytes", \.http.lingerBytes, 0...1 << 30, "how much of it is taken in"),
    .duration("http.drain-timeout", \.http.drainTimeout, anyTimeout, "for requests under way when the server stops"),
    .integer("http.connections", \.http.connections, 1...1_000_000, "open connections, of every kind (503)"),
    .integer("http.accept-queue", \.http.acceptQueue, 1...65_535, "connections that wait to be accepted"),
    .bytes("http.turn-bytes", \.http.turnBytes, 1 << 10...1 << 30, "received from one connection in one turn"),

    .bytes("websocket.message-bytes", \.webSocket.messageBytes, 1 << 10...jsonCeiling, "a message of a client (1009)"),
    .duration(
      "websocket.ping-interval", \.webSocket.pingInterval, anyTimeout, "quiet time after which a client is pinged"),
    .duration(
      "websocket.idle-timeout", \.webSocket.idleTimeout, anyTimeout, "silence after which a client counts as gone"),
    .duration("websocket.close-timeout", \.webSocket.closeTimeout, anyTimeout, "for a client to answer a close frame"),

    .bytes("live.high-water-mark", \.live.highWaterMark, 1 << 10...1 << 30, "output waiting for one slow client"),
    .bytes(
      "live.conflated-bytes", \.live.conflatedBytes, 1 << 10...1 << 30, "kept for one slow subscription (4008)"),
    .duration(
      "live.bookmark-interval", \.live.bookmarkInterval, anyTimeout, "between cursors for a quiet subscription"),
    .duration(
      "live.shortest-bookmark", \.live.shortestBookmark, anyTimeout, "the least of it that a client gets"),
    .duration("live.longest-bookmark", \.live.longestBookmark, anyTimeout, "the most of it that a client gets"),
    .duration("live.shortest-pace", \.live.shortestPace, anyPace, "between events of a path, at the fastest maxRate"),
    .duration("live.longest-pace", \.live.longestPace, anyPace, "between events of a path, at the slowest maxRate"),
    .integer(
      "live.deadband-paths", \.live.deadbandPaths, 1...100_000_000, "paths that a deadband keeps in mind"),
    .integer(
      "live.disconnect-operations", \.live.disconnectOperations, 0...100_000,
      "operations that a connection registers for its end"),
    .integer("live.patch-operations", \.live.patchOperations, 1...1_000_000, "operations of one JSON Patch"),
    .integer(
      "live.patch-work", \.live.patchWork, 1...1_000_000_000, "elements that the operations of one JSON Patch pass"),
    .duration("live.wait-limit", \.live.waitLimit, anyTimeout, "longest time that a request may wait for a change"),
    .integer(
      "live.subscriptions-per-connection", \.live.subscriptionsPerConnection, 1...100_000,
      "subscriptions of one connection"),
    .integer(
      "live.patterns-per-subscription", \.live.patternsPerSubscription, 1...10_000, "patterns of one subscription"),
    .bytes("live.filter-bytes", \.live.filterBytes, 1...1 << 20, "source text of an expression"),
    .integer("live.filter-nodes", \.live.filterNodes, 1...100_000, "literals, names and operators of an expression"),
    .integer("live.filter-depth", \.live.filterDepth, 1...128, "nesting of parentheses in an expression"),
    .integer("live.filter-budget", \.live.filterBudget, 1...1_000_000_000, "work of one evaluation, in units of 5 ns"),
    .bytes("live.filter-created", \.live.filterCreated, 1...1 << 30, "text and elements that one evaluation makes"),
    .integer(
      "live.filter-pattern-steps", \.live.filterPatternSteps, 1...100_000, "steps that a regular expression compiles to"
    ),
    .bytes("live.snapshot-bytes", \.live.snapshotBytes, 1 << 10...1 << 30, "piece of a snapshot made at a time"),
    .integer(
      "live.turn-properties", \.live.turnProperties, 1...1_000_000, "properties looked at before others have their turn"
    ),

    .integer("store.properties", \.store.properties, 1...1_000_000_000, "properties held (507)"),
    .bytes("store.value-bytes", \.store.valueBytes, 1...jsonCeiling, "one value as it is sent (413)"),
    .integer("store.value-depth", \.store.valueDepth, 1...1024, "nesting of arrays and objects in a value"),
    // Not less than what the server writes itself: a computed number has 20.
    .integer("store.number-digits", \.store.numberDigits, 20...jsonCeiling, "digits of a number in a value"),
    .integer("store.computed-properties", \.store.computedProperties, 0...1_000_000, "computed properties"),
    .integer("store.formula-inputs", \.store.formulaInputs, 1...10_000, "properties that one formula may read"),
    .integer("store.history-changes", \.store.historyChanges, 0...100_000_000, "changes kept for clients that resume"),
    .bytes("store.history-bytes", \.store.historyBytes, 0...1 << 40, "memory for these changes"),
    .integer(
      "store.transaction-operations", \.store.transactionOperations, 1...1_000_000, "operations of one transaction"),
    .duration("store.ttl-limit", \.store.ttlLimit, anyTime, "longest time to live of a property"),
    .integer("store.held-properties", \.store.heldProperties, 0...1_000_000, "properties that one connection holds"),
    .integer(
      "store.remembered-signals", \.store.rememberedSignals, 0...10_000_000, "signals whose last message is kept"),
    .bytes("store.remembered-bytes", \.store.rememberedBytes, 0...1 << 40, "memory for these messages"),
    .integer("store.timers", \.store.timers, 0...1_000_000, "timers"),
    .duration("store.timer-interval", \.store.timerInterval, anyTimeout, "shortest interval of a timer"),
    .integer("store.list-default", \.store.listDefault, 1...1_000_000, "properties in a page that names no limit"),
    .integer("store.list-limit", \.store.listLimit, 1...1_000_000, "properties in one page of a list"),
    .bytes("store.list-bytes", \.store.listBytes, 1...1 << 30, "size after which a page ends early"),
    .bytes("store.path-bytes", \.store.pathBytes, 1...1 << 16, "a whole path"),
    .integer("store.path-depth", \.store.pathDepth, 1...256, "segments of a path"),
    .bytes("store.segment-bytes", \.store.segmentBytes, 1...1 << 16, "one segment of a path"),
  ]

  /// Long enough to be met by somebody, short enough to be a timeout.
  private static let anyTimeout = Duration.milliseconds(10)...Duration.seconds(24 * 3600)

  private static let anyPace = Duration.milliseconds(1)...Duration.seconds(24 * 3600)

  /// Up to ten years, for what is meant to last.
  private static let anyTime = Duration.seconds(1)...Duration.seconds(3660 * 86_400)

  /// Below what the JSON reader takes at once, 256 MiB.
  private static let jsonCeiling = 128 << 20

  /// The rows by name.
  static let byName = Dictionary(uniqueKeysWithValues: table.map { ($0.name, $0) })
}
