// SPDX-License-Identifier: MIT

internal import JSON
internal import SignalStore

/// What some records come to: the last word on each path.
struct StateChanges {
  /// nil for what is gone.
  private(set) var properties: [PropertyPath: StoredValue?] = [:]
  private(set) var signals: [PropertyPath: SignalMessage?] = [:]
  private(set) var timers: [PropertyPath: StoredTimer?] = [:]
  private(set) var lastOperations: [Holder: JSONText?] = [:]
  /// The last message of all, if there was one.
  private(set) var lastMessage: SignalMessage?

  /// - Parameter timer: Gives the timer at a path as it was before these changes.
  mutating func apply(
    _ record: WrittenRecord, timer: (PropertyPath) throws(StorageError) -> StoredTimer?
  ) throws(StorageError) {
    switch record {
    case .commit(let commit):
      for change in commit.changes {
        switch change {
        case .set(let property): properties[property.path] = .some(property)
        case .end(let path, _): properties[path] = .some(nil)
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
      lastMessage = message
    case .timer(let timer): timers[timer.path] = .some(timer)
    case .timerFired(let message, let count):
      signals[message.path] = .some(nil)
      lastMessage = message
      let fired: StoredTimer? = if let known = timers[message.path] { known } else { try timer(message.path) }
      timers[message.path] = .some(fired.flatMap { $0.fired(count: count) })
    case .timerRemoved(let path): timers[path] = .some(nil)
    case .lastOperations(let holder, let operations): lastOperations[holder] = .some(operations)
    }
  }
}
