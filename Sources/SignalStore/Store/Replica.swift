// SPDX-License-Identifier: MIT

package import JSON

/// What a store holds, made of its records and of nothing else.
///
///     var copy = store.replica
///     for record in records { copy.apply(record) }   // what the store has when it has made these
///
/// Applying a record needs no clock, evaluates no formula and decides nothing, so that equal records give equal replicas, on
/// whatever machine. A value: a copy costs the same with one property as with a million, and while it is kept, the original
/// copies the parts that it changes.
package struct Replica: Sendable {
  /// The history that its revisions count in.
  package let epoch: Epoch
  /// The revision of the last commit.
  package private(set) var revision: Revision
  /// The time of the last commit.
  package private(set) var time: Timestamp
  /// The properties, with their leases and with what was computed.
  package private(set) var tree = PathTree()
  /// The last message of each signal that keeps it.
  package private(set) var signals = KeptSignals()
  /// The timers that have not fired for the last time.
  package private(set) var timers: [PropertyPath: StoredTimer] = [:]
  /// What has to be executed when a holder is gone, in a language that the store does not know.
  package private(set) var lastOperations: [Holder: JSONText] = [:]
  /// By which rules the last records have been omitted: what they name may be another than it was.
  package private(set) var rules: [PersistenceRule] = []
  private(set) var history: History
  /// About how many bytes the properties take.
  private(set) var propertyBytes = 0

  /// A replica that is to hold these properties, and whose history begins behind them.
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

  /// The commits after a revision, as far as they are kept; nil when some of them are not, or it is in the future.
  package func commits(after revision: Revision) -> HistorySlice? { history.slice(after: revision) }

  /// The revision after which somebody may be able to resume.
  var floor: Revision { history.floor }

  /// The properties as they are now; O(1).
  package var snapshot: StoreSnapshot { StoreSnapshot(epoch: epoch, revision: revision, tree: tree) }

  /// The commits that are kept.
  package var commits: HistorySlice { history.all }

  /// Makes the step that the record says.
  ///
  /// What it displaces is released here, but for the history; a caller with a lock that minds keeps the rest until later.
  ///
  /// - Returns: What the history no longer has room for.
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

  /// Goes on at a later revision: the commits up to it were omitted.
  package mutating func skip(to revision: Revision) {
    guard revision > self.revision else { return }
    self.revision = revision
    history.skip(to: revision)
  }

  /// About how many bytes a property takes: what the tree and the allocator add to it, its path and its value.
  static func cost(of property: StoredValue) -> Int {
    cost(path: property.path.bytes.count, value: property.value.bytes.count)
  }

  static func cost(path: Int, value: Int) -> Int { 180 + path + value }

  /// As ``apply(_:)-(Record)`` of the message.
  mutating func apply(_ message: SignalMessage, isKept: Bool) { signals.apply(message, isKept: isKept) }

  /// As ``apply(_:)-(Record)`` of the commit.
  mutating func apply(_ commit: Commit) -> History.Dropped? {
    for change in commit {
      if let old = change.old { propertyBytes -= Self.cost(of: old) }
      if let new = change.new {
        propertyBytes += Self.cost(of: new)
        _ = tree.set(new)
      } else {
        _ = tree.remove(change.path)
      }
    }
    revision = commit.revision
    time = commit.time
    return history.append(commit)
  }
}

/// The messages of signals that are kept, and the place of the last message that was recorded.
package struct KeptSignals: Sendable, Equatable {
  /// The number of the last message that was recorded.
  package private(set) var number: UInt64
  /// Its time.
  package private(set) var time: Timestamp
  /// The last message of each signal that keeps it.
  package private(set) var messages: [PropertyPath: SignalMessage] = [:]
  /// About how many bytes these take.
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
