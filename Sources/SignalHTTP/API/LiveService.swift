// SPDX-License-Identifier: MIT
import CEL
import JSON
import SignalAccess
import SignalStore

/// State shared by all requests and connections of one loop: the commands, the hub and the limits.
final class LiveService {
  let commands: Commands
  let hub: Hub
  let waits: PropertyWaits
  let cursors: CursorWaits
  /// Holds answers back until the state that they report is durable; nil when the store is in memory only.
  let gate: AnswerGate?
  /// Whether every answer is held back, and not only those for clients that ask for it.
  private let holdsBack: Bool
  private var announcements: Subscription?
  let requests: RequestQueue
  /// The cluster that the server is a node of; nil where it is alone.
  let cluster: (any ClusterNode)?
  /// The memory of the server; nil when it has no limit.
  let memory: MemoryBudget?
  let histories: HistoryRequests
  /// What all loops of the server count.
  let counters: ServerCounters
  /// Lines that the log of the program has dropped; nil when it has none.
  let droppedLogLines: (@Sendable () -> Int)?
  let connectionLimit: Int
  /// What the program tells of itself.
  let facts: ServerFacts
  /// Finds out who callers are; nil where nobody can prove that.
  let authenticator: Authenticator?
  /// Ends connections whose identities end; nil as above.
  let identities: IdentityWatch?
  /// Those who have shown certificates.
  let certificates: CertificateIdentities
  /// What clients have used of what they may do, and what that is.
  let rates: LoopRates
  let rateLimits: RateLimits
  let paused: PausedSessions
  let configuration: LiveConfiguration
  let highWaterMark: Int
  let messageBytes: Int
  let compression: CompressionPolicy
  let responseTimeout: Duration
  // Swapped, which calls nobody.
  @exclusivity(unchecked) private var replyText: [UInt8] = []
  /// The capacity that the buffer of replies keeps at most between two of them.
  private static let replyCapacity = 64 << 10

  init(
    store: PropertyStore, configuration: LiveConfiguration, limits: Limits, watchers: Watchers,
    rates: RateTable, series: (any SeriesSource)? = nil, authenticator: Authenticator? = nil,
    counters: ServerCounters = ServerCounters(), droppedLogLines: (@Sendable () -> Int)? = nil,
    facts: ServerFacts = ServerFacts(), observer: (@Sendable (ServerEvent) -> Void)? = nil,
    audit: AuditQueue? = nil, cluster: (any ClusterNode)? = nil, on loop: isolated EventLoop
  ) {
    self.cluster = cluster
    self.counters = counters
    self.droppedLogLines = droppedLogLines
    connectionLimit = limits.connections
    self.facts = facts
    self.authenticator = authenticator
    identities = authenticator.map { IdentityWatch($0, on: loop) }
    certificates = CertificateIdentities()
    self.rates = LoopRates(rates)
    rateLimits = limits.rates
    paused = PausedSessions()
    memory = loop.memory?.budget
    commands = Commands(
      store, configuration, series: series, access: AccessControl(configuration.policy, authenticator), audit: audit)
    holdsBack = commands.holdsBack
    let state = { [commands, holdsBack] in holdsBack ? commands.announcedState : 0 }
    gate = holdsBack || commands.storage != nil ? AnswerGate(state: state, loop: loop) : nil
    requests = RequestQueue(
      state: { [gate] in gate?.state ?? 0 },
      willAnswer: { [gate = holdsBack ? gate : nil, commands] begin in
        gate?.depend(on: commands.dependence(since: begin, ofEvents: false))
      })
    histories = HistoryRequests(loop: loop) { [gate = holdsBack ? gate : nil] in gate?.depend(on: $0) }
    self.configuration = configuration
    highWaterMark = limits.highWaterMark
    messageBytes = limits.webSocket.messageBytes
    compression = limits.compression
    responseTimeout = limits.responseTimeout
    let live = configuration.limits
    let hubLimits = HubLimits(
      deadbandPaths: live.deadbandPaths, conflatedBytes: live.conflatedBytes, cheapFilterWork: live.cheapFilterWork,
      filterWork: live.filterWork, loopFilterWork: live.loopFilterWork)
    hub = Hub(
      store: store, bookmarkInterval: live.bookmarkInterval,
      pace: Replay.Pace(snapshotBytes: live.snapshotBytes, turnProperties: live.turnProperties), limits: hubLimits,
      watchers: watchers, filterFailed: Self.filterFailed(observer), loop: loop)
    waits = PropertyWaits(
      store: store, turnProperties: live.turnProperties, filterWork: live.loopFilterWork,
      cheapFilterWork: live.cheapFilterWork, loop: loop)
    cursors = CursorWaits(store: store, loop: loop)
    loop.addParticipant(cursors)
    loop.addParticipant(hub)
    loop.addParticipant(waits)
    loop.addParticipant(requests)
    loop.addParticipant(histories)
    loop.addParticipant(paused)
    if let identities { loop.addParticipant(identities) }
    if let gate {
      loop.addParticipant(gate)
      announcements = commands.observeAnnouncements { [mark = gate.mark] announcement in
        switch announcement {
        case .durable(let record): mark.advance(to: record)
        case .failed: mark.fail()
        case .lost(let after, let through): mark.lose(after: after, through: through)
        }
      }
    }
  }

