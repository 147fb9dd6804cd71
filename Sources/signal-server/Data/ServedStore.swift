// SPDX-License-Identifier: MIT
import Logging
import SignalCluster
import SignalHTTP
import SignalJournal
import SignalStore
import Synchronization

/// The store that is served, and its storage.
struct ServedStore {
  let store: PropertyStore
  /// Where it is stored, for people.
  let place: String
  private let storage: Storage?
  /// Of a read-only folder: while it exists, no other process writes to the folder.
  private let reading: (folder: Recovery, history: HistoryReader?)?
  /// The node of a cluster; nil for a server that is alone.
  let member: ClusterMember?

  /// Past values of properties; nil when no history is kept.
  var series: (any SeriesSource)? { storage?.history ?? reading?.history }

  /// Opens the store: an empty one in memory, or what a folder holds.
  init(_ settings: Settings, _ logger: Logger) throws(Failure) {
    guard settings.cluster.name.isEmpty else {
      let joined = try ClusterStore.join(settings, logger)
      (store, member) = joined
      place = "cluster \(settings.cluster.name)"
      storage = nil
      reading = nil
      return
    }
    guard let configuration = settings.storage else {
      member = nil
      store = PropertyStore(limits: settings.store)
      store.setQuotas(settings.quotas)
      place = "in memory only: a restart forgets everything"
      storage = nil
      reading = nil
      return
    }
    if configuration.isReadOnly {
      self = try ServedStore(reading: configuration, settings, logger)
      return
    }
    place = configuration.folder
    reading = nil
    member = nil
    let isHeldBack = configuration.journal.sync == .commit
    let feed = Feed(logger, endsOnFailure: isHeldBack)
    do throws(StorageError) {
      let recovery = try Recovery(configuration)
      if let lost = recovery.lost {
        logger.warning(
          "the folder has less than was said to be durable: clients that saw more are told so",
          metadata: [
            "folder": "\(configuration.folder)", "told": "\(lost.epoch).\(lost.told)", "recovered": "\(lost.recovered)",
          ])
      }
      let storage = try recovery.start(
        Journal.Observer(durable: { feed.announce(through: $0.position) }, changed: { feed.note($0) }),
        history: .log(logger))
      let replica = recovery.takeReplica()
      let grace = JournalLimits.renewalDelay + replica.rules.longestInterval
      store = PropertyStore(
        restoring: replica, limits: settings.store, sink: storage.journal,
        holdingBackAfter: isHeldBack ? recovery.position : nil, ancestors: recovery.ancestry.ends,
        rules: configuration.rules, isClean: recovery.isClean,
        // The last renewals may be lost; no time to live may end early for that.
        grace: recovery.isClean ? .zero : grace, quotas: settings.quotas
      ) { source throws(FormulaError) in try settings.live.keptFormula(source) }
      self.storage = storage
      feed.begin(store)
      logger.info(
        "recovered",
        metadata: [
          "folder": "\(configuration.folder)", "properties": "\(store.count)", "revision": "\(store.revision)",
          "clean": "\(recovery.isClean)",
        ])
    } catch {
      throw Failure(error)
    }
    store.endEarlierConnections(settings.live)
  }

  /// Opens what a folder holds, and leaves the folder as it is.
  private init(
    reading configuration: StorageConfiguration, _ settings: Settings, _ logger: Logger
  ) throws(Failure) {
    place = "\(configuration.folder), read-only"
    storage = nil
    member = nil
    let recovery = try Failure.ofStorage { () throws(StorageError) in try Recovery(configuration) }
    let unreadable = HistoryObserver.log(logger).unreadable
    reading = (
      recovery,
      try Failure.ofStorage { () throws(StorageError) in try recovery.readHistory(unreadable: unreadable) }
    )
    let replica = recovery.takeReplica()
    store = PropertyStore(
      restoring: replica, limits: settings.store, sink: ReadOnlySink(replica.revision),
      ancestors: recovery.ancestry.ends, isClean: recovery.isClean
    ) { source throws(FormulaError) in try settings.live.keptFormula(source) }
    store.endEarlierConnections(settings.live)
  }

  /// Writes what has not been written yet.
  func close() throws(Failure) {
    if let member { ClusterStore.leave(member) }
    withExtendedLifetime(reading?.folder) {}
    reading?.history?.close()
    store.keepOmitted()
    if let error = storage?.close() { throw Failure(error) }
  }
}

/// Keeps no records and refuses writes: what a store does by itself, such as expiry, stays in memory.
private final class ReadOnlySink: RecordSink {
  private let revision: Revision

  /// - Parameter revision: The revision of the last commit in the folder.
  init(_ revision: Revision) { self.revision = revision }

  func append(_ record: Record) {}

  var refusal: StorageRefusal? { .readOnly }

  var status: StorageStatus? { StorageStatus(refusal: .readOnly, revision: revision) }
}

/// Forwards notifications of the journal to the store and the log.
private final class Feed: Sendable {
  private struct State {
    var store: PropertyStore?
    /// The last position that became durable before the store was connected.
    var durable: UInt64 = 0
    /// Whether the disk is full.
    var isFull = false
  }

  private let state = Mutex(State())
  private let logger: Logger
  private let endsOnFailure: Bool

  init(_ logger: Logger, endsOnFailure: Bool) {
    self.logger = logger
    self.endsOnFailure = endsOnFailure
  }

  /// From now on the store is notified.
  func begin(_ store: PropertyStore) {
    state.withLock { state in
      state.store = store
      // Under the lock, so that the thread of the journal does not overtake it.
      if state.durable > 0 { store.announce(through: state.durable) }
      if state.isFull { store.readAnnounced() }
    }
  }

  func announce(through record: UInt64) {
    let store = state.withLock { state in
      state.durable = record
      return state.store
    }
    store?.announce(through: record)
  }

  func note(_ health: Journal.Health) {
    let store = state.withLock { state in
      if case .full = health { state.isFull = true } else { state.isFull = false }
      return state.store
    }
    switch health {
    case .ok: logger.notice("the disk takes changes again")
    case .full(let error):
      logger.error("no room for changes: writes are refused until there is", metadata: ["reason": "\(error)"])
      store?.readAnnounced()
    case .failed(let error):
      logger.critical("changes cannot be kept any more", metadata: ["reason": "\(error)"])
      // Nothing has been sent that is not on disk, and nothing more can be sent.
      if endsOnFailure { ExitStatus.storage.end() }
      store?.announceFailure()
    }
  }
}

extension HistoryObserver {
  /// Logs the notifications of the history.
  fileprivate static func log(_ logger: Logger) -> HistoryObserver {
    HistoryObserver(
      failed: { logger.critical("no history is kept any more", metadata: ["reason": "\($0)"]) },
      gap: { from, to in
        logger.warning(
          "the history goes on from the state: changes in between are missing",
          metadata: ["after": "\(from)", "from": "\(to)"])
      },
      unreadable: { logger.error("the history cannot be read", metadata: ["reason": "\($0)"]) },
      crowded: {
        logger.warning("there are too many series: other properties are not kept", metadata: ["series": "\($0)"])
      })
  }
}
