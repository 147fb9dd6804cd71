// SPDX-License-Identifier: MIT
import CEL
import JSON
import SignalAccess
import SignalStore

/// The origin of a command.
struct Caller {
  init(
    peer: Peer?, holder: Holder?, identity: Identity? = nil, request: RequestFacts? = nil
  ) {
    peerFacts = peer?.facts
    self.holder = holder
    self.identity = identity
    self.request = request
    isAdministrator = identity == nil && peer?.isAdministrator == true
  }

  /// A client of another node, which has found out who it is.
  init(holder: Holder?, identity: Identity?, isAdministrator: Bool, request: RequestFacts?) {
    peerFacts = nil
    self.holder = holder
    self.identity = identity
    self.isAdministrator = isAdministrator
    self.request = request
  }

  /// The client; nil for what connections of an earlier process have registered for their end.
  var peer: Peer? { peerFacts.map { Peer($0) } }
  /// The reference in it: an optional structure would be copied by a call through its type, with each command.
  private let peerFacts: Peer.Facts?
  /// The connection, as the holder of values that it sets with `"hold":true`; nil where nothing can be held.
  let holder: Holder?
  /// Who asks, as far as it is proven; nil for somebody unknown.
  var identity: Identity?
  /// Whether it may do everything, because it could change the server as well.
  let isAdministrator: Bool
  /// What the rules may know of the request; nil unless they depend on it.
  let request: RequestFacts?
}

/// The only access of clients to the store: every operation, of whichever protocol, goes through here, with a
/// ``Caller``.
///
/// Routes and sessions parse requests and write answers, and have no store; changes are delivered by the hub. This
/// class has no reference to a connection or loop, and is used by one thread at a time.
final class Commands {
  /// For extensions of this type only.
  let store: PropertyStore
  let configuration: LiveConfiguration
  /// The history of values; nil when none is kept.
  private let series: (any SeriesSource)?
  /// The access rules of the loop.
  let access: AccessControl
  /// Takes what an audit log notes; nil where there is none.
  let audit: AuditQueue?
  private struct FilterKey: Hashable {
    let source: [UInt8]
    let topic: Topic
  }

  /// Filters by their text, so that equal subscriptions compile once.
  ///
  /// Emptied when full: they are cheap to recompile.
  private var filters: [FilterKey: Filter] = [:]
  private static let filterCacheLimit = 1024

  init(
    _ store: PropertyStore, _ configuration: LiveConfiguration, series: (any SeriesSource)? = nil,
    access: AccessControl = AccessControl(nil), audit: AuditQueue? = nil
  ) {
    self.store = store
    self.audit = audit
    self.access = access
    self.configuration = configuration
    self.series = series
  }

  /// Creates commands on the same store with other limits.
  convenience init(_ other: Commands, _ configuration: LiveConfiguration) {
    self.init(other.store, configuration, series: other.series, access: other.access, audit: other.audit)
  }

  // MARK: Reading

  /// The identity of the history to which revisions belong.
  var epoch: Epoch { store.epoch }
  /// The number of properties.
  var propertyCount: Int { store.count }
  /// The revision of the last change.
  var revision: Revision { store.revision }
  /// Whether changes are delivered to subscribers later than they are made.
  var holdsBack: Bool { store.holdsBack }
  /// Calls `body` with the announced durability of records: now, and then from whichever thread announces it.
  func observeAnnouncements(_ body: @escaping @Sendable (Announcement) -> Void) -> Subscription {
    // In this order: an announcement in between is received twice, and the larger number counts.
    let subscription = store.announced.subscribe(body)
    body(.durable(through: store.lastAnnounced))
    return subscription
  }
  /// Requests that what was written becomes durable soon.
  ///
  /// - Returns: The record that has to become durable.
  func hurry() -> UInt64 { store.hurry() }
  /// How the records of the store are kept; nil when a restart loses everything.
  var storage: StorageStatus? { store.storage }
  /// The record that has to be durable before what was read or done may be told; see `PropertyStore`.
  func dependence(since begin: UInt64, ofEvents: Bool) -> UInt64 { store.dependence(since: begin, ofEvents: ofEvents) }
  /// What readers are given instead of the present state, by a number; 0 for that.
  var announcedState: UInt64 { store.announcedState }
  /// The limits of the store.
  var limits: StoreLimits { store.limits }

  /// A point in the history.
  func cursor(_ revision: Revision) -> Cursor { Cursor(epoch: store.epoch, revision: revision) }

  /// The property at the path with these bytes, and the revision at which it was read; allocates nothing where there are
  /// no rules.
  func read(
    bytes path: Span<UInt8>, as caller: Caller
  ) throws(Problem) -> (value: StoredValue?, revision: Revision) {
    let (value, revision) = store.read(bytes: path)
    if rights(of: caller) != nil {
      // Without a property a path has to be made, whose limits are those of the request: the caller has checked it.
      let place = if let value { value.path } else { try? PropertyPath(bytes: path, limits: configuration.paths) }
      if let place { try checkReading(.get, place, value, as: caller) }
    }
    return (value, revision)
  }

  /// All properties as they are now.
  func snapshot(as caller: Caller) -> StoreSnapshot { store.snapshot() }

