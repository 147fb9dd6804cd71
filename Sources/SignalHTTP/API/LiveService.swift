// SPDX-License-Identifier: MIT
import CEL
import JSON
import SignalStore

/// What all requests and connections of one loop share: the store, the hub, the limits, and the compiled filters.
final class LiveService {
  let store: PropertyStore
  let hub: Hub
  let waits: PropertyWaits
  let signalHub: SignalHub
  let configuration: LiveConfiguration
  let highWaterMark: Int
  let messageBytes: Int
  /// Filters by their text, so that equal subscriptions compile once.
  ///
  /// Emptied when full: they are cheap to make.
  private var filters: [[UInt8]: Filter] = [:]
  private static let filterCacheLimit = 1024

  init(
    store: PropertyStore, configuration: LiveConfiguration, limits: Limits, watchers: Watchers,
    observer: (@Sendable (ServerEvent) -> Void)? = nil, on loop: isolated EventLoop
  ) {
    self.store = store
    self.configuration = configuration
    highWaterMark = limits.highWaterMark
    messageBytes = limits.webSocket.messageBytes
    let live = configuration.limits
    var filterFailed: (@Sendable (PropertyPath, Int) -> Void)?
    if let observer {
      filterFailed = { path, count in observer(ServerEvent(.filterFailed(path: "\(path)", filters: count))) }
    }
    hub = Hub(
      store: store, bookmarkInterval: live.bookmarkInterval,
      pace: Replay.Pace(bytes: live.snapshotBytes, properties: live.scan),
      limits: HubLimits(trackedPaths: live.deadbandPaths, conflatedBytes: live.conflatedBytes),
      watchers: watchers, filterFailed: filterFailed, loop: loop)
    waits = PropertyWaits(store: store, scanLimit: live.scan, loop: loop)
    loop.addParticipant(hub)
    loop.addParticipant(waits)
    signalHub = SignalHub(store, loop: loop)
    loop.addParticipant(signalHub)
  }

  // MARK: Requests

  /// Checks what a subscription asks for and compiles its filter.
  func options(for request: SubscribeRequest) throws(Problem) -> SubscriptionOptions {
    let filter: Filter? = if let source = request.filter { try self.filter(source) } else { nil }
    if request.exit == true, let filter, !filter.isState {
      throw Problem(
        .exitNeedsStateFilter,
        "The expression uses more than path and value, so it describes a transition, which has no exit.")
    }
    let granted = GrantedDelivery(request.delivery, configuration.limits)
    var fields = request.delivery.fields ?? .all
    if !request.oldValue { fields.remove(.oldValue) }
    return SubscriptionOptions(
      patterns: request.patterns, filter: filter, exit: request.exit ?? true, fields: fields,
      pointer: request.delivery.pointer, delivery: granted.delivery, bookmark: granted.bookmark)
  }

  func filter(_ source: String) throws(Problem) -> Filter {
    // By bytes: equal strings may be written in different ones, which expressions tell apart.
    let key = Array(source.utf8)
    if let filter = filters[key] { return filter }
    let filter: Filter
    do {
      filter = try Filter(source, limits: configuration.expressions)
    } catch {
      throw Problem(.badFilter, error.message, position: error.position)
    }
    if filters.count >= Self.filterCacheLimit { filters.removeAll() }
    filters[key] = filter
    return filter
  }

  // MARK: Problems

  /// - Parameter inTransaction: Whether to say which operation it was.
  func problem(_ error: StoreError, inTransaction: Bool) -> Problem {
    func refusal(_ code: Problem.Code, _ operation: Int) -> Problem {
      var problem = Problem(code, error.description)
      if inTransaction { problem.operation = operation }
      return problem
    }
    switch error {
    case .conditionFailed(let operation, let current, let revision):
      var problem = Problem(
        .preconditionFailed, inTransaction ? error.description : "The condition does not hold for the present value.")
      if inTransaction { problem.operation = operation }
      problem.current = current.map(currentText) ?? .null
      problem.cursor = Cursor(epoch: store.epoch, revision: revision)
      return problem
    case .repeatedPath(let operation): return refusal(.duplicatePath, operation)
    case .tooManyProperties: return Problem(.storeFull, error.description)
    case .tooManyOperations: return Problem(.tooManyOperations, error.description)
    case .isComputed(let operation): return refusal(.isComputed, operation)
    case .cycle(let operation, _): return refusal(.formulaCycle, operation)
    case .tooManyComputed(let operation, _): return refusal(.tooManyComputed, operation)
    case .tooManyInputs(let operation, _): return refusal(.tooManyInputs, operation)
    case .tooManyHeld(let operation, _): return refusal(.tooManyHeld, operation)
    case .tooManyRemembered, .tooManyTimers: return Problem(.storeFull, error.description)
    case .badTimer: return Problem(.badDuration, error.description)
    case .badTimeToLive(let operation, _):
      let problem = Problem(.badDuration, error.description)
      return inTransaction ? problem.of(operation: operation) : problem
    }
  }

