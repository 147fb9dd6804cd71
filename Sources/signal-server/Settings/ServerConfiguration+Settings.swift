// SPDX-License-Identifier: MIT
// The one place where settings become what the libraries take. Every setting but those of the log ends here.
import CEL
import JSON
import SignalHTTP
import SignalStore

extension ServerConfiguration {
  /// The part of the settings that is about sockets, HTTP and WebSocket.
  init(_ settings: Settings) {
    self.init(host: settings.host, port: UInt16(settings.port), loops: settings.loops, limits: Limits(settings))
  }
}

extension Limits {
  fileprivate init(_ settings: Settings) {
    self.init()
    http = HTTPLimits(settings.http)
    webSocket.messageBytes = settings.webSocket.messageBytes
    // Peers may fragment as they like: a frame is bounded by its message.
    webSocket.frameBytes = settings.webSocket.messageBytes
    connections = settings.http.connections
    acceptQueue = Int32(settings.http.acceptQueue)
    highWaterMark = settings.live.highWaterMark
    bytesPerTurn = settings.http.turnBytes
    headTimeout = settings.http.headTimeout
    bodyTimeout = settings.http.bodyTimeout
    keepAliveTimeout = settings.http.keepAliveTimeout
    responseTimeout = settings.http.responseTimeout
    sendTimeout = settings.http.sendTimeout
    lingerTimeout = settings.http.lingerTimeout
    lingerBytes = settings.http.lingerBytes
    drainTimeout = settings.http.drainTimeout
    pingInterval = settings.webSocket.pingInterval
    idleTimeout = settings.webSocket.idleTimeout
    closeTimeout = settings.webSocket.closeTimeout
  }
}

extension HTTPLimits {
  fileprivate init(_ settings: Settings.HTTP) {
    self.init()
    headBytes = settings.headBytes
    targetBytes = settings.targetBytes
    methodBytes = settings.methodBytes
    fields = settings.fields
    emptyLines = settings.emptyLines
    bodyBytes = settings.bodyBytes
    chunkExtensionBytes = settings.chunkExtensionBytes
    trailerBytes = settings.trailerBytes
  }
}

extension LiveConfiguration {
  /// The part of the settings that is about properties, as they are served.
  init(_ settings: Settings) {
    var limits = LiveLimits()
    limits.subscriptionsPerConnection = settings.live.subscriptionsPerConnection
    limits.patternsPerSubscription = settings.live.patternsPerSubscription
    limits.disconnectOperations = settings.live.disconnectOperations
    limits.patchOperations = settings.live.patchOperations
    limits.patchWork = settings.live.patchWork
    limits.wait = settings.live.waitLimit
    limits.listDefault = settings.store.listDefault
    limits.listLimit = settings.store.listLimit
    limits.listBytes = settings.store.listBytes
    limits.scan = settings.live.turnProperties
    limits.snapshotBytes = settings.live.snapshotBytes
    limits.conflatedBytes = settings.live.conflatedBytes
    limits.bookmarkInterval = settings.live.bookmarkInterval
    limits.shortestBookmark = settings.live.shortestBookmark
    limits.longestBookmark = settings.live.longestBookmark
    limits.shortestPace = settings.live.shortestPace
    limits.longestPace = settings.live.longestPace
    limits.deadbandPaths = settings.live.deadbandPaths
    self.init(
      hosts: settings.hosts, origins: settings.origins, limits: limits,
      values: JSONLimits(
        bytes: settings.store.valueBytes, depth: settings.store.valueDepth, digits: settings.store.numberDigits),
      paths: PathLimits(
        depth: settings.store.pathDepth, segment: settings.store.segmentBytes, path: settings.store.pathBytes),
      expressions: CELLimits(
        sourceBytes: settings.live.filterBytes, nodes: settings.live.filterNodes, depth: settings.live.filterDepth,
        evaluationBudget: settings.live.filterBudget, createdSize: settings.live.filterCreated,
        patternSteps: settings.live.filterPatternSteps))
  }
}

extension StoreLimits {
  /// The part of the settings that is about what is held.
  init(_ settings: Settings) {
    self.init(
      properties: settings.store.properties, operations: settings.store.transactionOperations,
      historyCount: settings.store.historyChanges, historyBytes: settings.store.historyBytes,
      computedProperties: settings.store.computedProperties, inputs: settings.store.formulaInputs,
      timeToLive: settings.store.ttlLimit, heldProperties: settings.store.heldProperties,
      rememberedSignals: settings.store.rememberedSignals,
      rememberedBytes: settings.store.rememberedBytes, timers: settings.store.timers,
      timerInterval: settings.store.timerInterval)
  }
}