  /// Creates a service with other limits, for new connections: they share the store and everything that observes it.
  init(
    _ other: LiveService, configuration: LiveConfiguration, limits: Limits,
    observer: (@Sendable (ServerEvent) -> Void)?
  ) {
    commands = Commands(other.commands, configuration)
    cluster = other.cluster
    counters = other.counters
    droppedLogLines = other.droppedLogLines
    connectionLimit = limits.connections
    facts = other.facts
    gate = other.gate
    memory = other.memory
    holdsBack = other.holdsBack
    announcements = other.announcements
    hub = other.hub
    waits = other.waits
    cursors = other.cursors
    requests = other.requests
    histories = other.histories
    authenticator = other.authenticator
    identities = other.identities
    certificates = other.certificates
    rates = other.rates
    rateLimits = limits.rates
    paused = other.paused
    self.configuration = configuration
    highWaterMark = limits.highWaterMark
    messageBytes = limits.webSocket.messageBytes
    compression = limits.compression
    responseTimeout = limits.responseTimeout
    hub.filterFailed = Self.filterFailed(observer)
  }

  private static func filterFailed(
    _ observer: (@Sendable (ServerEvent) -> Void)?
  ) -> (@Sendable (PropertyPath, Int) -> Void)? {
    guard let observer else { return nil }
    return { path, count in observer(ServerEvent(.filterFailed(path: "\(path)", filters: count))) }
  }

  /// Whether only those are served who have proven who they are.
  var isIdentityRequired: Bool {
    guard let authenticator, authenticator.isActive else { return false }
    return authenticator.current.settings.required
  }

  /// Refuses somebody who is no longer who they were when their request came.
  func checkIdentity(of caller: Caller) throws(Problem) {
    guard let identity = caller.identity else {
      if isIdentityRequired, !caller.isAdministrator { throw .unauthenticated }
      return
    }
    let isAccepted = authenticator?.current.confirms(identity) ?? identity.isAccepted(at: .now)
    if !isAccepted { throw identity.kind == .certificate ? .endedCertificate : .invalidToken }
  }

  // MARK: Requests

  /// Validates a requested subscription, claims the memory for it and compiles its filter.
  func subscription(_ request: SubscribeRequest, as caller: Caller) throws(Problem) -> CheckedSubscription {
    let claim = try claim(request.patterns, filter: request.filter, caller)
    let options = try options(for: request, as: caller)
    guard request.topic == .properties, commands.rights(of: caller) != nil else {
      return .events(options, request, claim, audience: nil, reset: nil)
    }
    let audience = options.audienceMark
    // Whoever has seen something else, or by something else, cannot be told what it has missed.
    let isSame = request.audience == audience && !commands.hasDecided(options.viewers, since: request.since)
    return .events(
      options, request, claim, audience: audience, reset: request.since == nil || isSame ? nil : .access)
  }

  /// The same for what a URL asks for.
  func subscription(_ requested: RequestedSubscription, as caller: Caller) throws(Problem) -> CheckedSubscription {
    switch requested {
    case .events(let request): try subscription(request, as: caller)
    case .demand(let patterns): try subscription(toDemand: patterns, as: caller)
    }
  }

  /// A name of what a caller sees of a subscription; nil where there are no rules.
  func view(of request: SubscribeRequest, as caller: Caller) -> String? {
    guard commands.rights(of: caller) != nil, let options = try? options(for: request, as: caller, orNothing: true)
    else { return nil }
    return options.audienceMark
  }

  /// Claims the memory for a subscription to demand.
  func subscription(toDemand patterns: [PathPattern], as caller: Caller) throws(Problem) -> CheckedSubscription {
    try commands.checkDemand(patterns, as: caller)
    return .demand(patterns, try claim(patterns, caller))
  }

  /// Claims memory, and one of the subscriptions that the caller may have; nil where neither has a limit.
  private func claim(
    _ patterns: [PathPattern], filter: String? = nil, _ caller: Caller
  ) throws(Problem) -> SubscriptionClaim? {
    let place = try subscribe(caller)
    guard let memory else { return place.map { SubscriptionClaim(nil, $0) } }
    let cost = MemoryBudget.cost(
      patternBytes: patterns.reduce(0) { $0 + $1.bytes.count }, filterBytes: filter?.utf8.count ?? 0)
    guard let claim = MemoryClaim(cost, from: memory.subscriptions) else {
      throw Problem(.memoryFull, "The server has no memory left for another subscription.")
    }
    return SubscriptionClaim(claim, place)
  }