  /// - Parameter revision: The store's, at which there was none.
  func notFound(_ path: PropertyPath, at revision: Revision) -> Problem {
    var problem = Problem(.notFound, "There is no property at \"\(path)\".")
    problem.cursor = Cursor(epoch: store.epoch, revision: revision)
    return problem
  }

  /// What is there, for a condition that failed.
  func currentText(_ stored: StoredValue) -> JSONText {
    var text: [UInt8] = Array(#"{"value":"#.utf8)
    text.appendJSON(stored.value)
    appendRevisionAndTime(of: stored, to: &text)
    text.append(UInt8(ascii: "}"))
    return JSONText(alreadyCompact: text)
  }

  /// What a client is told that is too slow (rule 5).
  func tooSlow(_ subscriptions: LiveSubscriptions) -> String {
    guard let reached = subscriptions.reached else { return "too slow for a snapshot, subscribe anew" }
    return "too slow, resume from \(Cursor(epoch: store.epoch, revision: reached))"
  }

  // MARK: Messages

  /// Appends `"path":…,"value":…,"revision":…,"time":…` as members of an object that the caller opens and closes.
  func appendMembers(of stored: StoredValue, to text: inout [UInt8]) {
    text.append(literal: #""path":"#)
    let path = stored.path.bytes
    text.appendJSON(utf8: path.span)
    text.append(literal: #","value":"#)
    text.appendJSON(stored.value)
    appendRevisionAndTime(of: stored, to: &text)
  }

  private func appendRevisionAndTime(of stored: StoredValue, to text: inout [UInt8]) {
    text.append(literal: #","revision":"#)
    text.appendJSON(stored.revision.number)
    text.append(literal: #","time":""#)
    stored.time.write(to: &text)
    text.append(UInt8(ascii: "\""))
    LiveEventWriter.appendExpires(of: stored, to: &text)
  }

  func appendHello(messageBytes: Int, to text: inout [UInt8]) {
    text.append(literal: #"{"type":"hello","epoch":""#)
    store.epoch.write(to: &text)
    text.append(literal: #"","revision":"#)
    text.appendJSON(store.revision.number)
    text.append(literal: #","limits":{"messageBytes":"#)
    text.appendJSON(messageBytes)
    text.append(literal: #","subscriptions":"#)
    text.appendJSON(configuration.limits.subscriptionsPerConnection)
    text.append(literal: #","patterns":"#)
    text.appendJSON(configuration.limits.patternsPerSubscription)
    text.append(literal: #","filterBytes":"#)
    text.appendJSON(configuration.expressions.sourceBytes)
    text.append(literal: #","backlogBytes":"#)
    text.appendJSON(highWaterMark)
    text.append(literal: #","conflatedBytes":"#)
    text.appendJSON(configuration.limits.conflatedBytes)
    text.append(literal: "}}")
  }

  private static func appendSubscribed(_ id: Int, _ command: Int?, to text: inout [UInt8]) {
    appendReply(to: command, &text)
    text.append(literal: #""type":"ok","subscription":"#)
    text.appendJSON(id)
    text.append(literal: #","revision":"#)
  }

  /// The beginning of a reply, up to its type: one to the parameters of a URL names no command.
  static func appendReply(to command: Int?, _ text: inout [UInt8]) {
    text.append(UInt8(ascii: "{"))
    guard let command else { return }
    text.append(literal: #""id":"#)
    text.appendJSON(command)
    text.append(UInt8(ascii: ","))
  }

  /// The `ok` of a subscription to signals.
  func appendSubscribed(id: Int, command: Int?, to text: inout [UInt8]) {
    Self.appendSubscribed(id, command, to: &text)
    text.appendJSON(store.revision.number)
    text.append(UInt8(ascii: "}"))
  }

  /// The `ok` of a subscription.
  func appendSubscribed(
    _ membership: Membership, _ request: SubscribeRequest, id: Int, command: Int?, to text: inout [UInt8]
  ) {
    Self.appendSubscribed(id, command, to: &text)
    text.appendJSON(membership.joinedAt.number)
    if let recovered = membership.recovered {
      text.append(literal: recovered ? #","recovered":true"# : #","recovered":false"#)
    }
    GrantedDelivery(request.delivery, configuration.limits).append(request.delivery, to: &text)
    text.append(UInt8(ascii: "}"))
  }
}
