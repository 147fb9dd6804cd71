// SPDX-License-Identifier: MIT
import CEL
import JSON
import SignalStore

/// Who asks for something.
struct Caller {
  /// The connection, as the holder of what it sets with `"hold":true`; nil where nothing can be held.
  let holder: Holder?
}

/// The one door to the store for those who are connected: every verb, of whichever protocol, goes through here, as a
/// ``Caller``.
///
/// Routes and sessions read requests and write answers, and have no store; what is told of changes comes from the hub.
/// It knows no connection and no loop, and is used by one thread at a time.
final class Commands {
  /// For the extensions of this type, and nobody else.
  let store: PropertyStore
  let configuration: LiveConfiguration
  /// What properties were; nil when nothing is kept.
  private let series: (any SeriesSource)?
  private struct FilterKey: Hashable {
    let source: [UInt8]
    let topic: Topic
  }

  /// Filters by their text, so that equal subscriptions compile once.
  ///
  /// Emptied when full: they are cheap to make.
  private var filters: [FilterKey: Filter] = [:]
  private static let filterCacheLimit = 1024

  init(_ store: PropertyStore, _ configuration: LiveConfiguration, series: (any SeriesSource)? = nil) {
    self.store = store
    self.configuration = configuration
    self.series = series
  }

  /// The same store with other limits.
  convenience init(_ other: Commands, _ configuration: LiveConfiguration) {
    self.init(other.store, configuration, series: other.series)
  }

  // MARK: Reading

  /// The name of the history that revisions count in.
  var epoch: Epoch { store.epoch }
  /// The revision of the last change.
  var revision: Revision { store.revision }
  /// Whether changes are told later than they are made.
  var holdsBack: Bool { store.holdsBack }
  /// Calls `body` with what is said of the durability of records: now, and then from whichever thread says it.
  func observeAnnouncements(_ body: @escaping @Sendable (Announcement) -> Void) -> Subscription {
    // In this order: what is told in between comes twice, and the larger number counts.
    let subscription = store.announced.subscribe(body)
    body(.durable(through: store.lastAnnounced))
    return subscription
  }
  /// Asks for what was written to be durable soon.
  ///
  /// - Returns: The record that has to be durable then.
  func hurry() -> UInt64 { store.hurry() }
  /// How the records of the store are kept; nil when a restart forgets everything.
  var storage: StorageStatus? { store.storage }
  /// How many records the store has made.
  var records: UInt64 { store.records }
  /// The limits of the store.
  var limits: StoreLimits { store.limits }

  /// A point in the history.
  func cursor(_ revision: Revision) -> Cursor { Cursor(epoch: store.epoch, revision: revision) }

  /// The property at the path with these bytes, and the revision at which that was the answer; nothing is allocated.
  func read(bytes path: Span<UInt8>, as caller: Caller) -> (value: StoredValue?, revision: Revision) {
    store.read(bytes: path)
  }

  /// All properties as they are now.
  func snapshot(as caller: Caller) -> StoreSnapshot { store.snapshot() }

  /// Refuses what the store could not keep; for what it does not judge itself.
  func checkStorage() throws(Problem) {
    if let refusal = storage?.refusal { throw problem(.notKept(refusal), inTransaction: false) }
  }

  /// Refuses to wait for what can never be durable.
  func checkDurability() throws(Problem) {
    guard let storage else {
      throw Problem(
        .notDurable, "The store of this server is in memory only (it has no data.dir), so nothing becomes durable.")
    }
    if storage.refusal == .failed { throw problem(.notKept(.failed), inTransaction: false) }
  }

  // MARK: Histories

  /// What answers questions about what properties were.
  func history(as caller: Caller) throws(Problem) -> any SeriesSource {
    guard let series else {
      throw Problem(.noHistory, "This server keeps no history: that needs the settings data.dir and data.history.")
    }
    return series
  }

  /// The revision that a cursor of this history names.
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
    do throws(StoreError) {
      try store.signals.send(request.path, request.message, remember: request.remember)
    } catch {
      throw problem(error, inTransaction: false)
    }
  }

  /// Sets a timer, or changes the one that is there.
  func setTimer(
    _ path: PropertyPath, _ schedule: TimerSchedule, message: JSONText, as caller: Caller
  ) throws(Problem) -> (timer: StoreTimer, isNew: Bool) {
    do throws(StoreError) {
      return try store.timers.set(path, schedule, message: message)
    } catch {
      throw problem(error, inTransaction: false)
    }
  }

  /// The timer at a path.
  func timer(_ path: PropertyPath, as caller: Caller) throws(Problem) -> StoreTimer {
    guard let timer = store.timers.get(path) else { throw noTimer(path) }
    return timer
  }

  /// Removes a timer.
  func removeTimer(_ path: PropertyPath, as caller: Caller) throws(Problem) {
    try checkStorage()
    guard store.timers.remove(path) else { throw noTimer(path) }
  }

  /// Up to `limit` timers whose paths match, in path order, from behind `after` on.
  func timers(match patterns: [PathPattern], after: PropertyPath?, limit: Int, as caller: Caller) -> [StoreTimer] {
    store.timers.list(match: patterns, after: after, limit: limit)
  }

  private func noTimer(_ path: PropertyPath) -> Problem { Problem(.noSuchTimer, "There is no timer at \"\(path)\".") }

  // MARK: Holders

  /// A caller that can hold properties, until it is released.
  func makeHoldingCaller() -> Caller { Caller(holder: store.makeHolder()) }

  // MARK: Filters

  /// The limits of an expression that is a filter or a condition, which are those of all but for what one evaluation may
  /// cost.
  var filterLimits: CELLimits {
    var limits = configuration.expressions
    limits.budget = min(limits.budget, configuration.limits.filterBudget)
    return limits
  }

  /// Compiles a filter, or finds it among those of before.
  func filter(_ source: String, of topic: Topic = .properties) throws(Problem) -> Filter {
    // By bytes: equal strings may be written in different ones, which expressions tell apart.
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