  /// The options of a subscription as the caller may have it.
  ///
  /// - Parameter orNothing: Whether it is kept when the caller may see nothing, instead of being refused.
  func options(
    for request: SubscribeRequest, as caller: Caller, orNothing: Bool = false
  ) throws(Problem) -> SubscriptionOptions {
    let filter: Filter? = if let source = request.filter { try commands.filter(source, of: request.topic) } else { nil }
    let operation: AccessOperation = request.topic == .signals ? .listen : .watch
    let (patterns, audience) = try commands.scope(operation, of: request.patterns, as: caller, orNothing: orNothing)
    guard request.topic == .properties else {
      // Every message, or the subscription ends.
      return SubscriptionOptions(
        patterns: patterns, filter: filter, topic: .signals, delivery: DeliveryOptions(mode: .all),
        viewers: audience.map(commands.viewers))
    }
    if request.exit == true, let filter, !filter.isState {
      throw Problem(
        .exitNeedsStateFilter,
        "The expression uses more than path and value, so it describes a transition, which has no exit.")
    }
    let granted = GrantedDelivery(request.delivery, configuration.limits)
    var fields = request.delivery.fields ?? .all
    if !request.oldValue { fields.remove(.oldValue) }
    return SubscriptionOptions(
      patterns: patterns, filter: filter, exit: request.exit ?? true, fields: fields,
      pointer: request.delivery.pointer, delivery: granted.delivery, bookmark: granted.bookmark,
      viewers: audience.map(commands.viewers))
  }

  /// The reason sent to a client that is too slow (rule 5).
  func tooSlow(_ subscriptions: LiveSubscriptions) -> String {
    guard let reached = subscriptions.reached else { return "too slow for a snapshot, subscribe anew" }
    return "too slow, resume from \(commands.cursor(reached))"
  }

  /// Notes that the answer being written depends on the state of the store as it was read, or changed, in this turn.
  ///
  /// - Parameter ofEvents: Whether it tells of messages or timers.
  func noteDependence(ofEvents: Bool = false) {
    if let gate { noteDependence(since: gate.state, ofEvents: ofEvents) }
  }

  /// The same for an answer that tells of something earlier.
  ///
  /// - Parameter begin: The state of the gate before that.
  func noteDependence(since begin: UInt64, ofEvents: Bool = false) {
    if let gate, holdsBack { gate.depend(on: commands.dependence(since: begin, ofEvents: ofEvents)) }
  }

  /// Makes the answer being written wait until the current state of the store is durable, even where other answers are
  /// not held back.
  func awaitDurability() {
    if let gate, !holdsBack { gate.depend(on: commands.hurry()) }
  }

  // MARK: Messages

  /// Lends the buffer in which replies are written, one after the other.
  func withReply(_ body: (inout [UInt8]) -> Void) {
    // Moved out while it is mutated, so that it is not copied.
    var text: [UInt8] = []
    unsafe swap(&text, &replyText)
    body(&text)
    guard text.capacity <= Self.replyCapacity else { return }
    text.removeAll(keepingCapacity: true)
    unsafe swap(&text, &replyText)
  }

  func appendHello(messageBytes: Int, to text: inout [UInt8]) {
    text.append(literal: #"{"type":"hello","epoch":""#)
    commands.epoch.write(to: &text)
    text.append(literal: #"","revision":"#)
    text.appendJSON(commands.revision.number)
    if let sync = commands.storage?.sync {
      text.append(literal: #","sync":""#)
      text.append(contentsOf: sync.description.utf8)
      text.append(UInt8(ascii: "\""))
    }
    text.append(literal: #","limits":{"messageBytes":"#)
    text.appendJSON(messageBytes)
    text.append(literal: #","subscriptions":"#)
    text.appendJSON(configuration.limits.subscriptionsPerConnection)
    text.append(literal: #","patterns":"#)
    text.appendJSON(configuration.limits.patternsPerSubscription)
    text.append(literal: #","filterBytes":"#)
    text.appendJSON(configuration.expressions.bytes)
    text.append(literal: #","backlogBytes":"#)
    text.appendJSON(highWaterMark)
    text.append(literal: #","conflatedBytes":"#)
    text.appendJSON(configuration.limits.conflatedBytes)
    text.append(literal: "}}")
  }

  /// Appends the beginning of a reply, up to its type; a reply to the parameters of a URL names no command.
  static func appendReply(to command: Int?, _ text: inout [UInt8]) {
    text.append(UInt8(ascii: "{"))
    guard let command else { return }
    text.append(literal: #""id":"#)
    text.appendJSON(command)
    text.append(UInt8(ascii: ","))
  }

  /// Appends the `ok` of a subscription.
  func append(_ begun: BegunSubscription, to command: Int?, _ text: inout [UInt8]) {
    Self.appendReply(to: command, &text)
    text.append(literal: #""type":"ok","subscription":"#)
    text.appendJSON(begun.id)
    text.append(literal: #","revision":"#)
    text.appendJSON(begun.revision.number)
    if let recovered = begun.recovered {
      text.append(literal: recovered ? #","recovered":true"# : #","recovered":false"#)
    }
    if let audience = begun.audience {
      text.append(literal: #","audience":"#)
      text.appendJSON(audience)
    }
    GrantedDelivery(begun.delivery, configuration.limits).append(begun.delivery, to: &text)
    text.append(UInt8(ascii: "}"))
  }
}
