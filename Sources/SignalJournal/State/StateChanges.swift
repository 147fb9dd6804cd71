// SPDX-License-Identifier: MIT

internal import JSON
internal import SignalStore

/// The net effect of some records: the final value of each path.
struct StateChanges {
  /// The properties; nil for deleted ones.
  private(set) var properties: [PropertyPath: StoredValue?] = [:]
  private(set) var signals: [PropertyPath: SignalMessage?] = [:]
  private(set) var timers: [PropertyPath: StoredTimer?] = [:]
  private(set) var lastOperations: [Holder: JSONText?] = [:]
  /// The rules, if they were set.
  private(set) var rules: [PersistenceRule]?
  /// The number and the time of the last message, if there was one.
  private(set) var signalPlace: (number: UInt64, time: Timestamp)?

  init() {}

  /// Everything that a replica holds.
  init(_ replica: Replica) {
    for property in replica.snapshot.scan() { properties[property.path] = .some(property) }
    for message in replica.signals.messages.values { signals[message.path] = .some(message) }
    for timer in replica.timers.values { timers[timer.path] = .some(timer) }
    for (holder, operations) in replica.lastOperations { lastOperations[holder] = .some(operations) }
    signalPlace = (replica.signals.number, replica.signals.time)
    rules = replica.rules
  }

  /// - Parameter timer: Returns the timer at a path as it was before these changes.
  mutating func apply(
    _ record: WrittenRecord, timer: (PropertyPath) throws(StorageError) -> StoredTimer?
  ) throws(StorageError) {
    switch record {
    case .commit(let commit):
      for change in commit.changes {
        switch change {
        case .set(let property, _): properties[property.path] = .some(property)
        case .end(let path, _, _): properties[path] = .some(nil)
        }
      }
    case .other(let record): try apply(record, timer)
    }
  }

  private mutating func apply(
    _ record: Record, _ timer: (PropertyPath) throws(StorageError) -> StoredTimer?
  ) throws(StorageError) {
    switch record {
    case .commit: preconditionFailure("A commit that was written does not say what it has displaced.")
    case .amendment(let property): properties[property.path] = .some(property)
    case .signal(let message, let isKept):
      signals[message.path] = .some(isKept ? message : nil)
      signalPlace = (message.number, message.time)
    case .timer(let timer): timers[timer.path] = .some(timer)
    case .timerFired(let message, let count):
      signals[message.path] = .some(nil)
      signalPlace = (message.number, message.time)
      let fired: StoredTimer? = if let known = timers[message.path] { known } else { try timer(message.path) }
      timers[message.path] = .some(fired.flatMap { $0.fired(count: count) })
    case .timerRemoved(let path): timers[path] = .some(nil)
    case .lastOperations(let holder, let operations): lastOperations[holder] = .some(operations)
    case .rules(let rules): self.rules = rules
    case .omittedCommit, .omittedAmendment: preconditionFailure("What is omitted is not written.")
    }
  }
}
