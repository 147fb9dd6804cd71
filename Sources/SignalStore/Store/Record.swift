// SPDX-License-Identifier: MIT

package import JSON

/// One step of a store's state: applying the records of a store in order to a ``Replica`` reproduces that state.
///
/// All decisions (of a condition, a limit, a formula, a clock) have been made when a record is made, so that applying
/// it is deterministic. Only a commit takes a revision. A record is a reference or two: making one of a commit
/// allocates nothing.
package enum Record: Sendable {
  /// The changes of one revision, with the leases of what was set and the values and failures of what was computed.
  case commit(Commit)
  /// A property that keeps value, revision and time: its lease was renewed or is over, or its formula now fails for
  /// another reason.
  case amendment(StoredValue)
  /// A message that was sent; if it is kept, it replaces the kept one of its signal, and otherwise removes it.
  ///
  /// A message that does neither is not recorded.
  case signal(SignalMessage, isKept: Bool)
  /// A timer was set or replaced.
  case timer(StoredTimer)
  /// A timer has fired and sent this message, which is not kept; `count` intervals have passed since it was set.
  ///
  /// A one-shot timer is gone. A repeating one is recorded only when its message has removed one that was kept.
  case timerFired(SignalMessage, count: Int)
  /// A timer was removed before it fired for the last time.
  case timerRemoved(PropertyPath)
  /// The operations to execute when this holder is gone; nil when there are none any more.
  case lastOperations(Holder, JSONText?)
  /// As ``commit(_:)``, but a restart need not restore more of it than that its revision was taken.
  case omittedCommit(Commit)
  /// As ``amendment(_:)``, but a restart need not restore it.
  case omittedAmendment(StoredValue)
  /// From here on, records are omitted by these rules.
  case rules([PersistenceRule])
}

/// Receives the records of a store.
package protocol RecordSink: AnyObject, Sendable {
  /// Appends the next record.
  ///
  /// It is called under the lock of the store, in the order in which the records were applied: it has to be quick, must
  /// not use the store, and must not release objects of others.
  func append(_ record: Record)

  /// The next records, so many, are of one operation: whoever adopts one of them has to adopt all.
  ///
  /// Called as ``append(_:)`` is, for a store of a cluster.
  func join(_ count: Int)

  /// Why writes are refused now; nil when they are accepted. Called under the lock, so it has to be quick as well.
  var refusal: StorageRefusal? { get }

  /// How the records are kept; nil when they are not kept for longer than the process.
  var status: StorageStatus? { get }

  /// How records have been written since the start; nil when they are not kept.
  var activity: StorageActivity? { get }

  /// Makes what was appended durable as soon as possible, where that is usually delayed.
  func hurry()
}

extension RecordSink {
  /// Does nothing.
  package func join(_ count: Int) {}

  /// Accepts all writes.
  package var refusal: StorageRefusal? { nil }

  /// Keeps no records.
  package var status: StorageStatus? { nil }

  /// Keeps no records.
  package var activity: StorageActivity? { nil }

  /// Does nothing.
  package func hurry() {}
}
