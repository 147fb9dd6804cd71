// SPDX-License-Identifier: MIT

package import JSON

/// The state of a store, determined by its records alone.
///
///     var copy = store.replica
///     for record in records { copy.apply(record) }   // what the store has when it has made these
///
/// Applying a record needs no clock, evaluates no formula and decides nothing, so that equal records give equal
/// replicas, on any machine. A value: copying takes the same time with one property as with a million, and while a copy
/// exists, the original copies the parts that it changes.
package struct Replica: Sendable {
  /// The history that its revisions belong to.
  package let epoch: Epoch
  /// The revision of the last commit.
  package private(set) var revision: Revision
  /// The time of the last commit.
  package private(set) var time: Timestamp
  /// The properties, with their leases and with what was computed.
  package private(set) var tree = PathTree()
  /// The last message of each signal that keeps it.
  package private(set) var signals = KeptSignals()
  /// The timers that will fire again.
  package private(set) var timers: [PropertyPath: StoredTimer] = [:]
  /// The operations to execute when a holder is gone, in a language that the store does not know.
  package private(set) var lastOperations: [Holder: JSONText] = [:]
  /// The rules by which the last records were omitted: the properties they name may be stale.
  package private(set) var rules: [PersistenceRule] = []
  private(set) var history: History
  /// The approximate size of the properties in bytes.
  private(set) var propertyBytes = 0

  /// A replica with these properties, whose history begins after them.
  ///
  /// - Parameters:
  ///   - revision: That of the last commit that is in the properties.
  ///   - time: That of the same commit.
  package init(
    epoch: Epoch, revision: Revision = 0, time: Timestamp = Timestamp(milliseconds: .min),
    properties: some Sequence<StoredValue> = [], signals: KeptSignals = KeptSignals(),
    timers: some Sequence<StoredTimer> = [], lastOperations: [Holder: JSONText] = [:],
    rules: [PersistenceRule] = [], limits: StoreLimits = StoreLimits()
  ) {
    self.epoch = epoch
    self.revision = revision
    self.time = time
    self.signals = signals
    self.lastOperations = lastOperations
    self.rules = rules
    history = History(limits, after: revision)
    for property in properties {
      propertyBytes += Self.cost(of: property)
      if let displaced = tree.set(property) { propertyBytes -= Self.cost(of: displaced) }
    }
    for timer in timers { self.timers[timer.path] = timer }
  }

  /// The same content as of another history, which begins here.
  package init(_ other: Replica, epoch: Epoch, limits: StoreLimits = StoreLimits()) {
    self.init(
      epoch: epoch, revision: other.revision, time: other.time, properties: other.snapshot.scan(),
      signals: other.signals, timers: other.timers.values, lastOperations: other.lastOperations, rules: other.rules,
      limits: limits)
  }

  /// The commits after a revision; nil when some of them are no longer kept, or the revision is in the future.
  package func commits(after revision: Revision) -> HistorySlice? { history.slice(after: revision) }

  /// The property at a path, nil when there is none.
  package func value(at path: PropertyPath) -> StoredValue? { tree.value(at: path) }

  /// The earliest revision after which it may be possible to resume.
  var floor: Revision { history.floor }

  /// The properties as they are now; O(1).
  package var snapshot: StoreSnapshot { StoreSnapshot(epoch: epoch, revision: revision, tree: tree) }

  /// The commits that are kept.
  package var commits: HistorySlice { history.all }

  /// Applies a record.
  ///
  /// The values it replaces are released here, unless the history keeps them; a caller with a lock that must not
  /// release them under it keeps the rest until later.
  ///
  /// - Returns: The chunks that no longer fit the history.
  @discardableResult
  package mutating func apply(_ record: Record) -> History.Dropped? {
    switch record {
    case .commit(let commit), .omittedCommit(let commit): return apply(commit)
    case .amendment(let property), .omittedAmendment(let property): _ = tree.set(property)
    case .signal(let message, let isKept): apply(message, isKept: isKept)
    case .timer(let timer): timers[timer.path] = timer
    case .timerFired(let message, let count):
      signals.apply(message, isKept: false)
      timers[message.path] = timers[message.path].flatMap { $0.fired(count: count) }
    case .timerRemoved(let path): timers[path] = nil
    case .lastOperations(let holder, let operations): lastOperations[holder] = operations
    case .rules(let rules): self.rules = rules
    }
    return nil
  }

  /// Advances to a later revision: the commits up to it were omitted.
  package mutating func skip(to revision: Revision) {
    guard revision > self.revision else { return }
    self.revision = revision
    history.skip(to: revision)
  }

  /// The approximate size of a property in bytes: overhead of the tree and the allocator, path and value.
  static func cost(of property: StoredValue) -> Int {
    cost(path: property.path.bytes.count, value: property.value.bytes.count)
  }

  static func cost(path: Int, value: Int) -> Int { 180 + path + value }

  /// As ``apply(_:)-(Record)`` of the message.
  mutating func apply(_ message: SignalMessage, isKept: Bool) { signals.apply(message, isKept: isKept) }

  /// As ``apply(_:)-(Record)`` of the commit.
  mutating func apply(_ commit: Commit) -> History.Dropped? {
    replace(commit.first.old, by: commit.first.new)
    if !commit.rest.isEmpty {
      for change in commit.rest { replace(change.old, by: change.new) }
    }
    revision = commit.revision
    time = commit.time
    return history.append(commit)
  }

  private mutating func replace(_ old: StoredValue?, by new: StoredValue?) {
    if let old { propertyBytes -= Self.cost(of: old) }
    if let new {
      propertyBytes += Self.cost(of: new)
      _ = tree.set(new)
    } else if let old {
      _ = tree.remove(old.path)
    }
  }
}

/// The messages of signals that are kept, and the number and time of the last recorded message.
package struct KeptSignals: Sendable, Equatable {
  /// The number of the last message that was recorded.
  package private(set) var number: UInt64
  /// Its time.
  package private(set) var time: Timestamp
  /// The last message of each signal that keeps it.
  package private(set) var messages: [PropertyPath: SignalMessage] = [:]
  /// The approximate size of these in bytes.
  package private(set) var bytes = 0

  package init(
    number: UInt64 = 0, time: Timestamp = Timestamp(milliseconds: .min), messages: some Sequence<SignalMessage> = []
  ) {
    self.number = number
    self.time = time
    for message in messages { keep(message) }
  }

  static func cost(of message: SignalMessage) -> Int { message.message.bytes.count + message.path.bytes.count + 128 }

  mutating func apply(_ message: SignalMessage, isKept: Bool) {
    number = message.number
    time = message.time
    if isKept {
      keep(message)
    } else if !messages.isEmpty, let old = messages.removeValue(forKey: message.path) {
      bytes -= Self.cost(of: old)
    }
  }

  private mutating func keep(_ message: SignalMessage) {
    if let old = messages.updateValue(message, forKey: message.path) { bytes -= Self.cost(of: old) }
    bytes += Self.cost(of: message)
  }
}