  /// Refuses writes that the store could not keep; for operations that the store does not check itself.
  func checkStorage() throws(Problem) {
    if let refusal = store.refusal { throw problem(.notKept(refusal), inTransaction: false) }
  }

  /// Refuses to wait for records that can never become durable.
  func checkDurability() throws(Problem) {
    guard let storage else {
      throw Problem(
        .notDurable, "The store of this server is in memory only (it has no data.dir), so nothing becomes durable.")
    }
    if storage.refusal == .failed { throw problem(.notKept(.failed), inTransaction: false) }
  }

  // MARK: Histories

  /// The source of answers about past values.
  ///
  /// - Throws: Also `forbidden`; see `checkReadingAnyValue`.
  func history(of path: PropertyPath, as caller: Caller) throws(Problem) -> any SeriesSource {
    try checkReadingAnyValue(path, as: caller)
    guard let series else {
      throw Problem(.noHistory, "This server keeps no history: that needs the settings data.dir and data.history.")
    }
    return series
  }

  /// Whether a cursor, also one of an earlier epoch, names the change that has set the property.
  func isCursor(_ cursor: Cursor, of stored: StoredValue) -> Bool {
    store.present(cursor) == self.cursor(stored.revision)
  }

  /// The revision of a cursor that belongs to this history.
  func revision(of cursor: Cursor) throws(Problem) -> Revision {
    let present = store.present(cursor)
    guard present.epoch == store.epoch else {
      throw Problem(.badCursor, "\"\(cursor)\" is not a cursor of what is kept here.")
    }
    return present.revision
  }

  // MARK: Signals and timers

  /// Sends a message.
  func send(_ request: SendRequest, as caller: Caller) throws(Problem) {
    try check(.send, request.path, request.message, as: caller)
    do throws(StoreError) {
      try store.signals.send(request.path, request.message, remember: request.remember)
      note(.send, request.path, "sent", by: caller)
    } catch {
      throw problem(error, inTransaction: false)
    }
  }

  /// Sets a timer, or changes the existing one.
  func setTimer(
    _ path: PropertyPath, _ schedule: TimerSchedule, message: JSONText, as caller: Caller
  ) throws(Problem) -> (timer: StoreTimer, isNew: Bool) {
    try check(.timer, path, as: caller)
    try check(.send, path, message, as: caller)
    do throws(StoreError) {
      let set = try store.timers.set(path, schedule, message: message)
      note(.timer, path, set.isNew ? "created" : "replaced", by: caller)
      return set
    } catch {
      throw problem(error, inTransaction: false)
    }
  }

  /// The timer at a path.
  func timer(_ path: PropertyPath, as caller: Caller) throws(Problem) -> StoreTimer {
    try check(.timer, path, as: caller)
    guard let timer = store.timers.get(path) else { throw noTimer(path) }
    return timer
  }

  /// Removes a timer.
  func removeTimer(_ path: PropertyPath, as caller: Caller) throws(Problem) {
    try check(.timer, path, as: caller)
    try checkStorage()
    guard store.timers.remove(path) else { throw noTimer(path) }
    note(.timer, path, "deleted", by: caller)
  }

  /// Up to `limit` timers whose paths match, in path order, starting after `after`.
  func timers(match patterns: [PathPattern], after: PropertyPath?, limit: Int, as caller: Caller) -> [StoreTimer] {
    guard rights(of: caller) != nil else { return store.timers.list(match: patterns, after: after, limit: limit) }
    var timers: [StoreTimer] = []
    var after = after
    while timers.count < limit {
      let page = store.timers.list(match: patterns, after: after, limit: limit)
      timers += page.filter { timer in (try? check(.timer, timer.path, as: caller)) != nil }
      guard page.count == limit, let last = page.last else { break }
      after = last.path
    }
    return Array(timers.prefix(limit))
  }

  private func noTimer(_ path: PropertyPath) -> Problem { Problem(.noSuchTimer, "There is no timer at \"\(path)\".") }

  // MARK: Holders

  /// Creates a caller that is the same client and can hold properties, until it is released.
  func makeHolding(_ caller: Caller) -> Caller {
    Caller(peer: caller.peer, holder: store.makeHolder(), identity: caller.identity, request: caller.request)
  }

  // MARK: Filters

  /// The limits of an expression used as a filter or a condition: those of all expressions, except for the budget of
  /// one evaluation.
  var filterLimits: CELLimits {
    var limits = configuration.expressions
    limits.budget = min(limits.budget, configuration.limits.filterBudget)
    return limits
  }

  /// Compiles a filter, or finds it in the cache.
  func filter(_ source: String, of topic: Topic = .properties) throws(Problem) -> Filter {
    // By bytes: strings that compare equal may be encoded differently, which expressions distinguish.
    let key = FilterKey(source: Array(source.utf8), topic: topic)
    if let filter = filters[key] { return filter }
    let filter: Filter
    do {
      filter = try Filter(source, of: topic, limits: filterLimits)
    } catch {
      throw Problem(.badFilter, error.message, position: error.position)
    }
    if filters.count >= Self.filterCacheLimit { filters.removeAll() }
    filters[key] = filter
    return filter
  }
}
